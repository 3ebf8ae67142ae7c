---@meta json
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---JSON that preserves 64-bit integers and the difference between [] and {}.
---@class json
---@field null lightuserdata stands for JSON's null
local json = {}

---Decode a JSON text; nil and "line 1 column 5: …" if it is invalid, or would take more than `memory`.
---Many small values take far more memory than their text.
---@param text string
---@param options? {unique?: boolean, memory?: integer} unique: an object with the same key twice is invalid; memory: bytes, by
---  default 512 MiB, about 2.8 million arrays or objects, or eight million other values
---@return any value
---@return string? message
---@return "TOO_LARGE"? code
function json.decode(text, options) end

---About how many bytes of memory the values of a JSON text take while they are decoded.
---@param text string
---@return integer bytes
function json.weight(text) end

---A JSON text in at most so many bytes: the tails of its longest arrays and strings are cut; nil where that can't be done.
---@param text string
---@param bytes integer
---@return string? text
---@return {field: string, items: boolean, before: integer, after: integer}[]? cuts the first few
function json.shorten(text, bytes) end

---Encode a value; nil, a message and an error code if it can't be encoded.
---@param value any
---@param options? {max?: integer} bytes
---@return string? text
---@return string? message
---@return string|table|nil code
function json.encode(value, options) end

---Mark a table as an array, so that an empty one becomes [].
---@param list? table
---@return table
function json.array(list) end

---Does a value encode as an array?
---@param value any
---@return boolean
function json.is_array(value) end

return json
