-- compact_help: one command, or all, as the shortest JSON that suffices to choose and to call it: what
-- `help CMD --format json` and `runner` off a terminal print, and what a search looks at of it. The manifest has everything.

local arg_errors = require "runner.declare.arg_errors"
local contract = require "runner.declare.contract"
local entry = require "runner.tools.entry"
local help = require "runner.tools.help"
local help_exit_codes = require "runner.tools.help_exit_codes"
local json = require "runner.json"
local payload_schema = require "runner.tools.payload_schema"
local search = require "runner.core.search"

local M = {}

-- What a search looks at of a command (lua/core/search.lua): its name and description, its keywords, and with less
-- weight the names, descriptions and values of its arguments, and its examples. Pure.

local function add_text(list, text)
	list[#list + 1] = type(text) == "string" and text or nil
end

local function add_property(list, name, property)
	add_text(list, name)
	add_text(list, property.description)
	for _, holder in ipairs { property, property.items or {} } do
		for _, value in ipairs(holder.enum or {}) do
			add_text(list, value)
		end
	end
end

---@param about {name: string, description?: string, keywords?: string[], examples?: {description?: string, command: string}[],
---  schema: table} `schema`: of its arguments, as lua/tools/payload_schema.lua makes it
---@return runner.SearchText
function M.search_text(about)
	local more = {}
	for name, property in next, about.schema.properties or {} do
		add_property(more, name, property)
	end
	for _, example in ipairs(about.examples or {}) do
		add_text(more, example.description)
		add_text(more, example.command)
	end
	return { name = about.name, description = about.description, keywords = table.concat(about.keywords or {}, " "),
		more = table.concat(more, " ") }
end

-- Keys that say nothing are left out: not required, no default.
local function argument(row, config)
	local described = row.positional and entry.positional(row, config) or entry.flag(row, config)
	return {
		name = row.positional and row.flag or "--" .. row.flag, type = row.items and "array" or row.type,
		required = row.required or nil, default = described.default, values = described.enum_values,
		description = described.description ~= "" and described.description or arg_errors.expected(row),
		pattern = described.pattern or described.pattern_type,
	}
end

---@param command table normal form
---@param config table of the project
---@return table[]
function M.arguments(command, config)
	local out = {}
	for _, row in ipairs(command.args) do
		out[#out + 1] = argument(row, config)
	end
	return json.array(out)
end

-- The flags that a declaration adds, by name; `COMMAND --schema` describes them.
local function flags(command)
	local out = {}
	for _, row in ipairs(contract.rows(command)) do
		out[#out + 1] = row.when and "--" .. row.flag or nil
	end
	return out[1] and json.array(out) or nil
end

local function codes(command, about)
	local out = {}
	for number, row in pairs(entry.exit_codes(help_exit_codes.rows(command, about.settled, about.exit_table))) do
		out[number] = row.name
	end
	return out
end

local function example_calls(command)
	local out = {}
	for i, example in ipairs(command.examples or {}) do
		out[i] = example.command
	end
	return out[1] and json.array(out) or nil
end

---One command.
---@param command table normal form
---@param about {settled: table, config: table, exit_table?: string}
---@return table
function M.command(command, about)
	local scopes = command.required_scopes or {}
	return {
		usage = help.usage(command), description = command.description,
		danger_level = command.danger_level, arguments = M.arguments(command, about.config), flags = flags(command),
		exit_codes = codes(command, about),
		examples = example_calls(command), required_scopes = scopes[1] and json.array(scopes) or nil,
	}
end

-- The first words of the built-in commands, each once, without those that are for a person, and the one in `next`.
local FOR_A_PERSON = { approve = true, completion = true, flame = true, help = true, init = true, policy = true, reject = true,
	types = true }

local function first_words(rows)
	local words, seen = {}, setmetatable({}, { __index = FOR_A_PERSON })
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		words[#words + 1] = not seen[word] and word or nil
		seen[word] = true
	end
	return table.concat(words, " ")
end

local PAGE_MAX = 2000 -- bytes of a list, so that its answer has at most 2,500
local CUTS = { 4096, 60, 40, 24 } -- characters of a description
local SHOWN, FOUND_MAX = { 20, 10, 5, 0 }, 10 -- commands in no group, where there are many; those that a search finds

-- The first words of a name, as many as `depth`: "db table" of "db table add".
local function beginning(name, depth)
	return name:match("^%S+" .. (" %S+"):rep(depth - 1)) or name
end

-- Commands by the beginning of their names, where it is that of several: "db" → 12.
local function groups_of(rows, depth)
	local counts, groups = {}, {}
	for _, row in ipairs(rows) do
		local word = beginning(row.name, depth)
		counts[word] = (counts[word] or 0) + 1
	end
	for word, count in next, counts do
		groups[word] = count > 1 and count or nil
	end
	return groups
end

-- The groups with their sizes, and the first commands that are in none: a caller searches, or looks
-- into a group. And which commands these only count: those in no group, and those of each group, in their order.
local function many(rows, depth, most)
	local groups, shown, singles, members = groups_of(rows, depth), {}, {}, {}
	for _, row in ipairs(rows) do
		local word = beginning(row.name, depth)
		local above = groups[word] and word or depth > 1 and beginning(row.name, depth - 1) or ""
		if groups[word] and not members[word] then
			members[#members + 1], members[word] = word, {}
		end
		local list = members[word] or #shown < most and shown or singles
		list[#list + 1] = list == shown and row or row.name:match("%S.*", #above + 1) or row.name
	end
	return shown, { count = #rows, groups = next(groups) and groups or nil, more = singles[1] and #singles or nil }, singles, members
end

local SINGLED_OUT = { destructive = true, broken = true }

-- What is not known, with the reason, by name.
local function add_unread(rows, out)
	for _, row in ipairs(rows) do
		if row.unread then
			out.unread = out.unread or {}
			out.unread[row.name] = row.unread
		end
	end
	return out
end

local function cut(text, most)
	local stop = text and #text > most and utf8.offset(text, most)
	return stop and stop < #text and text:sub(1, stop - 1) .. "…" or text
end

local function describe(rows, out, most)
	out.commands = {}
	for _, row in ipairs(rows) do
		local kind = row.broken and "broken" or row.danger_level
		out.commands[row.name] = cut(row.description, most)
		if SINGLED_OUT[kind] then
			out[kind] = out[kind] or json.array {}
			table.insert(out[kind], row.name)
		end
	end
	return add_unread(rows, out)
end

---The rows of commands whose files were not read.
---@param rows runner.CommandRow[]
---@return runner.CommandRow[]
function M.unread(rows)
	local out = {}
	for _, row in ipairs(rows) do
		out[#out + 1] = row.unread and row or nil
	end
	return out
end

local NEXT = "runner help COMMAND, or GROUP; runner help --search 'WORDS' finds; "
	.. "runner help PAGE: environment, exit-codes, flags, output"

local function fits(out)
	return #assert(json.encode(out)) <= PAGE_MAX
end

local function add(out, more)
	for key, value in next, more do
		out[key] = value
	end
	return out
end

-- Where all groups are too many, the largest.
local function largest(out)
	local names = {}
	for name in next, out.groups or {} do
		names[#names + 1] = name
	end
	table.sort(names, function(a, b)
		local more, fewer = out.groups[a], out.groups[b]
		return more > fewer or more == fewer and a < b
	end)
	while #names > 0 and not fits(out) do
		out.groups[table.remove(names)] = nil
		out.more_groups = (out.more_groups or 0) + 1
	end
	return out
end

-- As many of the names as have room in out[key][name], or all or none of them.
local function put_names(holder, name, names, out, may_cut)
	local was, text = holder[name], nil
	for i, one in ipairs(names) do
		local longer = text and text .. " " .. one or one
		holder[name] = i < #names and may_cut and ("%s … %d more"):format(longer, #names - i) or longer
		if not fits(out) then
			holder[name] = may_cut and text and ("%s … %d more"):format(text, #names - i + 1) or was
			return false
		end
		text = longer
	end
	return true
end

-- What was counted by name instead, as far as there is room: the commands in no group, then group by group.
local function add_names(out, singles, members)
	if singles[1] then
		put_names(out, "more", singles, out, true)
	end
	local left
	for _, word in ipairs(members) do
		left = not put_names(out.groups, word, members[word], out) and (left or word) or left
	end
	if left then
		put_names(out.groups, left, members[left], out, true)
	end
	return out
end

---All commands in at most PAGE_MAX bytes: descriptions by name, and which of them are destructive or can't be loaded; of too
---many the names, by group, and where there is no room for these either, how many there are.
---@param own runner.CommandRow[] of the project and the other folders, in the order in which a terminal has them
---@param builtin? runner.CommandRow[]
---@param problem? string of runner.lua
---@param depth? integer words of a name that make a group, where there are too many to describe; default 1
---@param aliases? runner.CommandRow[] described by what they stand for
---@return table
function M.overview(own, builtin, problem, depth, aliases)
	local also = { builtin = builtin and first_words(builtin), problem = problem, next = builtin and NEXT or "runner help COMMAND" }
	for _, row in ipairs(aliases or {}) do
		also.aliases = also.aliases or {}
		also.aliases[row.name] = row.description
	end
	local out
	for _, most in ipairs(CUTS) do
		out = describe(own, add({}, also), most)
		if fits(out) then
			return out
		end
	end
	for _, most in ipairs(SHOWN) do
		local shown, counted, singles, members = many(own, depth or 1, most)
		out = describe(shown, add(counted, also), CUTS[2])
		if fits(out) then
			return add_names(out, singles, members)
		end
	end
	return largest(out)
end

-- A text for each command: what a search looks at.
local function texts_of(rows, config)
	local out = {}
	for i, row in ipairs(rows) do
		local command = row.command
		out[i] = command and M.search_text { name = row.name, description = row.description, keywords = command.keywords,
			examples = command.examples, schema = payload_schema.of(command, config) } or row
	end
	return out
end

---The commands that fit a question, the best first, 10 at most; where none does, the groups that there are.
---@param rows runner.CommandRow[] of catalog.whole_rows
---@param text string
---@param config table of the project
---@return runner.CommandRow[] found
---@return table data {commands, matches}
function M.search(rows, text, config)
	local places, found, commands = search.rank(texts_of(rows, config), text), {}, json.array {}
	for i = 1, math.min(#places, FOUND_MAX) do
		local row = rows[places[i]]
		found[i], row.command = row, nil -- which is no data
		commands[i] = { name = row.name, description = row.description, broken = row.broken,
			danger_level = row.danger_level == "destructive" and row.danger_level or nil }
	end
	local unread = M.unread(rows)
	return found, add_unread(unread, { commands = commands, matches = (found[1] or not unread[1]) and #places or nil,
		groups = not found[1] and groups_of(rows, 1) or nil })
end

return M
