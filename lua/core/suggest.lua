-- suggest: did-you-mean: the candidates nearest to a misspelt word. Loaded only when
-- something was misspelt. It knows no flags and no commands: the caller has the candidates.

local distance = require "runner.core.distance"
local opposites = require "runner.core.opposites"

local M = {}

local LONGEST = 64 -- bytes compared: names are shorter, and the cost is quadratic

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
---order of `candidates` is kept. Case is ignored. What says the opposite is never meant.
---@param word string
---@param candidates string[]
---@param limit? integer default 3
---@return string[]
function M.nearest(word, candidates, limit)
	local near = {}
	word = word:sub(1, LONGEST):lower()
	for i, candidate in ipairs(candidates) do
		local d = score(word, candidate:sub(1, LONGEST):lower())
		if d and not (d > 0 and opposites.are(word, candidate:sub(1, LONGEST))) then
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
