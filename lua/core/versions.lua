-- versions: "1.10.2" as numbers, to compare. Pure. Loaded on first use.

local M = {}

local function numbers_of(version)
	local numbers = {}
	for number in version:match("^[%d.]*"):gmatch "%d+" do
		numbers[#numbers + 1] = math.tointeger(tonumber(number)) or math.maxinteger
	end
	return numbers
end

---Is version `a` lower than `b`? Compared number by number: 1.9 is lower than 1.10. What follows
---the numbers doesn't count.
---@param a string
---@param b string
---@return boolean
function M.is_lower(a, b)
	local left, right = numbers_of(a), numbers_of(b)
	for i = 1, math.max(#left, #right) do
		local x, y = left[i] or 0, right[i] or 0
		if x ~= y then
			return x < y
		end
	end
	return false
end

return M
