-- arg_words: how help and the messages about arguments (lua/declare/arg_errors.lua) speak of a row and of what was given for
-- it, and how a command is called, in one line.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"

local M = {}

local SHOWN = 200 -- characters of a value that a message repeats

---A string made safe to print in a message, whatever its bytes, and cut after 200 characters.
---@param text string
---@return string
function M.shown(text)
	if not utf8.len(text) then
		text = text:gsub("[\128-\255]", "?")
	end
	return require("runner.core.visible").shorten(text, SHOWN)
end

---What was given for a row; a secret is never repeated.
---@param row table normalised
---@param text string
---@return string
function M.given(row, text)
	return row.secret and "***" or M.shown(text)
end

---How messages call a row: "--keep", or the name of a positional; its name to a client, whose arguments are JSON.
---@param row table normalised
---@return string
function M.label(row)
	return (attempt.call or {}).is_call and row.name or row.positional and row.flag or "--" .. row.flag
end

---The same within a sentence: "keep-days", and to a client "keep_days".
---@param row table normalised
---@return string
function M.noun(row)
	return (attempt.call or {}).is_call and row.name or row.flag
end

---Has a client of MCP made this call?
---@return boolean
function M.is_over_mcp()
	return (os.getenv "RUNNER_CLIENT" or ""):find('"mcp', 1, true) ~= nil
end

---Arguments of runner's own that a tool of MCP has beside those of its command.
---@param command table normal form
---@return string[]
function M.added(command)
	local taken, out = {}, {}
	for _, row in ipairs(command.args) do
		taken[row.name] = true
	end
	for _, name in ipairs { command.danger_level ~= "safe" and "dry_run", command.list and "limit", command.list and "cursor" } do
		out[#out + 1] = name and not taken[name] and name or nil
	end
	return out
end

---The variables that stand in for a row, the first of which that is set counts.
---@param row table normalised
---@return string[]
function M.variables(row)
	local out, others = { row.env }, row.env_fallbacks or {}
	return table.move(others, 1, #others, #out + 1, out)
end

---What to correct.
---@param row table normalised
---@param from runner.From
---@return string
function M.correct(row, from)
	if from == "payload" then
		return ("Correct '%s' in the JSON before retrying"):format(row.name)
	elseif from == "env" then
		return ("Correct the environment variable %s before retrying"):format(row.read_from or row.env)
	elseif from == "default" then
		return ("Correct the default of '%s' in the %s, or pass %s"):format(row.name, row.declared_in or "command file", M.label(row))
	end
	return ("Correct the %s argument before retrying"):format(M.label(row))
end

local function number(v)
	return math.type(v) == "float" and v % 1 == 0 and ("%.0f"):format(v) or tostring(v)
end

---" from 1 to 5 seconds", " of at least 1 second", "".
---@param least? number
---@param most? number
---@param unit string with a blank in front, in the plural; or ""
---@return string
function M.range(least, most, unit)
	if least and most then
		return (" from %s to %s"):format(number(least), number(most)) .. unit
	elseif least or most then
		local words = least and " of at least %s%s" or " of at most %s%s"
		return words:format(number(least or most), (least or most) == 1 and unit:gsub("s$", "") or unit)
	end
	return ""
end

local NOUNS = {
	string = "text", path = "a path", integer = "a whole number", number = "a number",
	boolean = "true or false", duration = "a duration such as 500ms, 2s, 5m or 1h", json = "JSON",
}

---The values a row takes, in words: "a whole number from 1 to 50".
---@param row table normalised
---@return string
function M.expected(row)
	local kind = row.items or row.type
	local words = NOUNS[kind] or "one of the listed values"
	local preset = row.pattern and require("runner.declare.rare_arguments").presets[row.pattern]
	if preset then
		words = ("a value such as %s (%s)"):format(preset[2], row.pattern)
	elseif row.pattern then
		words = words .. " that matches " .. row.pattern
	end
	if row.min or row.max then
		words = words .. M.range(row.min, row.max, kind == "duration" and " seconds" or "")
	elseif row.type ~= "array" then
		words = words .. M.range(row.min_length, row.max_length, " characters")
	end
	return words
end

-- How a command is called, in one line: of its help, and of an error about its arguments. Pure.

---The value of an option: "<string>".
---@param row table
---@return string
function M.placeholder(row)
	return ("<%s>"):format(row.items or row.type)
end

---A positional argument: "<file>", "[files...]".
---@param row table
---@return string
function M.slot(row)
	local text = row.variadic and row.flag .. "..." or row.flag
	return row.required and ("<%s>"):format(text) or ("[%s]"):format(text)
end

---May its value not stand on a command line?
---@param row table
---@return boolean
function M.is_hidden(row)
	return row.secret and row.type ~= "array" or false
end

---Such an argument: its value comes from a variable.
---@param row table
---@return string
function M.hidden(row)
	return (row.required and "--%s-from-env <VARIABLE>" or "[--%s-from-env <VARIABLE>]"):format(row.flag)
end

---How an argument is given, as messages say it.
---@param row table
---@return string
function M.given_by(row)
	return M.is_hidden(row) and not (attempt.call or {}).is_call and ("--%s-from-env or --%s-from-file"):format(row.flag, row.flag)
		or M.label(row)
end

---@param args table[]
---@param visit fun(row: table, kind: "positional"|"option")
function M.each_kind(args, visit)
	for _, row in ipairs(args) do
		visit(row, row.positional and "positional" or "option")
	end
end

---How a command is called, in one line.
---@param command table normal form
---@return string
function M.usage(command)
	local words, optional = { "runner", command_line.typed(command.name) }, false
	M.each_kind(command.args, function(row, kind)
		if (kind == "option" or M.is_hidden(row)) and row.required then
			words[#words + 1] = M.is_hidden(row) and M.hidden(row) or ("--%s %s"):format(row.flag, M.placeholder(row))
		end
		optional = optional or kind == "option" and not row.required
	end)
	words[#words + 1] = optional and "[options]" or command.arguments and "[arguments of the other program]" or nil
	M.each_kind(command.args, function(row, kind)
		words[#words + 1] = kind == "positional" and not M.is_hidden(row) and M.slot(row) or nil
	end)
	return table.concat(words, " ")
end

return M
