-- set: a set of names that the source writes as one text.

local M = {}

---@param names string separated by blanks
---@return table<string, true>
function M.of(names)
	local set = {}
	for name in names:gmatch "%S+" do
		set[name] = true
	end
	return set
end

return M
