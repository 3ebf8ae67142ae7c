-- wrap: text in columns of a given width, for help. Pure.

local M = {}

-- Characters that take two columns of a terminal, or none: first and last of each range; as in
-- src/supervisor/columns.c.
local WIDE = {
	{ 0x1100, 0x115F }, { 0x231A, 0x231B }, { 0x23E9, 0x23EC }, { 0x25FD, 0x25FE }, { 0x2614, 0x2615 },
	{ 0x2705, 0x2705 }, { 0x274C, 0x274E }, { 0x2753, 0x2757 }, { 0x2795, 0x2797 }, { 0x2B1B, 0x2B1C },
	{ 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xA960, 0xA97C }, { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF },
	{ 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x1F18E, 0x1F19A }, { 0x1F200, 0x1F265 },
	{ 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F7E0, 0x1F7F0 }, { 0x1F900, 0x1FAFF },
	{ 0x20000, 0x3FFFD },
}
local NONE = {
	{ 0x300, 0x36F }, { 0x483, 0x489 }, { 0x591, 0x5BD }, { 0x610, 0x61A }, { 0x64B, 0x65F },
	{ 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
	{ 0xFE20, 0xFE2F }, { 0xE0100, 0xE01EF },
}

local function within(ranges, c)
	for _, range in ipairs(ranges) do
		if c >= range[1] and c <= range[2] then
			return true
		end
	end
	return false
end

---How many columns of a terminal a text takes.
---@param text string
---@return integer
local function width_of(text)
	local n = utf8.len(text)
	if not n or not text:find("[\xCC-\xF4]") then -- nothing from U+0300 on
		return n or #text
	end
	for _, c in utf8.codes(text) do
		n = n + (within(WIDE, c) and 1 or within(NONE, c) and -1 or 0)
	end
	return n
end
M.width = width_of

---A text that takes at most so many columns; what is longer ends in an ellipsis.
---@param text string
---@param columns integer at least 1
---@return string
function M.cut(text, columns)
	if #text <= columns or width_of(text) <= columns then
		return text
	elseif not utf8.len(text) then
		return text:sub(1, columns - 1) .. "…"
	end
	local used, last = 0, 0
	for at, c in utf8.codes(text) do
		local wide = within(WIDE, c) and 2 or within(NONE, c) and 0 or 1
		if used + wide > columns - 1 then
			break
		end
		used, last = used + wide, at + #utf8.char(c) - 1
	end
	return text:sub(1, last) .. "…"
end

---Break a text at spaces into lines of at most `width` characters; a longer word
---stays whole. Line breaks in the text stay.
---@param text string
---@param width integer
---@return string[] lines at least one
function M.lines(text, width)
	local out = {}
	for paragraph in (text .. "\n"):gmatch("([^\n]*)\n") do
		local line
		for word in paragraph:gmatch("%S+") do
			if line and width_of(line) + 1 + width_of(word) <= width then
				line = line .. " " .. word
			else
				out[#out + 1] = line
				line = word
			end
		end
		out[#out + 1] = line or ""
	end
	return out
end

---A paragraph, each line indented by `indent` spaces.
---@param text string
---@param width integer of the whole
---@param indent? integer default 0
---@return string lines, with a newline at the end
function M.paragraph(text, width, indent)
	local blanks = (" "):rep(indent or 0)
	local lines = M.lines(text, math.max(width - #blanks, 20))
	return blanks .. table.concat(lines, "\n" .. blanks):gsub("[ \t]+\n", "\n") .. "\n"
end

-- The left column is as wide as its entries, but for a few long ones.
local function left_width(rows, most)
	local n = 0
	for _, row in ipairs(rows) do
		local w = width_of(row[1])
		n = w <= most and math.max(n, w) or n
	end
	return n
end

---Two columns: a term, and what it means. A term that is too long has its own line.
---@param rows {[1]: string, [2]: string}[]
---@param width integer of the whole
---@return string
function M.columns(rows, width)
	local left = left_width(rows, math.min(32, width // 2 - 4))
	local out = {}
	for _, row in ipairs(rows) do
		local term, lines = row[1], M.lines(row[2], math.max(width - left - 4, 20))
		local gap = (" "):rep(left + 4)
		if width_of(term) > left then
			out[#out + 1] = "  " .. term
			out[#out + 1] = gap .. lines[1]
		else
			out[#out + 1] = ("  " .. term .. (" "):rep(left + 2 - width_of(term)) .. lines[1]):gsub(" +$", "")
		end
		for i = 2, #lines do
			out[#out + 1] = gap .. lines[i]
		end
	end
	out[#out + 1] = out[1] and ""
	return table.concat(out, "\n")
end

return M
