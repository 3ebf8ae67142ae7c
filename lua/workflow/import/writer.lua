-- writer: plain tables → YAML as a person writes it: keys in a fixed order, comments above steps, texts without quotes where they
-- need none. Pure.

local json = require "runner.json"
local scalar = require "runner.core.yaml.scalar"

local M = {}

---@class runner.workflow.Writer
---@field rank fun(key: string): integer where a key stands among others
---@field comments table<table, string[]> map → lines above it
---@field [integer] string lines
local Writer = {}
Writer.__index = Writer

-- --- scalars ---------------------------------------------------------------------------------

local NOT_PLAIN = { "[%c\127]", "^%s", "%s$", "^[?:,%[%]{}#&*!|>'\"%%@`~=<]", "^%-[%s%-]", "^%-$", ":%s", ":$", "%s#", "^%.%.%." }

-- What ends a line in YAML, and JSON leaves as it is; and the byte order mark.
local BREAKS = { ["\u{85}"] = "\\N", ["\u{2028}"] = "\\L", ["\u{2029}"] = "\\P", ["\u{FEFF}"] = "\\uFEFF", ["\127"] = "\\x7F" }

local function escaped(text)
	return (text:gsub("[\127\194\226\239][\128-\191]*", BREAKS))
end

local function one_line(value)
	if value == json.null then
		return ""
	elseif type(value) ~= "string" then
		return json.encode(value)
	end
	local is_plain = scalar.is_text(value) and escaped(value) == value
	for _, pattern in ipairs(NOT_PLAIN) do
		is_plain = is_plain and not value:find(pattern)
	end
	return is_plain and value or escaped(json.encode(value))
end

-- --- lines -------------------------------------------------------------------------------------

function Writer:add(indent, line)
	self[#self + 1] = (" "):rep(indent) .. line
end

function Writer:append(text)
	self[#self] = self[#self] .. text
end

-- A text of several lines as such.
function Writer:block(text, indent)
	local body, last = text:match "^(.-)(\n*)$"
	self:append(" |" .. (#last == 0 and "-" or #last > 1 and "+" or ""))
	for line in (body .. "\n" .. last:sub(2)):gmatch "([^\n]*)\n" do
		self:add(line ~= "" and indent or 0, line)
	end
end

function Writer:map(map, indent, is_item)
	local keys = {}
	for key in pairs(map) do
		keys[#keys + 1] = key
	end
	table.sort(keys, function(a, b)
		local first, second = self.rank(a), self.rank(b)
		return first < second or first == second and a < b
	end)
	for i, key in ipairs(keys) do
		if not is_item or i > 1 then
			self:add(indent, "")
		end
		self:append(one_line(key) .. ":")
		self:value(map[key], indent + 2)
	end
end

function Writer:list(list, indent)
	for _, item in ipairs(list) do
		local is_map = type(item) == "table" and item ~= json.null and next(item) ~= nil and not json.is_array(item)
		for line in table.concat(self.comments[item] or {}, "\n"):gmatch "[^\n]+" do
			self:add(indent, "# " .. line)
		end
		self:add(indent, "- " .. (is_map and "" or one_line(item)))
		if is_map then
			self:map(item, indent + 2, true)
		end
	end
end

-- After a key.
function Writer:value(value, indent)
	if type(value) == "table" and value ~= json.null and next(value) ~= nil then
		self[value[1] ~= nil and "list" or "map"](self, value, indent)
	elseif type(value) == "string" and value:find "\n" and value:find "^\n*[^%s]" and not value:find "[\0-\8\11-\31]"
		and escaped(value) == value then
		self:block(value, indent)
	else
		local text = one_line(value)
		self:append((text ~= "" and " " or "") .. text)
	end
end

---A map as a YAML document.
---@param map table
---@param rank fun(key: string): integer
---@param comments table<table, string[]>
---@return string
function M.document(map, rank, comments)
	local writer = setmetatable({ rank = rank, comments = comments }, Writer)
	for line in table.concat(comments[map] or {}, "\n"):gmatch "[^\n]+" do
		writer:add(0, "# " .. line)
	end
	writer:map(map, 0)
	return table.concat(writer, "\n") .. "\n"
end

return M
