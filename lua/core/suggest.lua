-- suggest: did-you-mean: the candidates nearest to a misspelt word. Loaded only when
-- something was misspelt. It knows no flags and no commands: the caller has the candidates.

local M = {}

local LONGEST = 64 -- bytes compared: names are shorter, and the cost is quadratic

-- Optimal string alignment: insert, delete, replace, swap neighbours: 1 each.
local function distance(a, b)
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

M.distance = distance

local function allowed(length)
	return length <= 4 and 1 or length <= 8 and 2 or 3
end

-- The distance to a candidate; nil: too far to be meant. A prefix counts as near.
local function score(word, candidate)
	local d = distance(word, candidate)
	if d <= allowed(#word) and d < math.max(#word, #candidate) then
		return d
	elseif #word >= 3 and candidate:sub(1, #word) == word then
		return allowed(#word) + 1
	end
end

---The candidates that `word` was probably meant for, nearest first; among equals the
---order of `candidates` is kept. Case is ignored.
---@param word string
---@param candidates string[]
---@param limit? integer default 3
---@return string[]
function M.nearest(word, candidates, limit)
	local near = {}
	word = word:sub(1, LONGEST):lower()
	for i, candidate in ipairs(candidates) do
		local d = score(word, candidate:sub(1, LONGEST):lower())
		if d then
			near[#near + 1] = { d = d, i = i, text = candidate }
		end
	end
	table.sort(near, function(a, b)
		if a.d ~= b.d then
			return a.d < b.d
		end
		return a.i < b.i
	end)
	local out = {}
	for i = 1, math.min(#near, limit or 3) do
		out[i] = near[i].text
	end
	return out
end

return M
