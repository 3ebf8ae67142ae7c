-- codec: bytes as text and back: base64, hexadecimal, parts of URLs, CSV, dotenv. What can't be
-- decoded raises PRECONDITION. Pure.

local check = require "runner.library.check"
local encoding = require "runner.core.encoding"

local M = {}

---RFC 4648, with padding.
---@param bytes string
---@return string
function M.base64_encode(bytes)
	check.strings("codec.base64_encode", bytes)
	return encoding.base64(bytes)
end

---The alphabet of URLs and file names, without padding.
---@param bytes string
---@return string
function M.base64url_encode(bytes)
	check.strings("codec.base64url_encode", bytes)
	return encoding.base64url(bytes)
end

---Of either alphabet; blanks, line breaks and missing padding don't matter.
---@param text string
---@return string bytes
function M.base64_decode(text)
	check.strings("codec.base64_decode", text)
	local bare = text:gsub("%s+", ""):gsub("=+$", "")
	return #bare % 4 ~= 1 and encoding.from_base64(bare) or check.refuse "This is not base64"
end

---Two lower-case digits a byte.
---@param bytes string
---@return string
function M.hex_encode(bytes)
	check.strings("codec.hex_encode", bytes)
	return encoding.hex(bytes)
end

---@param text string
---@return string bytes
function M.hex_decode(text)
	check.strings("codec.hex_decode", text)
	if #text % 2 == 1 or text:find "%X" then
		check.refuse "This is not hexadecimal: it needs two digits a byte"
	end
	return encoding.from_hex(text)
end

---For one part of a URL: all but letters, digits and "-._~" become %XX (RFC 3986).
---@param text string
---@return string
function M.url_encode(text)
	check.strings("codec.url_encode", text)
	return encoding.percent(text)
end

---%XX becomes a byte; a "+" stays one.
---@param text string
---@return string
function M.url_decode(text)
	check.strings("codec.url_decode", text)
	if text:gsub("%%%x%x", ""):find("%", 1, true) then
		check.refuse "In this URL a % has no two hexadecimal digits behind it"
	end
	return encoding.from_percent(text)
end

---The records of CSV (RFC 4180) as lists of texts; with `header`, as tables by the names in the first
---record. Records must be of equal length.
---@param text string
---@param options? {separator?: string, header?: boolean}
---@return table[]
function M.csv_decode(text, options)
	check.strings("codec.csv_decode", text)
	return require("runner.library.csv").decode(text, options or {})
end

---Records as CSV: lists of values, or tables by `columns`. A cell is quoted where it must be.
---@param records table[]
---@param options? {separator?: string, columns?: string[]} columns: first a record of these names, then each table's values of them
---@return string
function M.csv_encode(records, options)
	check.kind("codec.csv_encode", 1, records, "table")
	return require("runner.library.csv").encode(records, options or {})
end

---NAME=value lines as a table, as `env_files` of workflows reads them. Nothing is expanded.
---@param text string
---@param name? string of the file, for messages
---@return table<string, string>
function M.dotenv_decode(text, name)
	check.strings("codec.dotenv_decode", text, name or "")
	return require("runner.core.dotenv").parse(text, name or "dotenv")
end

return M
