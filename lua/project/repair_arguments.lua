-- repair_arguments: the words behind a command's name, as the command may take them: flags and values that were probably meant, in the form
-- of its declaration. Where several may be meant, each is proposed (lua/project/repair.lua parses them, and keeps what is right). For a
-- command that changes something (`strict`) no flag is meant by the look of its value alone, and no value is changed or left out.

local argv_parser = require "runner.project.argv_parser"
local contract = require "runner.declare.contract"
local opposites = require "runner.core.opposites"
local reads = require "runner.project.repair_values"
local search_words = require "runner.core.search_words"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"
local words = require "runner.project.repair_words"

local M = {}

local MOST_WAYS, MOST_WORDS = 24, 5
local sole = reads.sole

-- --- one of several ways ----------------------------------------------------------------------

-- Each place where several things may be meant asks here; the next attempt takes the next one.
---@param options {cost: number}[] cost: 1 is sure, less is a guess
local function choose(s, options)
	if not options[1] then
		return nil
	end
	s.asked = s.asked + 1
	s.path[s.asked], s.counts[s.asked] = s.path[s.asked] or 1, #options
	local chosen = options[s.path[s.asked]]
	s.cost = s.cost * chosen.cost
	return chosen
end

local function next_path(s)
	for i = s.asked, 1, -1 do
		if s.path[i] < s.counts[i] then
			local path = table.move(s.path, 1, i, 1, {})
			path[i] = path[i] + 1
			return path
		end
	end
end

-- --- a flag ------------------------------------------------------------------------------------

local FORMATS = { json = "json", yaml = "json", yml = "json", csv = "tsv", tsv = "tsv", jsonl = "jsonl", ndjson = "jsonl", table = "table",
	plain = "plain" }
local FORMAT_FLAGS = tables.set "o f out output output-format as"
local CONFIRMING = tables.set "y f force yes assume-yes auto-approve no-confirm confirm confirm-destructive live"
local SETS = tables.set "e env d define set var v p param parameter l label t tag arg variable"
local DRY = tables.set "n dry dryrun dry-run simulate what-if whatif preview noop"
local MOST = tables.set "n max tail head top count first limit max-results max-items page-size per-page num"
local COUNTS = tables.set "lines limit tail count max top head last max-results page-size"
local HABITS = tables.set "follow watch stream wide pretty long all no-headers human-readable no-pager no-trunc"
local OURS = { q = "quiet", silent = "quiet", v = "verbose", batch = "non-interactive", timeout_ms = "timeout" }

M.confirming = CONFIRMING

local function plain(name)
	return (name:gsub("(%l)(%u)", "%1-%2"):lower():gsub("_", "-"))
end

