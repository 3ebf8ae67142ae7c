-- repair_values: a value that an argument doesn't take, as it takes it, and how well a value suits an argument. For a command that changes
-- something (`strict`) only its form is repaired, never what it says. Loaded for a call that was wrong (lua/project/repair.lua).

local argv_parser = require "runner.project.argv_parser"
local search_words = require "runner.core.search_words"
local suggest = require "runner.core.suggest"
local values = require "runner.declare.values"
local words = require "runner.project.repair_words"

local M = {}

local MOST_ALIKE = 3

local UNITS = { ms = "ms", millisecond = "ms",
	s = "s", sec = "s", second = "s", m = "m", min = "m", minute = "m", h = "h", hr = "h", hour = "h",
	d = "d", day = "d", w = "w", week = "w", wk = "w" }
local HOURS = { d = 24, w = 168 }

local function duration_of(text)
	local number, unit = text:lower():match "^%s*(%d+)%s*(%a+)%s*$"
	unit = unit and (UNITS[unit] or UNITS[unit:gsub("s$", "")])
	return unit and (HOURS[unit] and math.tointeger(number) * HOURS[unit] .. "h" or number .. unit)
end

---The only one of a list; nil: there is none, or there are several.
---@param list any[]
---@return any
function M.sole(list)
	return #list == 1 and list[1] or nil
end

local sole = M.sole

---Is it a word for a time: "hours"?
---@param word? string
---@return boolean
function M.is_unit(word)
	return word ~= nil and #word > 1 and duration_of("1" .. word) ~= nil
end

-- Is another one of them a letter away? "send" may be "sent" as well as "sending".
local function has_rival(text, list, one)
	for _, value in ipairs(list) do
		if value ~= one and suggest.nearest(text, { tostring(value) })[1] and suggest.distance(text:lower(), tostring(value):lower()) == 1 then
			return true
		end
	end
	return false
end

