-- json_schema_values: what JSON Schema asks of a single value: its type, equality, patterns,
-- dates. For json_schema, and who compares decoded JSON.

local json = require "runner.json"
local regex_search = require "runner.core.regex_search"

local M = {}

function M.type_of(value)
	if value == json.null or value == nil then
		return "null"
	elseif type(value) == "table" then
		return json.is_array(value) and "array" or "object"
	elseif type(value) == "number" then
		return math.type(value) == "integer" and "integer"
			or value == math.floor(value) and math.abs(value) < math.huge and "integer" or "number"
	end
	return type(value)
end

function M.is_type(value, wanted)
	local actual = M.type_of(value)
	return actual == wanted or wanted == "number" and actual == "integer"
end

function M.equal(a, b)
	if type(a) ~= "table" or type(b) ~= "table" then
		return a == b
	elseif json.is_array(a) ~= json.is_array(b) then
		return false
	end
	for key, value in pairs(a) do
		if not M.equal(value, b[key]) then
			return false
		end
	end
	for key in pairs(b) do
		if a[key] == nil then
			return false
		end
	end
	return true
end

function M.shown(value)
	local text = json.encode(value) or tostring(value)
	return #text > 60 and text:sub(1, 57) .. "…" or text
end

function M.characters(text)
	return utf8.len(text) or #text
end

function M.matches(pattern, text)
	return regex_search.found(pattern, text)
end

function M.is_date_time(text)
	local month, day, hour, minute, second, zone =
		text:match("^%d%d%d%d%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)%.?%d*(.+)$")
	if not month then
		return false
	end
	local within = month >= "01" and month <= "12" and day >= "01" and day <= "31" and hour < "24" and minute < "60"
		and second <= "60"
	return within and (zone:upper() == "Z" or zone:match("^[+-]%d%d:%d%d$") ~= nil)
end

return M
