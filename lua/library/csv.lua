-- csv: records of comma-separated values (RFC 4180). A line break is LF or CRLF; a quoted cell may
-- hold any; a quote inside an unquoted cell, or text after a closing quote, is an error. Pure.

local check = require "runner.library.check"
local json = require "runner.json"

local M = {}

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
function M.decode(text, options)
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
function M.encode(records, options)
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

return M
