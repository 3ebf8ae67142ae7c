-- tables: the rows and columns of a result, and a table of them for people.

local json = require "runner.json"
local layout = require "runner.output.layout"

local width = layout.width_of

local M = {}

local cell_text, is_null, is_object = layout.cell, layout.is_null, layout.is_object

-- --- rows and columns --------------------------------------------------------------

local function is_array(v)
	return type(v) == "table" and json.is_array(v)
end

-- A row is an object.
local function as_row(v)
	return is_object(v) and v or { value = is_null(v) and json.null or v }
end

-- The list that the declaration says holds the rows, and the member that it is; nil: the result is one row.
local function declared_list(data, decl)
	local at = decl.rows or decl.list and (is_object(data) and "items" or true)
	local list = at == true and data or is_object(data) and data[at] or nil
	return is_array(list) and list or nil, at
end

---The rows of a result, from its declaration alone and never from its values: the items of a list that
---`rows`, `list` or `streams` declare, else the result itself is one.
---@param data any
---@param decl? runner.RenderDeclaration
---@return table[] objects
---@return string? member that holds them
function M.rows(data, decl)
	local list, at = declared_list(data, decl or {})
	if not list then
		return { as_row(data) }
	end
	local rows = {}
	for i, v in ipairs(list) do
		rows[i] = as_row(v)
	end
	return rows, type(at) == "string" and at or nil
end

