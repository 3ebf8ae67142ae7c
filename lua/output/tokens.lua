-- tokens: a window of a result, counted in tokens (REQ-O-049): --token-limit, --token-offset,
-- --token-count. A window holds whole elements: items of a list, members of an object, or those of
-- the one member that is most of it, lines of text. The only tokenizer is bytes4, a token for every 4 bytes: those of models need tables of
-- megabytes, and differ. Loaded where a call has one of the flags.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

local BYTES = 4 -- of a token
local MARK = "[TRUNCATED]" -- the last element of a window that is not the last
local MARKED = "_truncated" -- its name in an object

---@class runner.Window what the caller wants (lua/project/call_flags.lua)
---@field limit? integer tokens
---@field offset integer tokens
---@field count? true only how many there are
---@field format "json"|runner.TextFormat of the result

local function meta(name, value)
	host.send("META", { name = name, data = assert(json.encode(value, { envelope = true })) }, true)
end

local function size(v)
	return #assert(json.encode(v, { envelope = true }))
end

local function tokens_of(bytes)
	return (bytes + BYTES - 1) // BYTES
end

-- --- which elements -------------------------------------------------------------------------

---@class runner.Elements a result as its elements
---@field sizes integer[] bytes of each, with what separates them
---@field around integer bytes of what is in every window
---@field mark integer bytes of the mark, with what separates it
---@field make fun(first: integer, last: integer, marked: boolean): any

-- The last element of a window of so many bytes, and whether it is shown: one that is larger than
-- a window of its own is not, where `forced`. Nothing shown and not forced: first - 1.
local function window(e, first, bytes, forced)
	local n, used, fitting = #e.sizes, e.around, first - 1
	for i = first, n do
		used = used + e.sizes[i]
		if used + e.mark <= bytes then
			fitting = i
		elseif used > bytes then
			return fitting >= first and fitting or forced and first or first - 1, fitting >= first
		end
	end
	return n, true
end

-- The first element that earlier windows have not shown: those of the limit, and what is left of
-- the offset.
local function first_of(e, wanted)
	local left, first = wanted.offset, 1
	while left > 0 and first <= #e.sizes do
		local tokens = math.min(wanted.limit or left, left)
		first = window(e, first, tokens * BYTES, tokens == (wanted.limit or left)) + 1
		left = left - tokens
	end
	return first
end

-- What the caller wants of them; `whole` is all, where that is it.
local function choose(e, whole)
	local wanted = attempt.window
	local first, n = first_of(e, wanted), #e.sizes
	local last, shown = n, true
	if wanted.limit then
		meta("token_limit", wanted.limit)
		last, shown = window(e, first, wanted.limit * BYTES, true)
	end
	if wanted.offset > 0 then
		meta("token_offset", wanted.offset)
	end
	if not shown then
		attempt.warn("ELEMENT_TOO_LARGE", ("An element of %d tokens has no room in a window of %d")
			:format(tokens_of(e.sizes[first]), wanted.limit), { tokens = tokens_of(e.sizes[first]) })
	end
	if last < n or not shown then
		meta("truncated", true)
	end
	if last < n then
		meta("next_token_offset", wanted.offset + wanted.limit)
	end
	if first == 1 and last == n and shown then
		return whole
	end
	return e.make(first, shown and last or first - 1, last < n or not shown)
end

-- --- results as elements -----------------------------------------------------------------------

local function of_list(list)
	local sizes = {}
	for i, item in ipairs(list) do
		sizes[i] = size(item) + 1
	end
	return { sizes = sizes, around = 2, mark = #MARK + 3, make = function(first, last, marked)
		local out = table.move(list, first, last, 1, {})
		out[#out + 1] = marked and MARK or nil
		return json.array(out)
	end }
end

local function of_members(object)
	local names, sizes = tables.sorted_keys(object), {}
	for i, name in ipairs(names) do
		sizes[i] = size(name) + size(object[name]) + 2
	end
	return { sizes = sizes, around = 2, mark = #MARKED + #MARK + 6, make = function(first, last, marked)
		local out = { [MARKED] = marked and MARK or nil }
		for i = first, last do
			out[names[i]] = object[names[i]]
		end
		return out
	end }
end

local elements

-- An object that is mostly one list or object: the elements of that.
local function of_inner(object, name)
	local e = elements(object[name])
	local make = e.make
	e.around = e.around + size(object) - size(object[name])
	e.make = function(...)
		local out = tables.add({}, object)
		out[name] = make(...)
		return out
	end
	return e
end

-- The member that takes more than half of an object, and leaves room for the rest in each window.
local function main_member(object)
	local all, limit = size(object), attempt.window.limit
	for _, name in ipairs(tables.sorted_keys(object)) do
		local v = object[name]
		if type(v) == "table" and next(v) ~= nil then
			local bytes = size(v)
			if bytes * 2 > all and not (limit and (all - bytes) * 2 > limit * BYTES) then
				return name
			end
		end
	end
end

function elements(data)
	if data[1] ~= nil or json.is_array(data) then
		return of_list(data)
	end
	local name = main_member(data)
	return name and of_inner(data, name) or of_members(data)
end

local function of_lines(text, format)
	local lines, sizes = {}, {}
	for line in text:gmatch "[^\n]*\n?" do
		if line ~= "" then
			lines[#lines + 1], sizes[#sizes + 1] = line, #line
		end
	end
	local mark = format == "jsonl" and ('{"%s":"%s"}\n'):format(MARKED, MARK) or MARK .. "\n"
	return { sizes = sizes, around = 0, mark = #mark, make = function(first, last, marked)
		return table.concat(lines, "", first, last) .. (marked and mark or "")
	end }
end

-- --- answers -----------------------------------------------------------------------------------

---The number of tokens that the result would take: the envelope's data is null.
---@param text string the result in the caller's format
---@return string data as JSON
function M.count(text)
	meta("token_count", tokens_of(#text))
	return "null"
end

---The window of a result as JSON.
---@param data any which json.encode has accepted
---@param text string the same as JSON
---@return string
function M.json(data, text)
	local chosen = type(data) == "table" and choose(elements(data), data) or data
	return chosen == data and text or assert(json.encode(chosen, { envelope = true }))
end

---The window of a result as text.
---@param text string
---@param format runner.TextFormat
---@return string
function M.text(text, format)
	return choose(of_lines(text, format), text)
end

return M
