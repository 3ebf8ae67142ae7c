-- shell: the shell texts of a step, its own and those of its hooks: which interpreter runs them, whether
-- they stop at the first failing command, and hints for `check`: pipes that hide a failure, plain names that
-- nothing defines, names of other tools, and values that become part of code. It runs nothing.

local check_of = require "runner.workflow.file.check"
local interpreters = require "runner.workflow.expr.interpreters"
local nested = require "runner.workflow.expr.nested"
local quoting = require "runner.workflow.expr.quoting"
local tables = require "runner.core.tables"

local M = {}

---@class runner.workflow.ShellOptions
---@field interpreter string name in runner.workflow.expr.interpreters
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
	around = around or { interpreter = interpreters.default }
	return { interpreter = first(given.interpreter, around.interpreter), errexit = first(given.errexit, around.errexit) }
end

local HIDDEN = "sh ignores a failure on the left side of this pipe."
	.. " Set interpreter: bash, which runs with pipefail, or write the left side's output to a file first"

---Point at the pipes of a text whose failure its shell doesn't see.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param options runner.workflow.ShellOptions
function M.judge_pipes(check, node, options)
	local row = interpreters.named[options.interpreter]
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

---What reads each reference of a shell text.
M.readers = nested.readers

return M
