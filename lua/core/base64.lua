-- base64: bytes as text of 64 characters, and back (RFC 4648). Pure. Loaded on first use.

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
function M.encode(bytes)
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
function M.url(bytes)
	return (M.encode(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

---@param text string of either alphabet; padding doesn't matter, nor bits that make no byte
---@return string? bytes nil: it has another character
function M.decode(text)
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

return M
