---@meta cjson.safe
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---lua-cjson that returns nil and a message instead of raising an error.
---@class cjson.safe
---@field null lightuserdata
local safe = {}

---@param value any
---@return string? text
---@return string? message
function safe.encode(value) end

---@param text string
---@return any value
---@return string? message
function safe.decode(text) end

return safe
