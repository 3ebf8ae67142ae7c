-- delivery: a result that is not plain JSON on stdout: rendered as text, as rows, as ids (REQ-O-005), in an older
-- version's form (REQ-O-014), or written to the file of --output; and the warnings about a result that had to be
-- repaired. A plain run doesn't load it.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
local layout = require "runner.output.layout"
local tables = require "runner.output.tables"

local M = {}

-- The value as the line it becomes; nil: it is no id.
local function line_of(v)
	local text = type(v) == "string" and v or math.type(v) and layout.tsv(v) or ""
	return text ~= "" and not text:find "%c" and host.clean(text) == text and text or nil
end

local function without_id(field, nth, command, is_dry)
	local changed = command.danger_level ~= "safe" and not is_dry
	local message = "Item %d of the result has no id: its field '%s' is neither a number nor a single line of text"
	return require("runner.core.errors").new("INVALID_RESULT", message:format(nth, field), {
		retryable = false, side_effects = changed and "complete" or "none",
		fix_required = ("Return %s in each item, or use --format json"):format(field), context = { field = field, item = nth } })
end

-- Where the rows of this result are, as lua/output/tables.lua reads it.
local function rows_decl(command)
	return { rows = display.of(command, "rows"), list = command.list }
end

---The ids of all rows of a result, each with a line feed; an empty list has none. A row without an
---id is an error, since the caller would go on with fewer ids than there are.
---@param data any which json.encode has accepted
---@param command table normal form, with primary_id_field
---@param is_dry? boolean nothing was changed
---@return string? text
---@return integer|runner.Error rows, or the error INVALID_RESULT
local function ids_text(data, command, is_dry)
	local field, lines = command.primary_id_field, {}
	for i, row in ipairs((tables.rows(data, rows_decl(command)))) do
		local line = line_of(row[field])
		if not line then
			return nil, without_id(field, i, command, is_dry)
		end
		lines[i] = line .. "\n"
	end
	return table.concat(lines), #lines
end

local function member(schema, name)
	local below = type(schema) == "table" and schema[name]
	return type(below) == "table" and below or nil
end

-- The schema of one row.
local function row_schema(command)
	local schema, at = display.of(command, "output_schema"), display.of(command, "rows")
	if type(at) == "string" then
		return member(member(member(schema, "properties"), at), "items")
	elseif command.list and not member(schema, "items") then
		return member(member(member(schema, "properties"), "items"), "items")
	end
	return (at or command.list) and member(schema, "items") or schema
end

