-- var_values: the values of a run's variables: the file's defaults, which may name variables of
-- the environment, under what the caller gives.

local errors = require "runner.core.errors"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local tables = require "runner.core.tables"
local environment = require "runner.workflow.run.environment"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- "name=value" → name, value
local function split(text)
	return text:match("^([%w_][%w_.-]*)=(.*)$")
end

local function problem(code, value, message, suggestion)
	return { field = "var", code = code, value = value, message = message, suggestion = suggestion }
end

local function known_names(workflow)
	local known = tables.sorted_keys(workflow.vars)
	for _, name in ipairs(workflow.required) do
		known[#known + 1] = name
	end
	table.sort(known)
	return known
end

local function contains(list, value)
	for _, v in ipairs(list) do
		if v == value then
			return true
		end
	end
	return false
end

-- A name that the file doesn't declare is a mistake.
local function unknown(workflow, name, text)
	local known = known_names(workflow)
	if contains(known, name) then
		return nil
	end
	local near = require("runner.core.suggest").nearest(name, known, 1)[1]
	return problem("UNKNOWN_VARIABLE", text, ("%s has no variable '%s'"):format(workflow.name, name),
		near and ("Did you mean '%s'?"):format(near) or #known > 0 and "Its variables: " .. table.concat(known, ", ")
		or ("Declare it in the file: vars: { %s: }"):format(name))
end

-- A default with its ${env.NAME}; lists and maps are copied.
local function expanded(value, scope, expand)
	if type(value) == "string" then
		return value:find("${", 1, true) and expand(value, scope) or value
	elseif type(value) ~= "table" then
		return value
	end
	local copy = {}
	for key, item in pairs(value) do
		copy[key] = expanded(item, scope, expand)
	end
	return setmetatable(copy, getmetatable(value))
end

local function typed_vars()
	return require "runner.workflow.file.typed_vars" -- many files have none
end

-- The value of a default, or what is wrong with it.
local function default_of(workflow, name, env, mask)
	local value, row = workflow.vars[name], workflow.typed[name]
	local ok, result = pcall(expanded, value, { env = env }, variables.expand)
	if ok and row and row.late then
		return typed_vars().take(row, result, "default", mask)
	elseif ok then
		return result
	end
	local e = errors.normalise(result)
	return nil, problem("MISSING_VARIABLE", name, ("The default of the variable '%s': %s"):format(name, e.message), e.suggestion)
end

-- What a caller gives for a variable with a type. A list has an item of each.
local function given_of(row, text, lists, mask)
	local value, wrong = typed_vars().read(row, text, "flag", mask)
	if wrong or row.type ~= "array" then
		return wrong and text or value, wrong
	end
	lists[row.name] = lists[row.name] or json.array {}
	table.insert(lists[row.name], value)
	return lists[row.name]
end

---What people and programs are told of the variables.
---@param workflow table
---@return table[]
function M.described(workflow)
	local out = json.array {}
	for i, name in ipairs(known_names(workflow)) do
		local default = workflow.vars[name]
		out[i] = workflow.typed[name] and typed_vars().shown(workflow.typed[name])
			or { name = name, default = default, required = default == nil or nil }
	end
	return out
end

---The values of the variables: the file's defaults under --var.
---@param workflow table
---@param given string[] "name=value"
---@param mask fun(v: any): any of its secrets
---@return table vars, table[] problems
function M.of(workflow, given, mask)
	local vars, problems = {}, {}
	local missing, lists = {}, {}
	for name in pairs(workflow.vars) do
		vars[name], missing[name] = default_of(workflow, name, os.getenv, mask)
	end
	for _, text in ipairs(given or {}) do
		local name, value = split(text)
		missing[name or ""] = nil
		problems[#problems + 1] = not name and problem("INVALID_ARGUMENT", text, ("'%s' is not name=value"):format(text),
			"Write --var name=value") or unknown(workflow, name, text)
		if name and workflow.typed[name] then
			value, problems[#problems + 1] = given_of(workflow.typed[name], value, lists, mask)
		end
		if name then
			vars[name] = value
		end
	end
	for name, list in pairs(problems[1] and {} or lists) do
		vars[name], problems[#problems + 1] = typed_vars().take(workflow.typed[name], list, "flag", mask)
	end
	for _, name in ipairs(tables.sorted_keys(missing)) do
		problems[#problems + 1] = missing[name]
	end
	for _, name in ipairs(workflow.required) do
		if vars[name] == nil then
			problems[#problems + 1] = problem("MISSING_VARIABLE", name, ("The variable '%s' has no value"):format(name),
				("Set it: --var %s=VALUE"):format(name))
		end
	end
	return vars, problems
end

local function given_value(child, name, value, scope, mask)
	local wrong
	value = expanded(value, scope, variables.value)
	if child.typed[name] then
		value, wrong = typed_vars().take(child.typed[name], value, "payload", mask)
	end
	if wrong then
		errors.raise("PRECONDITION", ("vars.%s: %s"):format(name, wrong.message), { suggestion = wrong.suggestion })
	end
	return value
end

---The values that a workflow gives to one that it runs, over that one's defaults. Raises PRECONDITION.
---@param child runner.workflow.Workflow
---@param given table<string, any> texts are templates
---@param scope runner.workflow.Scope of the step that runs it
---@param mask fun(v: any): any
---@param begun boolean? its steps have had them: one that is no longer known is missing where it is used
---@return table vars
function M.given(child, given, scope, mask, begun)
	local vars = {}
	for name, value in pairs(given) do
		vars[name] = large_value.known(begun, given_value, child, name, value, scope, mask)
	end
	return M.complete(child, vars, scope.env, mask, begun)
end

---The defaults of the variables that the caller doesn't give.
---@param workflow table
---@param given string[]? "name=value"
---@return table<string, any>
function M.defaults(workflow, given)
	local out = tables.add({}, workflow.vars)
	for _, text in ipairs(given or {}) do
		out[split(text)] = nil
	end
	return out
end

---What the store keeps of the values: a default that may hold a secret is left out.
---@param vars table
---@param defaults table<string, any> as M.defaults gives them
---@param mask fun(v: any): any
---@return table
function M.stored(vars, defaults, mask)
	local out = {}
	for name, value in pairs(vars) do
		if defaults[name] == nil or not environment.is_secret(defaults[name], mask) then
			out[name] = value
		end
	end
	return mask(out)
end

local function known_default(workflow, name, env, mask)
	local value, wrong = default_of(workflow, name, env, mask)
	return wrong and errors.raise("PRECONDITION", wrong.message, { suggestion = wrong.suggestion, side_effects = "none" }) or value
end

---The values of a resumed run: a default that was left out is expanded again.
---@param workflow table
---@param vars table as they were stored
---@param env fun(name: string): string?
---@param mask fun(v: any): any
---@param begun boolean? as of M.given
---@return table vars the same
function M.complete(workflow, vars, env, mask, begun)
	for name in pairs(workflow.vars) do
		if vars[name] == nil then
			vars[name] = large_value.known(begun, known_default, workflow, name, env, mask)
		end
	end
	return vars
end

return M