local function parts(name)
	local out = {}
	for part in name:gmatch "[^-]+" do
		out[#out + 1] = part
	end
	return out
end

-- Are all words of one name among those of the other, and the rest such as `allowed` says?
local function covers(long, short, allowed)
	local its = parts(short)
	local found = 0
	for _, part in ipairs(parts(long)) do
		local is_its = false
		for _, other in ipairs(its) do
			is_its = is_its or words.is_same(part, other)
		end
		found = found + (is_its and 1 or 0)
		if not is_its and not allowed(part) then
			return false
		end
	end
	return found == #its
end

local function any()
	return true
end

-- May a word in a flag's name be left out? What the command, or its argument, is about.
local function is_about(s, row)
	return function(part)
		for word in s.about:gmatch "%w+" do
			if words.is_used_for(part, word) then
				return true
			end
		end
		return words.EMPTY[part] or words.is_in(part, s.about) or words.is_in(part, row.description)
			or words.is_in(part, s.command.description)
	end
end

local ARTICLES = tables.set "the a an of its is it in only this one which"

local function is_id(row)
	return row.flag == "name" or row.flag == "id" or row.flag == "number"
end

-- Each says whether a name may mean a row; the surest come first. `ours`: runner's own flags may be meant, too; `loose`: not for a command
-- that changes something; `any`: a word that restricts may be in it.
local WAYS = {
	{ 1, ours = true, any = true, is = function(name, row) return name:gsub("-", "") == row.flag:gsub("-", "") end },
	{ 1, ours = true, is = function(name, row) return words.is_same(name:gsub("-", ""), (row.flag:gsub("-", ""))) end },
	{ 1, ours = true, is = function(name, row) return words.is_misspelt(name, row.flag) end },
	{ 0.97, any = true, is = function(name, row) return words.is_same_flag(name, row.flag) end },
	{ 0.97, whole = true, is = function(name, row) -- cluster-name of cluster, rather than of name
		return not words.EMPTY[row.flag] and covers(name, row.flag, function(part) return words.EMPTY[part] end)
	end },
	{ 0.97, is = function(name, row, s) return #name > 1 and covers(name, row.flag, s.strict and is_about(s, row) or any) end },
	{ 0.97, is = function(name, row, s) return (name == "id" or name == "name") and words.is_in(row.flag, s.about) end },
	{ 0.97, is = function(name, row, s) return is_id(row) and (words.is_in(name, s.about)
		or covers(name, row.flag, function(part) return words.is_in(part, s.about) end)) end },
	{ 0.95, is = function(name, row, s) return #name > (s.strict and 2 or 1) and (row.flag:sub(1, #name) == name
		or ("-" .. row.flag .. "-"):find("-" .. name .. "-", 1, true)) end },
	{ 0.9, loose = true, is = function(name, row) return #name > 4 and row.flag == "name" and name:find "name$" end },
	{ 0.9, loose = true, is = function(name, row) return search_words.stem(name) == search_words.stem(row.flag) end },
	{ 0.9, says = true, is = function(name, row)
		local says = " " .. (row.description or ""):lower()
		return #name > 1 and not row.section and not ARTICLES[name] and (words.is_in(name, says)
			or #name > 7 and says:find("%f[%a]" .. name:gsub("%W", "%%%0"):sub(1, 7) .. "%f[%A]") ~= nil) -- percentage: in percent
	end },
	{ 0.88, loose = true, is = function(name, row) return #name > 2 and words.is_near(name, row.flag) end },
	{ 0.88, is = function(name, row) return words.is_used_for(name, row.flag) end },
	{ 0.85, is = function(name, row, s) return #name > (s.strict and 2 or 1) and not (s.strict and row.section)
		and words.abbreviates(name, row.flag) end },
	{ 0.85, is = function(name, row, s) return #name == 1 and row.flag:sub(1, 1) == name
		and not (s.strict and (row.section or row.type == "boolean")) end },
	{ 0.8, loose = true, is = function(name, row) return #name > 4 and covers(row.flag, name, any) end },
	{ 0.7, loose = true, ours = true, is = function(name, row)
		return #name > 4 and #row.flag < #name + 3 and words.is_near(name, row.flag)
	end },
}
local SURE = 9 -- of them: before a habit of other tools is meant

-- The command's own arguments of which this is so.
local function args_that(s, is_so)
	local found = {}
	for _, row in ipairs(s.command.args) do
		found[#found + 1] = is_so(row) and row or nil
	end
	return found
end

-- May a value be meant for it? What is given by its right name is no other's, wherever that stands.
local function free(s, row)
	return s.spelt[row] ~= true and not s.held[row] and (row.type == "array" or s.given[row] == nil)
end

-- Neither says no, nor less, where the other doesn't.
local function is_open(s, way, i, name, row, value)
	local plain_name = name:gsub("^to%-?", "")
	return i <= 3 or not words.negates(row.flag) and not opposites.are(name, row.flag) and not words.is_other_unit(plain_name, row, value)
		and not (s.strict and words.is_other_side(plain_name, row.flag)) and (not s.strict or way.any
		or not words.restricts(plain_name, row.flag) and (way.says or not words.restricts(row.flag, name)))
end

-- The rows that a flag of this name, with this value, may mean: those that the surest way finds.
local function by_name(s, name, value, first, last)
	for i = first, words.negates(name) and 0 or last do
		local way, found, ours = WAYS[i], {}, {}
		for _, row in ipairs(not (s.strict and way.loose) and s.rows or {}) do
			local own = not row.section or row.when
			if way.whole and own and not free(s, row) and way.is(name, row) then
				return {} -- it has its value
			end
			local right = (own or way.ours) and free(s, row) and is_open(s, way, i, name, row, value)
			if right and way.is(name, row, s) and (i <= 3 and (not row.section or row.name == "format") or row.type == "boolean" or not value
				or reads.read(s, row, value)) then
				local fit = row.section and 3 or value and reads.suits(s, row, value) or 1
				table.insert(own and found or ours, { row = row, cost = way[1] * (i > 3 and 0.7 + 0.1 * fit or 1) })
			end
		end
		found = found[1] and found or ours
		table.sort(found, function(a, b) return a.cost > b.cost end)
		if found[1] then
			return found
		end
	end
	return {}
end

-- By what its value can be: one of a list, or the only one that has to be given, or the only time.
local function by_value(s, text)
	local listed, required, times = {}, {}, {}
	for _, row in ipairs(text and s.rows or {}) do
		local fits = not row.section and row.type ~= "boolean" and free(s, row) and reads.read(s, row, text)
		if fits then
			listed[#listed + 1] = row.values and (row.required or not s.strict) and row or nil
			required[#required + 1] = row.required and (row.type == "integer" or not tonumber(text) or row.type ~= "string") and row or nil
			times[#times + 1] = row.type == "duration" and not s.strict and text:find "%a" and row or nil
		end
	end
	local numbers, patterns = {}, {}
	for _, row in ipairs(required) do
		numbers[#numbers + 1] = row.type == "integer" and row or nil
		patterns[#patterns + 1] = row.pattern and row or nil
	end
	return sole(listed) or sole(numbers) or sole(patterns) or sole(required) or not required[1] and not listed[1] and sole(times) or nil
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

-- Runner's own format that one of other tools is: for what changes something none but another name of the same.
local function format_of(s, name)
	return not (s.strict and (name == "csv" or name:find "^ya?ml$")) and FORMATS[name] or nil
end

-- Take a value for a row, by its name or for its place: true; nil: it can't be one.
local function put(s, row, value, is_place)
	local is_guess, typed = nil, value
	if value then
		value, is_guess = reads.read(s, row, row.section and row.name == "format" and format_of(s, value:lower()) or value)
	end
	if not value and typed and row.values and not row.section then
		local likely = {}
		for i, one in ipairs(reads.alike(s, row, typed)) do
			likely[i] = { cost = 0.6 - i / 1000, value = tostring(one) }
		end
		value, is_guess = (choose(s, likely) or {}).value, true
	end
	s.guessed = is_guess or s.guessed
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

local function waits(text)
	return words.is_in("wait", text) and not words.negates(text) and not text:find "n't"
end

-- The argument that says how many.
local function count_of(s)
	return sole(args_that(s, function(row) return row.type == "integer" and COUNTS[row.flag] and free(s, row) end))
end

-- A habit of other tools, which is no argument of the command. Returns whether its value is used; nil: it is none.
local function foreign(s, name, value)
	local asked = FORMATS[name] and name or FORMAT_FLAGS[name] and FORMATS[value or ""] and value
	local format = asked and format_of(s, asked)
	if asked and not format then
		return nil -- nor is it given another value
	elseif format then
		emit(s, "--format", format)
		return not FORMATS[name]
	elseif CONFIRMING[name] and not (s.strict and name == "f" and value) then
		return false
	elseif DRY[name] and (name ~= "n" or not value) and has_flag(s, "dry-run") then
		emit(s, "--dry-run")
		return false
	elseif name == "wait" and not (value and by_name(s, name, value, SURE + 1, #WAYS - 1)[1])
		or name == "watch" and waits(s.command.description) then
		s.dropped = s.dropped or s.strict and not waits(s.command.description) or nil
		return false -- it does anyway
	elseif OURS[name] and OURS[name] ~= "timeout" then
		emit(s, "--" .. OURS[name])
		return false
	elseif not s.strict and (HABITS[name] or FORMAT_FLAGS[name] and value == "wide") then
		s.dropped = s.dropped or name == "all" or nil
		return not HABITS[name]
	elseif s.strict then
		return nil
	elseif MOST[name] and value and value:find "^%d+$" and count_of(s) then
		return put(s, count_of(s), value)
	elseif MOST[name] and value and value:find "^%d+$" and has_flag(s, "limit") then
		emit(s, "--limit", value)
		return true
	elseif OURS[name] then
		emit(s, "--" .. OURS[name])
		return false
	elseif MOST[name] and value and value:find "^%d+$" then
		s.cost, s.dropped = s.cost * 0.5, true -- more than was asked for, where nothing says how much
		return true
	end
end

local TRUE, FALSE = tables.set "true yes 1 on", tables.set "false no 0 off"

local function put_boolean(s, row, text, negated)
	if text and not TRUE[text:lower()] and not FALSE[text:lower()] then
		if row.name ~= "dry_run" or not text:find "^%l+$" or text == "none" then
			return nil
		end
		text = nil -- --dry-run=client
	end
	local on = (text == nil or TRUE[text:lower()] or false) ~= (negated or false)
	s.given[row] = true
	emit(s, (on and "--" or "--no-") .. row.flag)
	return true
end

local function own_row(s, name)
	return args_that(s, function(row) return row.flag == name or row.short == name end)[1]
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
		for _, value in ipairs(not row.section and free(s, row) and reads.listed(s, row) or {}) do
			found[#found + 1] = value == name and row or nil
		end
	end
	return sole(found)
end

-- What a value "NAME=VALUE" may be for: what is said to take such ones.
local function paired_rows(s, value)
	return args_that(s, function(row)
		return value and value:find "^%a[%w_.-]*=" and (row.description or ""):find "%f[%a]%a+=%a+" and free(s, row)
	end)
end

-- What a name means that is no flag of the command; true, false: it was a habit of other tools, which has taken its value or not.
local function meant_by(s, name, value)
	local found = by_name(s, name, value, 1, SURE)
	if found[1] then
		return choose(s, found).row
	end
	local used = foreign(s, name, value)
	if used ~= nil then
		return nil, used
	end
	found = by_name(s, name, value, SURE + 1, #WAYS - 1)
	local paired = not found[1] and SETS[name] and sole(paired_rows(s, value))
	found = paired and { { row = paired, cost = 0.95 } } or found
	local valued = not found[1] and not s.command.secrets and not words.negates(name) and by_value(s, value)
	valued = valued and not words.is_other_unit(name, valued, value) and valued
	valued = valued and not (s.strict and (#name == 1 or words.restricts(name, "to") and reads.suits(s, valued, value) < 3)) and valued
	s.guessed = valued and s.strict or s.guessed
	found = valued and { { row = valued, cost = 0.7 } } or found[1] and found or by_name(s, name, value, #WAYS, #WAYS)
	return (choose(s, found) or {}).row
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

-- --output was meant for a path of the command's own, which has to be given.
local function missing_path(s)
	return sole(args_that(s, function(row)
		return row.required and words.kind(row) == "path" and not row.positional and free(s, row)
	end))
end

-- Is there a place for a word without a flag?
local function has_place(s)
	return args_that(s, function(row)
		return row.positional and (row.type == "array" or not s.held[row] and not s.given[row] and s.spelt[row] ~= true)
	end)[1] ~= nil
end

local function is_counted(row)
	return row.type == "array" and (row.items == "integer" or row.items == "number")
end

-- "a,b" and ["a","b"] are two, as "80 443" and "80;443" are of numbers.
local function members(s, row, text)
	s.guessed = s.guessed or s.strict and row.items == "number" and text:find "^%d+,%d+$" ~= nil or nil -- it may be 1.5
	local list, out = text:match "^%[(.*)%]$" or text, {}
	local read = text:find "^%[" and require("runner.json").decode(text)
	if type(read) == "table" then
		for i, one in ipairs(read) do
			out[i] = (type(one) == "string" or math.type(one)) and tostring(one) or '"'
		end
		return out
	end
	for one in list:gmatch(is_counted(row) and "[^,;%s]+" or "[^,]+") do
		out[#out + 1] = (one:match "^%s*(.-)%s*$":gsub('^"(.*)"$', "%1"))
	end
	return out
end

-- Take each member of a list for a row; nil: one can't be.
local function put_members(s, row, list, is_place)
	for _, one in ipairs(list) do
		if one:find '"' or not put(s, row, one, is_place) then
			return nil
		end
	end
	return list[1] ~= nil or nil
end

-- A value that runner's own flag doesn't take, and one of the command's own does which has the flag's name in its own: --format parquet.
-- Where several do, each is proposed.
local function takes_instead(s, row, name, value)
	local part = row and row.flag or FORMAT_FLAGS[name] and "format"
	local is_ours = not row and FORMATS[value] == value
	if not part or is_ours or row and (row.type == "boolean" or (argv_parser.read(row, value, row.values)) ~= nil) then
		return nil
	end
	local found = args_that(s, function(own)
		return own.flag ~= part and ("-" .. own.flag .. "-"):find("-" .. part .. "-", 1, true) and free(s, own)
			and reads.read(s, own, value) ~= nil
	end)
	for i, one in ipairs(found) do
		found[i] = { row = one, cost = 0.97 }
	end
	return (choose(s, found) or {}).row
end

-- What a flag is meant by that goes by no right name, as `meant_by`: what takes a value is no switch.
local function otherwise(s, name, value, next_value)
	local row, used = meant_by(s, plain(name), next_value)
	local is_other = row and row.type == "boolean" and next_value and not TRUE[next_value:lower()] and not FALSE[next_value:lower()]
		and (value or not row.section)
	return not (is_other and row.name ~= "dry_run") and row or nil, used
end

-- The switch that goes by another name: "compression" of --no-compression is compress.
local function switch(s, name)
	local sure = by_name(s, name, nil, 1, SURE)
	local found = sole(sure[1] and sure or by_name(s, name, nil, SURE + 1, SURE + 3))
	local row = found and found.row.type == "boolean" and found.row or nil
	s.guessed = row and s.strict and not sure[1] or s.guessed
	return row
end

-- Take the value of a flag, or all that it lists: true; nil: it can't be its value.
local function take_value(s, row, name, value)
	local is_list = row.type == "array" and value and (value:find '^%[%s*"' or row.values and value:find ","
		or words.is_plural(plain(name), row.flag) and not value:find "[%s{]" or not reads.read(s, row, value))
	if is_list then
		return put_members(s, row, members(s, row, value))
	end
	return put(s, row, value)
end

-- An option; returns how many words it has taken, and which argument has the last; nil: it is not clear what was meant.
local function option(s, token, name, value, after)
	local next_value, used = value or after and not values.is_option(after) and after or nil, nil
	local row, negated = exact(s, name)
	if not row then
		row, negated = exact(s, plain(name))
	end
	local short = not row and token:find "^%-%a" and has_flag(s, "-" .. name)
	if short then
		return not value and put_boolean(s, short) and 1 or nil -- -n, as the parser has it
	end
	if name == "version" and row and row.section and after and not values.is_option(after) then
		return nil -- it is of what the command does
	elseif CONFIRMING[plain(name)] and not own_row(s, plain(name)) and not (name == "f" and FORMATS[next_value]) then
		return 1 -- nothing confirms what nobody has looked at
	end
	local own = next_value and (not row or row.section) and takes_instead(s, row, name, next_value)
	if own then
		row, negated = own, nil
	elseif FORMAT_FLAGS[name] and FORMATS[next_value] and not (s.strict and row or own_row(s, name)) then
		row, used = nil, foreign(s, name, next_value)
		if used == nil then
			return nil
		end
	end
	if row and row.section and row.name == "output" and next_value then
		row = missing_path(s) or row
	end
	local listed = used == nil and not row and not value and by_listed(s, name)
	if used == nil and not row and not listed then
		if s.strict and name:find "^%u[%u%d_]+$" then
			return nil -- a variable, for what else
		end
		row, used = otherwise(s, name, value, next_value)
	end
	if used == nil and not row and not listed and name:find "^no%-" and not value then
		row, negated = switch(s, plain(name):sub(4)), true
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
		local takes = not value and after and (TRUE[after:lower()] or FALSE[after:lower()])
			and not (tonumber(after) and has_place(s))
		return put_boolean(s, row, value or takes and after or nil, negated) and (takes and 2 or 1)
	end
	s.sure = s.sure + (spelt == true and not row.section and 1 or 0)
	return take_value(s, row, name, next_value) and (value and 1 or 2), row
end

-- --- words ----------------------------------------------------------------------------------------

-- Does an argument that has to be given, and takes any text, lack its value?
local function missing(s)
	return args_that(s, function(row)
		return row.required and s.given[row] == nil and s.spelt[row] ~= true and not row.positional and not row.values and row.type ~= "boolean"
	end)[1] ~= nil
end

-- A word for the next place: true; false: there is none; nil: it can't be one.
local function place(s, text)
	local is_place = true
	for _, row in ipairs(s.command.args) do
		if row.positional and (row.type == "array" or not s.slots[row]) then
			if not s.given[row] or s.slots[row] then
				if is_place or not s.strict then
					if is_counted(row) and not reads.read(s, row, text) then
						return put_members(s, row, members(s, row, text), is_place)
					end
					return put(s, row, text, is_place)
				end
			elseif row.type == "array" then
				return nil -- in which order?
			end
			is_place = false -- a word of a place goes into the one of its number, whatever is given by name
		end
	end
	return false
end

-- "name=value" or "name:value", of an argument; false: it may be one's, or a value by itself.
local function pair(s, token)
	local name, value = token:match "^%-*([%a][%w_-]*)[=:](.+)$"
	local row = name and own_row(s, plain(name))
	if name and not row and not token:find "^%-" then
		local found = by_name(s, plain(name), not s.strict and value or nil, 1, SURE)
		row = sole(found) and found[1].row
		if s.strict and (found[2] or row and (not token:find "^[^:]+=" or missing(s))) then
			return false
		end
	end
	return row and name or nil, value
end

-- Are they words of one text: each a word, as nobody writes what is something by itself?
local function is_prose(list, first, run)
	for i = first, #list do
		local shape = words.shape(list[i])
		if list[i]:find "[%s{}%[%]\"]" or not run and shape ~= "word" and shape ~= "mark" then
			return false
		end
	end
	return true
end

-- May a word without a flag be for it? Where something is changed only for what has to be given, comes first, or is of just this kind; and
-- for no list of texts. "guess": it may, but somebody has to say so.
local function is_for(s, row, fit)
	local kind = words.kind(row)
	if not s.strict then
		return true
	elseif row.type == "array" and not row.required and not row.values or fit > 0 and fit < 1 then
		return false
	end
	return row.required or fit > 2.8 or kind ~= "text" and fit >= 1 and row == s.command.args[1] or kind and kind ~= "text" and fit >= 2
		or not kind and fit >= 1 and "guess"
end

-- What each word may be for, one after the other; the loss is how far it is from what suits.
local function assign(s, rest, i, taken, loss, out)
	local text = rest[i]
	if not text then
		out[#out + 1] = { rows = table.move(taken, 1, #rest, 1, {}), loss = loss }
		return
	end
	local lacks = args_that(s, function(row) return row.required and s.given[row] == nil and not taken[row] end)[1]
	local before = taken[i - 1] and taken[taken[i - 1]] or 0
	local tail = rest[i + 1] and is_prose(rest, i) and table.concat(rest, " ", i)
	for at, row in ipairs(s.command.args) do
		if tail and is_for(s, row, 0) and not taken[row] and not row.positional and free(s, row) and words.kind(row) == "text"
			and reads.read(s, row, tail) then
			out[#out + 1] = { rows = table.move(taken, 1, i - 1, 1, {}), loss = loss + 0.5 + at / 1000, tail = tail }
			out[#out].rows[i] = row
		end
		local may = i <= MOST_WORDS and not taken[row] and not row.positional and free(s, row)
		local fit = may and reads.suits(s, row, text) or 0
		fit = is_for(s, row, fit) and fit or 0
		local is_switch = not s.strict and row.type == "boolean" and row.flag == plain(text) and free(s, row) and not taken[row]
		if fit > 0 or is_switch then
			taken[i], taken[row] = row, at
			assign(s, rest, i + 1, taken, loss + (is_switch and 0.5 or 3 - fit) + at / 1000 + (at < before and 0.3 or 0)
				+ (lacks and not row.required and 1.5 or 0), out)
			taken[i], taken[row] = nil, nil
		end
	end
end

-- The ways in which words without a flag are meant, the best first. `run`: those right behind a value, which they may be a part of.
local function ways_of(s, rest, run)
	local out = {}
	for _, text in ipairs(rest) do
		if words.negates(text, s.strict) and not words.shape(text):find "date" or s.strict and text:find "^[+-]%d" then
			return out
		end
	end
	assign(s, rest, 1, {}, 0, out)
	local row = run and (run.row.type == "string" and not run.row.values) and run.row
	local whole, kind = row and table.concat(run.words, " ") or "", row and words.kind(row)
	local is_part = kind == "text" and is_prose(run.words, 1, true) or kind == nil and not s.strict
		or kind == "cron" and words.shape(whole) == "cron"
	if row and is_part and reads.read(s, row, whole) then
		local others = {}
		local left = table.move(rest, run.last + 1, #rest, run.first, table.move(rest, 1, run.first - 1, 1, {}))
		assign(s, left, 1, {}, kind == nil and 1.5 or 0.5, others)
		for _, one in ipairs(others) do
			one.join = whole
			out[#out + 1] = one
		end
	end
	table.sort(out, function(a, b) return a.loss < b.loss end)
	return out
end

local BETWEEN = tables.set "as with via using is = : please thanks now" -- none of them says where to, or from where

-- The words that are left once flags that lack their dashes have their values ("to production"), and what only joins words is left out.
-- Where something is changed, somebody has to say so.
local function plain_words(s, rest)
	local out, i = {}, 1
	while rest[i] do
		local word, after = plain(rest[i]), rest[i + 1]
		local row = #word > 1 and own_row(s, word)
		local takes = row and after and row.type ~= "boolean" and not row.positional and free(s, row)
		if takes and (reads.suits(s, row, after) > 0 or row.type == "string") and put(s, row, after) then
			i, s.guessed = i + 1, s.strict or s.guessed
		elseif BETWEEN[word] or not s.strict and (words.FILLING[word] or row and s.given[row] or words.is_in(word, s.about)) then
			s.dropped = s.dropped or s.strict or nil
		else
			out[#out + 1] = rest[i]
		end
		i = i + 1
	end
	return out
end

local function missing_any(s)
	return args_that(s, function(row) return row.required and s.given[row] == nil end)[1] ~= nil
end

local function take_words(s, rest, run)
	rest = run and rest or plain_words(s, rest)
	local is_list = run and is_counted(run.row) and run.last - run.first + 1 == #rest and not missing_any(s)
	local numbers = is_list and members(s, run.row, table.concat(rest, ","))
	if is_list and reads.read(s, run.row, rest[1]:gsub("[,;]", "")) then
		s.guessed = s.guessed or s.strict and ways_of(s, rest, run)[1] ~= nil or nil
		return put_members(s, run.row, numbers)
	end
	local ways = rest[1] and ways_of(s, rest, run) or { { rows = {}, loss = 0 } }
	for i, way in ipairs(ways) do
		way.cost = 0.75 ^ (way.loss - ways[1].loss) * 0.97 ^ way.loss
		ways[i] = i < 6 and way or nil
	end
	local way = choose(s, ways)
	if not way then
		return run and run.row.type == "array" and run.last - run.first + 1 == #rest and put_members(s, run.row, rest) or nil
	elseif way.join then
		s.out[run.at] = way.join
		rest = table.move(rest, run.last + 1, #rest, run.first, table.move(rest, 1, run.first - 1, 1, {}))
	end
	for i, row in ipairs(way.rows) do
		local text = i == #way.rows and way.tail or rest[i]
		s.sure = s.sure + (row.type ~= "boolean" and reads.suits(s, row, text) == 3 and 1 or 0)
		if row.type == "boolean" then
			put_boolean(s, row)
		else
			local is_guess = is_for(s, row, i == #way.rows and way.tail and 0 or reads.suits(s, row, text)) == "guess"
			s.guessed = is_guess or s.guessed
			if not put(s, row, text) then
				return nil
			end
		end
	end
	return true
end

-- Which arguments are given by their right name anywhere, and which have their place in what stands in front.
local function mark_given(s, tokens)
	for _, token in ipairs(tokens) do
		local is_right, row = spelling(s, token)
		if row then
			s.spelt[row] = is_right
		end
	end
	local first = 1
	for _, row in ipairs(s.command.args) do
		if row.positional and s.spelt[row] ~= true and tokens[first] and not values.is_option(tokens[first])
			and not tokens[first]:find "^%a[%w_-]*[=:]" then
			s.held[row], first = true, first + 1
		end
	end
end

-- Does "--" stand at i in front of flags of the command's own, where no list of words takes what looks like one?
local function is_astray(s, tokens, i)
	local list = args_that(s, function(row) return row.positional and row.type == "array" end)[1]
	for k = i + 1, list and i or #tokens do
		if spelling(s, tokens[k]) == true then
			return true
		end
	end
	return spelling(s, tokens[i + 1] or "") == true and not has_place(s)
end

-- "4 hours" is one value.
local function with_units(s, tokens)
	local out = {}
	local has_time = args_that(s, function(row) return row.type == "duration" or row.type == "integer" end)[1]
	for _, token in ipairs(tokens) do
		local is_unit = has_time and (out[#out] or ""):find "^%d+$" and reads.is_unit(token)
		out[is_unit and #out or #out + 1] = is_unit and out[#out] .. " " .. token or token
	end
	return out
end

-- Take the options. Returns the words without one, each with the value that it stands behind, and the pairs that come after the places;
-- nil: it is not clear what one means.
local function take_options(s, tokens)
	local i, plain_only, list, named, run = 1, false, {}, {}, nil
	while i <= #tokens do
		local token = tokens[i]:gsub("^\u{2014}", "--"):gsub("^\u{2013}", "--")
		local name, value = pair(s, token)
		if name == false then
			return nil
		elseif plain_only or not name and not values.is_option(token) then
			list[#list + 1] = { text = tokens[i], run = run }
			plain_only = plain_only or s.command.option_placement == "strict"
		elseif name and s.strict and s.has_places and not values.is_option(token) then
			named[#named + 1] = { name = name, value = value }
		elseif token == "--" then
			plain_only = not is_astray(s, tokens, i)
		else
			if not name then
				name, value = token:match "^%-%-?([^=]+)=?(.*)$"
				value = token:find("=", 1, true) and value or nil
			end
			local used, row = nil, nil
			if name then
				used, row = option(s, tokens[i], name, value, tokens[i + 1])
			end
			if not used then
				return nil
			end
			i = i + used - 1
			run = used == 2 and row and not row.section and { row = row, at = #s.out, words = { s.out[#s.out] } } or nil
		end
		i = i + 1
	end
	return list, named
end

-- Put words into their places. Returns those without one, and the value that they stand right behind; nil: one can't be in its place.
local function fill_places(s, list)
	local rest, run, places = {}, nil, args_that(s, function(row) return row.positional end)
	for _, one in ipairs(list) do
		local is_empty = not s.strict and #places < #list and words.FILLING[one.text]
		local used = is_empty or place(s, one.text)
		if used == nil then
			return nil
		elseif not used then
			rest[#rest + 1] = one.text
			if one.run and (not run or run == one.run) then
				run = one.run
				run.first, run.last = run.first or #rest, #rest
				table.insert(run.words, one.text)
			end
		end
	end
	return rest, run
end

-- The argument that goes by this name: its own, or what says which one.
local function named_row(s, name)
	local row = own_row(s, plain(name))
	local found = row and {} or by_name(s, plain(name), nil, 1, SURE)
	return row or sole(found) and found[1].row
end

-- Take "name=value", whose argument is certain once the places have theirs; nil: it isn't.
local function take_named(s, named)
	for _, one in ipairs(named) do
		local row, first = named_row(s, one.name), nil
		for _, other in ipairs(s.command.args) do
			s.held[other] = s.held[other] or s.slots[other] ~= nil
			first = first or other.positional and not s.held[other] and not s.given[other] and other
		end
		if row and row == first then
			if row.type == "array" or s.spelt[row] or not put(s, row, one.value, true) then
				return nil
			end
		elseif has_place(s) or not option(s, "--" .. one.name, one.name, one.value) then
			return nil
		end
	end
	return true
end

local function take(s, tokens)
	mark_given(s, tokens)
	local list, named = take_options(s, tokens)
	local rest, run = nil, nil
	if list then
		rest, run = fill_places(s, list)
	end
	return rest and take_named(s, named) and take_words(s, rest, run)
end

-- "deployment/checkout" of a command for deployments is one that is called so: which the declaration says, or else nobody.
local function without_kinds(s, tokens)
	local out = {}
	for i, token in ipairs(tokens) do
		local kind, name = token:match "^(%l[%l-]+)/([^/]+)$"
		local is_kind, is_said = false, false
		for word in (kind and s.about or ""):gmatch "%w+" do
			is_kind = is_kind or words.is_used_for(kind, word) or words.is_same(kind, word) or words.abbreviates(kind, word)
		end
		for _, row in ipairs(is_kind and s.command.args or {}) do
			is_kind = is_kind and words.kind(row) ~= "path"
			is_said = is_said or row.pattern and reads.read(s, row, name) and not reads.read(s, row, token)
		end
		out[i] = is_kind and name or token
		s.dropped = s.dropped or is_kind and s.strict and not is_said or nil
	end
	return out
end

local function attempt_at(command, tokens, config, path)
	local s = { command = command, config = config, strict = command.danger_level ~= "safe", given = {}, spelt = {},
		held = {}, slots = {}, out = {}, cost = 1, sure = 0, asked = 0, path = path, counts = {}, about = command.name:gsub("[.-]", " "),
		rows = table.move(command.args, 1, #command.args, 1, {}) }
	for _, row in ipairs(contract.rows(command)) do
		s.rows[#s.rows + 1] = row.section and not row.front and row or nil
	end
	s.has_places = args_that(s, function(row) return row.positional end)[1] ~= nil
	if not take(s, with_units(s, without_kinds(s, tokens))) then
		return nil, s
	end
	local places = {}
	for _, row in ipairs(command.args) do
		for _, value in ipairs(s.slots[row] or {}) do
			if values.is_option(value) then
				return nil, s
			end
			places[#places + 1] = value
		end
	end
	local first, last = places, s.out
	if command.option_placement == "strict" then
		first, last = last, first
	end
	return table.move(last, 1, #last, #first + 1, first), s
end

---The words as the command may take them, the likeliest first.
---@param command table normal form
---@param tokens string[] without the command's name
---@param config table of the project
---@return {words: string[], cost: number, sure: integer, dropped?: true, guessed?: true}[] sure: values that suit nothing else
function M.proposals(command, tokens, config)
	local out, path = {}, {}
	for _ = 1, MOST_WAYS do
		local repaired, s = attempt_at(command, tokens, config, path)
		out[#out + 1] = repaired and { words = repaired, cost = s.cost, sure = s.sure, dropped = s.dropped, guessed = s.guessed }
			or nil
		path = next_path(s)
		if not path then
			break
		end
	end
	table.sort(out, function(a, b) return a.cost > b.cost end)
	return out
end

return M
