-- output_schema: the JSON Schema (draft 07) of a declaration: a copy of its own that encodes as
-- it was meant, and the first mistake in one. Loaded when a command declares a schema.

local json = require "runner.json"
local regexes = require "runner.core.regexes"
local tables = require "runner.core.tables"

local M = {}

local DEPTH_MAX = 50

local TYPES = { array = true, boolean = true, integer = true, null = true, number = true, object = true, string = true }

-- Keywords whose value is a list, so that an empty table is one.
local LISTS = { allOf = true, anyOf = true, enum = true, examples = true, oneOf = true, required = true }

local function is_text(v) return type(v) == "string" and "" or "a text" end
local function is_count(v) return math.type(v) == "integer" and v >= 0 and "" or "a whole number from 0" end
local function is_number(v) return math.type(v) and "" or "a number" end
local function is_flag(v) return type(v) == "boolean" and "" or "true or false" end
local function is_anything() return "" end

local function is_list(v)
	return type(v) == "table" and json.is_array(v) and "" or "a list"
end

local function is_texts(v)
	for _, item in ipairs(type(v) == "table" and v or {}) do
		if type(item) ~= "string" then
			return "a list of texts"
		end
	end
	return is_list(v) == "" and "" or "a list of texts"
end

local function is_type(v)
	for _, name in ipairs(type(v) == "table" and v or { v }) do
		if not TYPES[name] then
			return "one of " .. table.concat(tables.sorted_keys(TYPES), ", ")
		end
	end
	return ""
end

local function is_pattern(v)
	return type(v) == "string" and not regexes.fault(v) and "" or "a regular expression"
end

-- Keyword → what it must be ("": it is). Keywords that hold schemas are below.
local PLAIN = {
	type = is_type, enum = is_list, const = is_anything, required = is_texts, pattern = is_pattern, format = is_text,
	minProperties = is_count, maxProperties = is_count, minItems = is_count, maxItems = is_count, minLength = is_count,
	maxLength = is_count, uniqueItems = is_flag, minimum = is_number, maximum = is_number, exclusiveMinimum = is_number,
	exclusiveMaximum = is_number, multipleOf = is_number, title = is_text, description = is_text, default = is_anything,
	examples = is_list, readOnly = is_flag, contentEncoding = is_text, contentMediaType = is_text,
	high_entropy = is_flag, ordered = is_flag, -- runner's own: lua/output/checked.lua
	["$ref"] = is_text, ["$id"] = is_text, ["$schema"] = is_text, ["$comment"] = is_text,
}

local ONE = { additionalProperties = true, contains = true, ["else"] = true, ["if"] = true, items = true, ["not"] = true,
	propertyNames = true, ["then"] = true }
local BY_NAME = { definitions = true, patternProperties = true, properties = true }
local SEVERAL = { allOf = true, anyOf = true, oneOf = true }

local fault_at

local function fault_in_each(schemas, path)
	for _, name in ipairs(type(schemas) == "table" and tables.sorted_keys(schemas) or {}) do
		local problem = fault_at(schemas[name], path .. "/" .. tostring(name))
		if problem then
			return problem
		end
	end
	return type(schemas) ~= "table" and path .. " must hold schemas" or nil
end

local function keyword_fault(keyword, value, path)
	if ONE[keyword] then
		return fault_at(value, path)
	elseif BY_NAME[keyword] or SEVERAL[keyword] then
		return fault_in_each(value, path)
	elseif not PLAIN[keyword] then
		return path .. " is no keyword of draft 07"
	end
	local wanted = PLAIN[keyword](value)
	return wanted ~= "" and ("%s must be %s"):format(path, wanted) or nil
end

function fault_at(schema, path)
	if type(schema) == "boolean" then
		return nil
	elseif type(schema) ~= "table" or json.is_array(schema) then
		return (path == "" and "it" or path) .. " must be a schema: a table or a boolean"
	end
	for _, keyword in ipairs(tables.sorted_keys(schema)) do
		local problem = keyword_fault(keyword, schema[keyword], path == "" and keyword or path .. "/" .. keyword)
		if problem then
			return problem
		end
	end
end

---The first mistake in a schema, as text; nil: there is none.
---@param schema table of M.copy
---@return string?
function M.fault(schema)
	return fault_at(schema, "")
end

local function copy(v, key, depth)
	if type(v) ~= "table" then
		return v
	elseif depth > DEPTH_MAX then
		error("nested too deeply", 0)
	end
	local out = {}
	for name, item in next, v do
		out[name] = copy(item, name, depth + 1)
	end
	return (LISTS[key] or #out > 0) and json.array(out) or out
end

---A plain copy, in which empty lists are lists. Nil when it is nested too deeply or has keys
---that JSON can't hold.
---@param schema table
---@return table?
function M.copy(schema)
	local ok, out = pcall(copy, schema, nil, 0)
	return ok and json.encode(out) and out or nil
end

return M
