-- codec: Lua values to columns of the run database, and back. JSON with one
-- addition: bytes that JSON can't hold (NUL, ANSI, invalid UTF-8) survive, since a
-- variable must mean the same after `resume`. What a step returns may look like our own
-- forms: then it is kept inside of one.

local encoding = require "runner.core.encoding"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local BYTES = "runner.bytes" -- {"runner.bytes": "1b5b"}
local AS_IT_IS = "runner.as_it_is" -- {"runner.as_it_is": {"runner.bytes": "a step's own"}}

-- Would it be read as one of our forms?
local function is_form(value)
	local name = next(value)
	return (name == BYTES or name == AS_IT_IS) and next(value, name) == nil
end

local function wrap(value)
	if type(value) == "string" then
		return host.clean(value) == value and value or { [BYTES] = encoding.hex(value) }
	elseif type(value) ~= "table" then
		return value
	end
	local copy = {}
	for key, item in next, value do
		copy[key] = wrap(item)
	end
	setmetatable(copy, getmetatable(value))
	return is_form(value) and { [AS_IT_IS] = copy } or copy
end

local unwrap

local function unwrap_members(value)
	for key, item in next, value do
		value[key] = unwrap(item)
	end
	return value
end

function unwrap(value)
	if type(value) ~= "table" then
		return value
	elseif is_form(value) and type(value[BYTES]) == "string" then
		return encoding.from_hex(value[BYTES])
	elseif is_form(value) and type(value[AS_IT_IS]) == "table" then
		return unwrap_members(value[AS_IT_IS])
	end
	return unwrap_members(value)
end

-- --- kinds of columns ---------------------------------------------------------------

---A value as the text that the database has of it.
---@class runner.workflow.Encoded
---@field text string
local Encoded = {}
Encoded.__index = Encoded
Encoded.__name = "runner.workflow.Encoded"

local function encode_json(value, name)
	if getmetatable(value) == Encoded then
		return value.text
	end
	local text, message, report = json.encode(value, {})
	if text and report and ((report.repaired or 0) > 0 or text:find('"runner.', 1, true)) then
		text, message = json.encode(wrap(value))
	end
	if not text then
		error(("can't store %s: %s"):format(name, message), 0)
	end
	return text
end

local function decode_json(text)
	local value, message = json.decode(text)
	if message then
		return text
	end
	return unwrap(value)
end

local function same(value)
	return value
end

local function to_boolean(value)
	return value ~= 0
end

-- Clocks and policies may count in fractions of a ms.
local function whole(value)
	return math.type(value) == "float" and math.floor(value + 0.5) or value
end

-- Columns whose values need converting, and all others once they are asked for.
local WRITE = setmetatable({ variables = encode_json, env_names = encode_json, data = encode_json, held = encode_json,
	surroundings = encode_json, askers = encode_json, actors = encode_json }, {
	__index = function(known, name)
		known[name] = name:find "_ms$" and whole or same
		return known[name]
	end,
})
local READ = { variables = decode_json, env_names = decode_json, data = decode_json, held = decode_json,
	surroundings = decode_json, askers = decode_json, actors = decode_json, retryable = to_boolean, errexit = to_boolean }

---What goes into the column `name`; nil and json.null are NULL, but for `data`,
---whose null is a value.
---@param name string
---@param value any
---@return any
function M.encode(name, value)
	if value == nil or value == json.null and name ~= "data" then
		return nil
	end
	return WRITE[name](value, name)
end

---A value that stays encoded until it is used: a long list takes ten times the memory of
---its text.
---@param text string as M.encode gives it
---@return runner.workflow.Encoded
function M.encoded(text)
	return setmetatable({ text = text }, Encoded)
end

---@param value any
---@return boolean
function M.is_encoded(value)
	return getmetatable(value) == Encoded
end

---A row as it was written; the same table.
---@param row table
---@return table
function M.decode(row)
	for name, read in next, READ do
		if row[name] ~= nil then
			row[name] = read(row[name])
		end
	end
	return row
end

return M