---@param command table normal form; {}: none
---@param fields? string "name,size": only these are wanted
---@return string[]
local function declared_columns(command, fields)
	local out, known = {}, {}
	local function add(name)
		if not known[name] and (not fields or ("," .. fields:gsub("%s", "") .. ","):find("," .. name .. ",", 1, true)) then
			known[name], out[#out + 1] = true, name
		end
	end
	for _, name in ipairs(display.of(command, "columns") or {}) do
		add(name)
	end
	for _, name in ipairs(require("runner.core.tables").sorted_keys(member(row_schema(command), "properties") or {})) do
		add(name)
	end
	return out
end

---Before `run`.
---@param a runner.Attempt with `older`, of lua/project/call_flags.lua
function M.open_older(a)
	local older = a.older
	attempt.warn("SCHEMA_DEPRECATED", ("The result has the form of version %s; the current one is %s"):format(older.version, older.current),
		{ requested_version = older.version, current_version = older.current })
	require("runner.output.checked").then_shape(a.command, older.shape)
end

---Warn about what the encoder had to change.
---@param notes {nonfinite: integer, repaired: integer}
function M.warn_repairs(notes)
	if notes.nonfinite > 0 then
		attempt.warn("NONFINITE_NUMBER", "NaN and infinity have no JSON form and became null", { count = notes.nonfinite })
	end
	if notes.repaired > 0 then
		attempt.warn("STRING_REPAIRED", "Invalid UTF-8, NUL or ANSI sequences were removed from strings",
			{ count = notes.repaired })
	end
end

local LINKS_MAX = 40

-- Where the bytes go: a symbolic link stays one, even if its target doesn't exist yet. One that another user
-- may have put there leads nowhere.
local function destination(fs, path)
	for _ = 1, LINKS_MAX do
		local to = fs.readlink(path)
		if to then
			local safe, why = fs.check_way(path)
			if not safe then
				return nil, why
			end
		end
		local real = fs.realpath(path)
		if real or not to then
			return real or path
		end
		path = to:sub(1, 1) == "/" and to or (path:match("^(.*/)") or "") .. to
	end
	return nil, "too many links"
end

-- The envelope holds the path.
local function to_file(text, path)
	local fs = require "runner.fs"
	local to, why = destination(fs, path)
	local ok
	if to then
		ok, why = fs.write(to, text)
	end
	if not ok then
		return nil, require("runner.core.errors").new("OUTPUT_FAILED", ("Can't write the result to %s: %s"):format(path, why),
			{ fix_required = "Give --output a writable path", side_effects = "complete" })
	end
	return require("runner.json").encode({ path = path, bytes = #text }, { envelope = true })
end

-- Formats of rows must not leave out in silence what stands beside them.
local function warn_left_out(at, data, format)
	local names, asked = {}, attempt.framework.fields
	asked = asked and "," .. asked:gsub("%s", "") .. ","
	for _, name in ipairs(require("runner.core.tables").sorted_keys(data)) do
		names[#names + 1] = name ~= at and not (asked and not asked:find("," .. name .. ",", 1, true)) and name or nil
	end
	if names[1] then
		attempt.warn("FIELDS_LEFT_OUT", ("--format %s prints the rows, '%s'; --format json has also %s"):format(format, at,
			table.concat(names, ", ")), { rows = at, left_out = names })
	end
end

local function rows_as(format, data)
	local command = not attempt.information and attempt.command or {}
	local decl = rows_decl(command)
	local at = select(2, tables.rows(data, decl))
	if at and format ~= "text" then
		warn_left_out(at, data, format)
	end
	decl.columns, decl.always = display.of(command, "columns"), declared_columns(command, attempt.framework.fields)
	return require("runner.output.render").text(data, format, decl, require("runner.output.layout").table_width())
end

-- Text and its rows; nil and an error. A built-in may have rendered its result itself (lua/core/display.lua).
local function rendered_as(format, data, text)
	if format == "json" then
		return text .. "\n", 0
	end
	local own = display.get(format)
	if own then
		return type(own) == "function" and own(data) or own, 1
	elseif format == "id" and attempt.command and attempt.command.primary_id_field then
		return ids_text(data, attempt.command, attempt.dry_run)
	end
	return rows_as(format, data)
end

---@return runner.Error
function M.too_large()
	return require("runner.core.errors").new("OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB")
end

---The data of a failure as TEXT, for a terminal; of a built-in where it has made its own text,
---since others have shown it on the way. Data without a JSON form is left out: the failure says so.
---@param data any
function M.show(data)
	local command, format = attempt.command, attempt.format
	local has_form = command and (command.path or attempt.framework.format or display.get(format))
	if not has_form or not attempt.launch.stdout_is_tty or format == "json" or format == "id" then
		return
	end
	data = attempt.wrap(data)
	data = attempt.mask and attempt.mask(data) or data
	local text = require("runner.json").encode(data, { max = 16 << 20, envelope = true })
	if text then
		host.send("TEXT", { text = (rendered_as(format, data, text)) })
	end
end

local PLACES = require("runner.core.tables").set "out out-file output-file output-path dest destination save-to"

-- The command has a place of its own for what it writes, which the call hasn't named: --output may have been meant for that.
local function warn_of_own()
	for _, row in ipairs(attempt.command.args) do
		local is_place = PLACES[row.flag] or row.type ~= "boolean" and (row.description or ""):lower():find "^where to"
			and (row.type == "path" or row.flag:find "path$" or row.flag:find "file$")
		if is_place and not attempt.parsed.given[row.name] then
			attempt.warn("OUTPUT_IS_RUNNERS", ("--output is runner's own flag, and has the answer; what '%s' writes goes where --%s says"):format(
				require("runner.core.command_line").typed(attempt.command.name), row.flag), { flag = row.flag })
		end
	end
end

---Render a result and send it as TEXT, or write it to the file of --output.
---@param data any
---@param text string the same as JSON
---@param format "json"|runner.TextFormat
---@return string? text the envelope's data, nil where there is an error
---@return integer|runner.Error rows of the text, or the error
function M.deliver(data, text, format)
	local written = attempt.rows and attempt.rows.written
	if written and format == "jsonl" then
		return text, 0 -- the supervisor's last line has it
	elseif written and data == nil then
		host.send("TEXT", { text = "" }) -- all has been said
		return text, 0
	end
	local window = attempt.window and require "runner.output.tokens"
	if window and format == "json" and not attempt.window.count then
		local problem
		text, problem = window.json(data, text)
		if not text then
			return nil, problem
		end
	end
	local rendered, rows = rendered_as(window and attempt.window.format or format, data, text)
	if not rendered then
		return nil, rows
	elseif window and attempt.window.count then
		return window.count(attempt.window.format == "json" and text or rendered), 0
	elseif window and format ~= "json" then
		rendered = window.text(rendered, format)
	end
	local path = attempt.framework.output
	if path then
		local problem
		text, problem = to_file(rendered, path)
		if not text then
			return nil, problem
		end
		warn_of_own()
		rendered, rows = (attempt.launch.stdout_is_tty and host.clean(path) or path) .. "\n", 0
	end
	if format ~= "json" then
		host.send("TEXT", { text = rendered })
	end
	return text, rows
end

return M
