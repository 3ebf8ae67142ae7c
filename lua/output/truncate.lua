-- truncate: an answer of at most so many bytes (REQ-F-052, REQ-F-064): a list loses items at its
-- end, a text or a list inside loses its end, and the answer says so. Loaded for commands that
-- declare `list` or `truncates`.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local DEFAULT = 1 << 20 -- bytes of the whole answer
local RESERVE = 4096 -- of these for all that isn't data
local MARK = "…[truncated]"
local SHOWN = 5 -- fields that have a warning of their own
local LEAST = 64 -- bytes that a field keeps at least

---Most bytes of the data of this answer; nil: no limit but the envelope's own. What goes to a file,
---or is no JSON, is not cut.
---@param a runner.Attempt
---@return integer?
function M.room(a)
	if a.format ~= "json" or a.framework.output then
		return nil
	end
	local most = a.framework.max_bytes or rules.size(os.getenv "RUNNER_MAX_OUTPUT_BYTES" or "", 1) or DEFAULT
	return math.max(most - RESERVE, RESERVE)
end

-- Bytes as JSON; what has no JSON form is not ours to judge.
local function size(v)
	local text = json.encode(v, { envelope = true })
	return text and #text or 0
end

local function is_list(v)
	return type(v) == "table" and json.is_array(v)
end

-- --- cutting ------------------------------------------------------------------------------

-- As many items from the first on as have room.
local function first_items(items, room)
	local used, n = 2, 0
	for i, item in ipairs(items) do
		used = used + size(item) + 1
		if used > room then
			break
		end
		n = i
	end
	return json.array(table.move(items, 1, n, 1, {}))
end

local function start_of(text, room)
	local n = math.min(#text, room)
	while n > 0 do
		local whole = utf8.offset(text, 0, n + 1) or n + 1 -- never in the middle of a character
		local cut = text:sub(1, whole - 1) .. MARK
		local bytes = size(cut)
		if bytes <= room then
			return cut
		end
		n = math.min(n - 1, n * room // bytes)
	end
	return MARK
end

local function below(path, key)
	return path == "" and tostring(key) or path .. "." .. tostring(key)
end

local cut

-- The members of an object, the largest first.
local function by_size(object)
	local members = {}
	for key, v in next, object do
		members[#members + 1] = { key = key, bytes = size(v) }
	end
	table.sort(members, function(x, y)
		if x.bytes ~= y.bytes then
			return x.bytes > y.bytes
		end
		return tostring(x.key) < tostring(y.key)
	end)
	return members
end

local function cut_object(object, room, path, cuts)
	local out, excess = {}, size(object) - room
	tables.add(out, object)
	for _, member in ipairs(by_size(object)) do
		if excess <= 0 or member.bytes <= LEAST then
			break
		end
		local kept = cut(object[member.key], math.max(member.bytes - excess, LEAST), below(path, member.key), cuts)
		out[member.key], excess = kept, excess - member.bytes + size(kept)
	end
	return out
end

-- A value of at most `room` bytes, as far as it has something to cut.
function cut(v, room, path, cuts)
	local bytes = size(v)
	if bytes <= room then
		return v
	elseif type(v) == "table" and not is_list(v) then
		return cut_object(v, room, path, cuts)
	end
	local out = v
	if type(v) == "string" then
		out = start_of(v, room)
	elseif is_list(v) then
		out = first_items(v, room)
		if not out[1] then
			out[1] = cut(v[1], room - 2, below(path, 1), cuts)
		end
	end
	cuts[#cuts + 1] = out ~= v and { field = path, original_bytes = bytes, returned_bytes = size(out) } or nil
	return out
end

-- --- saying so ----------------------------------------------------------------------------

local function meta(name, value)
	host.send("META", { name = name, data = assert(json.encode(value, { envelope = true })) }, true)
end

-- This call, with another value of one flag.
local function call_with(flag, value)
	local words, rest, skip = { "runner" }, {}, false
	for _, word in ipairs(attempt.call.argv) do
		local into = (rest[1] or word == "--") and rest or words
		if not skip and word:sub(1, #flag + 1) ~= flag .. "=" and word ~= flag then
			into[#into + 1] = command_line.quoted(word)
		end
		skip = word == flag and into == words
	end
	words[#words + 1] = ("%s=%s"):format(flag, value)
	return table.concat(table.move(rest, 1, #rest, #words + 1, words), " ")
end

local function warn(cuts)
	for i = 1, math.min(#cuts, SHOWN) do
		local one = cuts[i]
		attempt.warn("FIELD_TRUNCATED", ("%s was cut from %d to %d bytes"):format(one.field ~= "" and one.field or "data",
			one.original_bytes, one.returned_bytes), one)
	end
	if #cuts > SHOWN then
		attempt.warn("FIELD_TRUNCATED", ("%d more fields were cut"):format(#cuts - SHOWN), { count = #cuts - SHOWN })
	end
end

local function report(total, returned, hint)
	meta("truncated", true)
	if total then
		meta("total_count", total)
		meta("returned_count", returned)
	end
	meta("truncation_hint", hint)
end

-- --- results ------------------------------------------------------------------------------

---As many items of a page as have room; at least one, cut where it must be.
---@param a runner.Attempt
---@param items any[]
---@param around any the result without its items
---@return any[] items the same list if all have room
function M.items(a, items, around)
	local room = M.room(a)
	if not room or not items[1] or size(items) + size(around) <= room then
		return items
	end
	room = room - size(around)
	local out, cuts = first_items(items, room), {}
	if not out[1] then
		out[1] = cut(items[1], math.max(room - 2, LEAST), "1", cuts)
		warn(cuts)
	end
	return out
end

---Say that a page ends before its limit: for want of room.
---@param total integer
---@param returned integer
---@param cursor? string of the next page
function M.report_page(total, returned, cursor)
	report(total, returned, cursor and call_with("--cursor", cursor) or call_with("--max-bytes", 1 << 24))
end

---The result of a command that declares `truncates`, as far as there is room.
---@param a runner.Attempt
---@param data any
---@return any
function M.result(a, data)
	local room, bytes = M.room(a), size(data)
	if not room or bytes <= room then
		return data
	end
	local cuts, total = {}, is_list(data) and #data or nil
	local out = cut(data, room, "", cuts)
	warn(cuts)
	local most = bytes + 2 * RESERVE
	report(total, total and #out, most < 1 << 24 and call_with("--max-bytes", most) or call_with("--output", "result.json"))
	return out
end

return M
