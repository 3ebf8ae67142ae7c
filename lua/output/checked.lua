-- checked: a result against the output_schema of its command. A result that breaks it is
-- delivered with a warning: the work is done, and losing what it found would help nobody.
-- Loaded when a command declares a schema.

local attempt = require "runner.core.attempt"
local json = require "runner.json"
local json_schema = require "runner.core.json_schema"

local M = {}

local SHOWN, DEPTH_MAX = 5, 100

local function takes(schema, name)
	for _, one in ipairs(type(schema.type) == "table" and schema.type or { schema.type }) do
		if one == name then
			return true
		end
	end
	return false
end

-- An empty Lua table is a list where the schema says so (REQ-F-074). Only tables that the
-- schema describes are looked into.
local function as_meant(value, schema, depth)
	if type(value) ~= "table" or type(schema) ~= "table" or depth > DEPTH_MAX then
		return
	elseif next(value) == nil and takes(schema, "array") and not takes(schema, "object") and not getmetatable(value) then
		json.array(value)
	end
	for name, below in next, type(schema.properties) == "table" and schema.properties or {} do
		as_meant(value[name], below, depth + 1)
	end
	if type(schema.items) == "table" and not json.is_array(schema.items) then
		for _, item in ipairs(value) do
			as_meant(item, schema.items, depth + 1)
		end
	end
end

---Check a result, and warn of what breaks the schema.
---@param data any what `run` returned; empty tables that are meant as lists become lists
---@param schema table of the declaration
---@return any data as the envelope holds it
function M.result(data, schema)
	data = attempt.wrap(data)
	as_meant(data, schema, 0)
	local ok, problems = pcall(json_schema.problems, schema, data)
	if ok and problems[1] then
		local texts = json_schema.texts(problems, SHOWN)
		attempt.warn("OUTPUT_SCHEMA_MISMATCH", "The result breaks the command's output_schema: " .. texts[1],
			{ problems = texts, count = #problems })
	end
	return data
end

return M
