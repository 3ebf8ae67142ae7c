-- sorted: the keys of a table in an order that is the same every time.

local M = {}

---@param t table<string, any>
---@return string[] keys
function M.keys(t)
	local keys = {}
	for key in pairs(t) do
		keys[#keys + 1] = key
	end
	table.sort(keys)
	return keys
end

return M
