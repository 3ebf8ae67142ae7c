-- truncate: the page of a list command where its answer has a budget: it ends at the last item that has room, and the
-- cursor goes on there (REQ-F-052). All else that is too large the supervisor cuts (src/supervisor/budget.c).

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local RESERVE = 4096 -- bytes of the answer for all that isn't data

-- Most bytes of the data; nil: no limit. What goes to a file, or is no JSON, has all.
local function room_of(a)
	local most = require("runner.core.budget").most
	if a.format ~= "json" or a.framework.output or not most then
		return nil
	end
	return most - math.min(RESERVE, most // 2)
end

---Bytes as JSON; what has no JSON form is not ours to judge.
---@param v any
---@return integer
function M.size(v)
	local text = json.encode(v, { envelope = true })
	return text and #text or 0
end

---The last of the elements, from the first on, that has room together with those in front of it: one at least.
---@param elements any[]
---@param first integer
---@param room integer bytes
---@param mark integer bytes of what follows where these aren't all
---@param size_of fun(element: any): integer bytes
---@return integer
function M.last(elements, first, room, mark, size_of)
	local used, last = 0, first
	for i = first, #elements do
		used = used + size_of(elements[i])
		if used > room then
			return last
		end
		last = used + mark <= room and i or last
	end
	return #elements
end

---A member of the answer's meta.
---@param name string
---@param value any
function M.meta(name, value)
	host.send("META", { name = name, data = assert(json.encode(value, { envelope = true })) }, true)
end

---What json.shorten has cut, as warnings.
---@param cuts {field: string, items: boolean, before: integer, after: integer}[]
---@return {code: string, message: string, context: table}[]
function M.warnings(cuts)
	local out = {}
	for i, cut in ipairs(cuts) do
		local unit = cut.items and "items" or "bytes"
		out[i] = { code = "FIELD_TRUNCATED", message = ("%s was cut from %d to %d %s"):format(cut.field, cut.before, cut.after, unit),
			context = { field = cut.field, ["original_" .. unit] = cut.before, ["returned_" .. unit] = cut.after } }
	end
	return out
end

---This call, with another value of one flag, as a command line.
---@param flag string with its dashes
---@param value string|integer
---@return string
function M.call_with(flag, value)
	local words, rest, skip = { "runner" }, {}, false
	for _, word in ipairs(require("runner.core.tool").typed(attempt.call.argv)) do
		local into = (rest[1] or word == "--") and rest or words
		if not skip and word:sub(1, #flag + 1) ~= flag .. "=" and word ~= flag then
			into[#into + 1] = command_line.quoted(word)
		end
		skip = word == flag and into == words
	end
	words[#words + 1] = ("%s=%s"):format(flag, value)
	return table.concat(table.move(rest, 1, #rest, #words + 1, words), " ")
end

---As many items of a page as have room, and at least one: so that the pages go on, it may have to be cut.
---@param a runner.Attempt
---@param items any[]
---@param around any the result without its items
---@return any[] items the same list if all have room
function M.items(a, items, around)
	local room = room_of(a)
	if not room or not items[1] or M.size(items) + M.size(around) <= room then
		return items
	end
	local last = M.last(items, 1, room - M.size(around) - 2, 0, function(item)
		return M.size(item) + 1
	end)
	return json.array(table.move(items, 1, last, 1, {}))
end

---Say that a page ends before its limit: for want of room.
---@param total integer
---@param returned integer
---@param cursor? string of the next page
function M.report_page(total, returned, cursor)
	M.meta("truncated", true)
	M.meta("total_count", total)
	M.meta("returned_count", returned)
	M.meta("truncation_hint", cursor and M.call_with("--cursor", cursor) or M.call_with("--max-bytes", 1 << 24))
end

return M
