-- shell: the shell texts of a step, its own and those of its hooks: which interpreter runs them, whether
-- they stop at the first failing command, and hints for `check`: pipes that hide a failure, plain names that
-- nothing defines, names of other tools, and values that become part of code. It runs nothing.

local check_of = require "runner.workflow.file.check"
local quoting = require "runner.workflow.expr.quoting"
local tables = require "runner.core.tables"

local M = {}

-- Which references of a shell text become part of code that something else reads:
-- eval, sh -c, ssh, awk … There the quoting of lua/workflow/expr/quoting.lua doesn't help,
-- since the value is parsed once more. Pure; for hints, so it follows the shell's rules
-- only as far as commands and their words.

local SHELL = "^%-%a*c$"
-- Program → the flag whose next word is code.
local CODE_FLAGS = { sh = SHELL, bash = SHELL, dash = SHELL, zsh = SHELL, ksh = SHELL, ash = SHELL, su = SHELL,
	runuser = SHELL, script = SHELL, flock = SHELL, python = "^%-c$", python3 = "^%-c$", perl = "^%-%a*[eE]$", ruby = "^%-e$",
	node = "^%-%-?[ep]%a*$", php = "^%-r$", lua = "^%-e$" }
local SHELLS = tables.set "sh bash dash zsh ksh ash ssh"
local LEADERS = tables.set "then do else elif if while until ! {"
local PREFIXES = tables.set "sudo doas env exec nohup time nice ionice timeout setsid stdbuf command builtin xargs chroot"
local PREFIX_VALUED = "^%-[ugnskIPLd]$"
local SSH_VALUED, AWK_VALUED = "^%-[bcDEeFIiJLlmOopQRSWw]$", "^%-[vFE]$"
local SUSPECT = { "eval", "ssh", "awk", "trap", "watch", "<<", "%-%a*[ceErp]%f[%s]" }

-- --- words ------------------------------------------------------------------------------

local commands

local function new_command(state)
	state.command, state.word = { words = {} }, nil
end

local function add(state, text)
	state.word = (state.word or "") .. text
end

local function flush(state)
	if state.word then
		table.insert(state.command.words, state.word)
		state.word = nil
	end
end

