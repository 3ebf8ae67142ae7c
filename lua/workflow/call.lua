-- call: a `runner:` step: one of our own commands as a process, and what its
-- envelope means. Runs in the worker; it starts nothing.

local classify = require "runner.workflow.classify"
local errors = require "runner.errors"
local json = require "runner.json"
local sorted = require "runner.sorted"
local surroundings = require "runner.workflow.surroundings"
local variables = require "runner.workflow.variables"

local M = { noun = "Runner command" }

-- --- arguments ------------------------------------------------------------------------

local function flag(name)
	return "--" .. name:gsub("_", "-")
end

-- What begins with a dash only because of its value would be read as a flag, unless
-- a -- stands before it.
local function positional(template, scope, behind_dashes)
	local text = variables.text(type(template) == "string" and variables.value(template, scope) or template)
	if not behind_dashes and type(template) == "string" and text:sub(1, 1) == "-" and template:sub(1, 1) ~= "-" then
		errors.raise("PRECONDITION", ("The argument '%s' begins with '-' once its value is put in, and would be read as a flag")
			:format(template), { suggestion = "Give it by name: args: { name: value }" })
	end
	return text
end

local add

local function add_all(argv, name, values, scope)
	for _, value in ipairs(values) do
		add(argv, name, value, scope)
	end
end

-- One named argument: lists are repeated, true and false are --name and --no-name.
function add(argv, name, value, scope)
	if type(value) == "string" then
		value = variables.value(value, scope)
	end
	if json.is_array(value) or type(value) == "table" and value[1] ~= nil then
		add_all(argv, name, value, scope)
	elseif type(value) == "boolean" then
		argv[#argv + 1] = value and flag(name) or flag("no-" .. name)
	else
		argv[#argv + 1] = flag(name) .. "=" .. variables.text(value)
	end
end

local function add_named(argv, args, scope)
	for _, name in ipairs(sorted.keys(args)) do
		add(argv, name, args[name], scope)
	end
end

local function add_arguments(argv, args, scope)
	if args[1] == nil then
		return add_named(argv, args, scope)
	end
	local behind_dashes = false
	for _, item in ipairs(args) do
		argv[#argv + 1] = positional(item, scope, behind_dashes)
		behind_dashes = behind_dashes or item == "--"
	end
end

local function argv_of(step, scope, program)
	local argv = { program }
	for word in step.text:gmatch "%S+" do
		argv[#argv + 1] = positional(word, scope)
	end
	argv[#argv + 1], argv[#argv + 2] = "--format", "json"
	add_arguments(argv, step.args or {}, scope)
	return argv
end

---The words of the call, for logs.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@return string
function M.describe(step, scope)
	local argv = argv_of(step, scope, "runner")
	local words = {}
	for i, word in ipairs(argv) do
		if not (word == "--format" or argv[i - 1] == "--format") then
			words[#words + 1] = word
		end
	end
	return table.concat(words, " ")
end

-- --- request and outcome -------------------------------------------------------------------

---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param _ table the workflow
---@param settings table
---@return table options
function M.request(step, scope, _, settings)
	local outer = step.retry and { RUNNER_OUTER_RETRIES = "1" } or nil -- what the step repeats, the command need not
	return surroundings.options(step, scope, settings, argv_of(step, scope, settings.self), M.describe(step, scope), outer)
end

local function side_effects(envelope)
	local e = envelope and envelope.error
	return type(e) == "table" and type(e.side_effects) == "string" and e.side_effects or nil
end

---@param step runner.workflow.Step
---@param result runner.Result
---@param settings table
---@return table outcome
function M.interpret(step, result, settings)
	local envelope = classify.envelope(result)
	if result.ok and envelope then
		local data = envelope.data ~= json.null and envelope.data or nil
		return surroundings.success(result, data and assert(json.encode(data)) or "", data)
	end
	local outcome = surroundings.failure(result, classify.call(result, surroundings.rules(step, result, settings)),
		result.stdout, settings)
	outcome.side_effects = side_effects(envelope)
	return outcome
end

return M
