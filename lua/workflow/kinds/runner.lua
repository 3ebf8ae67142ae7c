-- runner: the `runner:` step: one of our own commands as a process (lua/invoke.lua), and
-- what its envelope means. Runs in the worker; it starts nothing.

local retry_budget = require "runner.core.retry_budget"
local attempt = require "runner.core.attempt"
local classify = require "runner.workflow.kinds.classify"
local errors = require "runner.core.errors"
local invoke = require "runner.invoke"
local json = require "runner.json"
local step_process = require "runner.workflow.kinds.step_process"
local variables = require "runner.workflow.expr.variables"

local M = { noun = "runner command", said = invoke.said }

-- --- arguments ------------------------------------------------------------------------

-- An argument that starts with a dash only through its value would be read as a flag,
-- unless -- comes before it.
local function positional(template, scope, after_dashes)
	local text = variables.text(type(template) == "string" and variables.value(template, scope) or template)
	if not after_dashes and type(template) == "string" and text:sub(1, 1) == "-" and template:sub(1, 1) ~= "-" then
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
	local out, after_dashes = {}, false
	if args[1] == nil then
		for name, template in pairs(args) do
			out[name] = value_of(template, scope)
		end
		return out
	end
	for i, item in ipairs(args) do
		out[i] = positional(item, scope, after_dashes)
		after_dashes = after_dashes or item == "--"
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

-- --- request and outcome -------------------------------------------------------------------

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param settings table
---@return table options
function M.request(step, scope, settings)
	local allowed = retry_budget.take(step.retry and 0 or nil)
	local env = { RUNNER_RETRY_BUDGET = allowed.env.RUNNER_RETRY_BUDGET or nil }
	env.RUNNER_OUTER_RETRIES = step.retry and "1" or false -- the step retries, so the command need not; else what it may do is its budget
	local described = invoke.describe(argv_of(step, scope, "runner"))
	local options = step_process.options(step, scope, settings, argv_of(step, scope, settings.self), described, env)
	options.allowed = allowed
	return options
end

-- Its warnings are the run's: each with the step that it comes from.
local function pass_on_warnings(step, envelope, settings)
	for _, warning in ipairs(settings.mask and settings.mask(envelope.warnings) or envelope.warnings or {}) do
		local context = type(warning.context) == "table" and warning.context or {}
		context.step, context.command = step.key, context.command or invoke.value(envelope.meta.command)
		attempt.warn(warning.code, warning.message, context)
	end
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

-- The same with its stderr as a person reads it.
local function as_text(result)
	local lines = {}
	for line in (result.stderr .. "\n"):gmatch "(.-)\n" do
		lines[#lines + 1] = invoke.said(line)
	end
	return setmetatable({ stderr = table.concat(lines, "\n") }, { __index = result })
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@param request? table as M.request gave it
---@return table outcome
function M.interpret(step, result, settings, request)
	local envelope = invoke.envelope(result)
	retry_budget.settle(request and request.allowed or { n = 0 }, envelope)
	if envelope and type(envelope.meta) == "table" then
		pass_on_warnings(step, envelope, settings)
	end
	if result.ok and envelope then
		local data = envelope.data ~= json.null and envelope.data or nil
		return step_process.success(result, data and assert(json.encode(data)) or "", data)
	end
	local verdict = not envelope and result.stdout_dropped > 0 and TOO_LONG
		or classify.call(result, step_process.rules(step, result, settings))
	return pass_on(step_process.failure(as_text(result), verdict, result.stdout, settings), envelope)
end

return M
