-- What json.decode reads, json.encode writes, and from then on nothing changes:
-- reading that again and writing it gives the same text.

local json = require "runner.json"

local function nested(v)
	local deepest = 0
	if type(v) == "table" then
		for _, item in next, v do
			deepest = math.max(deepest, nested(item))
		end
		return deepest + 1
	end
	return 0
end

-- Do two keys of a table anywhere in it read the same as clean text?
local function collides(v)
	if type(v) ~= "table" then
		return false
	end
	local seen = {}
	for key, item in next, v do
		local written = json.encode(tostring(key))
		if seen[written] or collides(item) then
			return true
		end
		seen[written] = true
	end
	return false
end

return function(text)
	local value, message = json.decode(text)
	if message then
		assert(value == nil and message:find("^line %d+ column %-?%d+: ."), message)
		return
	end
	local once, why, notes = json.encode(value, {})
	if not once then
		assert(why:find("nested more than", 1, true) and nested(value) > 128
			or why:find("two keys that both become", 1, true) and collides(value), why)
		return
	end
	assert(notes.nonfinite == 0)
	local again = json.decode(once)
	local twice, _, more = json.encode(again, {})
	assert(twice == once, once)
	assert(more.repaired == 0 and more.nonfinite == 0)
end
