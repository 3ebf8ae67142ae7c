-- tables: the rows and columns of a result, and a table of them for people.

local json = require "runner.json"
local value_text = require "runner.output.value_text"
local width = require("runner.output.wrap").width

local M = {}

local cell_text, is_null, is_object = value_text.cell, value_text.is_null, value_text.is_object

-- --- rows and columns --------------------------------------------------------------

local function is_array(v)
	return type(v) == "table" and json.is_array(v)
end

local function is_list_of_objects(v)
	return is_array(v) and is_object(v[1])
end

-- The only field that is such a value.
local function only(object, wanted)
	local found
	for _, v in next, object do
		if wanted(v) then
			if found then
				return nil
			end
			found = v
		end
	end
	return found
end

-- What holds the rows of an object: `items`, its only array of objects, or its only array.
local function rows_field(object)
	return is_array(object.items) and object.items or only(object, is_list_of_objects) or only(object, is_array)
end

---The rows of a result: the items of an array, else those of rows_field, else itself.
---@param data any
---@return any[]
function M.rows(data)
	if is_null(data) then
		return {}
	elseif type(data) ~= "table" then
		return { data }
	elseif json.is_array(data) then
		return data
	end
	return rows_field(data) or { data }
end

---The keys of all objects in `rows`: the declared ones first, then sorted.
---@param rows any[]
---@param declared? string[]
---@return string[]
function M.columns(rows, declared)
	local present, columns, others = {}, {}, {}
	for _, row in ipairs(rows) do
		for key in next, is_object(row) and row or { value = true } do
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

---@param row any
---@param column string
---@return any
function M.field(row, column)
	if is_object(row) then
		return row[column]
	elseif column == "value" then
		return row
	end
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
		local v = M.field(row, column)
		if type(v) == "number" then
			some = true
		elseif not is_null(v) then
			return false
		end
	end
	return some
end

---@param rows any[]
---@param declared? string[]
---@return string[] the head and a line a row; none without columns
function M.lines(rows, declared)
	local columns = M.columns(rows, declared)
	local cells, widths, right = { {} }, {}, {}
	for c, column in ipairs(columns) do
		cells[1][c] = cell_text(column)
		widths[c] = width(cells[1][c])
		right[c] = is_numeric(rows, column)
	end
	for r, row in ipairs(rows) do
		cells[r + 1] = {}
		for c, column in ipairs(columns) do
			local text = cell_text(M.field(row, column))
			cells[r + 1][c] = text
			local wide = width(text)
			widths[c] = math.max(widths[c], wide <= WIDEST and wide or 0)
		end
	end
	local lines = {}
	for r, row in ipairs(cells) do
		for c, text in ipairs(row) do
			row[c] = M.pad(text, widths[c], right[c])
		end
		lines[r] = trimmed(table.concat(row, "  "))
	end
	return columns[1] and lines or {}
end

---A table that grows by a row at a time: its columns and their widths are those of the
---first row, and what later rows have beside them stands at their end.
---@param declared? string[] columns that come first
---@return fun(row: table): string its lines, without a newline at the end
function M.growing(declared)
	local columns, widths, right, known = nil, {}, {}, {}
	local function line(text_of)
		local cells = {}
		for c, column in ipairs(columns) do
			cells[c] = M.pad(text_of(column), widths[c], right[c])
		end
		return table.concat(cells, "  ")
	end
	local function begin(row)
		columns = M.columns({ row }, declared)
		for c, column in ipairs(columns) do
			known[column], right[c] = true, type(row[column]) == "number"
			widths[c] = math.max(width(cell_text(column)), math.min(width(cell_text(row[column])), WIDEST), 8)
		end
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
