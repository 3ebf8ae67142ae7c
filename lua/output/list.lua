-- list: a page of what a list command returned: sorted, from a cursor on, at most so many
-- items, and only some fields of each. A cursor is the number of items before it and a digest of
-- the call that it belongs to, in base64url: nothing is kept between calls. Loaded for
-- commands that declare `list` or `rows`, and for --fields.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local encoding = require "runner.core.encoding"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

M.DEFAULT_LIMIT = 20

local function is_list(v)
	return type(v) == "table" and (json.is_array(v) or next(v) == nil)
end

-- "a, b" → { "a", "b" }
local function names_in(text)
	local names = {}
	for name in text:gmatch "[^,]+" do
		names[#names + 1] = name:match "^%s*(.-)%s*$"
	end
	return names
end

-- --- cursors ------------------------------------------------------------------------------

-- What decides which items there are, and in which order. Not a secret: anyone could try
-- which one has that digest.
local function digest_of(a)
	local parts = { a.command.name, a.framework.sort or "" }
	for _, row in ipairs(a.command.args) do
		parts[#parts + 1] = not row.secret and json.encode { row.name, a.parsed.values[row.name] } or nil
	end
	return host.digest(table.concat(parts, "\n"))
end

---@param offset integer items before it
---@param digest string
---@return string
function M.cursor(offset, digest)
	return encoding.base64url(("%d.%s"):format(offset, digest))
end

-- The offset is searched for in the text itself: only a cursor that we would write is one.
local function offset_in(cursor, digest)
	local bytes = encoding.from_base64(cursor:sub(1, 64))
	local offset = math.tointeger(tonumber((bytes or ""):match "^(%d+)%."))
	return offset and offset >= 0 and M.cursor(offset, digest) == cursor and offset or nil
end

local function bad_cursor(cursor)
	local message = "The cursor is not one of this call: it is garbled, or belongs to other arguments"
	local fix = "Give --cursor the next_cursor of a call with the same arguments, or leave it out to start over"
	return errors.new("INVALID_CURSOR", message, { phase = "validation", fix_required = fix,
		errors = { { field = "cursor", code = "INVALID_CURSOR", message = message, value = cursor:sub(1, 64), fix_required = fix } } })
end

-- --- order --------------------------------------------------------------------------------

local RANK = { number = 1, string = 2, boolean = 3 }

-- Numbers, then texts, then what has neither.
local function compare(x, y)
	local rank_x, rank_y = RANK[type(x)] or 4, RANK[type(y)] or 4
	if rank_x ~= rank_y or rank_x > 2 then
		return rank_x - rank_y
	end
	return x == y and 0 or x < y and -1 or 1
end

local function field(item, name)
	return type(item) == "table" and item[name] or nil
end

---Sort a list, stably.
---@param items any[]
---@param by string "name,-size"
---@return any[] new
function M.sort(items, by)
	local keys, order, out = names_in(by), {}, {}
	for i = 1, #items do
		order[i] = i
	end
	table.sort(order, function(i, k)
		for _, key in ipairs(keys) do
			local name = key:gsub("^%-", "")
			local difference = compare(field(items[i], name), field(items[k], name))
			if difference ~= 0 then
				return (difference < 0) == (name == key)
			end
		end
		return i < k
	end)
	for i, from in ipairs(order) do
		out[i] = items[from]
	end
	return out
end

-- --- fields -------------------------------------------------------------------------------

local function picked(item, names)
	if type(item) ~= "table" or is_list(item) then
		return item
	end
	local out = {}
	for _, name in ipairs(names) do
		out[name] = item[name]
	end
	return out
end

---A row with only the fields that --fields names.
---@param row table
---@param fields string "name,size"; unknown ones are ignored
---@return table
function M.pick_row(row, fields)
	return picked(row, names_in(fields))
end

---The result with only these fields: of each row, if the command lists or streams, or the format consists of
---rows; else of the result.
---@param data any
---@param names string[] unknown ones are ignored
---@return any
function M.pick(data, names)
	if type(data) ~= "table" then
		return data
	elseif is_list(data) then
		local out = {}
		for i, item in ipairs(data) do
			out[i] = picked(item, names)
		end
		return json.array(out)
	end
	local of_rows = attempt.command.list or attempt.rows or attempt.format ~= "json" and attempt.format ~= "text"
	local decl = of_rows and { rows = display.of(attempt.command, "rows"), list = attempt.command.list }
	local _, at = require("runner.output.tables").rows(data, decl or nil)
	if not at then
		return picked(data, names)
	end
	local out = {}
	for key, v in next, data do
		out[key] = key == at and M.pick(v, names) or v
	end
	return out
end

-- --- rows ---------------------------------------------------------------------------------

local function without_rows(a)
	local changed = a.command.danger_level ~= "safe" and not a.dry_run
	local at = display.of(a.command, "rows")
	local where = at == true and "a list" or ("a table whose '%s' is a list"):format(at)
	error(errors.new("INVALID_RESULT", "run returns no rows: its declaration says that it returns " .. where, { retryable = false,
		side_effects = changed and "complete" or "none", fix_required = "Return that, or change rows of the declaration" }), 0)
end

-- The result of a command that declares `rows`: none are an empty list, so that its shape is always the same.
local function with_rows(a, data)
	local at = display.of(a.command, "rows")
	if at == nil then
		return data -- this call answers with something else
	elseif type(at) == "string" and data ~= nil and (type(data) ~= "table" or data[1] ~= nil) then
		without_rows(a)
	end
	local rows = at == true and data or at ~= true and data and data[at] or nil
	rows = (rows == nil or rows == json.null) and {} or rows
	if not is_list(rows) then
		without_rows(a)
	end
	rows = next(rows) == nil and json.array {} or rows
	if at == true or data and data[at] == rows then
		return at == true and rows or data
	end
	local out = { [at] = rows }
	for key, v in next, data or {} do
		out[key] = out[key] or v
	end
	return out
end

-- --- pages --------------------------------------------------------------------------------

local function items_of(data)
	if data == nil then
		return {}
	elseif is_list(data) then
		return data
	elseif type(data) == "table" and is_list(data.items) then
		return data.items
	end
	error(errors.new("INVALID_RESULT", "run of a list command returns a list, or a table with `items`", {
		fix_required = "Return a list such as { { name = \"a\" } }, or remove list = true" }), 0)
end

local function with_items(data, items)
	if data == nil or is_list(data) then
		return items
	end
	local out = tables.add({}, data)
	out.items = items
	return out
end

-- Formats without meta must not lose items in silence.
local function report(a, pagination)
	host.send("META", { name = "pagination", data = assert(json.encode(pagination, { envelope = true })) }, true)
	if pagination.has_more and a.format ~= "json" then
		local all = pagination.total == json.null and "more" or tostring(pagination.total)
		attempt.warn("LIST_TRUNCATED", ("%d of %s items; --limit 0 prints all"):format(pagination.returned, all),
			{ next_cursor = pagination.next_cursor })
	end
end

local function limit_of(a)
	return a.framework.limit or a.command.default_limit or M.DEFAULT_LIMIT
end

-- The items from `offset` to `last` that have room in the answer.
local function slice(a, all, offset, last, fields, data)
	local truncate = require "runner.output.truncate"
	local wanted = json.array(table.move(all, offset + 1, last, 1, {}))
	wanted = fields and M.pick(wanted, fields) or wanted
	return truncate.items(a, wanted, with_items(data, json.array {})), #wanted
end

local function page(a, data, offset, digest, fields)
	local all, limit = items_of(data), limit_of(a)
	all = a.framework.sort and M.sort(all, a.framework.sort) or all
	offset = math.min(offset, #all)
	local last = limit == 0 and #all or math.min(#all, offset + limit)
	local items, wanted = slice(a, all, offset, last, fields, data)
	if #items < wanted then
		require("runner.output.truncate").report_page(#all, #items, M.cursor(offset + #items, digest))
	end
	local function report_end(count, returned)
		local more = offset + count < #all
		report(a, { total = display.get "goes_on" and json.null or #all, returned = returned, truncated = more, has_more = more,
			next_cursor = more and M.cursor(offset + count, digest) or json.null })
	end
	if a.window then -- which may end before the page does
		require("runner.output.tokens").page = { count = #items, report = report_end }
	else
		report_end(#items, #items)
	end
	return with_items(data, items)
end

---Before `run`: from now on its result is a page, has the rows that it declares, or only some fields.
---@param a runner.Attempt
---@return {enough?: integer}? found items, from the first on, that the page needs; nil: all
---@return runner.Answer? answer where the cursor is not one of this call
function M.open(a)
	local enough
	local is_page, fields = a.command.list, a.framework.fields
	local digest = is_page and digest_of(a)
	local cursor = is_page and a.framework.cursor
	local offset = cursor and offset_in(cursor, digest) or 0
	if cursor and cursor ~= M.cursor(offset, digest) then
		return nil, { error = bad_cursor(cursor) }
	end
	if is_page and not a.framework.sort and limit_of(a) > 0 then
		enough = offset + limit_of(a) + 1
	end
	fields = fields and names_in(fields)
	require("runner.output.checked").then_shape(a.command, function(data)
		if is_page then
			return page(a, data, offset, digest, fields)
		end
		data = a.rows and data or with_rows(a, data)
		return fields and M.pick(data, fields) or data
	end)
	return { enough = enough }
end

return M
