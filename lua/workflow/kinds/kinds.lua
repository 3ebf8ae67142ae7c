-- kinds: the kinds of steps that run a program, by name. Each turns a step into a
-- process and a process's result into an outcome; none of them starts anything.

---@class runner.workflow.Kind
---@field noun string "Claude command": how log lines start
---@field costs? boolean its program costs money: max_cost holds for it
---@field request fun(step: table, scope: table, workflow: table, settings: table): table
---@field describe fun(step: table, scope: table): string the expanded text, for logs
---@field interpret fun(step: table, result: table, settings: table): table

---@type table<string, runner.workflow.Kind>
return {
	claude = require "runner.workflow.kinds.claude",
	shell = require "runner.workflow.kinds.shell",
	runner = require "runner.workflow.kinds.runner",
}
