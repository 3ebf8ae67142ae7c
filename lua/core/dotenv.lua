-- dotenv: files of NAME=value lines (`env_files`). Pure: no variable and no
-- command is expanded, so a file means the same everywhere. Runs in the worker.

local errors = require "runner.core.errors"
local command_line = require "runner.core.command_line"

local M = {}

local ESCAPES = { n = "\n", r = "\r", t = "\t", ["\\"] = "\\", ['"'] = '"', ["$"] = "$", ["`"] = "`", ["\n"] = "" }

local function line_at(text, at)
	local _, n = text:sub(1, at - 1):gsub("\n", "")
	return n + 1
end

local function fail(state, at, message, suggestion)
	errors.raise("PRECONDITION", ("%s:%d: %s"):format(state.name, line_at(state.text, at), message),
		{ suggestion = suggestion })
end

-- A quoted value may span lines. Returns it and where the text continues.
local function double_quoted(state, at)
	local i = at + 1
	while i <= #state.text do
		local c = state.text:sub(i, i)
		if c == '"' then
			local body = state.text:sub(at + 1, i - 1)
			return body:gsub("\\(.)", ESCAPES), i + 1
		end
		i = i + (c == "\\" and 2 or 1)
	end
	return fail(state, at, "missing closing double quote", 'Write NAME="value"')
end

local function single_quoted(state, at)
	local stop = state.text:find("'", at + 1, true)
	if not stop then
		return fail(state, at, "missing closing single quote", "Write NAME='value'")
	end
	return state.text:sub(at + 1, stop - 1), stop + 1
end

local QUOTED = { ['"'] = double_quoted, ["'"] = single_quoted }

-- To the end of the line, or to a blank and a #.
local function plain(state, at)
	local line, rest = state.text:match("^([^\n]*)\n?()", at)
	local before = state.text:sub(at - 1, at - 1) -- NAME=#a has a value, NAME= #a has none
	local value = (before .. line):gsub("%s#.*$", "")
	return (value:sub(2):gsub("%s+$", "")), rest
end

local function read_value(state, at)
	local quoted = QUOTED[state.text:sub(at, at)]
	if not quoted then
		return plain(state, at)
	end
	local value, rest = quoted(state, at)
	local tail, after = state.text:match("^([^\n]*)\n?()", rest)
	if tail:find "%S" and not tail:find "^%s+#" then
		fail(state, rest, "unexpected text after the closing quote", "Put the whole value in one pair of quotes")
	end
	return value, after
end

local function read_line(state, at, out)
	local line, rest = state.text:match("^([^\n]*)\n?()", at)
	if not line:find "%S" or line:find "^%s*#" then
		return rest
	end
	local name, value_at = state.text:match("^[ \t]*export[ \t]+([%a_][%w_]*)[ \t]*=[ \t]*()", at)
	if not name then
		name, value_at = state.text:match("^[ \t]*([%a_][%w_]*)[ \t]*=[ \t]*()", at)
	end
	if not name then -- its text may be a secret, so it isn't repeated
		fail(state, at, "this line is not NAME=value", "Start comments with #; names are letters, digits and _")
	end
	out[name], rest = read_value(state, value_at)
	return rest
end

---Read the text of a dotenv file: NAME=value, `export`, comments, '…' as it is,
---"…" with \n \r \t \\ \" \$ and over several lines. The last one of a name wins.
---Raises PRECONDITION with the line, never with its text.
---@param text string
---@param name string of the file, for messages
---@return table<string, string>
function M.parse(text, name)
	local state = { text = text:gsub("^\u{FEFF}", ""):gsub("\r\n", "\n"), name = name }
	local nul = command_line.nul_at(state.text)
	if nul then
		fail(state, nul, "unexpected NUL byte", "Save the file as plain text")
	end
	local out, at = {}, 1
	while at <= #state.text do
		at = read_line(state, at, out)
	end
	return out
end

return M