---The keys of all objects in `rows`: the declared ones first, then sorted.
---@param rows table[]
---@param declared? string[]
---@param always? string[] columns that are there even if no row has them
---@return string[]
function M.columns(rows, declared, always)
	local present, columns, others = {}, {}, {}
	for _, key in ipairs(always or {}) do
		present[key] = true
	end
	for _, row in ipairs(rows) do
		for key in next, row do
			present[key] = true
		end
	end
	for _, key in ipairs(declared or {}) do
		if present[key] or #rows == 0 then
			columns[#columns + 1] = key
			present[key] = nil
		end
	end
	for key in next, present do
		others[#others + 1] = key
	end
	table.sort(others)
	return table.move(others, 1, #others, #columns + 1, columns)
end

-- --- tables for people ----------------------------------------------------------------

-- A longer cell doesn't widen its column: it pushes its line to the right. Otherwise one long
-- value would be paid for in every line.
local WIDEST = 100

-- Without the spaces at its end. (A pattern would take a time that is quadratic in the length
-- of a run of spaces.)
local function trimmed(line)
	local last = #line
	while line:byte(last) == 32 do
		last = last - 1
	end
	return line:sub(1, last)
end

---@param text string
---@param to integer columns
---@param right? boolean the blanks go in front
---@return string
function M.pad(text, to, right)
	local blanks = (" "):rep(to - width(text))
	return right and blanks .. text or text .. blanks
end

-- Everything in the column is a number or missing: it lines up on the right.
local function is_numeric(rows, column)
	local some = false
	for _, row in ipairs(rows) do
		local v = row[column]
		if type(v) == "number" then
			some = true
		elseif not is_null(v) then
			return false
		end
	end
	return some
end

-- What people look for first, and what is long or of less interest.
local RANKS = { id = 1, key = 1, name = 2, title = 3, state = 4, status = 4, ok = 4, type = 5, kind = 5,
	description = 90, message = 91, error = 92, detail = 93, output = 94 }

-- The columns for people: the declared ones, then by rank, then sorted.
local function ranked(rows, declared, always)
	local columns, known, places = M.columns(rows, declared, always), {}, {}
	for i, name in ipairs(declared or {}) do
		known[name] = i
	end
	for i, name in ipairs(columns) do
		places[name] = known[name] and i or 1000 * (RANKS[name] or 50) + i
	end
	table.sort(columns, function(a, b)
		return places[a] < places[b]
	end)
	return columns
end

-- A column of nothing but times is read more easily as "3h ago".
local function time_texts(rows, column, now)
	local texts, some = {}, false
	for r, row in ipairs(rows) do
		local v = row[column]
		local time = layout.time(v)
		if not time and not is_null(v) then
			return nil
		end
		some = some or time ~= nil
		texts[r] = time and layout.relative(time, now) or "-"
	end
	return some and texts or nil
end

local GAP, NARROWEST = 2, 8 -- columns between two, and of one that was cut

-- The widths with which a line has at most `limit` columns: the widest give way first, numbers don't. nil: none.
local function fitted(widths, fixed, limit)
	local total, most = GAP * (#widths - 1), 0
	for c, w in ipairs(widths) do
		total = total + w
		most = fixed[c] and most or math.max(most, w)
	end
	while total > limit and most > NARROWEST do
		most, total = most - 1, GAP * (#widths - 1)
		for c, w in ipairs(widths) do
			total = total + (fixed[c] and w or math.min(w, most))
		end
	end
	if total > limit then
		return nil
	end
	local out = {}
	for c, w in ipairs(widths) do
		out[c] = fixed[c] and w or math.min(w, most)
	end
	return out
end

-- A row after the other, a line for each column, where a table has no room.
local function records(cells)
	local lines, longest = {}, 0
	for _, name in ipairs(cells[1]) do
		longest = math.max(longest, width(name))
	end
	for r = 2, #cells do
		lines[#lines + 1] = r > 2 and "" or nil
		for c, text in ipairs(cells[r]) do
			lines[#lines + 1] = M.pad(cells[1][c] .. ":", longest + 1) .. " " .. text
		end
	end
	return lines
end

local function laid_out(cells, widths, right)
	local lines = {}
	for r, row in ipairs(cells) do
		for c, text in ipairs(row) do
			row[c] = M.pad(layout.cut(text, math.max(widths[c], 1)), widths[c], right[c])
		end
		lines[r] = trimmed(table.concat(row, (" "):rep(GAP)))
	end
	return lines
end

-- The cells as text, the head first; the width of each column; those of numbers.
local function measured(rows, columns, limit)
	local cells, widths, right = { {} }, {}, {}
	for r = 1, #rows do
		cells[r + 1] = {}
	end
	for c, column in ipairs(columns) do
		local texts = limit and time_texts(rows, column, os.time())
		cells[1][c] = cell_text(column)
		widths[c], right[c] = width(cells[1][c]), is_numeric(rows, column)
		for r, row in ipairs(rows) do
			local text = texts and texts[r] or cell_text(row[column])
			local wide = width(text)
			cells[r + 1][c] = text
			widths[c] = math.max(widths[c], (limit or wide <= WIDEST) and wide or 0)
		end
	end
	return cells, widths, right
end

---Without a limit a cell is whole, and one of more than 100 columns doesn't widen its column.
---@param rows table[]
---@param declared? string[]
---@param limit? integer columns of a line, for a person at a terminal: what is longer is cut, and where even
---  that is too much, each row becomes a record
---@param always? string[] as for M.columns
---@return string[] the head and a line a row; where there are no columns, "-" for each row
function M.lines(rows, declared, limit, always)
	local cells, widths, right = measured(rows, ranked(rows, declared, always), limit)
	if not widths[1] then
		for r in ipairs(rows) do
			cells[r], cells[r + 1] = "-", nil
		end
		return rows[1] and cells or {}
	elseif not limit then
		for r, row in ipairs(cells) do
			for c, text in ipairs(row) do
				row[c] = M.pad(text, widths[c], right[c])
			end
			cells[r] = trimmed(table.concat(row, (" "):rep(GAP)))
		end
		return cells
	end
	local narrower = fitted(widths, right, limit)
	return narrower and laid_out(cells, narrower, right) or records(cells)
end

---A table that grows by a row at a time: its columns and their widths are those of the
---first row, and what later rows have beside them stands at their end.
---@param declared? string[] columns that come first
---@param limit? integer columns of a line; longer cells are cut
---@return fun(row: table): string its lines, without a newline at the end
function M.growing(declared, limit)
	local columns, widths, right, known = nil, {}, {}, {}
	local function line(text_of)
		local cells = {}
		for c, column in ipairs(columns) do
			cells[c] = M.pad(limit and layout.cut(text_of(column), widths[c]) or text_of(column), widths[c], right[c])
		end
		return table.concat(cells, "  ")
	end
	local function begin(row)
		columns = ranked({ row }, declared)
		for c, column in ipairs(columns) do
			known[column], right[c] = true, type(row[column]) == "number"
			widths[c] = math.max(width(cell_text(column)), math.min(width(cell_text(row[column])), WIDEST), 8)
		end
		widths = limit and fitted(widths, right, limit) or widths
		return trimmed(line(cell_text)) .. "\n"
	end
	return function(row)
		local head, more = columns and "" or begin(row), {}
		for _, key in ipairs(M.columns({ row })) do
			more[#more + 1] = not known[key] and ("  %s: %s"):format(cell_text(key), cell_text(row[key])) or nil
		end
		return head .. trimmed(line(function(column)
			return cell_text(row[column])
		end) .. table.concat(more))
	end
end

return M
