-- json_text: where the values of a JSON text end, without reading them. For what our reader of JSON refuses (a text with
-- \u0000, a number that is too large, half a surrogate, a key that comes twice inside, 3,000 levels), and for changes of a
-- text that leave every other byte as it is. Pure.

local M = {}

---What a member that comes twice has: no reader can say which counts.
M.TWICE = {}

---Where the string that begins at `at` ends, in the quotes that it begins with.
---@param source string
---@param at integer
---@return integer? last nil: it doesn't end
function M.end_of_string(source, at)
	local quote, i = source:sub(at, at), at + 1
	while true do
		i = source:find("[\\" .. quote .. "]", i)
		if not i or source:sub(i, i) == quote then
			return i
		end
		i = i + 2
	end
end

local STEP = { ["{"] = 1, ["["] = 1, ["}"] = -1, ["]"] = -1 }

---Where the value that begins at `at` ends.
---@param source string valid JSON
---@param at integer
---@return integer last
function M.end_of_value(source, at)
	local depth, i = 0, at
	if not source:find('^["{%[]', at) then
		return assert(source:find("[%s,}%]]", at) or #source + 1) - 1
	end
	repeat
		local found = assert(source:find('["{}%[%]]', i))
		local mark = source:sub(found, found)
		local last = mark == '"' and M.end_of_string(source, found) or found
		depth, i = depth + (STEP[mark] or 0), last + 1
	until depth == 0
	return i - 1
end

-- A string without escapes, or an integer; true: any other value.
local function simple_value(source, at)
	local whole = source:match("^%s*(%-?%d+)%s*[,}]", at)
	return whole and math.tointeger(tonumber(whole)) or source:match('^%s*"([^"\\]*)"%s*[,}]', at) or true
end

---The members of the outermost object.
---@param source string
---@return table<string, any>? members name → a simple value, true, or M.TWICE; nil: it has no form
function M.outline(source)
	local members, depth, name, at = {}, 0, nil, 1
	if not source:find "^%s*{" then
		return nil
	end
	while true do
		local found = source:find('["{}%[%]:]', at)
		local mark = found and source:sub(found, found)
		local last = mark == '"' and M.end_of_string(source, found) or found
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
