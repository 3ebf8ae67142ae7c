-- values: JSON text → a Lua value for the targets. A string that begins with "@"
-- stands for what JSON can't say.

local json = require "runner.json"

local M = {}

local SPECIAL = {
	["@function"] = function() return function() end end,
	["@raises"] = function() return function() error("raised") end end,
	["@list"] = function() return function() return { "a", "b" } end end,
	["@echo"] = function() return function(v) return v end end,
	["@nan"] = function() return 0 / 0 end,
	["@inf"] = function() return math.huge end,
	["@max"] = function() return math.maxinteger end,
	["@min"] = function() return math.mininteger end,
	["@userdata"] = function() return io.stdout end,
	["@thread"] = function() return coroutine.create(print) end,
	["@bytes"] = function() return "a\0b\xff\27[31m" end,
	["@hostile"] = function()
		return setmetatable({}, { __index = function() error("hostile") end, __len = function() return 3 end,
			__tostring = function() error("hostile") end, __pairs = function() error("hostile") end })
	end,
}

local function convert(v, root)
	if type(v) == "string" then
		local special = SPECIAL[v]
		return special and special() or v == "@root" and root or v
	elseif v == json.null then
		return nil
	elseif type(v) ~= "table" then
		return v
	end
	local out = {}
	root = root or out
	for key, item in next, v do
		local index = type(key) == "string" and key:match("^#(%-?%d+)$")
		key = index and math.tointeger(tonumber(index)) or convert(key, root)
		if key ~= nil and key == key then
			out[key] = convert(item, root)
		end
	end
	return out
end

---@param text string
---@return boolean known, any value
function M.read(text)
	local v, message = json.decode(text)
	if message then
		return false
	end
	return true, convert(v)
end

return M
