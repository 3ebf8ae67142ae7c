-- shell: a `shell:` step as a process, and what its result means. Runs in the
-- worker; it starts nothing. Values reach the shell as environment variables.

local classify = require "runner.workflow.kinds.classify"
local quoting = require "runner.workflow.expr.quoting"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "shell command" }

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param settings table errexit: what holds for steps that don't say
---@return table options
function M.request(step, scope, settings)
	local script, values = variables.shell(step.text, scope)
	local errexit = step.errexit
	if errexit == nil then
		errexit = settings.errexit
	end
	local argv = quoting.argv(step.interpreter, errexit, script)
	return step_process.options(step, scope, settings, argv, step.text, values) -- its values are in the environment
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table outcome
function M.interpret(step, result, settings)
	if result.ok then
		return step_process.success(result, result.stdout)
	end
	return step_process.failure(result, classify.shell(result, step_process.rules(step, result, settings)), result.stdout,
		settings)
end

return M
