-- encoding: bytes as text, and back: base64 and hexadecimal (RFC 4648), percent escapes (RFC 3986); and text as text of
-- XML, SVG and HTML. Pure. Loaded on first use.

local host = require "runner.host"

local M = {}

local PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local digits, values = {}, {}
for i = 1, #PLAIN do
	digits[i - 1] = PLAIN:sub(i, i)
	values[PLAIN:byte(i)] = i - 1
end
values[("-"):byte()], values[("_"):byte()] = 62, 63

---@param bytes string
---@return string with padding
function M.base64(bytes)
	local out, n = {}, 0
	for at = 1, #bytes, 3 do
		local a, b, c = bytes:byte(at, at + 2)
		local bits = a << 16 | (b or 0) << 8 | (c or 0)
		n = n + 1
		out[n] = digits[bits >> 18] .. digits[bits >> 12 & 63] .. (b and digits[bits >> 6 & 63] or "=") .. (c and digits[bits & 63] or "=")
	end
	return table.concat(out)
end

---The alphabet of URLs and file names, without padding.
---@param bytes string
---@return string
function M.base64url(bytes)
	return (M.base64(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

---@param text string of either alphabet; padding doesn't matter, nor bits that make no byte
---@return string? bytes nil: it has another character
function M.from_base64(text)
	local out, bits, held = {}, 0, 0
	for i = 1, #text:gsub("=+$", "") do
		local value = values[text:byte(i)]
		if not value then
			return nil
		end
		bits, held = (bits << 6 | value) & 0xffffff, held + 6
		if held >= 8 then
			held = held - 8
			out[#out + 1] = string.char(bits >> held & 255)
		end
	end
	return table.concat(out)
end

---@param bytes string
---@return string two lower-case digits a byte
function M.hex(bytes)
	return (bytes:gsub(".", function(c)
		return ("%02x"):format(c:byte())
	end))
end

local function byte_of(pair)
	return string.char(tonumber(pair, 16))
end

---@param text string two digits a byte
---@return string bytes
function M.from_hex(text)
	return (text:gsub("%x%x", byte_of))
end

---Other characters than plain ones become %XX.
---@param text string
---@param plain? string a set of Lua's patterns; default: those of a part of a URL
---@return string
function M.percent(text, plain)
	return (text:gsub(plain and "[^" .. plain .. "]" or "[^%w._~-]", function(c)
		return ("%%%02X"):format(c:byte())
	end))
end

---@param text string where %XX is no such byte, it stays
---@return string
function M.from_percent(text)
	return (text:gsub("%%(%x%x)", byte_of))
end

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local BREAKS = { ["\n"] = "&#10;", ["\t"] = "&#9;" }

---Text for an element or an attribute: no character of it is markup, a control, or none of XML (U+FFFE, U+FFFF).
---@param value any
---@return string
function M.markup(value)
	local clean = host.clean(tostring(value)):gsub("[%z\1-\8\11-\31\127]", ""):gsub("\xEF\xBF[\xBE\xBF]", "?")
	return (clean:gsub("[&<>\"']", ESCAPES))
end

---The same for an attribute that has to keep its lines and tabs, of which XML makes spaces.
---@param value any
---@return string
function M.markup_attribute(value)
	return (M.markup(value):gsub("[\n\t]", BREAKS))
end

return M
