-- pretty: JSON for files that people edit: indented, keys sorted. Programs read the
-- output of json.encode.

local json = require "runner.json"
local sorted = require "runner.core.sorted"

local M = {}

local write

local function write_items(list, indent)
	local out = {}
	for i, v in ipairs(list) do
		out[i] = indent .. write(v, indent)
	end
	return out
end

local function write_members(object, indent)
	local out = {}
	for i, key in ipairs(sorted.keys(object)) do
		out[i] = ("%s%s: %s"):format(indent, assert(json.encode(key)), write(object[key], indent))
	end
	return out
end

function write(value, indent)
	if type(value) ~= "table" or next(value) == nil then
		return assert(json.encode(value))
	end
	local deeper = indent .. "  "
	local is_list = json.is_array(value)
	local lines = (is_list and write_items or write_members)(value, deeper)
	return ("%s\n%s\n%s%s"):format(is_list and "[" or "{", table.concat(lines, ",\n"), indent, is_list and "]" or "}")
end

---A value that json.decode made, or of that shape, as indented JSON.
---@param value any
---@return string without a newline at the end
function M.text(value)
	return write(value, "")
end

return M
