-- payload_schema: the arguments of a command as the JSON Schema of what --raw-payload and --input-file take, as every
-- reader takes it (lua/core/portable_schema.lua). For --schema, and for tools of MCP.

local json = require "runner.json"
local rare_arguments = require "runner.declare.rare_arguments"
local computed = require "runner.declare.computed"
local regexes = require "runner.core.regexes"
local portable_schema = require "runner.core.portable_schema"

local M = {}

local TYPES = { enum = "string", path = "string", duration = json.array { "string", "number" } }

local function listed(row, config)
	local ok, list = pcall(computed.listed, row, config)
	return ok and list and list[1] and json.array(table.move(list, 1, #list, 1, {})) or nil
end

-- Its pattern; or the two that say the same of a text that is not empty; or why there is none.
local function add_pattern(schema, pattern)
	local preset = rare_arguments.presets[pattern]
	if preset and preset.portable then
		schema.pattern, schema.allOf = preset.portable[1], json.array { { type = "string", pattern = preset.portable[2] } }
		schema.minLength = math.max(schema.minLength or 1, 1)
		return
	end
	local text, why = regexes.whole(preset and preset[1] or pattern)
	schema.pattern = text
	schema["$comment"] = why and portable_schema.left_out(why) or nil
end

local DURATION = [[^(?:none|[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d)?)$]]

-- Bounds of a duration are those of a number of seconds; a text has a form.
local function value_schema(row, config, place)
	local kind = row.items or row.type
	if kind == "json" then
		return (portable_schema.of(row.schema or {}, place))
	end
	local numeric, counts_items = kind == "integer" or kind == "number" or kind == "duration", row.type == "array"
	local out = { type = TYPES[kind] or kind, enum = listed(row, config), minimum = numeric and row.min or nil,
		maximum = numeric and row.max or nil,
		minLength = not counts_items and row.min_length or nil, maxLength = not counts_items and row.max_length or nil }
	if row.pattern then
		add_pattern(out, row.pattern)
	end
	out.pattern = kind == "duration" and DURATION or out.pattern
	return out
end

-- "#/properties/a~1b": a JSON Pointer has ~ and / escaped.
local function pointer(name)
	return "#/properties/" .. name:gsub("~", "~0"):gsub("/", "~1")
end

local function schema_of(row, config)
	if row.type ~= "array" then
		return value_schema(row, config, pointer(row.name))
	end
	return { type = "array", items = value_schema(row, config, pointer(row.name) .. "/items"),
		minItems = row.min_length, maxItems = row.max_length }
end

local function described(row, config)
	local out = schema_of(row, config)
	out.description = out.description or row.description
	if out.default == nil then
		out.default = computed.default(row)
	end
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
