-- unknown_command: what answers a call whose words name no command: the command that they are an alias of, help, or
-- an error that says what was probably meant. Loaded then.

local attempt = require "runner.core.attempt"
local aliases = require "runner.project.aliases"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"
local locate = require "runner.project.locate"
local flag_errors = require "runner.declare.flag_errors"
local folders = require "runner.project.folders"
local rules = require "runner.core.rules"
local repair_names = require "runner.project.repair_names"
local repair_words = require "runner.project.repair_words"
local search = require "runner.core.search"
local suggest = require "runner.core.suggest"

local M = {}

local CLOSE, SPELT = 0.8, 0.85 -- what is nearly as likely as the best; a word that is hardly another one
local MOST_NAMED, MOST_SHOWN, MOST_FOUND = 3, 12, 5 -- names that a hint asks of, and lists; commands of which words speak

local function did_you_mean(names)
	local typed = {}
	for i, name in ipairs(names) do
		typed[i] = command_line.typed(name)
	end
	return ("Did you mean '%s'?"):format(table.concat(typed, "' or '"))
end

-- Nothing to run here but built-ins, and no folder to look in.
local function is_empty(list, project)
	for _, c in ipairs(list) do
		if not c.builtin then
			return false
		end
	end
	return not project.root
end

local function is_own(c)
	return not c.builtin
end

-- The group that a word names, and its commands: by its name, or another form of it.
local function group_of(word, list)
	local found
	for _, c in ipairs(list) do
		local name = word and c.name:match "^([^.]+)%."
		found = name and (name == word and name or found or is_own(c) and repair_words.is_same(word:lower(), name) and name) or found
	end
	return found, found and catalog.below(list, found) or {}
end

