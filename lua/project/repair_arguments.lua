-- repair_arguments: the words behind a command's name, as the command takes them: flags and values that were probably meant, in the
-- form of its declaration. nil where that is not clear. For a command that changes something (`strict`) only the spelling of a flag, the
-- place of an argument and the case of a listed value are repaired. Loaded for a call that was wrong (lua/project/repair.lua).

local argv_parser = require "runner.project.argv_parser"
local contract = require "runner.declare.contract"
local search_words = require "runner.core.search_words"
local suggest = require "runner.core.suggest"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"

local M = {}

-- --- words ----------------------------------------------------------------------------------

local NEGATING = tables.set "no not non never without except exclude excluding skip dont un disable ignore omit but unless invert"
local RESTRICTING = tables.set [[older newer than by max min check explain just what if simulate only before after until from to all none
least most above below over under]]

---Does a word, or a part of it, say the opposite of the rest, or less?
---@param word string
---@param strict? boolean less, too
---@return boolean
function M.negates(word, strict)
	for part in word:lower():gmatch "%a+" do
		if NEGATING[part] or part:find "^un%l%l" or strict and RESTRICTING[part] then
			return true
		end
	end
	return false
end

local function is_plural(many, one)
	return #one > 2 and (many == one .. "s" or many == one .. "es" or many == one:gsub("y$", "ies"))
end

---Is it the same word, or one its plural?
---@param a string
---@param b string
---@return boolean
function M.is_same(a, b)
	return a == b or is_plural(a, b) or is_plural(b, a)
end

---Misspelt, from the second letter on.
---@param typed string
---@param word string
---@return boolean
function M.is_near(typed, word)
	return typed:sub(1, 1) == word:sub(1, 1) and suggest.nearest(typed, { word }, 1)[1] ~= nil
end

-- --- a value ---------------------------------------------------------------------------------

local UNITS = { ms = "ms", millisecond = "ms",
	s = "s", sec = "s", second = "s", m = "m", min = "m", minute = "m", h = "h", hr = "h", hour = "h",
	d = "d", day = "d" }

local function duration_of(text)
	local number, unit = text:lower():match "^%s*(%d+)%s*(%a+)%s*$"
	unit = unit and (UNITS[unit] or UNITS[unit:gsub("s$", "")])
	return unit and (unit == "d" and math.tointeger(number) * 24 .. "h" or number .. unit)
end

local function sole(list)
	return #list == 1 and list[1] or nil
end

