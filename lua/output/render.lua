-- render: a result as text: for people (text, table) and for pipes (tsv, plain,
-- jsonl). Loaded by a worker whose format is not json. It adds no colours; control
-- characters are removed here, and once more by the host.

local host = require "runner.host"
local json = require "runner.json"
local width = require("runner.output.wrap").width

local M = {}

---@class runner.RenderDeclaration
---@field columns? string[] these columns come first, in this order; others follow, sorted

---@alias runner.TextFormat "text"|"table"|"tsv"|"plain"|"jsonl"

-- --- values ---------------------------------------------------------------------

local function is_null(v)
	return v == nil or v == json.null
end

local function is_object(v)
	return type(v) == "table" and not json.is_array(v)
end

-- The number as people write it: 3.0 is 3, 0.1 is 0.1. JSON has no NaN and no
-- infinity: they are null.
local function number_text(v, digits)
	if math.type(v) == "integer" then
		return tostring(v)
	end
	return v - v == 0 and ("%." .. (digits or 14) .. "g"):format(v) or ""
end

-- The same with as many digits as it takes to read the same number back.
local function exact_text(v)
	for digits = 14, 16 do
		local text = number_text(v, digits)
		if tonumber(text) == v or text == "" then
			return text
		end
	end
	return number_text(v, 17)
end

-- Text of any value; a table is compact JSON.
local function value_text(v)
	local kind = type(v)
	if is_null(v) then
		return ""
	elseif kind == "string" then
		return host.clean(v)
	elseif kind == "number" then
		return number_text(v)
	elseif kind == "table" then
		return (assert(json.encode(v)))
	end
	return tostring(v)
end

-- The same on one line, with "-" for nothing, for tables.
local function cell_text(v)
	local text = value_text(v):gsub("%s+", " ")
	return text == "" and "-" or text
end

local TSV_ESCAPES = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n" }

local function tsv_text(v)
	local text = type(v) == "number" and exact_text(v) or value_text(v)
	return (text:gsub("[\\\t\n]", TSV_ESCAPES))
end

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

local function rows_of(data)
	if is_null(data) then
		return {}
	elseif type(data) ~= "table" then
		return { data }
	elseif json.is_array(data) then
		return data
	end
	return rows_field(data) or { data }
end

-- The keys of all objects in `rows`: the declared ones first, then sorted.
local function columns_of(rows, declared)
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

local function field(row, column)
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

local function pad(text, to, right)
	local blanks = (" "):rep(to - width(text))
	return right and blanks .. text or text .. blanks
end

-- Everything in the column is a number or missing: it lines up on the right.
local function is_numeric(rows, column)
	local some = false
	for _, row in ipairs(rows) do
		local v = field(row, column)
		if type(v) == "number" then
			some = true
		elseif not is_null(v) then
			return false
		end
	end
	return some
end

