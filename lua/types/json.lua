---@meta json
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---JSON that keeps 64-bit integers, and [] and {} apart.
---@class json
---@field null lightuserdata what JSON's null reads as, and writes as
local json = {}

---Read a JSON text; nil and "line 1 column 5: …" when it is none.
---@param text string
---@return any value
---@return string? message
function json.decode(text) end

---Write a value; nil, a message and an error code when it can't be written.
---@param value any
---@param options? {max?: integer} bytes
---@return string? text
---@return string? message
---@return string|table|nil code
function json.encode(value, options) end

---Mark a table as an array, even when it is empty.
---@param list? table
---@return table
function json.array(list) end

---Does it encode as an array?
---@param value any
---@return boolean
function json.is_array(value) end

return json
