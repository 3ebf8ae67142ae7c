-- codec: bytes as text and back: base64, hexadecimal, parts of URLs, CSV, dotenv. What can't be
-- decoded raises PRECONDITION. Pure.

local check = require "runner.library.check"
local encoding = require "runner.core.encoding"
local json = require "runner.json"

local M = {}

-- Records of comma-separated values (RFC 4180). A line break is LF or CRLF; a quoted cell may
-- hold any; a quote inside an unquoted cell, or text after a closing quote, is an error. Pure.

local function separator_of(what, options)
	local separator = options.separator or ","
	if type(separator) ~= "string" or #separator ~= 1 or separator:find '["\r\n]' then
		check.misuse(what, "separator must be one character other than a quote and a line break")
	end
	return separator
end

local function refuse(state, at, message)
	local _, newlines = state.text:sub(1, at - 1):gsub("\n", "")
	check.refuse(("CSV, line %d: %s"):format(newlines + 1, message))
end

-- A cell that begins at `at`, and where its end is: at a separator, a line break, or after the text.
local function quoted_cell(state, at)
	local pieces, from = {}, at + 1
	while true do
		local stop = state.text:find('"', from, true)
		if not stop then
			refuse(state, at, "this quote has no end")
		end
		pieces[#pieces + 1] = state.text:sub(from, stop - 1)
		from = stop + 2
		if state.text:sub(stop + 1, stop + 1) ~= '"' then
			if not state.text:find("^\r?" .. state.ending, stop + 1) and stop < #state.text then
				refuse(state, stop, "text behind a closing quote")
			end
			return table.concat(pieces, '"'), stop + 1
		end
	end
end

local function cell_at(state, at)
	if state.text:sub(at, at) == '"' then
		return quoted_cell(state, at)
	end
	local stop = state.text:find(state.ending, at) or #state.text + 1
	local cell = state.text:sub(at, stop - 1)
	if cell:find('"', 1, true) then
		refuse(state, at, 'a quote in a cell without quotes: write "a ""quoted"" word"')
	end
	return state.text:sub(stop, stop) == "\n" and cell:gsub("\r$", "") or cell, stop
end

local function finish(state, records, record, at)
	records[#records + 1] = record
	if #record ~= #records[1] then
		refuse(state, at, ("%d cells, not %d as in the first record"):format(#record, #records[1]))
	end
	return json.array {}
end

local function records_of(state)
	local records, record, at, text = json.array {}, json.array {}, 1, state.text
	while at <= #text do
		record[#record + 1], at = cell_at(state, at)
		local break_at = text:match("^\r?\n()", at)
		if not break_at and at == #text then -- a separator: an empty cell ends the text
			record[#record + 1] = ""
		end
		if break_at or at >= #text then
			record = finish(state, records, record, at)
		end
		at = break_at or at + 1
	end
	return records
end

local function by_name(records)
	local names, out = table.remove(records, 1) or {}, json.array {}
	local seen = {}
	for _, name in ipairs(names) do
		if seen[name] then
			check.refuse(("CSV: two columns are named %q"):format(name))
		end
		seen[name] = true
	end
	for i, record in ipairs(records) do
		out[i] = {}
		for n, name in ipairs(names) do
			out[i][name] = record[n]
		end
	end
	return out
end

---@param text string
---@param options table
---@return table[]
local function csv_decode(text, options)
	local separator = separator_of("codec.csv_decode", options)
	text = text:gsub("^\u{FEFF}", "")
	local class = separator:find "%w" and separator or "%" .. separator
	local records = records_of { text = text, ending = "[" .. class .. "\n]" }
	return options.header and by_name(records) or records
end

local function cell_text(value, separator)
	if value == nil or value == json.null then
		return ""
	elseif type(value) ~= "string" and type(value) ~= "number" and type(value) ~= "boolean" then
		check.misuse("codec.csv_encode", "a cell can't be a " .. type(value))
	end
	local text = tostring(value)
	if text:find('["\r\n]') or text:find(separator, 1, true) or text:find "^%s" or text:find "%s$" then
		return '"' .. text:gsub('"', '""') .. '"'
	end
	return text
end

---@param records table[]
---@param options table
---@return string
local function csv_encode(records, options)
	local separator, columns, lines = separator_of("codec.csv_encode", options), options.columns, {}
	local function add(record, keys)
		local cells = {}
		for i = 1, keys and #keys or #record do
			cells[i] = cell_text(record[keys and keys[i] or i], separator)
		end
		lines[#lines + 1] = table.concat(cells, separator) .. "\n"
	end
	if columns then
		add(columns)
	end
	for _, record in ipairs(records) do
		if type(record) ~= "table" then
			check.misuse("codec.csv_encode", "a record must be a table, not a " .. type(record))
		end
		add(record, columns)
	end
	return table.concat(lines)
end

---RFC 4648, with padding.
---@param bytes string
---@return string
function M.base64_encode(bytes)
	check.strings("codec.base64_encode", bytes)
	return encoding.base64(bytes)
end

---The alphabet of URLs and file names, without padding.
---@param bytes string
---@return string
function M.base64url_encode(bytes)
	check.strings("codec.base64url_encode", bytes)
	return encoding.base64url(bytes)
end

---Of either alphabet; blanks, line breaks and missing padding don't matter.
---@param text string
---@return string bytes
function M.base64_decode(text)
	check.strings("codec.base64_decode", text)
	local bare = text:gsub("%s+", ""):gsub("=+$", "")
	return #bare % 4 ~= 1 and encoding.from_base64(bare) or check.refuse "This is not base64"
end

---Two lower-case digits a byte.
---@param bytes string
---@return string
function M.hex_encode(bytes)
	check.strings("codec.hex_encode", bytes)
	return encoding.hex(bytes)
end

---@param text string
---@return string bytes
function M.hex_decode(text)
	check.strings("codec.hex_decode", text)
	if #text % 2 == 1 or text:find "%X" then
		check.refuse "This is not hexadecimal: it needs two digits a byte"
	end
	return encoding.from_hex(text)
end

---For one part of a URL: all but letters, digits and "-._~" become %XX (RFC 3986).
---@param text string
---@return string
function M.url_encode(text)
	check.strings("codec.url_encode", text)
	return encoding.percent(text)
end

---%XX becomes a byte; a "+" stays one.
---@param text string
---@return string
function M.url_decode(text)
	check.strings("codec.url_decode", text)
	if text:gsub("%%%x%x", ""):find("%", 1, true) then
		check.refuse "In this URL a % has no two hexadecimal digits behind it"
	end
	return encoding.from_percent(text)
end

---The records of CSV (RFC 4180) as lists of texts; with `header`, as tables by the names in the first
---record. Records must be of equal length.
---@param text string
---@param options? {separator?: string, header?: boolean}
---@return table[]
function M.csv_decode(text, options)
	check.strings("codec.csv_decode", text)
	return csv_decode(text, options or {})
end

---Records as CSV: lists of values, or tables by `columns`. A cell is quoted where it must be.
---@param records table[]
---@param options? {separator?: string, columns?: string[]} columns: first a record of these names, then each table's values of them
---@return string
function M.csv_encode(records, options)
	check.kind("codec.csv_encode", 1, records, "table")
	return csv_encode(records, options or {})
end

---NAME=value lines as a table, as `env_files` of workflows reads them. Nothing is expanded.
---@param text string
---@param name? string of the file, for messages
---@return table<string, string>
function M.dotenv_decode(text, name)
	check.strings("codec.dotenv_decode", text, name or "")
	return require("runner.core.dotenv").parse(text, name or "dotenv")
end

return M
