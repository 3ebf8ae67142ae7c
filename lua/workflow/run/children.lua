-- children: a step that runs another file (`workflow:`): the run as that file's steps see it, with its variables, its
-- environment, its secrets and its claude, and what it gives back. All else is the run's: its rows, its budget, its end.

local environment = require "runner.workflow.run.environment"
local errors = require "runner.core.errors"
local json = require "runner.json"
local var_values = require "runner.workflow.run.var_values"
local variables = require "runner.workflow.expr.variables"

local M = {}

local function settings_of(run, child, scope)
	local outer = run.settings
	return { cwd = outer.cwd, self = outer.self, mask = outer.mask, claude = child.claude, errexit = outer.errexit,
		env = environment.of_steps(child, scope, { env = run.child_secrets[child] }, outer.cwd, run.surroundings) }
end

-- Its settings are made when a step asks for them: what it reads may be missing, which is that step's failure.
local function run_of(run, child, scope)
	return setmetatable({ workflow = child }, { __newindex = run, __index = function(inner, name)
		if name ~= "settings" then
			return run[name]
		end
		rawset(inner, name, settings_of(run, child, scope))
		return inner.settings
	end })
end

---@param run table
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope of the step
---@return table run, runner.workflow.Scope scope of the steps inside; the same where they are of the same file
function M.enter(run, step, scope)
	local child = step.child
	if not child then
		return run, scope
	end
	local inner = { cwd = scope.cwd, writable = scope.writable, steps = {}, captures = child.captures, run = scope.run, env = scope.env,
		vars = var_values.given(child, step.given, scope, run.mask) }
	return run_of(run, child, inner), inner
end

-- What a step would have printed that was skipped is null; an output that was cut is a failure.
local function value_of(template, scope)
	local parsed = assert(variables.parse(template))
	for _, reference in ipairs(variables.names(parsed)) do
		local _, found = variables.lookup(scope, reference.name)
		if not found then
			return json.null
		end
	end
	return variables.value(parsed, scope)
end

---The result of a step that holds steps: that of the last of them, and what their file gives.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param scope runner.workflow.Scope of the steps inside
---@param given table? of the last of them
---@param recalled? boolean of an earlier process: they may not have come to its end
---@return table? given
function M.result(run, step, key, scope, given, recalled)
	if not step.child then
		return given
	end
	given = given or {}
	local out, values = { ok = true, output = given.output or "", output_path = given.output_path, status = given.status }, {}
	for name, template in pairs(step.child.outputs) do
		local ok, value = pcall(value_of, template, scope)
		if not ok and type(value) == "userdata" then
			error(value, 0) -- a cancellation
		elseif not (ok or recalled) then
			local e = errors.normalise(value)
			e.message, e.context = ("Step %s, output %s: %s"):format(key, name, e.message), { step_key = key }
			run.failures[key] = { key = key, transient = false }
			error(e, 0)
		end
		values[name] = ok and value or not ok and json.null
	end
	out.outputs, out.data = values, values
	return out
end

return M
