---@meta cjson
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---lua-cjson, for scripts that know it. require "json" keeps more: integers of 64 bits, [] and {}.
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
