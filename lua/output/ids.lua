-- ids: a result as the ids in it, one a line (REQ-O-005), to be put into another command line.
-- Loaded for --format id of a command that declares primary_id_field.

local errors = require "runner.core.errors"
local host = require "runner.host"
local tables = require "runner.output.tables"
local value_text = require "runner.output.value_text"

local M = {}

-- The value as the line it becomes; nil: it is no id.
local function line_of(v)
	local text = type(v) == "string" and v or math.type(v) and value_text.tsv(v) or ""
	return text ~= "" and not text:find "%c" and host.clean(text) == text and text or nil
end

local function without_id(field, nth, command, is_dry)
	local changed = command.danger_level ~= "safe" and not is_dry
	return errors.new("INVALID_RESULT", ("Item %d of the result has no id: its field '%s' is neither a number nor a single line of text")
		:format(nth, field), { retryable = false, side_effects = changed and "complete" or "none",
		fix_required = ("Return %s in each item, or use --format json"):format(field), context = { field = field, item = nth } })
end

---The ids of all rows of a result, each with a line feed; an empty list has none. A row without an
---id is an error, since the caller would go on with fewer ids than there are.
---@param data any which json.encode has accepted
---@param command table normal form, with primary_id_field
---@param is_dry? boolean nothing was changed
---@return string? text
---@return integer|runner.Error rows, or the error INVALID_RESULT
function M.text(data, command, is_dry)
	local field, lines = command.primary_id_field, {}
	local rows = tables.rows(data)
	if value_text.is_object(data) and data[field] ~= nil then
		rows = { data } -- an object with an id, whatever lists it holds
	elseif value_text.is_null(data) then
		return nil, without_id(field, 1, command, is_dry)
	end
	for i, row in ipairs(rows) do
		local line = value_text.is_object(row) and line_of(row[field])
		if not line then
			return nil, without_id(field, i, command, is_dry)
		end
		lines[i] = line .. "\n"
	end
	return table.concat(lines), #lines
end

return M
