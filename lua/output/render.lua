-- render: a result as text: for people (text, table) and for pipes (tsv, plain,
-- jsonl). Loaded by a worker whose format is not json. It adds no colours; control
-- characters are removed here, and once more by the host.

local json = require "runner.json"
local tables = require "runner.output.tables"
local layout = require "runner.output.layout"

local M = {}

local cell_text, is_null, is_object = layout.cell, layout.is_null, layout.is_object

---@class runner.RenderDeclaration
---@field columns? string[] these columns come first, in this order; others follow, sorted
---@field always? string[] columns that are there even if no row has them
---@field rows? string|true where the result has its rows (runner.Command)
---@field list? boolean

---@alias runner.TextFormat "text"|"table"|"tsv"|"plain"|"jsonl"|"id"

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

local function list_lines(list, declared, limit)
	if is_list_of(list, is_flat_object) then
		return tables.lines(list, declared, limit)
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

local function object_lines(object, declared, limit)
	local keys, lines, longest = tables.columns({ object }, declared), {}, 0
	for _, key in ipairs(keys) do
		if inline(object[key]) then
			longest = math.max(longest, layout.width_of(cell_text(key)))
		end
	end
	for _, key in ipairs(keys) do
		local name, value = cell_text(key), inline(object[key])
		if value then
			lines[#lines + 1] = tables.pad(name .. ":", longest + 1) .. " " .. value
		else
			lines[#lines + 1] = name .. ":"
			indent(text_lines(object[key], nil, limit and limit - 2), lines)
		end
	end
	return lines
end

function text_lines(data, declared, limit)
	if is_null(data) then
		return {}
	elseif type(data) ~= "table" then
		return split_lines(layout.value(data))
	elseif json.is_array(data) then
		return list_lines(data, declared, limit)
	end
	return object_lines(data, declared, limit)
end

-- --- formats: (data, declaration, limit) → lines, rows ------------------------------------

local FORMATS = {}

function FORMATS.text(data, decl, limit)
	local array = type(data) == "table" and json.is_array(data)
	return text_lines(data, decl.columns, limit), array and #data or is_null(data) and 0 or 1
end

function FORMATS.table(data, decl, limit)
	local rows = tables.rows(data, decl)
	return tables.lines(rows, decl.columns, limit, not limit and decl.always or nil), #rows
end

local function separated(rows, columns, lines)
	for _, row in ipairs(rows) do
		local cells = {}
		for c, column in ipairs(columns) do
			cells[c] = layout.tsv(row[column])
		end
		lines[#lines + 1] = table.concat(cells, "\t")
	end
	return lines, #rows
end

function FORMATS.tsv(data, decl)
	local rows = tables.rows(data, decl)
	local columns, names = tables.columns(rows, decl.columns, decl.always), {}
	for c, column in ipairs(columns) do
		names[c] = layout.tsv(column)
	end
	return separated(rows, columns, (columns[1] or rows[1]) and { table.concat(names, "\t") } or {})
end

function FORMATS.plain(data, decl)
	if type(data) == "string" then
		return split_lines(layout.value(data)), 1
	end
	local rows = tables.rows(data, decl)
	return separated(rows, tables.columns(rows, decl.columns, decl.always), {})
end

-- What describes a call (--plan, --version) has no ids; those of a result are lua/output/delivery.lua.
FORMATS.id = FORMATS.plain

function FORMATS.jsonl(data, decl)
	local rows, lines = tables.rows(data, decl), {}
	for i, row in ipairs(rows) do
		lines[i] = assert(json.encode(row, { envelope = true }))
	end
	return lines, #rows
end

---Data, which json.encode has accepted, as text. For text, rows are the items of an array; else tables.rows
---says which there are.
---@param data any
---@param format runner.TextFormat
---@param decl? runner.RenderDeclaration
---@param limit? integer columns that a table for a person may take
---@return string text ends with a newline unless it is empty
---@return integer rows
function M.text(data, format, decl, limit)
	local lines, rows = FORMATS[format](data, decl or {}, limit)
	lines[#lines + 1] = lines[1] and ""
	return table.concat(lines, "\n"), rows
end

return M