local function table_lines(rows, declared)
	local columns = columns_of(rows, declared)
	local cells, widths, right = { {} }, {}, {}
	for c, column in ipairs(columns) do
		cells[1][c] = cell_text(column)
		widths[c] = width(cells[1][c])
		right[c] = is_numeric(rows, column)
	end
	for r, row in ipairs(rows) do
		cells[r + 1] = {}
		for c, column in ipairs(columns) do
			local text = cell_text(field(row, column))
			cells[r + 1][c] = text
			local wide = width(text)
			widths[c] = math.max(widths[c], wide <= WIDEST and wide or 0)
		end
	end
	local lines = {}
	for r, row in ipairs(cells) do
		for c, text in ipairs(row) do
			row[c] = pad(text, widths[c], right[c])
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
			cells[c] = pad(text_of(column), widths[c], right[c])
		end
		return table.concat(cells, "  ")
	end
	local function begin(row)
		columns = columns_of({ row }, declared)
		for c, column in ipairs(columns) do
			known[column], right[c] = true, type(row[column]) == "number"
			widths[c] = math.max(width(cell_text(column)), math.min(width(cell_text(row[column])), WIDEST), 8)
		end
		return trimmed(line(cell_text)) .. "\n"
	end
	return function(row)
		local head, more = columns and "" or begin(row), {}
		for _, key in ipairs(columns_of({ row })) do
			more[#more + 1] = not known[key] and ("  %s: %s"):format(cell_text(key), cell_text(row[key])) or nil
		end
		return head .. trimmed(line(function(column)
			return cell_text(row[column])
		end) .. table.concat(more))
	end
end

-- --- text for people -------------------------------------------------------------------

local text_lines

local function is_list_of(rows, wanted)
	for _, row in ipairs(rows) do
		if not wanted(row) then
			return false
		end
	end
	return true
end

local function is_flat_object(v)
	if not is_object(v) then
		return false
	end
	for _, inner in next, v do
		if type(inner) == "table" then
			return false
		end
	end
	return true
end

local function is_scalar(v)
	return type(v) ~= "table"
end

local function list_lines(list, declared)
	if is_list_of(list, is_flat_object) then
		return table_lines(list, declared)
	end
	local lines = {}
	for _, v in ipairs(list) do
		lines[#lines + 1] = cell_text(v)
	end
	return lines
end

-- A value that fits after its key; nil for one that needs lines of its own.
local function inline(v)
	if type(v) == "string" and v:find("\n", 1, true) then
		return nil
	elseif is_scalar(v) then
		return cell_text(v)
	elseif json.is_array(v) and is_list_of(v, is_scalar) then
		local texts = {}
		for i, item in ipairs(v) do
			texts[i] = cell_text(item)
		end
		return #texts > 0 and table.concat(texts, ", ") or "-"
	end
	return next(v) == nil and "-" or nil
end

local function indent(lines, into)
	for _, line in ipairs(lines) do
		into[#into + 1] = "  " .. line
	end
end

local function split_lines(text)
	local lines = {}
	for line in (text:gsub("\n+$", "") .. "\n"):gmatch("(.-)\n") do
		lines[#lines + 1] = line
	end
	return lines
end

local function object_lines(object, declared)
	local keys, lines, longest = columns_of({ object }, declared), {}, 0
	for _, key in ipairs(keys) do
		if inline(object[key]) then
			longest = math.max(longest, width(cell_text(key)))
		end
	end
	for _, key in ipairs(keys) do
		local name, value = cell_text(key), inline(object[key])
		if value then
			lines[#lines + 1] = pad(name .. ":", longest + 1) .. " " .. value
		else
			lines[#lines + 1] = name .. ":"
			indent(text_lines(object[key]), lines)
		end
	end
	return lines
end

function text_lines(data, declared)
	if is_null(data) then
		return {}
	elseif type(data) ~= "table" then
		return split_lines(value_text(data))
	elseif json.is_array(data) then
		return list_lines(data, declared)
	end
	return object_lines(data, declared)
end

-- --- formats: (data, columns) → lines, rows ----------------------------------------------

local FORMATS = {}

function FORMATS.text(data, declared)
	local array = type(data) == "table" and json.is_array(data)
	return text_lines(data, declared), array and #data or is_null(data) and 0 or 1
end

function FORMATS.table(data, declared)
	local rows = rows_of(data)
	return table_lines(rows, declared), #rows
end

local function separated(rows, columns, lines)
	for _, row in ipairs(columns[1] and rows or {}) do
		local cells = {}
		for c, column in ipairs(columns) do
			cells[c] = tsv_text(field(row, column))
		end
		lines[#lines + 1] = table.concat(cells, "\t")
	end
	return lines, #rows
end

function FORMATS.tsv(data, declared)
	local rows = rows_of(data)
	local columns, names = columns_of(rows, declared), {}
	for c, column in ipairs(columns) do
		names[c] = tsv_text(column)
	end
	return separated(rows, columns, columns[1] and { table.concat(names, "\t") } or {})
end

function FORMATS.plain(data, declared)
	if type(data) == "string" then
		return split_lines(value_text(data)), 1
	end
	local rows = rows_of(data)
	return separated(rows, columns_of(rows, declared), {})
end

function FORMATS.jsonl(data)
	local rows, lines = rows_of(data), {}
	for i, row in ipairs(rows) do
		lines[i] = assert(json.encode(row))
	end
	return lines, #rows
end

---Data, which json.encode has accepted, as text. Rows are the items of an
---array, else those that rows_field finds, else the object itself is one row.
---@param data any
---@param format runner.TextFormat
---@param decl? runner.RenderDeclaration
---@return string text ends with a newline unless it is empty
---@return integer rows
function M.text(data, format, decl)
	local lines, rows = FORMATS[format](data, decl and decl.columns)
	lines[#lines + 1] = lines[1] and ""
	return table.concat(lines, "\n"), rows
end

return M
