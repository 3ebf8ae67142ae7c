-- values: one value of an argument: checking it by its row. Loaded in every worker; lua/project/argv_parser.lua reads
-- texts. It returns reasons; their messages are in lua/declare/arg_errors.lua.

local rules = require "runner.core.rules"

local M = {}

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
	if as_text(v) and v ~= "" and not require("runner.core.command_line").has_nul(v) then
		return v
	end
end

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

---One value against the rules of its row.
---@param row table normalised
---@param value any nil: its type doesn't fit
---@param values? any[] the ones that the row allows
---@return any? value, string? reason
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
		why = require("runner.declare.rare_arguments").refuses(row, value)
	end
	if why then
		return nil, why
	end
	return value
end

---The values that a row allows. A function is called once in a parse.
---@param s {lists: table, opts: table} its state (lua/project/args.lua)
---@param row table
---@return string[]?
function M.of(s, row)
	local values = row.values
	if type(values) == "function" then
		s.lists[row] = s.lists[row] or require("runner.declare.computed").listed(row, s.opts.config)
		return s.lists[row]
	end
	return values
end

---Can this token be an option? "-5", "-0.5" and "-1e3" are values, and so is "-" alone.
---@param token string
---@return any
function M.is_option(token)
	return token:find("^%-.") and not token:find("^%-%.?%d")
end

---Does a Lua value (a default) pass its own row? Returns the value as
---`run` gets it: durations in seconds.
---@param row table normalised
---@param value any
---@param values? string[] the ones that the row allows
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

M.check = check

return M
