-- runner: the `runner:` step: one of our own commands as a process (lua/invoke.lua), and
-- what its envelope means. Runs in the worker; it starts nothing.

local classify = require "runner.workflow.kinds.classify"
local errors = require "runner.core.errors"
local invoke = require "runner.invoke"
local json = require "runner.json"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "Runner command" }

-- --- arguments ------------------------------------------------------------------------

-- An argument that starts with a dash only through its value would be read as a flag,
-- unless -- comes before it.
local function positional(template, scope, behind_dashes)
	local text = variables.text(type(template) == "string" and variables.value(template, scope) or template)
	if not behind_dashes and type(template) == "string" and text:sub(1, 1) == "-" and template:sub(1, 1) ~= "-" then
		errors.raise("PRECONDITION", ("The argument '%s' expands to text that starts with '-' and would be read as a flag")
			:format(template), { suggestion = "Pass it by name: args: { name: value }" })
	end
	return text
end

-- The value of a named argument; every text in it is a template.
local function value_of(template, scope)
	local value = type(template) == "string" and variables.value(template, scope) or template
	if type(value) ~= "table" or not json.is_array(value) and value[1] == nil then
		return value
	end
	local list = json.array {}
	for i, item in ipairs(value) do
		list[i] = value_of(item, scope)
	end
	return list
end

local function expanded(args, scope)
	local out, behind_dashes = {}, false
	if args[1] == nil then
		for name, template in pairs(args) do
			out[name] = value_of(template, scope)
		end
		return out
	end
	for i, item in ipairs(args) do
		out[i] = positional(item, scope, behind_dashes)
		behind_dashes = behind_dashes or item == "--"
	end
	return out
end

local function argv_of(step, scope, program)
	local words = {}
	for word in step.text:gmatch "%S+" do
		words[#words + 1] = positional(word, scope)
	end
	return invoke.argv(program, words, expanded(step.args or {}, scope), variables.text)
end

---The words of the call, for logs.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@return string
function M.describe(step, scope)
	return invoke.describe(argv_of(step, scope, "runner"))
end

-- --- request and outcome -------------------------------------------------------------------

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param _ table the workflow
---@param settings table
---@return table options
function M.request(step, scope, _, settings)
	local outer = step.retry and { RUNNER_OUTER_RETRIES = "1" } or nil -- the step retries, so the command need not
	return step_process.options(step, scope, settings, argv_of(step, scope, settings.self), M.describe(step, scope), outer)
end

local TOO_LONG = { code = "OUTPUT_TOO_LARGE", transient = false, reason = "its answer is longer than what is kept",
	message = "Runner command answered with more than is kept of it: give the step a larger capture_limit" }

-- What the command's own error says beyond its code and message, into the outcome.
local function pass_on(outcome, envelope)
	local e = envelope and not envelope.ok and invoke.failure(envelope)
	if e then
		outcome.side_effects, outcome.errors = e.side_effects, e.errors
		outcome.fix_required, outcome.fix_command = e.fix_required, e.fix_command
		outcome.context.error = e.context
	end
	return outcome
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table outcome
function M.interpret(step, result, settings)
	local envelope = invoke.envelope(result)
	if result.ok and envelope then
		local data = envelope.data ~= json.null and envelope.data or nil
		return step_process.success(result, data and assert(json.encode(data)) or "", data)
	end
	local verdict = not envelope and result.stdout_dropped > 0 and TOO_LONG
		or classify.call(result, step_process.rules(step, result, settings))
	return pass_on(step_process.failure(result, verdict, result.stdout, settings), envelope)
end

return M
