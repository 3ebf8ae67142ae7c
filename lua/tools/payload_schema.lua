-- payload_schema: the arguments of a command as the JSON Schema (draft 07) of what --raw-payload
-- and --input-file take. For --schema.

local json = require "runner.json"
local patterns = require "runner.declare.patterns"
local computed = require "runner.declare.computed"

local M = {}

local TYPES = { enum = "string", path = "string", duration = json.array { "string", "number" } }

local function listed(row, config)
	local ok, list = pcall(computed.listed, row, config)
	return ok and list and list[1] and json.array(table.move(list, 1, #list, 1, {})) or nil
end

local function pattern_of(row)
	local preset = row.pattern and patterns.presets[row.pattern]
	return preset and preset[1] or row.pattern
end

-- Bounds of a duration are seconds, and a text has none.
local function value_schema(row, config)
	local kind = row.items or row.type
	if kind == "json" then
		return row.schema or {}
	end
	local numeric, counts_items = kind == "integer" or kind == "number", row.type == "array"
	return { type = TYPES[kind] or kind, enum = listed(row, config), minimum = numeric and row.min or nil,
		maximum = numeric and row.max or nil, pattern = pattern_of(row),
		minLength = not counts_items and row.min_length or nil, maxLength = not counts_items and row.max_length or nil }
end

local function schema_of(row, config)
	if row.type ~= "array" then
		return value_schema(row, config)
	end
	return { type = "array", items = value_schema(row, config), minItems = row.min_length, maxItems = row.max_length }
end

-- A schema of the author's is not ours to change: the description goes into a copy.
local function described(row, config)
	local out = {}
	for key, v in next, schema_of(row, config) do
		out[key] = v
	end
	out.description = out.description or row.description
	return out
end

---@param command table normal form
---@param config table of the project
---@return table
function M.of(command, config)
	local properties, required = {}, {}
	for _, row in ipairs(command.args) do
		properties[row.name] = described(row, config)
		required[#required + 1] = row.required and row.name or nil
	end
	return { type = "object", properties = properties, required = required[1] and json.array(required) or nil,
		additionalProperties = false }
end

return M
