-- repair_values: a value that an argument doesn't take, as it takes it, and how well a value suits an argument. For a command that changes
-- something (`strict`) only its form is repaired, never what it says. Loaded for a call that was wrong (lua/project/repair.lua).

local argv_parser = require "runner.project.argv_parser"
local search_words = require "runner.core.search_words"
local suggest = require "runner.core.suggest"
local values = require "runner.declare.values"
local words = require "runner.project.repair_words"

local M = {}

local UNITS = { ms = "ms", millisecond = "ms",
	s = "s", sec = "s", second = "s", m = "m", min = "m", minute = "m", h = "h", hr = "h", hour = "h",
	d = "d", day = "d" }

local function duration_of(text)
	local number, unit = text:lower():match "^%s*(%d+)%s*(%a+)%s*$"
	unit = unit and (UNITS[unit] or UNITS[unit:gsub("s$", "")])
	return unit and (unit == "d" and math.tointeger(number) * 24 .. "h" or number .. unit)
end

---The only one of a list; nil: there is none, or there are several.
---@param list any[]
---@return any
function M.sole(list)
	return #list == 1 and list[1] or nil
end

local sole = M.sole

-- The one of these words that was meant.
local function one_of(text, list)
	local lower, begin, used = text:lower(), {}, {}
	for _, value in ipairs(list) do
		local other = tostring(value):lower()
		begin[#begin + 1] = #lower > 2 and (other:sub(1, #lower) == lower or lower:sub(1, #other) == other) and value or nil
		used[#used + 1] = words.is_used_for(lower, other) and value or search_words.stem(lower) == search_words.stem(other) and value or nil
	end
	return sole(begin) or not begin[1] and (sole(suggest.nearest(text, list, 2)) or sole(used)) or nil
end

local function letters(text)
	return (tostring(text):lower():gsub("[-_ ]", ""))
end

-- The same in another case, or divided otherwise.
local function same_of(text, list)
	local found = {}
	for _, value in ipairs(list) do
		found[#found + 1] = letters(value) == letters(text) and value or nil
	end
	return sole(found)
end

local function reads(row, text, list)
	local value, why = argv_parser.read(row, text, list)
	return value ~= nil and not why
end

-- "1,234,567" is a number; "3,4" is two.
local function joined(text)
	local first, rest = text:match "^(%d%d?%d?)(,[%d,]+)$"
	return first and rest:gsub(",%d%d%d", "") == "" and text:gsub(",", "") or nil
end

-- "50GB" of what is said to be in GB, and "25%" of what is in percent.
local function without_unit(row, text)
	local number, unit = text:match "^(%d+)%s?([%a%%]+)$"
	local says = number and (row.flag .. " " .. (row.description or "")):lower()
	return number and (says:find(unit == "%" and "percent" or "%f[%w]in " .. unit:gsub("%%", ""):lower() .. "%f[%W]")
		or unit:find "^%a%a+$" and says:find("%-" .. unit:lower() .. " ")) and number
end

---The values that a row allows; nil: any.
---@param s table the state of a repair
---@param row table
---@return any[]?
function M.listed(s, row)
	return row.values and values.of({ opts = { config = s.config }, lists = {} }, row) or nil
end

---The value as its row takes it; nil: it can't be one of its.
---@param s table the state of a repair
---@param row table
---@param text string
---@return string?
function M.read(s, row, text)
	local list, kind = M.listed(s, row), row.items or row.type
	local trimmed = (list or kind == "integer" or not s.strict) and text:match "^%s*(.-)%s*$" or text
	trimmed = kind == "integer" and without_unit(row, trimmed) or trimmed
	local number = kind == "integer" and (joined(trimmed) or not s.strict and trimmed:gsub("^#", "")) or trimmed
	for _, candidate in ipairs { text, trimmed, number, kind == "duration" and duration_of(text) or trimmed,
		list and (same_of(trimmed, list) or not s.strict and one_of(trimmed, list)) or trimmed } do
		if reads(row, candidate, list) then
			return tostring(candidate)
		end
	end
end

-- "snap-42" is one of what "snapshot" is called, or described as.
local function is_named_for(row, text)
	local lead = text:lower():match "^(%l%l+)[-_]?%d"
	for word in (lead and row.flag .. " " .. (row.description or "") or ""):lower():gmatch "%l%l%l+" do
		if word:sub(1, #lead) == lead then
			return true
		end
	end
	return false
end

-- Is it the argument that says which one: "name" of a host, "volume" of volumes?
local function is_object(s, row)
	return row == s.command.args[1] and (row.flag == "name" or row.flag == "id" or words.is_in(row.flag, s.about))
end

---How well a value suits a row, by the row's type, name and description: 0 not at all, to 3.
---@param s table the state of a repair
---@param row table
---@param text string
---@return number
function M.suits(s, row, text)
	local kind, shape = words.kind(row), words.shape(text)
	if row.secret or kind == "json" or kind == "boolean" or text == "" or not M.read(s, row, text) then
		return 0
	elseif row.values then
		return 3
	end
	local by_shape = words.SUITS[kind or "any"] or words.SUITS.any
	local fit = is_named_for(row, text) and 3 or by_shape[shape] or 0
	if fit == 2 and is_object(s, row) then
		return 2.85
	end
	return fit > 0 and fit or (row.items or row.type) ~= "string" and kind ~= "number" and 1 or 0
end

return M
