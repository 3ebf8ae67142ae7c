---@meta cjson
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---lua-cjson, for scripts that use it. require "json" preserves more: 64-bit integers, and [] and {}.
---@class cjson
---@field null lightuserdata
local cjson = {}

---@param value any
---@return string
function cjson.encode(value) end

---@param text string
---@return any
function cjson.decode(text) end

return cjson