-- The one of these words that was meant.
local function one_of(text, list)
	local lower, begin, same = text:lower(), {}, {}
	for _, value in ipairs(list) do
		local other = tostring(value):lower()
		if other == lower then
			return value
		end
		begin[#begin + 1] = #lower > 2 and (other:sub(1, #lower) == lower or lower:sub(1, #other) == other) and value or nil
		local stem, its = search_words.stem(lower), search_words.stem(other)
		same[#same + 1] = (stem == its or search_words.is_same(stem, its)) and value or nil
	end
	return sole(begin) or not begin[1] and (sole(suggest.nearest(text, list, 2)) or sole(same)) or nil
end

local function lower_of(lower, list)
	local found = {}
	for _, value in ipairs(list) do
		found[#found + 1] = tostring(value):lower() == lower and value or nil
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

-- The value as its row takes it.
local function value_of(s, row, text)
	local list = row.values and values.of({ opts = { config = s.config }, lists = {} }, row)
	local kind = row.items or row.type
	local trimmed = (list or kind == "integer" or not s.strict) and text:match "^%s*(.-)%s*$" or text
	local lower = trimmed:lower()
	local number = kind == "integer" and (joined(trimmed) or not s.strict and trimmed:gsub("^#", "")) or trimmed
	for _, candidate in ipairs { text, trimmed, number, not s.strict and kind == "duration" and duration_of(text) or trimmed,
		list and (s.strict and lower_of(lower, list) or not s.strict and one_of(trimmed, list)) or trimmed } do
		if reads(row, candidate, list) then
			return tostring(candidate)
		end
	end
end

-- --- a flag ------------------------------------------------------------------------------------

local FORMATS = { json = "json", yaml = "json", yml = "json", csv = "tsv", tsv = "tsv", jsonl = "jsonl", ndjson = "jsonl", table = "table" }
local FORMAT_FLAGS = tables.set "o out output output-format as"
local CONFIRMING = tables.set "y f force yes assume-yes auto-approve no-confirm"
local DRY = tables.set "n dry dryrun dry-run simulate what-if whatif preview noop"
local MOST = tables.set "n max tail head top count first limit max-results max-items page-size per-page num"
local OURS = { q = "quiet", silent = "quiet", v = "verbose", batch = "non-interactive", timeout_ms = "timeout" }

M.confirming = CONFIRMING

local function plain(name)
	return (name:gsub("(%l)(%u)", "%1-%2"):lower():gsub("_", "-"))
end

-- Are all words of one name among those of the other?
local function covers(long, short)
	for word in short:gmatch "[^-]+" do
		if not ("-" .. long .. "-"):find("-" .. word .. "-", 1, true) then
			return false
		end
	end
	return true
end

local function is_used_for(a, b)
	return search_words.is_same(search_words.stem(a), search_words.stem(b))
end

-- "svc" → service
function M.abbreviates(name, word)
	return #name > 1 and word:find("^" .. name:gsub("%W", "%%%0"):gsub("%w", "%0.*")) ~= nil
end

local function is_near(name, row)
	return #name > 2 and M.is_near(name, row.flag)
end

-- Each says whether a name may mean a row; the surest come first. Runner's own flags are meant only where `ours` says so.
local WAYS = {
	{ ours = true, is = function(name, row) return name:gsub("-", "") == row.flag:gsub("-", "") end },
	{ ours = true, is = function(name, row) return search_words.stem(name) == search_words.stem(row.flag) end },
	{ is = function(name, row) return #name > 1 and (covers(name, row.flag) or covers(row.flag, name)) end },
	{ is = function(name, row) return #name > 1 and row.flag:sub(1, #name) == name end },
	{ is = function(name, row, s) return (row.flag == "name" or row.flag == "id") and s.group and covers(name, s.group) end },
	{ is = function(name, row) return #name > 4 and row.flag == "name" and name:find "name$" end },
	{ is = is_near },
	{ is = function(name, row) return is_used_for(name, row.flag) end },
	{ is = function(name, row) return M.abbreviates(name, row.flag) end },
	{ is = function(name, row) return #name == 1 and row.flag:sub(1, 1) == name end },
	{ ours = true, is = function(name, row) return #name > 4 and #row.flag < #name + 3 and is_near(name, row) end },
}
local SURE = 3 -- of them

-- May a value be meant for it? What is given by its right name is no other's, wherever that stands.
local function free(s, row)
	return s.spelt[row] ~= true and (row.type == "array" or s.given[row] == nil)
end

-- The flag that was misspelt by one letter, behind the first; or written together, or in the plural.
local function misspelt(s, name)
	local found = {}
	for _, row in ipairs(s.rows) do
		local flag = row.flag
		local is_close = #name > 3 and #flag > 3 and name:sub(1, 1) == flag:sub(1, 1) and name:gsub("%D", "") == flag:gsub("%D", "")
			and suggest.distance(name, flag) == 1
		if is_close or M.is_same(name:gsub("-", ""), (flag:gsub("-", ""))) then
			found[#found + 1] = row
		end
	end
	local row = not M.negates(name, true) and sole(found)
	return row and not M.negates(row.flag, true) and free(s, row) and row or nil
end

local function by_name(s, name, first, last)
	if M.negates(name) or s.strict then
		return not M.negates(name) and misspelt(s, name) or nil
	end
	for i = first, last do
		local found = { {}, {} }
		for _, row in ipairs(s.rows) do
			local own = not row.section or row.when
			if (own or WAYS[i].ours) and not M.negates(row.flag) and WAYS[i].is(name, row, s) and free(s, row) then
				table.insert(found[own and 1 or 2], row)
			end
		end
		if found[1][1] or found[2][1] then
			return sole(found[1]) or not found[1][1] and sole(found[2]) or nil
		end
	end
end

-- By what its value can be: one of a list, or the only one that has to be given, or the only time.
local function by_value(s, text, positional)
	local listed, required, times, scalars = {}, {}, {}, {}
	for _, row in ipairs(text and s.rows or {}) do
		local fits = not row.section and row.type ~= "boolean" and free(s, row) and value_of(s, row, text)
		if fits then
			listed[#listed + 1] = row.values and row or nil
			required[#required + 1] = row.required and (row.type == "integer" or not tonumber(text) or row.type ~= "string") and row or nil
			times[#times + 1] = row.type == "duration" and text:find "%a" and row or nil
			scalars[#scalars + 1] = row.type ~= "array" and row or nil
		end
	end
	local numbers = {}
	for _, row in ipairs(required) do
		numbers[#numbers + 1] = row.type == "integer" and row or nil
	end
	local likely = sole(listed) or sole(numbers) or sole(required)
	if likely or required[1] or listed[1] then
		return likely or positional and required[1]
	end
	if sole(times) or not positional then
		return sole(times)
	end
	s.guessed = sole(scalars) and 2 or s.guessed
	return sole(scalars)
end

local function has_flag(s, name)
	local row = contract.find(name, s.command)
	return row and contract.belongs(row, s.command) and row
end

local function emit(s, ...)
	for _, word in ipairs { ... } do
		s.out[#s.out + 1] = word
	end
end

-- A habit of other tools, which is no argument of the command. Returns whether its value is used; nil: it is none.
local function foreign(s, name, value)
	local format = FORMAT_FLAGS[name] and value and FORMATS[value] or FORMATS[name]
	if format then
		emit(s, "--format", format)
		return not FORMATS[name]
	elseif CONFIRMING[name] and not (s.strict and name == "f") then
		return false
	elseif s.strict then
		return nil
	elseif MOST[name] and value and value:find "^%d+$" and has_flag(s, "limit") then
		emit(s, "--limit", value)
		return true
	elseif DRY[name] and has_flag(s, "dry-run") then
		emit(s, "--dry-run")
		return false
	elseif OURS[name] then
		emit(s, "--" .. OURS[name])
		return false
	end
end

local TRUE, FALSE = tables.set "true yes 1 on", tables.set "false no 0 off"

-- Take a value for a row, by its name or for its place: true; nil: it can't be one.
local function put(s, row, value, is_place)
	value = value and value_of(s, row, row.section and row.name == "format" and FORMATS[value:lower()] or value)
	if not value or row.secret or s.strict and row.type ~= "array" and s.given[row] then
		return nil
	end
	s.given[row] = true
	if is_place then
		s.slots[row] = s.slots[row] or {}
		table.insert(s.slots[row], value)
	else
		local flag = "--" .. row.flag
		emit(s, table.unpack(values.is_option(value) and { flag .. "=" .. value } or { flag, value }))
	end
	return true
end

local function put_boolean(s, row, text, negated)
	if text and not TRUE[text:lower()] and not FALSE[text:lower()] then
		return nil
	end
	local on = (text == nil or TRUE[text:lower()] or false) ~= (negated or false)
	s.given[row] = true
	emit(s, (on and "--" or "--no-") .. row.flag)
	return true
end

local function own_row(s, name)
	for _, row in ipairs(s.command.args) do
		if row.flag == name or row.short == name then
			return row
		end
	end
end

local function exact(s, name)
	local row = own_row(s, name)
	if row then
		return row
	end
	local found, negated = contract.find(name, s.command)
	if not found then
		found, negated = require("runner.declare.flags").find(name)
	end
	if not found and name:find "^no%-" then
		found, negated = own_row(s, name:sub(4)), true
	end
	return found, negated
end

-- The row that has the name among its values: --critical.
local function by_listed(s, name)
	local found = {}
	for _, row in ipairs(s.rows) do
		local list = not row.section and row.values and free(s, row) and values.of({ opts = { config = s.config }, lists = {} }, row) or {}
		for _, value in ipairs(list) do
			found[#found + 1] = value == name and row or nil
		end
	end
	return sole(found)
end

-- What a name means that is no flag of the command; true, false: it was a habit of other tools, which has taken its value or not.
local function meant_by(s, name, value)
	local row = by_name(s, name, 1, SURE)
	if row or M.negates(name) then
		return row
	end
	local used = foreign(s, name, value)
	if used ~= nil or s.strict then
		return nil, used
	end
	local own = by_name(s, name, SURE + 1, #WAYS - 1)
	local valued = not own and not s.command.secrets and by_value(s, value) or nil
	s.guessed = valued and s.guessed == 0 and 1 or s.guessed
	return own or valued or by_name(s, name, #WAYS, #WAYS)
end

-- How an option is spelt; true: as its row is named.
local function spelling(s, token)
	local spelt = token:match "^[^=]+" or token
	for _, row in ipairs(s.rows) do
		if spelt == "--" .. row.flag or spelt == "--no-" .. row.flag or row.short and spelt == "-" .. row.short then
			return true, row
		end
	end
	return spelt
end

-- An option; returns how many words it has taken; nil: it is not clear what was meant.
local function option(s, token, name, value, after)
	local next_value, used = value or after and not values.is_option(after) and after or nil, nil
	local row, negated = exact(s, name)
	if not row then
		row, negated = exact(s, plain(name))
	end
	if FORMAT_FLAGS[name] and FORMATS[next_value] and not (s.strict and row or own_row(s, name)) then
		row, used = nil, foreign(s, name, next_value)
	end
	local listed = used == nil and not row and not s.strict and by_listed(s, name)
	if used == nil and not row and not listed then
		row, used = meant_by(s, plain(name), next_value)
		local is_other = row and row.type == "boolean" and next_value and not TRUE[next_value:lower()] and not FALSE[next_value:lower()]
		row = not is_other and row or nil -- what takes a value is no switch
	end
	local spelt, to = spelling(s, token), row or listed
	if to and (s.spelt[to] or spelt) ~= spelt then
		return nil -- given under two names: which comes first, and whether both are meant, is not clear
	elseif to then
		s.spelt[to] = spelt
	end
	if used ~= nil then
		return used and not value and 2 or 1
	elseif listed then
		return put(s, listed, name) and 1
	elseif not row then
		return nil
	elseif row.type == "boolean" then
		local takes = not s.strict and not value and after and (TRUE[after:lower()] or FALSE[after:lower()])
		return put_boolean(s, row, value or takes and after or nil, negated) and (takes and 2 or 1)
	end
	return put(s, row, next_value) and (value and 1 or 2)
end

-- --- words ----------------------------------------------------------------------------------------

-- A word that is no option: for the next place, or for an option that it can only be meant for.
local function word(s, text)
	local is_place = true
	for _, row in ipairs(s.command.args) do
		if row.positional and (row.type == "array" or not s.slots[row]) then
			if not s.given[row] or s.slots[row] then
				if is_place or not s.strict then
					return put(s, row, text, is_place)
				end
			elseif row.type == "array" then
				return nil -- in which order?
			end
			is_place = false -- a word of a place goes into the one of its number, whatever is given by name
		end
	end
	if M.negates(text, s.strict) then
		return nil
	elseif s.strict then
		local missing = {}
		for _, row in ipairs(s.command.args) do
			missing[#missing + 1] = row.required and s.given[row] == nil and row or nil
		end
		return missing[1] and sole(missing) and put(s, missing[1], text)
	end
	local row = own_row(s, plain(text))
	if row and row.type == "boolean" and free(s, row) then
		return put_boolean(s, row)
	end
	row = by_value(s, text, true)
	return row and put(s, row, text)
end

-- "name=value" or "name:value", of an argument.
local function pair(s, token)
	local name, value = token:match "^%-*([%a][%w_-]*)[=:](.+)$"
	if s.strict and name and not token:find "^%-" and s.has_places then
		return nil -- it may be a value
	end
	local row = name and (own_row(s, plain(name)) or not s.strict and not token:find "^%-" and by_name(s, plain(name), 1, SURE))
	return row and name or nil, value
end

local function take(s, tokens)
	local i, words, plain_only = 1, {}, false
	for _, token in ipairs(tokens) do
		local is_right, row = spelling(s, token)
		if row then
			s.spelt[row] = is_right
		end
	end
	while i <= #tokens do
		local token = tokens[i]:gsub("^\u{2014}", "--"):gsub("^\u{2013}", "--")
		local name, value = pair(s, token)
		if plain_only or not name and not values.is_option(token) then
			words[#words + 1] = token
			plain_only = plain_only or s.command.option_placement == "strict"
		elseif token == "--" then
			plain_only = true
		else
			if not name then
				name, value = token:match "^%-%-?([^=]+)=?(.*)$"
				value = token:find("=", 1, true) and value or nil
			end
			local used = name and option(s, tokens[i], name, value, tokens[i + 1])
			if not used then
				return nil
			end
			i = i + used - 1
		end
		i = i + 1
	end
	for _, text in ipairs(words) do
		if not word(s, text) then
			return nil
		end
	end
	return true
end

---The words as the command takes them; nil: it is not clear, or one is a secret.
---@param command table normal form
---@param tokens string[] without the command's name
---@param config table of the project
---@return string[]?
---@return integer? guessed 0: no value stands for an argument because it fits alone; 2: one is only likely
function M.repaired(command, tokens, config)
	local s = { command = command, config = config, strict = command.danger_level ~= "safe", given = {}, spelt = {}, slots = {},
		out = {}, guessed = 0, group = command.name:match "^([^.]+)%.",
		rows = table.move(command.args, 1, #command.args, 1, {}) }
	for _, row in ipairs(contract.rows(command)) do
		s.rows[#s.rows + 1] = row.section and not row.front and row or nil
	end
	for _, row in ipairs(command.args) do
		s.has_places = s.has_places or row.positional
	end
	if not take(s, tokens) then
		return nil
	end
	local places = {}
	for _, row in ipairs(command.args) do
		for _, value in ipairs(s.slots[row] or {}) do
			if values.is_option(value) then
				return nil
			end
			places[#places + 1] = value
		end
	end
	local first, last = places, s.out
	if command.option_placement == "strict" then
		first, last = last, first
	end
	return table.move(last, 1, #last, #first + 1, first), s.guessed
end

return M
