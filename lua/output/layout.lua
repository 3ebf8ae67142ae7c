-- layout: text for people: a value, or indented JSON; widths, lines and columns; the person who reads them: how wide
-- the terminal is, times as people say them. Control characters are removed here, and once more by the host.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

---@param v any
---@return boolean
function M.is_null(v)
	return v == nil or v == json.null
end

---@param v any
---@return boolean
function M.is_object(v)
	return type(v) == "table" and not json.is_array(v)
end

-- The number as people write it: 3.0 is 3, 0.1 is 0.1. JSON has no NaN and no
-- infinity: they are null.
local function number_text(v, digits)
	if math.type(v) == "integer" then
		return tostring(v)
	end
	return v - v == 0 and ("%." .. (digits or 14) .. "g"):format(v) or ""
end

-- The same with as many digits as it takes to read the same number back.
local function exact_text(v)
	for digits = 14, 16 do
		local text = number_text(v, digits)
		if tonumber(text) == v or text == "" then
			return text
		end
	end
	return number_text(v, 17)
end

---Text of any value; a table is compact JSON.
---@param v any
---@return string
function M.value(v)
	local kind = type(v)
	if M.is_null(v) then
		return ""
	elseif kind == "string" then
		return host.clean(v)
	elseif kind == "number" then
		return number_text(v)
	elseif kind == "table" then
		return (assert(json.encode(v, { envelope = true })))
	end
	return tostring(v)
end

---The same on one line, with "-" for nothing, for tables.
---@param v any
---@return string
function M.cell(v)
	local text = M.value(v):gsub("%s+", " ")
	return text == "" and "-" or text
end

local TSV_ESCAPES = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n" }

---The same for a field of tsv: numbers to their last digit, and escapes.
---@param v any
---@return string
function M.tsv(v)
	local text = type(v) == "number" and exact_text(v) or M.value(v)
	return (text:gsub("[\\\t\n]", TSV_ESCAPES))
end

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
M.width_of = width_of

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

local LEAST, MOST, UNLIMITED = 40, 1000, 100000 -- columns

---The columns that a text for people may take: what --width says (0: no limit), else COLUMNS, else the
---terminal on stdout, whose size may have changed since the call began. nil: no person reads there, or it is not known.
---@return integer?
function M.reader_width()
	local given = attempt.framework.width
	if given then
		return given == 0 and UNLIMITED or math.max(given, LEAST)
	elseif not attempt.launch.stdout_is_tty then
		return nil
	end
	local columns = math.tointeger(tonumber(os.getenv("COLUMNS") or "")) or require("runner.terminal").columns()
	return columns and math.max(LEAST, math.min(columns, MOST)) or nil
end

---The same for a table: nil also where a file gets it.
---@return integer?
function M.table_width()
	return not attempt.framework.output and attempt.launch.stdout_is_tty and M.reader_width() or nil
end

-- Days from 1970-01-01 to a day of the Gregorian calendar.
local function days(year, month, day)
	year = month <= 2 and year - 1 or year
	local era = year // 400
	local of_era = year - era * 400
	local of_year = (153 * (month + (month > 2 and -3 or 9)) + 2) // 5 + day - 1
	return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

---When a time in UTC was, as an envelope writes it (2026-11-21T12:56:34.123Z): seconds since 1970, or nil.
---@param text any
---@return integer?
function M.time(text)
	if type(text) ~= "string" then
		return nil
	end
	local y, mo, d, h, mi, s, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)Z$"
	if not y or tonumber(mo) > 12 or tonumber(mo) < 1 or rest == "." then
		return nil
	end
	return days(tonumber(y), tonumber(mo), tonumber(d)) * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s)
end

local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } }

---"3h ago", "in 2d", "now".
---@param time integer seconds since 1970
---@param now integer
---@return string
function M.relative(time, now)
	local apart = math.abs(now - time)
	for _, unit in ipairs(UNITS) do
		if apart >= unit[1] then
			local text = ("%d%s"):format(apart // unit[1], unit[2])
			return time <= now and text .. " ago" or "in " .. text
		end
	end
	return "now"
end

local write

local function write_items(list, indent)
	local out = {}
	for i, v in ipairs(list) do
		out[i] = indent .. write(v, indent)
	end
	return out
end

local function write_members(object, indent)
	local out = {}
	for i, key in ipairs(tables.sorted_keys(object)) do
		out[i] = ("%s%s: %s"):format(indent, assert(json.encode(key)), write(object[key], indent))
	end
	return out
end

function write(value, indent)
	if type(value) ~= "table" or next(value) == nil then
		return assert(json.encode(value))
	end
	local deeper = indent .. "  "
	local is_list = json.is_array(value)
	local lines = (is_list and write_items or write_members)(value, deeper)
	return ("%s\n%s\n%s%s"):format(is_list and "[" or "{", table.concat(lines, ",\n"), indent, is_list and "]" or "}")
end

---A value that json.decode made, or of that shape, as indented JSON.
---@param value any
---@return string without a newline at the end
function M.json(value)
	return write(value, "")
end

return M
