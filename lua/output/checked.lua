-- checked: a result against the output_schema of its command. A result that breaks it is
-- delivered with a warning: the work is done, and losing what it found would help nobody.
-- Loaded when a command declares a schema.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
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

-- --- what the schema says of a value that Lua can't ------------------------------------------

-- Bytes as base64, with their number (REQ-F-017).
local function binary(bytes, schema)
	return { type = "binary", encoding = "base64", value = require("runner.core.encoding").base64(bytes), size_bytes = #bytes,
		content_type = schema.contentMediaType }
end

local function absolute(path)
	local here = path ~= "" and path:sub(1, 1) ~= "/" and host.getcwd()
	if not here then
		return path
	end
	local rest = path:gsub("^%./+", "")
	return rest == "." and here or (here == "/" and "" or here) .. "/" .. rest
end

local function text_as_meant(text, schema)
	if schema.format == "binary" then
		return binary(text, schema)
	end
	return schema.format == "path" and absolute(text) or text
end

local function sort_key(item)
	local id = type(item) == "table" and attempt.command.primary_id_field
	item = id and item[id] or item
	return type(item) == "table" and json.encode(item) or item
end

-- Numbers before texts; the same order whatever the order of the input (REQ-F-020).
local function sort(list)
	local keys = {}
	for i, item in ipairs(list) do
		keys[i] = { item, sort_key(item), i }
	end
	table.sort(keys, function(a, b)
		local x, y = a[2], b[2]
		if type(x) ~= type(y) then
			return type(x) < type(y)
		elseif x == y or type(x) == "boolean" then
			return a[3] < b[3]
		end
		return x < y
	end)
	for i, key in ipairs(keys) do
		list[i] = key[1]
	end
end

local as_meant

-- Only what differs is written: the table is the author's.
local function put(t, key, schema, depth)
	local old = t[key]
	local new = as_meant(old, schema, depth)
	if new ~= old then
		t[key] = new
	end
end

-- An empty Lua table is a list where the schema says so (REQ-F-074). Only tables that the
-- schema describes are looked into.
local function table_as_meant(value, schema, depth)
	if next(value) == nil and takes(schema, "array") and not takes(schema, "object") and not getmetatable(value) then
		json.array(value)
	end
	for name, below in next, type(schema.properties) == "table" and schema.properties or {} do
		put(value, name, below, depth + 1)
	end
	if type(schema.items) == "table" and not json.is_array(schema.items) then
		for i = 1, #value do
			put(value, i, schema.items, depth + 1)
		end
	end
	if schema.ordered == false and json.is_array(value) then
		sort(value)
	end
end

function as_meant(value, schema, depth)
	if type(schema) ~= "table" or depth > DEPTH_MAX then
		return value
	elseif type(value) == "string" then
		return text_as_meant(value, schema)
	elseif type(value) == "table" then
		table_as_meant(value, schema, depth)
	end
	return value
end

-- --- secrets ----------------------------------------------------------------------------------

-- A copy in which fields declared `high_entropy` are marks (REQ-F-058), where there is one.
local function veiled(value, schema, depth)
	if type(schema) ~= "table" or depth > DEPTH_MAX then
		return value
	elseif type(value) == "string" then
		return schema.high_entropy and require("runner.core.mask").token_mark(value) or value
	elseif type(value) ~= "table" then
		return value
	end
	local out
	local function put_below(key, below)
		local new = veiled(value[key], below, depth + 1)
		if new ~= value[key] then
			out = out or setmetatable(table.move(value, 1, #value, 1, {}), getmetatable(value))
			out[key] = new
		end
	end
	for name, below in next, type(schema.properties) == "table" and schema.properties or {} do
		put_below(name, below)
	end
	for i = 1, type(schema.items) == "table" and #value or 0 do
		put_below(i, schema.items)
	end
	for key, v in next, out and value or {} do
		if out[key] == nil then
			out[key] = v
		end
	end
	return out or value
end

-- --- the check --------------------------------------------------------------------------------

---Check a result, and warn of what breaks the schema.
---@param data any what `run` returned; empty tables that are meant as lists become lists
---@param schema table of the declaration
---@return any data as the envelope holds it
function M.result(data, schema)
	data = attempt.wrap(data)
	data = as_meant(data, schema, 0)
	local ok, problems = pcall(json_schema.problems, schema, data)
	if ok and problems[1] then
		local texts = json_schema.texts(problems, SHOWN)
		attempt.warn("OUTPUT_SCHEMA_MISMATCH", "The result breaks the command's output_schema: " .. texts[1],
			{ problems = texts, count = #problems })
	end
	return attempt.framework.unmask and data or veiled(data, schema, 0)
end

---The same of a result that has the declared form still.
---@param data any
---@param command table normal form, with output_schema
---@return any
function M.declared(data, command)
	return display.get "output_schema" == nil and M.result(data, command.output_schema) or data
end

---What `run` returns is checked, then made into what `shape` returns; no schema describes that.
---@param command table normal form
---@param shape fun(data: any): any
function M.then_shape(command, shape)
	local schema = display.get "output_schema" == nil and command.output_schema or nil
	display.set { output_schema = schema or false }
	display.then_result(function(data)
		return shape(schema and M.result(data, schema) or data)
	end)
end

return M
