-- tokens: a window of a result, counted in tokens (REQ-O-049): --token-limit, --token-offset, --token-count. It holds whole
-- items of a list, or lines of a text, as many as a page of so many bytes does (lua/output/truncate.lua); what is still too
-- large loses the tails of its texts, as any bounded answer does. The only tokenizer is bytes4, a token for every 4 bytes:
-- those of models need tables of megabytes, and differ. Loaded where a call has one of the flags.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local json = require "runner.json"
local tables = require "runner.core.tables"
local truncate = require "runner.output.truncate"

local M = {}

local BYTES = 4 -- of a token
local MARK = "[TRUNCATED]" -- the last element of a window that is not the last
local SEPARATED = #MARK + 3 -- its bytes in a list

---@class runner.Window what the caller wants (lua/project/call_flags.lua)
---@field limit? integer tokens
---@field offset integer tokens
---@field count? true only how many there are
---@field format "json"|runner.TextFormat of the result

M.page = false ---@type false|{count: integer, report: fun(count: integer, returned: integer)} of a list command (lua/output/list.lua)

local meta, size = truncate.meta, truncate.size

-- Where the page ends: the cursor goes on behind the last item that the caller has seen, or has been told of.
local function end_page(count, returned)
	if M.page then
		M.page.report(count or M.page.count, returned or count or M.page.count)
	end
end

-- The items of a page that are in its window.
local function end_page_of(value, skipped, shown, is_items)
	local n = type(value) == "table" and #(value.items or value) or 0
	end_page(is_items and skipped + shown or n, n)
end

local function tokens_of(bytes)
	return (bytes + BYTES - 1) // BYTES
end

-- The elements that the caller wants, of those that earlier windows have not shown; a mark has `mark` bytes, and `around` are
-- in each window.
local function choose(elements, around, mark, size_of)
	local wanted = attempt.window
	local first, last, left = 1, #elements, wanted.offset
	while left > 0 and first <= #elements do
		local tokens = math.min(wanted.limit or left, left)
		first = truncate.last(elements, first, tokens * BYTES - around, mark, size_of) + 1
		left = left - tokens
	end
	if wanted.limit then
		meta("token_limit", wanted.limit)
		last = truncate.last(elements, first, wanted.limit * BYTES - around, mark, size_of)
	end
	if wanted.offset > 0 then
		meta("token_offset", wanted.offset)
	end
	if last < #elements then
		meta("next_token_offset", wanted.offset + wanted.limit)
	end
	return table.move(elements, first, last, 1, {}), last < #elements, first - 1
end

-- An element that nothing of has room is left out.
local function warn_left_out(bytes)
	attempt.warn("ELEMENT_TOO_LARGE", ("An element of %d tokens has no room in a window of %d")
		:format(tokens_of(bytes), attempt.window.limit), { tokens = tokens_of(bytes) })
end

---The number of tokens that the result would take: the envelope's data is null.
---@param text string the result in the caller's format
---@return string data as JSON
function M.count(text)
	meta("token_count", tokens_of(#text))
	end_page()
	return "null"
end

-- The list whose items are the elements: the result, or the member that is most of it, and its name. Any other result is one.
local function list_of(data)
	if type(data) ~= "table" or data[1] ~= nil or json.is_array(data) then
		return type(data) == "table" and data or nil
	end
	local all = size(data)
	for _, name in ipairs(tables.sorted_keys(data)) do
		local v = data[name]
		if type(v) == "table" and v[1] ~= nil and size(v) * 2 > all then
			return v, name
		end
	end
end

-- What a window of one element has no room for, as it is without its tails; nil: its form allows no cut.
local function shortened(value, most)
	local cut, cuts = json.shorten(assert(json.encode({ data = value }, { envelope = true })), most + #'{"data":}')
	return cut and json.decode(cut).data, cuts
end

---The window of a result as JSON.
---@param data any which json.encode has accepted
---@param text string the same as JSON
---@return string? text nil: it is too large, and no cut keeps its form
---@return runner.Error?
function M.json(data, text)
	local most = attempt.window.limit and attempt.window.limit * BYTES or math.huge
	local list, name = list_of(data)
	local shown, more, skipped = choose(list or { data }, list and #text - size(list) + 2 or 0, SEPARATED, function(item)
		return size(item) + 1
	end)
	if not list and skipped > 0 then
		return nil, errors.new("VALIDATION_ERROR", ("Nothing is behind token %d: the result is no list, and has one window"):format(
			attempt.window.offset), { side_effects = "complete", fix_required = "Leave out --token-offset; a larger --token-limit shows more" })
	end
	local value = list and json.array(shown) or shown[1]
	if name then
		value = tables.add({}, data)
		value[name] = json.array(shown)
	end
	if not more and #shown == #(list or { data }) and #text <= most then
		end_page()
		return text
	end
	local cut, cuts = size(value) + (more and SEPARATED or 0) > most, {}
	if cut then
		value, cuts = shortened(value, most - (list and SEPARATED or 0))
	end
	if value == nil and cut then
		return nil, errors.new("OUTPUT_TOO_LARGE", ("The result has %d tokens, and its form allows no cut to %d"):format(tokens_of(#text),
			attempt.window.limit), { side_effects = "complete", fix_required = "Ask for more tokens with --token-limit" })
	end
	local items = list and (name and value[name] or value)
	if items and shown[1] ~= nil and items[1] == nil then
		warn_left_out(size(shown[1]))
		cuts = {}
	end
	end_page_of(value, skipped, #shown, list and (not name or name == "items"))
	for _, row in ipairs(truncate.warnings(cuts)) do
		attempt.warn(row.code, row.message, row.context)
	end
	if items and (more or #items < #shown) then
		items[#items + 1] = MARK
	end
	if more or cut then
		meta("truncated", true)
	end
	if cut and not list and attempt.command.danger_level == "safe" then
		meta("truncation_hint", truncate.call_with("--token-limit", tokens_of(#text)))
	end
	return assert(json.encode(value, { envelope = true }))
end

---The window of a result as text: lines, of which one that is longer than a window is left out.
---@param text string
---@param format runner.TextFormat
---@return string
function M.text(text, format)
	local mark = (format == "jsonl" and '{"_truncated":"%s"}' or "%s"):format(MARK) .. "\n"
	local lines = {}
	for line in text:gmatch "[^\n]+\n?" do
		lines[#lines + 1] = line
	end
	local shown, more = choose(lines, 0, #mark, string.len)
	local out = table.concat(shown)
	if attempt.window.limit and #out + (more and #mark or 0) > attempt.window.limit * BYTES then
		warn_left_out(#out)
		out, more = "", true
	end
	if more then
		meta("truncated", true)
	else
		end_page()
	end
	return out .. (more and mark or "")
end

return M
