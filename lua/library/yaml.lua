-- yaml: YAML 1.2 as values, read by the parser that reads workflow files and written by libyaml's
-- emitter, both of Debian's lua-yaml.

local check = require "runner.library.check"
local json = require "runner.json"
local parser = require "runner.core.yaml.parser"
local scalar = require "runner.core.yaml.scalar"

local M = {}

---The value of a document: lists are marked as JSON arrays, null is json.null. Duplicate keys, unknown
---tags, a second document and anything else that is wrong raise PRECONDITION with line and column.
---@param text string
---@param name? string of the file, for messages
---@return any
function M.decode(text, name)
	check.strings("yaml.decode", text, name or "")
	local root, problems = parser.parse(text)
	if not problems[1] then
		return parser.value(root)
	end
	local rows = {}
	for i, problem in ipairs(problems) do
		rows[i] = { line = problem.line, column = problem.column, message = problem.message }
	end
	local first = rows[1]
	return check.refuse(("%s:%d:%d: %s"):format(name or "YAML", first.line, first.column, first.message), { errors = rows })
end

local function style_of(text)
	if text:find "[\n]" and not text:find "[%c\u{7F}]" then
		return "LITERAL"
	elseif text:find "\n" and not text:find "[\0-\8\11-\31\127]" and not text:find "^%s" then
		return "LITERAL"
	end
	return scalar.is_text(text) and "PLAIN" or "DOUBLE_QUOTED"
end

local function number_text(value)
	if math.type(value) == "integer" then
		return ("%d"):format(value)
	elseif value ~= value then
		return ".nan"
	elseif value == math.huge or value == -math.huge then
		return value > 0 and ".inf" or "-.inf"
	end
	local text = ("%.15g"):format(value)
	text = tonumber(text) == value and text or ("%.17g"):format(value)
	return text:find "[.e]" and text or text .. ".0"
end

local Writer = {}
Writer.__index = Writer

function Writer:scalar(text, style)
	self.emit { type = "SCALAR", value = text, style = style, plain_implicit = true, quoted_implicit = true }
end

function Writer:text(text)
	if not utf8.len(text) or text:find("\0", 1, true) then
		check.refuse "YAML holds UTF-8 without NUL bytes only: encode other bytes, with codec.base64_encode"
	end
	self:scalar(text, style_of(text))
end

function Writer:list(list)
	for key in next, list do
		if math.type(key) ~= "integer" or key < 1 or key > #list then
			check.misuse("yaml.encode", ("a table is a list or a map, but one has items and the key '%s'"):format(tostring(key)))
		end
	end
	self.emit { type = "SEQUENCE_START", style = #list > 0 and "BLOCK" or "FLOW", implicit = true }
	for i = 1, #list do
		self:value(list[i])
	end
	self.emit { type = "SEQUENCE_END" }
end

function Writer:map(map)
	local keys = {}
	for key in next, map do
		if type(key) ~= "string" and math.type(key) ~= "integer" then
			check.misuse("yaml.encode", "a key must be a string or an integer, not a " .. type(key))
		end
		keys[#keys + 1] = key
	end
	table.sort(keys, function(a, b)
		if type(a) ~= type(b) then
			return type(a) == "number"
		end
		return a < b
	end)
	self.emit { type = "MAPPING_START", style = #keys > 0 and "BLOCK" or "FLOW", implicit = true }
	for _, key in ipairs(keys) do
		self:text(tostring(key))
		self:value(map[key])
	end
	self.emit { type = "MAPPING_END" }
end

function Writer:table(value)
	if self.inside[value] then
		check.misuse("yaml.encode", "a table contains itself")
	end
	self.inside[value] = true
	if json.is_array(value) then
		self:list(value)
	else
		self:map(value)
	end
	self.inside[value] = nil
end

function Writer:value(value)
	local kind = type(value)
	if value == nil or value == json.null then
		self:scalar("null", "PLAIN")
	elseif kind == "table" then
		self:table(value)
	elseif kind == "string" then
		self:text(value)
	elseif kind == "number" or kind == "boolean" then
		self:scalar(kind == "number" and number_text(value) or tostring(value), "PLAIN")
	else
		check.misuse("yaml.encode", "it can't write a " .. kind)
	end
end

---A value as a YAML document in block style, the keys of maps sorted. What reads it gets the same value.
---@param value any
---@return string with a newline at its end
function M.encode(value)
	local emitter = parser.emitter()
	local writer = setmetatable({ emit = emitter.emit, inside = {} }, Writer)
	writer.emit { type = "STREAM_START", encoding = "UTF8" }
	writer.emit { type = "DOCUMENT_START", implicit = true }
	writer:value(value)
	writer.emit { type = "DOCUMENT_END", implicit = true }
	local _, text = writer.emit { type = "STREAM_END" }
	return (text:gsub("\n%.%.%.\n$", "\n"))
end

return M
