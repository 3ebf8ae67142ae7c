---@meta runner.codec
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Bytes as text and back. What can't be decoded raises PRECONDITION.
---@class runner.codec
local codec = {}

---RFC 4648, with padding.
---@param bytes string
---@return string
function codec.base64_encode(bytes) end

---The alphabet of URLs and file names, without padding.
---@param bytes string
---@return string
function codec.base64url_encode(bytes) end

---Of either alphabet; blanks, line breaks and missing padding don't matter.
---@param text string
---@return string bytes
function codec.base64_decode(text) end

---Two lower-case digits a byte.
---@param bytes string
---@return string
function codec.hex_encode(bytes) end

---@param text string
---@return string bytes
function codec.hex_decode(text) end

---For one part of a URL: all but letters, digits and "-._~" become %XX (RFC 3986).
---@param text string
---@return string
function codec.url_encode(text) end

---%XX becomes a byte; a "+" stays one.
---@param text string
---@return string
function codec.url_decode(text) end

---The records of CSV (RFC 4180) as lists of texts; with `header`, as tables by the names in the first
---record. Records must be of equal length.
---@param text string
---@param options? {separator?: string, header?: boolean}
---@return table[]
function codec.csv_decode(text, options) end

---Records as CSV: lists of values, or tables by `columns`. A cell is quoted where it must be.
---@param records table[]
---@param options? {separator?: string, columns?: string[]} columns: first a record of these names, then each table's values of them
---@return string
function codec.csv_encode(records, options) end

---NAME=value lines as a table, as `env_files` of workflows reads them. Nothing is expanded.
---@param text string
---@param name? string of the file, for messages
---@return table<string, string>
function codec.dotenv_decode(text, name) end

return codec