-- The only one of these words that begins so, where no other has it, and isn't more words; the only one with that number.
local function short_of(text, list, least)
	local lower, begin, numbers = text:lower(), {}, {}
	for _, value in ipairs(list) do
		local other = tostring(value):lower()
		begin[#begin + 1] = #lower >= least and other:find(lower, 1, true) and value or nil
		numbers[#numbers + 1] = other:match "^%a+[-_]?(%d+)$" == lower and value or nil
	end
	local one = sole(begin)
	one = one and tostring(one):lower():find("^" .. lower:gsub("%W", "%%%0") .. "%a%a") and one or sole(numbers)
	return not (one and has_rival(text, list, one)) and one or nil
end

-- The one of these words that was meant.
local function one_of(text, list)
	local lower, begin, used = text:lower(), {}, {}
	for _, value in ipairs(list) do
		local other = tostring(value):lower()
		begin[#begin + 1] = #lower > 2 and (other:sub(1, #lower) == lower or lower:sub(1, #other) == other) and value or nil
		used[#used + 1] = words.is_used_for(lower, other) and value or search_words.stem(lower) == search_words.stem(other) and value or nil
	end
	if begin[1] then
		return not has_rival(text, list, begin[1]) and sole(begin) or nil
	end
	return sole(suggest.nearest(text, list, 2)) or sole(used)
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

-- Does a value say what isn't meant: "!admin", "-5", "not-admin"?
local function is_turned(text)
	return tostring(text):find "^[%s\"']*[!^~-]" ~= nil or words.negates(tostring(text))
end

local function reads(row, text, list)
	local value, why = argv_parser.read(row, text, list)
	return value ~= nil and not why
end

-- "1,234,567" is a number; "3,4" is two. In a list, and where something is changed, nobody knows.
local function joined(s, row, text)
	local first, rest = text:match "^(%d%d?%d?)(,[%d,]+)$"
	return first and not s.strict and not row.items and rest:gsub(",%d%d%d", "") == "" and text:gsub(",", "") or nil
end

-- "50GB" of what is said to be in GB, and "25%" of what is in percent.
local function without_unit(row, text)
	local number, unit = text:match "^(%d+)%s?([%a%%]+)$"
	local says = number and (row.flag .. " " .. (row.description or "")):lower()
	return number and (#unit > 2 and words.is_same(row.flag:match "[^-]+$", unit:lower())
		or says:find(unit == "%" and "percent" or "%f[%w]in " .. unit:gsub("%%", ""):lower() .. "%f[%W]")
		or unit:find "^%a%a+$" and says:find("%-" .. unit:lower() .. " ")) and number
end

---The values that a row allows; nil: any.
---@param s table the state of a repair
---@param row table
---@return any[]?
function M.listed(s, row)
	return row.values and values.of({ opts = { config = s.config }, lists = {} }, row) or nil
end

-- "INC-881" for the number of an incident; true: no name says so.
local function number_of(s, row, text)
	local lead, number = text:match "^(%a*)[-_]?#?(%d+)$"
	local is_said = lead == "" and (row.flag .. " " .. (row.description or "")):lower():find "%f[%a]number"
	for word in (lead and s.about .. " " .. row.flag .. " " .. (s.strict and "" or row.description or "") or ""):lower():gmatch "%a+" do
		is_said = is_said or #lead > 1 and word:sub(1, #lead) == lead:lower()
	end
	return number, not is_said
end

-- Another form of what a pattern asks for: its beginning, which is always the same, or its case.
local function by_pattern(row, text)
	local lead = row.pattern and row.pattern:match "^%^([%a][%w]*[-_]?)[%[\\]"
	local other = row.pattern and (reads(row, text:lower()) and text:lower() or text:upper())
	return lead and text:find "^%d+$" and lead .. text or other or text
end

---The value as its row takes it; nil: it can't be one of its.
---@param s table the state of a repair
---@param row table
---@param text string
---@return string?
---@return boolean? is_guess somebody has to say whether that is meant
function M.read(s, row, text)
	local list, kind = M.listed(s, row), row.items or row.type
	local bare = text:match '^"([^"]+)"$' or text:match "^'([^']+)'$"
	local is_free = not list and kind == "string" and not row.pattern
	if bare and kind ~= "json" and (not s.strict or not reads(row, text, list) or is_free) then
		local value, is_guess = M.read(s, row, bare)
		return value, is_guess or is_free and s.strict
	end
	local trimmed = (list or kind == "integer" or not s.strict) and text:match "^%s*(.-)%s*$" or text
	trimmed = kind == "integer" and without_unit(row, trimmed) or trimmed
	for _, candidate in ipairs { text, trimmed, kind == "integer" and joined(s, row, trimmed) or trimmed,
		kind == "duration" and duration_of(text) or trimmed,
		list and (same_of(trimmed, list) or short_of(trimmed, list, s.strict and 3 or 2)) or trimmed,
		by_pattern(row, trimmed) } do
		if reads(row, candidate, list) and (candidate == text or not list or is_turned(candidate) == is_turned(text)) then
			return tostring(candidate), s.strict and row.pattern ~= nil and candidate ~= trimmed and not trimmed:find "%d"
		end
	end
	local number, is_guess = number_of(s, row, trimmed)
	local guess = kind == "integer" and number or list and one_of(trimmed, list)
	if guess and reads(row, guess, list) and is_turned(guess) == is_turned(text) and not (s.strict and row.items and is_guess) then
		return tostring(guess), s.strict and (list ~= nil or is_guess)
	end
end

---The values that one may stand for which is none of its row's: those that are alike, or all of a few.
---@param s table the state of a repair
---@param row table
---@param text string
---@return any[]
function M.alike(s, row, text)
	local list, near = not is_turned(text) and M.listed(s, row) or {}, {}
	for _, value in ipairs(list) do
		near[#near + 1] = #text > 2 and (tostring(value):lower():find(text:lower(), 1, true) == 1 or has_rival(text, { value })) and value or nil
	end
	near = near[1] and near or #list <= MOST_ALIKE and list or {}
	return near[MOST_ALIKE + 1] and {} or near
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
