-- sorted: the keys of a table in a stable order.

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

---The string keys of a table and of what it inherits (__index), each once.
---@param t any
---@return string[] keys
function M.inherited(t)
	local all = {}
	while type(t) == "table" do
		for key in next, t do
			all[key] = type(key) == "string" or nil
		end
		t = (getmetatable(t) or {}).__index
	end
	return M.keys(all)
end

return M
