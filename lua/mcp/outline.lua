-- outline: the members of an object that our reader of JSON refuses (a text with \u0000, a number
-- that is too large, half a surrogate, a key that comes twice inside, 3,000 levels). Whoever
-- waits for an answer must get one all the same, so the id is looked for by hand. Pure.

local M = {}

---What a member that comes twice has: nobody can say which counts.
M.TWICE = {}

-- Where the text that begins at `at` ends; nil: it doesn't.
local function end_of_text(source, at)
	local i = at + 1
	while true do
		i = source:find('["\\]', i)
		if not i or source:byte(i) == 34 then
			return i
		end
		i = i + 2
	end
end

-- A text without escapes, or an integer; true: any other value.
local function simple_value(source, at)
	local whole = source:match("^%s*(%-?%d+)%s*[,}]", at)
	return whole and math.tointeger(tonumber(whole)) or source:match('^%s*"([^"\\]*)"%s*[,}]', at) or true
end

local STEP = { ["{"] = 1, ["["] = 1, ["}"] = -1, ["]"] = -1 }

---The members of the outermost object.
---@param source string
---@return table<string, any>? members name → a simple value, true, or M.TWICE; nil: it has no form
function M.of(source)
	local members, depth, name, at = {}, 0, nil, 1
	if not source:find "^%s*{" then
		return nil
	end
	while true do
		local found = source:find('["{}%[%]:]', at)
		local mark = found and source:sub(found, found)
		local last = mark == '"' and end_of_text(source, found) or found
		if not last then
			return nil
		elseif mark == '"' and depth == 1 then
			name = source:sub(found + 1, last - 1)
		elseif mark == ":" and depth == 1 and name then
			members[name] = members[name] ~= nil and M.TWICE or simple_value(source, found + 1)
			name = nil
		end
		depth, at = depth + (STEP[mark] or 0), last + 1
		if depth == 0 then
			return members
		end
	end
end

return M
