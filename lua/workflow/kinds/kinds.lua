-- kinds: the kinds of steps that run a program, by name. Each turns a step into a
-- process and a process's result into an outcome; none of them starts anything.

---@class runner.workflow.Kind
---@field noun string "Claude command", "shell command": for log lines
---@field costs? boolean its program costs money: max_cost holds for it
---@field request fun(step: runner.workflow.Step, scope: runner.workflow.Scope, settings: table, carried?: runner.workflow.Carried): table
---  its process, as runner.process.start takes it, with `described`: the step's text, for logs
---@field said? fun(line: string): string a line of its stderr as a person reads it; its stdout is for programs
---@field interpret fun(step: runner.workflow.Step, result: runner.Result, settings: table, request?: table): table its outcome

---@type table<string, runner.workflow.Kind>
local M = {}
for _, kind in ipairs(require("runner.workflow.expr.variables").kinds) do
	M[kind] = require("runner.workflow.kinds." .. kind)
end

return M