-- Is a reference of ours here? Then it is noted.
local function take(state, here)
	local reference = state.at <= state.stop and state.references[state.at]
	if not reference then
		return false
	end
	state.found[#state.found + 1] = { name = reference.name, offset = reference.offset, command = here or state.command,
		word = #state.command.words + 1, here = here ~= nil }
	add(state, "$")
	state.at = state.at + #reference.source
	return true
end

local function char(state)
	return state.text:sub(state.at, state.at)
end

local function substitution(state, closer, length)
	local command, word = state.command, state.word
	state.at = state.at + length
	commands(state, closer)
	state.command, state.word = command, (word or "") .. "$"
end

local function quoted(state, quote)
	state.at = state.at + 1
	add(state, "")
	while state.at <= state.stop and char(state) ~= quote do
		if not take(state) then
			local c = char(state)
			if quote == '"' and c == "\\" then
				add(state, state.text:sub(state.at, state.at + 1))
				state.at = state.at + 2
			elseif quote == '"' and state.text:find("^%$%(", state.at) then
				substitution(state, ")", 2)
			elseif quote == '"' and c == "`" then
				substitution(state, "`", 1)
			else
				add(state, c)
				state.at = state.at + 1
			end
		end
	end
	state.at = state.at + 1
end

-- The body of a here-document belongs to the command that reads it.
local function here_document(state, pending)
	while state.at <= state.stop do
		local stop = state.text:find("\n", state.at, true) or state.stop + 1
		local line = state.text:sub(state.at, stop - 1)
		if line:gsub("^\t+", "") == pending.word then
			state.at = stop + 1
			return
		end
		while state.at < stop do
			if not take(state, pending.command) then
				state.at = state.at + 1
			end
		end
		state.at = stop + 1
	end
end

local function newline(state)
	local pending = state.pending
	state.pending = {}
	flush(state)
	for _, document in ipairs(pending) do
		here_document(state, document)
	end
	new_command(state)
end

local function bare(state, c)
	if c == "\\" then
		add(state, state.text:sub(state.at + 1, state.at + 1))
		state.at = state.at + 2
	elseif c == "#" and not state.word then
		state.at = (state.text:find("\n", state.at, true) or state.stop + 1)
	elseif state.text:find("^%$%(", state.at) then
		substitution(state, ")", 2)
	elseif c == "`" then
		substitution(state, "`", 1)
	elseif state.text:find("^<<%-?[ \t]*['\"]?[%w_]", state.at) then
		local word, rest = state.text:match("^<<%-?[ \t]*['\"]?([%w_]+)['\"]?()", state.at)
		state.pending[#state.pending + 1] = { word = word, command = state.command }
		state.at = rest
	else
		add(state, c)
		state.at = state.at + 1
	end
end

function commands(state, closer)
	new_command(state)
	while state.at <= state.stop do
		local c = char(state)
		if take(state) then -- luacheck: ignore
		elseif c == closer then
			flush(state)
			state.at = state.at + 1
			return
		elseif c == "\n" then
			state.at = state.at + 1
			newline(state)
		elseif c:find "[ \t;&|()]" then
			flush(state)
			state.at = state.at + 1
			if c:find "[;&|()]" then
				new_command(state)
			end
		elseif c == "'" or c == '"' then
			quoted(state, c)
		else
			bare(state, c)
		end
	end
	flush(state)
end

-- --- what reads them ------------------------------------------------------------------------

local function base(word)
	return word and word:match("[^/]*$"):gsub("^(python)[%d.]+$", "%1") or ""
end

-- The word that names the program, after assignments, `if`, sudo and the like.
local function program_at(words)
	local i = 1
	while words[i] and (LEADERS[words[i]] or words[i]:find "^[%a_][%w_]*=") do
		i = i + 1
	end
	while PREFIXES[base(words[i])] do
		i = i + 1
		while words[i] and (words[i]:find "^%-" or words[i]:find "^[%d.]+[smhd]?$" or words[i]:find "^[%a_][%w_]*=") do
			i = i + (words[i]:find(PREFIX_VALUED) and 2 or 1)
		end
	end
	return i
end

-- The first word after `from` that is no option.
local function operand(words, from, valued)
	local i = from + 1
	while words[i] and words[i]:find "^%-" do
		i = i + (words[i]:find(valued) and 2 or 1)
	end
	return i
end

local AT_START = {
	eval = function() return "eval" end,
	ssh = function(found, words, i) return found.word > operand(words, i, SSH_VALUED) and "ssh" end,
	trap = function(found, _, i) return found.word == i + 1 and "trap" end,
	watch = function(found, words, i) return found.word >= operand(words, i, "^%-n$") and "watch" end,
	awk = function(found, words, i) return found.word == operand(words, i, AWK_VALUED) and "awk" end,
}
AT_START.gawk, AT_START.mawk = AT_START.awk, AT_START.awk

-- sh -c CODE, wherever it stands: find -exec sh -c, docker exec NAME sh -c …
local function behind_flag(found, words, from)
	for i = from, found.word - 2 do
		local flag = CODE_FLAGS[base(words[i])]
		for k = i + 1, flag and found.word - 1 or 0 do
			if words[k]:find(flag) and found.word == k + 1 then
				return base(words[i]) .. " " .. words[k]
			elseif not words[k]:find "^%-" and not words[i]:find "su$" then
				break
			end
		end
	end
end

-- bash <<END, ssh host <<END
local function from_stdin(words, i)
	local program = base(words[i])
	local rest = words[operand(words, i, program == "ssh" and SSH_VALUED or "^$") + (program == "ssh" and 1 or 0)]
	return SHELLS[program] and not rest and program or nil
end

local function reader_of(found)
	local words = found.command.words
	local i = program_at(words)
	if found.here then
		return from_stdin(words, i)
	elseif base(words[i]) == "echo" or base(words[i]) == "printf" then
		return nil
	end
	local start = AT_START[base(words[i])]
	return start and found.word > i and start(found, words, i) or behind_flag(found, words, i)
end

---Which references become part of code that another program reads.
---@param text string a shell text
---@param references runner.workflow.Reference[] its references
---@return table<integer, string> readers offset of the reference → what reads it: "ssh", "bash -c"
function M.readers(text, references)
	local suspect = false
	for _, pattern in ipairs(SUSPECT) do
		suspect = suspect or text:find(pattern) ~= nil
	end
	if not suspect or not references[1] then
		return {}
	end
	local state = { text = text, at = 1, stop = #text, references = {}, found = {}, pending = {} }
	for _, reference in ipairs(references) do
		state.references[reference.offset] = reference
	end
	commands(state)
	local readers = {}
	for _, found in ipairs(state.found) do
		readers[found.offset] = reader_of(found) or nil
	end
	return readers
end

---@class runner.workflow.ShellOptions
---@field interpreter string name in runner.workflow.expr.quoting
---@field errexit? boolean nil: as the run has it (lua/workflow/run/start.lua)

local function first(value, default)
	if value == nil then
		return default
	end
	return value
end

---The options that a map of the file gives its texts.
---@param given {interpreter?: string, errexit?: boolean}
---@param around? runner.workflow.ShellOptions what holds where it is silent
---@return runner.workflow.ShellOptions
function M.options(given, around)
	around = around or { interpreter = quoting.default }
	return { interpreter = first(given.interpreter, around.interpreter), errexit = first(given.errexit, around.errexit) }
end

local HIDDEN = "sh ignores a failure on the left side of this pipe."
	.. " Set interpreter: bash, which runs with pipefail, or write the left side's output to a file first"

---Point at the pipes of a text whose failure its shell doesn't see.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param options runner.workflow.ShellOptions
function M.judge_pipes(check, node, options)
	local row = quoting.named[options.interpreter]
	if row.sees_pipes or options.errexit == false or node.text:find("pipefail", 1, true) then
		return
	end
	for _, offset in ipairs(quoting.pipes(node.text)) do
		check:hint_in(node, offset, "PIPE_UNCHECKED", HIDDEN)
	end
end

-- --- the names in its text ---------------------------------------------------------------

---What other tools call it, and what to write here.
M.foreign = { index = "Write ${item_index}, which counts from 1",
	ARG = "Declare it, vars: { ARG: }, write ${ARG}, and pass --var ARG=VALUE" }

-- Values that can't be code.
local HARMLESS = { item_index = true, ["run.id"] = true }

local SETTERS = { "%f[%w_]NAME%+?=", "%f[%w_]for%s+NAME%f[^%w_]", "%f[%w_]read%f[%s][^\n;|&]*%f[%w_]NAME%f[^%w_]",
	"%f[%w_]getopts%s+%S+%s+NAME%f[^%w_]", "%f[%w_]mapfile%f[%s][^\n;|&]*%f[%w_]NAME%f[^%w_]",
	"%f[%w_]readarray%f[%s][^\n;|&]*%f[%w_]NAME%f[^%w_]", "%f[%w_]local%f[%s][^\n;|&]*%f[%w_]NAME%f[^%w_]",
	"%f[%w_]printf%s+%-v%s+NAME%f[^%w_]" }

local function is_set(text, name)
	for _, pattern in ipairs(SETTERS) do
		if text:find((pattern:gsub("NAME", name))) then
			return true
		end
	end
	return false
end

local SHELLS_OWN = { PWD = true, OLDPWD = true, SHLVL = true, _ = true }

---Add the variables that a shell text reads, `$NAME` and `${NAME…}`, to a set; not those that it
---sets, nor those that every shell or runner sets.
---@param text string
---@param set table<string, true>
function M.collect(text, set)
	if not text:find("$", 1, true) then
		return
	end
	for brace, name, after in text:gmatch "%$({?)([%a_][%w_]*)()" do
		local dotted = brace ~= "" and text:sub(after, after) == "."
		if not (set[name] or dotted or SHELLS_OWN[name] or name:find "^RUNNER_" or is_set(text, name)) then
			set[name] = true
		end
	end
end

-- Is it in single quotes, where the shell leaves it alone?
local function is_literal(text, offset)
	local _, quotes = text:sub(1, offset - 1):gsub("'", "")
	return quotes % 2 == 1
end

---A plain name that the workflow doesn't define: the shell's own, or a slip?
---@param check runner.workflow.Check
---@param u table a use
---@param known table<string, any>
function M.judge_unknown(check, u, known)
	local name, text = u.name, u.node.text
	if u.operator or check.env_names[name] or is_set(text, name) then
		return
	end
	local near = M.foreign[name] or not name:find "^[A-Z_][A-Z0-9_]*$" and check_of.meant(name, tables.sorted_keys(known))
	if not near and (name:find "^[%u_][%u%d_]*$" or check.env_files or is_literal(text, u.offset)) then
		return
	end
	check:hint_in(u.node, u.offset, "UNKNOWN_NAME",
		("${%s}: neither the workflow nor this script defines it,"
			.. " so the shell puts nothing there. %s"):format(name, near or ("Declare it: vars: { %s: }"):format(name)))
end

---A value that something else reads as code.
---@param check runner.workflow.Check
---@param u table a use of a name that is defined
function M.judge_nested(check, u)
	local reader = u.reader
	if reader and not HARMLESS[u.name] and not u.name:find "%.status$" and not u.name:find "%.ok$" then
		check:hint_in(u.node, u.offset, "NESTED_CODE", ("${%s} becomes part of what %s runs as code: a value such as $(…) is executed there. "
			.. "Pass it beside the code, as in sh -c 'echo \"$1\"' sh ${%s}, or quote it with printf %%q"):format(u.name, reader, u.name))
	end
end

---Where a text says $ARG, as prodigy's commands do.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
function M.judge_text(check, node)
	local at = node.text:find "%$ARG%f[^%w_]"
	if at and not check.env_names.ARG and not is_set(node.text, "ARG") then
		check:hint_in(node, at, "UNKNOWN_NAME", "$ARG is not set here. " .. M.foreign.ARG)
	end
end

return M
