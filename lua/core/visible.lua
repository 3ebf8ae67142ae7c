-- visible: what a person reads who is asked to confirm something, and what clients of MCP are sent: characters that no reader
-- sees, or that change the order of those around them, as text ("[U+202E]", docs/reference/mcp.md#hidden-characters); and the
-- arguments of a call, each on a line of its own and cut by itself, the largest last, so that none hides another.

local json = require "runner.json"

local M = {}

-- --- hidden characters -----------------------------------------------------------------------

-- Controls of C1, soft hyphens, joiners, marks and overrides of direction, separators of lines, fillers, variations, tags.
local HIDDEN = { { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x34F, 0x34F }, { 0x61C, 0x61C }, { 0x115F, 0x1160 }, { 0x17B4, 0x17B5 },
	{ 0x180B, 0x180F }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0x3164, 0x3164 }, { 0xFE00, 0xFE0F },
	{ 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 }, { 0xFFF0, 0xFFFB }, { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF } }
-- How their bytes begin, and how JSON spells those that it escapes.
local BEGINNINGS = { "\x7f", "\xc2[\x80-\x9f\xad]", "\xcd\x8f", "\xd8\x9c", "\xe1\x85[\x9f\xa0]", "\xe1\x9e[\xb4\xb5]",
	"\xe1\xa0[\x8b-\x8f]",
	"\xe2\x80[\x8b-\x8f\xa8-\xae]", "\xe2\x81[\xa0-\xaf]", "\xe3\x85\xa4", "\xef[\xb8\xbb\xbe\xbf][\x80-\xbf]", "\xf0\x9d\x85[\xb3-\xba]",
	"\xf3\xa0", "\\u[0-9a-fA-F]" }
local JOINER, KEYCAP = 0x200D, 0x20E3

---May a text hold such a character? It may be JSON.
---@param text string
---@return boolean
function M.may_hide(text)
	for _, pattern in ipairs(BEGINNINGS) do
		if text:find(pattern) then
			return true
		end
	end
	return false
end

local function is_hidden(code)
	for _, range in ipairs(HIDDEN) do
		if code >= range[1] and code <= range[2] then
			return true
		end
	end
	return false
end

local function is_emoji(code)
	return code and (code >= 0x1F000 and code <= 0x1FAFF or code >= 0x2190 and code <= 0x2BFF or code == 0xA9 or code == 0xAE) or false
end

local function is_variation(code)
	return code == 0xFE0E or code == 0xFE0F
end

-- Of one emoji, and seen in it.
local function is_part(before, code, after)
	return code == JOINER and (is_emoji(before) or is_variation(before)) and is_emoji(after)
		or is_variation(code) and (is_emoji(before) or after == KEYCAP)
end

---The text with each such character spelled out. What joins the parts of an emoji stays.
---@param text string
---@return string
function M.text(text)
	if not M.may_hide(text) or not utf8.len(text) then
		return text
	end
	local out, last, before = {}, 1, nil
	for at, code in utf8.codes(text) do
		if is_hidden(code) then
			local next_at = utf8.offset(text, 2, at)
			if not is_part(before, code, next_at <= #text and utf8.codepoint(text, next_at) or nil) then
				out[#out + 1] = text:sub(last, at - 1)
				out[#out + 1] = ("[U+%04X]"):format(code)
				last = next_at
			end
		end
		before = code
	end
	out[#out + 1] = text:sub(last)
	return table.concat(out)
end

---A copy of a decoded value, its keys as well.
---@param v any
---@return any
function M.value(v)
	if type(v) == "string" then
		return M.text(v)
	elseif type(v) ~= "table" then
		return v
	end
	local out = setmetatable({}, getmetatable(v))
	for key, item in next, v do
		out[M.value(key)] = M.value(item)
	end
	return out
end

---A message as JSON. Its id is the caller's, and stays.
---@param message table
---@return string
function M.encode(message)
	local text = assert(json.encode(message))
	if not M.may_hide(text) then
		return text
	end
	local clean = M.value(message)
	clean.id = message.id
	return assert(json.encode(clean))
end

-- --- the arguments of a call -----------------------------------------------------------------

local ALL = 16000 -- bytes of all values together
local LEAST, MOST = 80, 500 -- of one
local INNER = 200 -- of a text inside one

---As much of a text as fits, up to a border between characters.
---@param text string
---@param most integer bytes
---@return string
---@return integer left bytes
function M.cut(text, most)
	if #text <= most then
		return text, 0
	end
	local stop = most
	while stop > 0 and (text:byte(stop + 1) or 0) & 0xC0 == 0x80 do
		stop = stop - 1
	end
	return text:sub(1, stop), #text - stop
end

---At most so many characters of a text, and "…" in the place of the others.
---@param text string
---@param most integer
---@return string
function M.shorten(text, most)
	local rest = utf8.offset(text, most + 1)
	return rest and rest <= #text and text:sub(1, rest - 1) .. "…" or text
end

local function said(left)
	return left > 0 and (" … (%d more bytes are not shown)"):format(left) or ""
end

local function shortened(v)
	if type(v) == "string" then
		local text, left = M.cut(v, INNER)
		return text .. said(left)
	elseif type(v) ~= "table" then
		return v
	end
	local out = setmetatable({}, getmetatable(v))
	for key, item in next, v do
		out[shortened(key)] = shortened(item)
	end
	return out
end

local function encoded(v)
	return json.encode(v) or json.encode(v, { envelope = true }) or tostring(v)
end

---A value in one line, as JSON: line breaks and quotes in it can't imitate the text around it.
---@param v any
---@param most? integer bytes
---@return string
function M.one_line(v, most)
	local text = encoded(M.value(type(v) == "table" and shortened(v) or v))
	local shown, left = M.cut(text, most or MOST)
	return shown .. said(left)
end

---A line for each argument.
---@param arguments table<string, any> without the values of secrets
---@return string[]
function M.argument_lines(arguments)
	local rows = {}
	for name, v in next, arguments do
		rows[#rows + 1] = { name = tostring(name), value = v, size = #encoded(v) }
	end
	table.sort(rows, function(a, b)
		return a.size < b.size or a.size == b.size and a.name < b.name
	end)
	local most = math.max(LEAST, math.min(MOST, ALL // math.max(#rows, 1)))
	for i, row in ipairs(rows) do
		local name, left = M.cut(row.name, INNER)
		rows[i] = ("  %s: %s"):format(M.text(name:gsub("%c", " ")) .. said(left), M.one_line(row.value, most))
	end
	return rows
end

return M
