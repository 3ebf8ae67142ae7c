-- distance: how many letters of two words differ. Loaded where a word was wrong. Pure.

---How many letters are to be put in, left out, changed or swapped with their neighbour (optimal string alignment).
---@param a string
---@param b string
---@return integer
return function(a, b)
	local before, last, row = {}, {}, {}
	for j = 0, #b do
		row[j] = j
	end
	for i = 1, #a do
		before, last, row = last, row, before
		row[0] = i
		for j = 1, #b do
			local cost = a:byte(i) == b:byte(j) and 0 or 1
			row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
			if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
				row[j] = math.min(row[j], before[j - 2] + 1)
			end
		end
	end
	return row[#b]
end
