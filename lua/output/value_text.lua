-- value_text: one value as text, for people and for pipes. Control characters are removed here,
-- and once more by the host.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

---@param v any
---@return boolean
function M.is_null(v)
	return v == nil or v == json.null
end

---@param v any
---@return boolean
function M.is_object(v)
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

---Text of any value; a table is compact JSON.
---@param v any
---@return string
function M.text(v)
	local kind = type(v)
	if M.is_null(v) then
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

---The same on one line, with "-" for nothing, for tables.
---@param v any
---@return string
function M.cell(v)
	local text = M.text(v):gsub("%s+", " ")
	return text == "" and "-" or text
end

local TSV_ESCAPES = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n" }

---The same for a field of tsv: numbers to their last digit, and escapes.
---@param v any
---@return string
function M.tsv(v)
	local text = type(v) == "number" and exact_text(v) or M.text(v)
	return (text:gsub("[\\\t\n]", TSV_ESCAPES))
end

return M
