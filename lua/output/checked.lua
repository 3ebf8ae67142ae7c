-- checked: a result against the output_schema of its command. A result that breaks it is
-- delivered with a warning: the work is done, and losing what it found would help no caller.
-- Loaded when a command declares a schema.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
local json = require "runner.json"
local json_schema = require "runner.core.json_schema"
local tables = require "runner.core.tables"

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

local function copied(value)
	local of = getmetatable(value) -- anything, where its author has locked it
	return setmetatable(tables.add({}, value), type(of) == "table" and of or nil)
end

-- An empty Lua table is a list where the schema says so (REQ-F-074).
local function list_as_meant(value, schema)
	if next(value) == nil and takes(schema, "array") and not takes(schema, "object") and not getmetatable(value) then
		return json.array {}
	end
	if schema.ordered == false and json.is_array(value) then
		value = copied(value)
		sort(value)
	end
	return value
end

local MEANT = { text = text_as_meant, list = list_as_meant }

-- Fields declared `high_entropy` are marks (REQ-F-058).
local VEILED = {
	text = function(text, schema) return schema.high_entropy and require("runner.core.mask").token_mark(text) or text end,
	list = function(value) return value end,
}

local rewritten

local function put(out, value, key, schema, of, depth)
	local old = value[key]
	local new = rewritten(old, schema, of, depth)
	if new ~= old then
		out = out ~= value and out or copied(value)
		out[key] = new
	end
	return out
end

-- What `of` makes of what the schema describes: a copy where something differs, since the table is the author's.
function rewritten(value, schema, of, depth)
	if type(schema) ~= "table" or depth > DEPTH_MAX then
		return value
	elseif type(value) ~= "table" then
		return type(value) == "string" and of.text(value, schema) or value
	end
	local out = value
	for name, below in next, type(schema.properties) == "table" and schema.properties or {} do
		out = put(out, value, name, below, of, depth + 1)
	end
	local below = type(schema.items) == "table" and not json.is_array(schema.items) and schema.items
	for i = 1, below and #value or 0 do
		out = put(out, value, i, below, of, depth + 1)
	end
	return of.list(out, schema)
end

-- Whether anything may differ.
local function says(schema, depth)
	if type(schema) ~= "table" or depth > DEPTH_MAX then
		return false
	elseif schema.format == "binary" or schema.format == "path" or schema.high_entropy or schema.ordered == false
		or takes(schema, "array") then
		return true
	end
	for _, below in next, type(schema.properties) == "table" and schema.properties or {} do
		if says(below, depth + 1) then
			return true
		end
	end
	return says(schema.items, depth + 1)
end

---What becomes of a row before it is written: bytes are base64 while they are bytes still.
---@param schema any output_schema of the whole result
---@param goes_out? boolean nothing else veils it
---@return (fun(row: table): table)? nil: nothing
function M.of_rows(schema, goes_out)
	for _, name in ipairs { "properties", "items", "items" } do
		schema = type(schema) == "table" and schema[name]
	end
	return says(schema, 0) and function(row)
		row = rewritten(row, schema, MEANT, 0)
		return goes_out and not attempt.framework.unmask and rewritten(row, schema, VEILED, 0) or row
	end or nil
end

-- --- the check --------------------------------------------------------------------------------

---Check a result, and warn of what breaks the schema.
---@param data any what `run` returned
---@param schema table of the declaration
---@return any data as the envelope holds it
function M.result(data, schema)
	data = rewritten(attempt.wrap(data), schema, MEANT, 0)
	local ok, problems = pcall(json_schema.problems, schema, data)
	if ok and problems[1] then
		local texts = json_schema.texts(problems, SHOWN)
		attempt.warn("OUTPUT_SCHEMA_MISMATCH", "The result breaks the command's output_schema: " .. texts[1],
			{ problems = texts, count = #problems })
	end
	return attempt.framework.unmask and data or rewritten(data, schema, VEILED, 0)
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
