-- var_values: the values of a run's variables: the file's defaults, which may name variables of
-- the environment, under what the caller gives.

local errors = require "runner.core.errors"
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
local function expanded(value, scope)
	if type(value) == "string" then
		return value:find("${", 1, true) and variables.expand(value, scope) or value
	elseif type(value) ~= "table" then
		return value
	end
	local copy = {}
	for key, item in pairs(value) do
		copy[key] = expanded(item, scope)
	end
	return setmetatable(copy, getmetatable(value))
end

-- The value of a default, or what is wrong with it.
local function default_of(name, value, env)
	local ok, result = pcall(expanded, value, { env = env })
	if ok then
		return result
	end
	local e = errors.normalise(result)
	return nil, problem("MISSING_VARIABLE", name, ("The default of the variable '%s': %s"):format(name, e.message), e.suggestion)
end

---The values of the variables: the file's defaults under --var.
---@param workflow table
---@param given string[] "name=value"
---@return table vars, table[] problems
function M.of(workflow, given)
	local vars, problems = {}, {}
	local missing = {}
	for name, default in pairs(workflow.vars) do
		vars[name], missing[name] = default_of(name, default, os.getenv)
	end
	for _, text in ipairs(given or {}) do
		local name, value = split(text)
		missing[name or ""] = nil
		problems[#problems + 1] = not name and problem("INVALID_ARGUMENT", text, ("'%s' is not name=value"):format(text),
			"Write --var name=value") or unknown(workflow, name, text)
		if name then
			vars[name] = value
		end
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
		local default = defaults[name]
		out[name] = (default == nil or not environment.is_secret(default, mask)) and value or nil
	end
	return mask(out)
end

---The values of a resumed run: a default that was left out is expanded again.
---@param workflow table
---@param vars table as they were stored
---@param env fun(name: string): string?
---@return table vars the same
function M.complete(workflow, vars, env)
	for name, default in pairs(workflow.vars) do
		if vars[name] == nil then
			local value, wrong = default_of(name, default, env)
			vars[name] = wrong and errors.raise("PRECONDITION", wrong.message, { suggestion = wrong.suggestion, side_effects = "none" }) or value
		end
	end
	return vars
end

return M
