-- values: one value of an argument: parsing its text, and checking it by its row. Loaded
-- in every worker. It returns reasons; their messages are in lua/declare/arg_errors.lua.

local rules = require "runner.core.rules"

local M = {}

local BOOLEANS = {
	["true"] = true, yes = true, on = true, ["1"] = true,
	["false"] = false, no = false, off = false, ["0"] = false,
}

local function finite(v)
	return math.type(v) and v == v and v ~= math.huge and v ~= -math.huge and v or nil
end

local function seconds(v)
	local ms = rules.duration(v)
	return ms and (ms % 1000 == 0 and ms // 1000 or ms / 1000)
end

local function as_text(v)
	return type(v) == "string" and v or nil
end

local function path(v)
	if as_text(v) and v ~= "" and not require("runner.core.program_text").has_nul(v) then
		return v
	end
end

---@type table<string, fun(text: string): any> how a type reads its text; nil: it can't
local READ = {
	string = as_text,
	enum = as_text,
	path = path,
	duration = seconds,
	boolean = function(text) return BOOLEANS[text] end,
	integer = function(text)
		local n = text:find("^[+-]?%d+$") and tonumber(text)
		return math.type(n) == "integer" and n or nil
	end,
	number = function(text)
		return text:find("^[%d.eE+-]+$") and finite(tonumber(text)) or nil
	end,
	json = function(text) return (require("runner.core.lenient_json").decode(text)) end,
}

---How a type takes a Lua value (a default, a bound); its keys are the types.
---@type table<string, fun(v: any): any>
local TAKE = {
	string = as_text,
	enum = as_text,
	path = path,
	duration = seconds,
	boolean = function(v) if type(v) == "boolean" then return v end end,
	integer = function(v) return math.type(v) == "integer" and v or nil end,
	number = finite,
	json = rules.anything,
}
M.take = TAKE

---"length" when a text of n characters, or an array of n items, breaks its row.
---@param row table
---@param n integer
---@return "length"?
function M.length(row, n)
	if n < (row.min_length or 0) or n > (row.max_length or math.huge) then
		return "length"
	end
end

local function contains(values, value)
	for _, v in ipairs(values) do
		if v == value then
			return true
		end
	end
end

-- One value against the rules of its row: value | nil, reason.
local function check(row, value, values)
	local why
	if value == nil then
		why = "type"
	elseif values then
		why = not contains(values, value) and "values" or nil
	elseif row.min and value < row.min or row.max and value > row.max then
		why = "range"
	elseif type(value) == "string" then
		local n = utf8.len(value)
		why = not n and "utf8" or row.type ~= "array" and M.length(row, n)
	end
	if row.rare and not why then
		why = require("runner.declare.value_rules").refuses(row, value)
	end
	if why then
		return nil, why
	end
	return value
end

---Read a text by its row: the value as `run` gets it (durations in seconds).
---@param row table normalised
---@param text string
---@param values? string[] as M.listed(row)
---@return any? value, string? reason
function M.read(row, text, values)
	if not utf8.len(text) then
		return nil, "utf8"
	end
	return check(row, READ[row.items or row.type](text), values)
end

---Call a function of the declaration with the project's config. If it raises, the file
---is to blame, not the call, unless it raised an error with a code.
---@param row table
---@param key "default"|"values"
---@param config? table
---@return any
function M.compute(row, key, config)
	local ok, given = pcall(row[key], config or {})
	if ok then
		return given
	end
	local errors = require "runner.core.errors"
	local e = errors.normalise(given)
	if e.code == "INTERNAL_ERROR" then
		e = errors.new("COMMAND_INVALID", ("%s of argument '%s' raised an error: %s"):format(key, row.name, e.message))
	end
	e.phase = "validation"
	error(e, 0)
end

---The values of an enum row; a function is called.
---@param row table
---@param config? table
---@return string[]?
function M.listed(row, config)
	local values = row.values
	if type(values) == "function" then
		values = rules.list(M.compute(row, "values", config), 0, math.huge, as_text)
		if not values then
			require("runner.core.errors").raise("COMMAND_INVALID",
				("values of argument '%s' must return a list of strings"):format(row.name), { phase = "validation" })
		end
	end
	return values
end

---Does a Lua value (a default) pass its own row? Returns the value as
---`run` gets it: durations in seconds.
---@param row table normalised
---@param value any
---@param values? string[] as M.listed(row)
---@return any? value, string? reason
function M.accept(row, value, values)
	if row.type ~= "array" then
		return check(row, TAKE[row.type](value), values)
	end
	local why
	local items = rules.list(value, 0, math.huge, function(v)
		local item, reason = check(row, TAKE[row.items](v), values)
		why = why or reason
		return item
	end)
	why = why or not items and "type" or M.length(row, #items)
	return not why and items or nil, why
end

return M
