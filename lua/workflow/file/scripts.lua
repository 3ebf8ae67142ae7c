-- scripts: the shell texts of a step, its own and those of its hooks: which interpreter
-- runs them, whether they stop at the first failing command, and which of their pipes
-- hide a failure. It knows no other keys, and runs nothing.

local interpreters = require "runner.workflow.expr.interpreters"
local quoting = require "runner.workflow.expr.quoting"

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
function M.judge(check, node, options)
	local row = interpreters.named[options.interpreter]
	if row.sees_pipes or options.errexit == false or node.text:find("pipefail", 1, true) then
		return
	end
	for _, offset in ipairs(quoting.pipes(node.text)) do
		check:hint_in(node, offset, "PIPE_UNCHECKED", HIDDEN)
	end
end

return M