-- The commands that the words may name, as a repair has them (lua/project/repair_names.lua), and the names of those that are likely.
local function candidates(words, at, project, group)
	local entries, likely, seen, best, is_refused = {}, {}, {}, nil, false
	for _, one in ipairs(repair_names.candidates(words, at, project)) do
		local entry = one.entry
		local is_other = group and one.score < SPELT and entry.name:sub(1, #group + 1) ~= group .. "."
		local is_possible = not (seen[entry.name] or is_other or one.whole and words[at + one.used]) -- a word more, which it could not take
		local command = is_possible and catalog.load(entry, project)
		seen[entry.name] = seen[entry.name] or is_possible
		is_refused = is_refused or not best and is_possible and not command
		best = best or is_possible and one.score or nil -- of one that is refused, too: another isn't meant in its place
		if command and catalog.is_listed(command) then
			entries[#entries + 1] = entry
			likely[#likely + 1] = one.score > best * CLOSE and not (likely[1] and entry.builtin) and entry.name or nil
		end
	end
	return entries, likely, is_refused
end

local function typed(entries, most)
	local out = {}
	for i = 1, math.min(#entries, most or #entries) do
		out[i] = command_line.typed(entries[i].name)
	end
	return table.concat(out, ", ") .. (#out < #entries and " …" or "")
end

-- Of commands, those of which the words speak.
local function spoken_of(words, rows, entries)
	local out = {}
	for i, place in ipairs(search.rank(rows, table.concat(words, " "))) do
		out[i] = i <= MOST_FOUND and entries[place] or nil
	end
	return out
end

-- The flags of a call that a command hasn't got.
local function lacks(command, tokens)
	local known, out = { ["-h"] = true, ["-V"] = true, ["-C"] = true, ["-n"] = command.danger_level ~= "safe" or nil }, {}
	for _, row in ipairs(command.args) do
		known["--" .. row.flag], known["--no-" .. row.flag], known["-" .. (row.short or "")] = true, true, true
	end
	for _, token in ipairs(tokens) do
		local spelt = token:match "^%-%-?%a[%w_-]*"
		if spelt and not (known[spelt] or require("runner.declare.contract").find(spelt:match "^%-%-(.*)$" or "")
			or require("runner.declare.flags").find(spelt:match "^%-%-(.*)$" or "")) then
			out[#out + 1] = spelt
		end
	end
	return out
end

-- `runner run build -a` without the first word, and without the flags that the command hasn't got; nil: no command follows it.
local function without_run(words, list, project)
	local own, argv = {}, attempt.call.argv
	local found = words[2] and locate.find(table.move(words, 2, #words, 1, {}), project)
	for _, c in ipairs(list) do
		own[#own + 1] = is_own(c) and not c.hidden and c or nil
	end
	if words[2] and not found or not words[2] and not own[1] or argv[1] == "+" then
		return nil
	elseif not (found or not own[2]) then
		return ("Write the name of one: runner %s"):format(command_line.typed(own[1].name))
	end
	found = found or locate.find(command_line.name_words(own[1].name), project)
	local command = found and not attempt.policy and require("runner.project.loader").command(found, project)
	local name = command_line.typed((found or own[1]).name)
	local none = command and lacks(command, argv) or {}
	local only = not words[2] and ", the only command here" or ""
	local new = not words[2] and not attempt.policy and ("; to have one named %s: runner new %s"):format(words[1], words[1]) or ""
	if none[1] then
		return ("Write runner %s%s, which takes no %s%s"):format(name, only, table.concat(none, ", "), new)
	end
	local rest = { "runner" }
	for i, word in ipairs(command and not (command.secrets or attempt.call.stdin_words) and argv or {}) do
		if word == words[1] then
			table.move(argv, 1, i - 1, 2, rest)
			rest[#rest + 1] = not words[2] and name or nil
			return "Write " .. command_line.line(table.move(argv, i + 1, #argv, #rest + 1, rest)) .. only .. new
		end
	end
	return ("Write runner %s%s%s"):format(name, only, new)
end

-- The entry of the nearest name, where the words are like none. One that says the opposite is none: "unmute" is no "mute".
local function nearest(words, list, wanted)
	local names, by_name = {}, {}
	for _, c in ipairs(list) do
		names[#names + 1] = (not wanted or wanted(c)) and repair_words.negates(c.name) == repair_words.negates(words[1]) and c.name or nil
		by_name[c.name] = c
	end
	return by_name[suggest.nearest(table.concat(words, ".", 1, math.min(#words, 2)), names, 1)[1]
		or suggest.nearest(words[1], names, 1)[1]]
end

-- "workflow rnu": the entry of a group whose last words are nearest.
local function nearest_below(word, m)
	local names, by_name = {}, {}
	for _, c in ipairs(word and m.below or {}) do
		local name = c.name:sub(#m.group + 2)
		names[#names + 1], by_name[name] = repair_words.negates(name) == repair_words.negates(word) and name or nil, c
	end
	return by_name[suggest.nearest(word or "", names, 1)[1]]
end

-- "self lnt": one of runner's own.
local function of_runner(words, list)
	local names, all = {}, {}
	for _, c in ipairs(list) do
		local name = c.builtin and not require("runner.project.builtins").row(c.name).hidden and c.name:gsub("^self%.", "")
		names[#names + 1], all[#all + 1] = name or nil, name and { name = locate.SELF .. "." .. name } or nil
	end
	local near = suggest.nearest(table.concat(words, ".", 2, math.min(#words, 3)), names, 1)[1]
	return near and did_you_mean { locate.SELF .. "." .. near } or ("Commands in '%s': %s"):format(locate.SELF, typed(all))
end

-- Where no command is likely: the nearest, what is said of a habit, or those that there are.
local function otherwise(words, m, list, project)
	local habit = flag_errors.word(words)
	local verb = words[m.group == words[m.at] and m.at + 1 or m.at] or ""
	local only = m.group and not m.below[2] and m.below[1]
	local is_other = only and (m.is_refused or repair_words.has_family(verb) and not repair_words.kinship(verb, only.name:match "[^.]+$"))
	local near = m.group and (not is_other and only or nearest_below(verb, m))
		or not m.group and (nearest(words, list, is_own) or not habit and nearest(words, list))
	if near and catalog.rows({ near }, project)[1] then
		return did_you_mean { near.name }
	elseif m.few then
		return (m.few[2] and "One of these may be meant: %s" or "'%s' may be meant"):format(typed(m.few))
	elseif m.group then
		return ("Commands in '%s': %s"):format(m.group, typed(m.below))
	elseif habit and not m.likely[1] then
		return habit
	elseif is_empty(list, project) then
		return ("No commands/ here or above; create the command: runner new %s"):format(rules.is_command_word(words[1])
			and words[1] or "NAME")
	end
	local found = m.entries[2] and "One of these may be meant: %s" or "'%s' may be meant"
	return m.is_likely and found:format(typed(m.entries, MOST_SHOWN)) or "Run 'runner' to list the commands"
end

-- How many of the call's flags a command hasn't got, of each; those with the fewest first, and whether these are fewer than others.
local function by_flags(m, project)
	local argv, missing, order = (attempt.call or {}).argv or {}, {}, {}
	for i, entry in ipairs(m.entries) do
		local command = catalog.load(entry, project)
		missing[entry], order[entry] = command and #lacks(command, argv) or math.huge, i
	end
	table.sort(m.entries, function(a, b)
		return missing[a] < missing[b] or missing[a] == missing[b] and order[a] < order[b]
	end)
	local few = {}
	for _, entry in ipairs(m.entries) do
		few[#few + 1] = missing[entry] == missing[m.entries[1]] and entry or nil
	end
	m.few = #few < #m.entries and not few[MOST_NAMED + 1] and missing[few[1]] < math.huge and few or nil
end

-- The commands that words may mean, the likeliest first: those that they name, those of the group that they name, or those of which
-- they speak; and of these first those that have the flags of the call.
local function meant(words, list, project)
	local at = 1
	while words[at + 1] and (flag_errors.RUN[words[at]] or words[at]:find "^[%a_][%w_]*=") do
		at = at + 1
	end
	local m = { at = at }
	m.group, m.below = group_of(words[at], list)
	if not m.group then
		m.group, m.below = group_of(words[at + 1], list)
	end
	m.entries, m.likely, m.is_refused = candidates(words, at, project, m.group)
	local rows, entries
	if m.group then
		rows, entries = catalog.rows(m.below, project)
		m.group, m.below = entries[1] and m.group, entries
	elseif not m.entries[1] then
		rows, entries = catalog.own_rows(project)
	end
	local seen = {}
	for _, one in ipairs(m.entries) do
		seen[one.name] = true
	end
	for _, more in ipairs { rows and spoken_of(words, rows, entries) or {}, m.below } do
		for _, one in ipairs(more) do
			m.entries[#m.entries + 1] = not seen[one.name] and one or nil
			seen[one.name] = true
		end
	end
	by_flags(m, project)
	for _, entry in ipairs(not (m.likely[1] or words[at + 1]) and m.entries or {}) do -- what is a habit elsewhere, and a verb of these
		m.likely[#m.likely + 1] = entry.name:match "[^.]+$" == words[at] and entry.name or nil
	end
	m.is_likely = m.entries[1] ~= nil
	m.entries = m.is_likely and m.entries or entries or {}
	return m
end

---The error for words that name no command.
---@param words string[]
---@param project table
---@return runner.Error
function M.error(words, project)
	local list = catalog.list(project)
	words = (words[1] or ""):find("%w%.%w") and command_line.name_words(table.concat(words, ".")) or words -- as the manifest has it
	local m = meant(words, list, project)
	local named, is_run = m.group == words[1], flag_errors.RUN[words[1]]
	local advice = not host.getcwd() and "The working directory no longer exists: cd to one that exists"
		or words[1] == locate.SELF and of_runner(words, list)
		or not m.group and is_run and without_run(words, list, project)
		or m.likely[1] and not m.likely[MOST_NAMED + 1] and did_you_mean(m.likely) or otherwise(words, m, list, project)
	local message = named and not words[2] and ("'%s' is a group of commands, and no command itself"):format(words[1])
		or ("Unknown command '%s'"):format(named and words[1] .. " " .. words[2] or words[1])
	if is_run and not named and advice:find "^Write " then
		message = message .. ": the name of a command is enough to run it"
	end
	local usage = words[1] ~= locate.SELF and require("runner.project.usages").of_entries(m.entries, project, m.is_likely) or nil
	return errors.new("COMMAND_NOT_FOUND", message, { phase = "validation", suggestion = advice,
		context = { folders = folders.list(project), usage = usage } })
end

---The same, or that it is not known: a runner.lua that is wrong, or is not read, may name them.
---@param words string[]
---@param project table
---@return runner.Error
function M.problem(words, project)
	return project.problem or M.error(words, project)
end

-- --- a call -------------------------------------------------------------------------------------

-- The command that the first word is an alias of, or another spelling.
local function through_alias(call, project)
	local name = call.names[1]
	local dotted = call.names[2] and name:find(".", 1, true)
	if not call.places[1] or name == locate.SELF or not dotted and catalog.list_below(project, name)[1] then
		return nil, nil, call
	end
	local words, problem = aliases.find(name, project)
	if not words then
		return nil, problem, call
	end
	call = aliases.replace(call, words)
	return locate.find(call.names, project), nil, call
end

---What answers a call whose words name no command: help where it was asked for, or where they are those
---of a group. What runs inside of a run (ctx:call, a step, a script) gets the error: it meant to run something.
---@param a runner.Attempt
---@param wants_help boolean?
---@return {call: runner.Call, tokens: string[], found: runner.Found|false} found the call is the same, but for an alias
---@return runner.Error? problem
function M.answer(a, wants_help)
	local found, problem, call = through_alias(a.call, a.project)
	local out, names = { call = call, tokens = call.argv, found = found or false }, call.names
	if found or problem then
		return out, problem
	end
	local group = not wants_help and not os.getenv "RUNNER_DEADLINE_MS" and names[1] ~= locate.SELF
		and catalog.list_below(a.project, table.concat(names, "."))[1]
	if wants_help or group then
		out.found = { name = "help", words = 0, of_group = group and true or nil }
		return out
	end
	return out, M.problem(names, a.project)
end

return M
