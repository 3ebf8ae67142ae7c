-- payload: the arguments of a call as one JSON object (--raw-payload, --input-file), in place
-- of flags. Each value keeps the rules of its row; runner's own flags stay flags. A part of
-- lua/project/args.lua, loaded where a call has such an object or its command has rules between
-- arguments (lua/project/arg_rules.lua).

local attempt = require "runner.core.attempt"
local json = require "runner.json"
local lenient_json = require "runner.core.lenient_json"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"

local M = {}

-- JSON has one kind of numbers: 5.0 is a whole number.
local function as_integer(row, value)
	return (row.items or row.type) == "integer" and math.type(value) == "float" and math.tointeger(value) or value
end

local function as_item(row, value)
	if attempt.place.stands and (row.items or row.type) == "path" and type(value) == "string" then
		return require("runner.core.paths").from(attempt.place.stands, value)
	end
	return as_integer(row, value)
end

local function as_row(row, value)
	if row.type ~= "array" or type(value) ~= "table" then
		return as_item(row, value)
	end
	local items = {}
	for i, item in ipairs(value) do
		items[i] = as_item(row, item)
	end
	return #items == #value and json.is_array(value) and items or value
end

local function shown(value)
	return type(value) == "string" and value or json.encode(value) or tostring(value)
end

-- { "a", 1 } of strings: the item is what is wrong.
local function culprit(row, value, list)
	for _, item in ipairs(row.type == "array" and type(value) == "table" and value or {}) do
		local single = setmetatable({ type = row.items, items = false }, { __index = row })
		if values.accept(single, item, list) == nil then
			return item
		end
	end
	return value
end

local function put(s, row, value, add, values_of)
	local list = values_of(s, row)
	local given = as_row(row, value)
	local accepted, why = values.accept(row, given, list)
	s.given[row.name] = "payload"
	if not why then
		s.values[row.name] = accepted
	elseif why == "length" and row.type == "array" then
		add(s, "item_count", row, #given)
	else
		add(s, "invalid", row, shown(culprit(row, given, list)), why, "payload", list)
	end
end

-- Rows by the names that an object may use: as declared, and as the flag is spelt.
local function by_name(rows)
	local out = {}
	for _, row in ipairs(rows) do
		out[row.flag] = row
	end
	for _, row in ipairs(rows) do
		out[row.name] = row
	end
	return out
end

local ON_LINE = { flag = true, positional = true }

local function check_line(s, source, add)
	for _, row in ipairs(s.rows) do
		if ON_LINE[s.given[row.name]] then
			add(s, "twice", source, row, "on the command line")
		end
	end
end

-- The object; nil: there is none, and what is missing doesn't matter.
local function object_of(s, source, text, add)
	local object, why = lenient_json.decode(text)
	if why == nil and type(object) == "table" and not json.is_array(object) then
		return object
	end
	add(s, "no_object", source, text, s.opts.command.secrets)
	for _, row in ipairs(s.rows) do
		s.meant[row] = true
	end
end

---Take the arguments of a call from its JSON object, if it has one.
---@param s table state of args.parse, whose tokens have been read
---@param add fun(s: table, kind: string, ...) adds a problem
---@param values_of fun(s: table, row: table): string[]?
function M.take(s, add, values_of)
	local source = s.opts.payload and "--input-file" or (attempt.call or {}).is_call and "arguments" or "--raw-payload"
	local text = s.opts.payload or s.framework.raw_payload
	local object = text and object_of(s, source, text, add)
	if not object then
		return
	end
	check_line(s, source, add)
	local known, seen = by_name(s.rows), {}
	for _, key in ipairs(tables.sorted_keys(object)) do
		local row = known[key]
		if not row then
			add(s, "unknown_key", source, key, s.rows, s.opts.command)
		elseif seen[row] then
			add(s, "twice", source, row, "as " .. seen[row])
		elseif not ON_LINE[s.given[row.name]] then
			put(s, row, object[key], add, values_of)
		end
		seen[row or key] = key
	end
end

---Check the rules between arguments, if the command declares any.
---@param s table state of args.parse, with all values
---@param add fun(s: table, kind: string, ...) adds a problem
function M.check_rules(s, add)
	if s.opts.command.requires then
		require("runner.project.arg_rules").apply(s, add)
	end
end

return M
