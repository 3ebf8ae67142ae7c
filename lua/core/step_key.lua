-- step_key: what the key of a step of a workflow says (docs/workflows/steps.md): which steps it is inside, and at its end the
-- rounds that it ran in, such as @2 or @2@1 (lua/workflow/run/resumed_results.lua writes them).

local M = {}

---@param key string
---@return string base the key in the first round
---@return string rounds "" in the first one
function M.split(key)
	local base = key:gsub("@[@%d]+$", "")
	return base, key:sub(#base + 1)
end

---The key in the first round, with [*] for the items of loops.
---@param key string
---@return string
function M.static(key)
	return (M.split(key):gsub("%[%d+%]", "[*]"):gsub("@[%d@]+", ""))
end

---What tells of another key whether it is this one, or that of a step inside it in any of its rounds.
---@param key string
---@return fun(other: string): boolean
function M.holder(key)
	local base = M.split(key)
	return function(other)
		return other == key or other:sub(1, #base) == base and other:find("^[.%[@]", #base + 1) ~= nil
	end
end

return M
