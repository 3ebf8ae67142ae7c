-- children: a step that runs another file (`workflow:`): the run as that file's steps see it, with its variables, its
-- environment, its secrets and its claude, and what it gives back. All else is the run's: its rows, its budget, its end.

local environment = require "runner.workflow.run.environment"
local errors = require "runner.core.errors"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
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
---@param begun boolean? they have begun, with values of which the store may not have all
---@return table run, runner.workflow.Scope scope of the steps inside; the same where they are of the same file
function M.enter(run, step, scope, begun)
	local child = step.child
	if not child then
		return run, scope
	end
	local inner = { cwd = scope.cwd, writable = scope.writable, steps = {}, captures = child.captures, run = scope.run, env = scope.env,
		vars = var_values.given(child, step.given, scope, run.mask, begun) }
	return run_of(run, child, inner), inner
end

-- Is it of a step that was skipped?
local function has_not_run(scope, name)
	local head, id = name:match "^([^.]+)%.?([^.]*)"
	if head == "steps" then
		return scope.steps[id] == nil
	elseif variables.is_of_group(scope, name) then
		return scope[head] == nil
	end
	return scope.captures[head] ~= nil and scope.vars[head] == nil
end

-- What a step would have printed that was skipped is null; what else has no value is a failure.
local function value_of(template, scope)
	local parsed = assert(variables.parse(template))
	for _, reference in ipairs(variables.names(parsed)) do
		if has_not_run(scope, reference.name) then
			return json.null
		end
	end
	return large_value.whole(variables.value(parsed, scope))
end

local function output_of(run, key, name, template, scope)
	local ok, value = pcall(value_of, template, scope)
	if ok then
		return value
	elseif type(value) == "userdata" then
		error(value, 0) -- a cancellation
	end
	local e = errors.normalise(value)
	e.message, e.context = ("Step %s, output %s: %s"):format(key, name, e.message), { step_key = key }
	run.failures[key] = { key = key, transient = false }
	error(e, 0)
end

---The result of a step that holds steps: that of the last of them, and what their file gives.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param scope runner.workflow.Scope of the steps inside
---@param given table? of the last of them
---@param begun? boolean as of M.enter; or they have not come to their end. What isn't known is a failure of what uses it
---@return table? given
function M.result(run, step, key, scope, given, begun)
	if not step.child then
		return given
	end
	given = given or {}
	local out, values = { ok = true, output = given.output or "", output_path = given.output_path, status = given.status }, {}
	for name, template in pairs(step.child.outputs) do
		values[name] = large_value.known(begun, output_of, run, key, name, template, scope)
	end
	out.outputs, out.data = values, values
	return out
end

return M
