-- repair: `fix_command` of a call that was wrong: the whole call as it was probably meant, which can be run as it stands. It is
-- computed from the declarations: the command that the words name (turned round, in the plural, by another verb, misspelt),
-- and its arguments (lua/project/repair_arguments.lua). Nothing is run for it. There is none where several commands may be meant,
-- where it would confirm or destroy something, and where it would repeat a secret. Loaded when a call was wrong.

local args = require "runner.project.args"
local arguments = require "runner.project.repair_arguments"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local locate = require "runner.project.locate"
local search_words = require "runner.core.search_words"
local suggest = require "runner.core.suggest"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"

local M = {}

local MOST_TOKENS, TRIED = 60, 6
local DECIDES = tables.set "approve reject" -- for a person: what it means is a decision
local LEAD = tables.set "run runner call exec do invoke please"
local ENOUGH, MISSPELT, EQUAL = 0.4, 0.78, 0.02 -- of the project's own, of a built-in one; what counts as equal

-- How much alike a typed word and one of a name are: 0 to 1.
local function likeness(typed, word)
	local a, b = search_words.stem(typed), search_words.stem(word)
	if typed == word then
		return 1
	elseif a == b then
		return 0.95
	elseif (search_words.same[a] or {})[b] then
		return 0.7
	elseif #word < #typed + 4 and suggest.nearest(typed, { word }, 1)[1] then
		return 0.8
	elseif #b > 3 and typed:sub(1, #b) == b then
		return 0.75
	end
	return #typed > 2 and arguments.abbreviates(typed, word) and 0.65 or 0
end

-- How well the typed words name a command, and how many of them do; the verb may stand in front, and the group be left out.
local function fit(typed, name)
	local best, used = 1, #name
	for i, word in ipairs(name) do
		best = best * (typed[i] and likeness(typed[i], word) or 0)
	end
	local function offer(score, count)
		if score > best then
			best, used = score, count
		end
	end
	if name[2] and not name[3] then
		offer((typed[2] and likeness(typed[1], name[2]) * likeness(typed[2], name[1]) or 0) * 0.97, 2)
		local verb = likeness(typed[1], name[2])
		offer(verb >= 0.8 and verb * 0.6 or 0, 1)
		offer(name[2] == "list" and not typed[2] and likeness(typed[1], name[1]) * 0.5 or 0, 1)
	end
	return best, used
end

-- The commands that the words may name, the best first.
local function candidates(typed, project)
	local out = {}
	for _, entry in ipairs(catalog.list(project)) do
		local name = command_line.name_words(entry.name)
		local score, used = fit(typed, name)
		if score >= (entry.builtin and MISSPELT or ENOUGH) then
			out[#out + 1] = { entry = entry, score = entry.builtin and score * 0.95 or score, used = used }
		end
	end
	table.sort(out, function(a, b)
		return a.score > b.score or a.score == b.score and a.entry.name < b.entry.name
	end)
	return out
end

-- "Alert-List", "alert:list", "alert.list" → alert list
local function split(word)
	local out = {}
	for part in word:lower():gmatch "[^-_.:/]+" do
		out[#out + 1] = part
	end
	return out
end

-- Where the words begin that may name a command: behind flags, and "run".
local function begins_at(argv)
	local i = 1
	while argv[i] and (values.is_option(argv[i]) or LEAD[argv[i]] and argv[i + 1] and not values.is_option(argv[i + 1])) do
		i = i + 1
	end
	return argv[i] and i
end

local function without(argv, first, count)
	local rest = table.move(argv, 1, first - 1, 1, {})
	for i = #rest, 1, -1 do
		if LEAD[rest[i]] then
			table.remove(rest, i)
		end
	end
	return table.move(argv, first + count, #argv, #rest + 1, rest)
end

-- The words in other divisions: each token as one word; the first one apart.
local function typed_words(argv, at)
	local whole = {}
	for i = at, math.min(at + 3, #argv) do
		if values.is_option(argv[i]) then
			break
		end
		whole[#whole + 1] = argv[i]:lower()
	end
	local parts = split(argv[at])
	return whole, parts[2] and not locate.find({ argv[at] }) and table.move(whole, 2, #whole, #parts + 1, parts) or nil, #split(argv[at])
end

-- A destructive command is named by no repair, whatever else the words might mean.
local function try(found, tokens, project)
	local command = not (found.builtin and DECIDES[found.name]) and catalog.load(found, project)
	if not command or command.danger_level == "destructive" or command.requires_person or command.raw then
		return nil, true
	end
	for _, token in ipairs(command.danger_level ~= "safe" and tokens or {}) do
		if token == "--yes" or token:find "^%-%-confirm" or token == "--live" then
			return nil, true
		end
	end
	local repaired, guessed = arguments.repaired(command, tokens, project.config)
	local parsed = repaired and args.parse(command.args, repaired, { config = project.config, command = command })
	if not parsed or parsed.problems[1] then
		return nil
	end
	local words = command_line.name_words(command.name)
	if guessed == arguments.LIKELY and command.danger_level ~= "safe" then
		return nil
	end
	return table.move(repaired, 1, #repaired, #words + 1, words), nil, command.danger_level == "safe", guessed
end

-- Of those that fit equally well, the one whose arguments fit, too.
local function best_of(list, argv, at, project, extra)
	local made, safe, i = {}, true, 1
	while list[i] and i <= TRIED do
		local top = list[i].score
		local stop
		while list[i] and i <= TRIED and list[i].score >= top - EQUAL do
			local call, forbidden, harmless, guessed = try(list[i].entry, without(argv, at, math.max(list[i].used - extra, 1)), project)
			if call then
				made[#made + 1] = { call = call, guessed = guessed }
			end
			stop, safe, i = stop or forbidden, safe and (not call or harmless), i + 1
		end
		if stop or made[1] then
			table.sort(made, function(a, b) return a.guessed < b.guessed end)
			return not stop and (not made[2] or safe) and made[1].call or nil
		end
	end
end

local function repair(argv, project)
	local at = begins_at(argv)
	for i = at or 1, values.is_option(argv[1]) and #argv or 0 do -- behind the value of a flag that stands in front
		local found = not values.is_option(argv[i]) and locate.find({ argv[i], argv[i + 1] }, project)
		if found and i > at then
			return (try({ name = found.name, path = found.path, builtin = not found.path }, without(argv, i, found.words), project))
		end
	end
	if not at then
		return nil
	end
	local whole, parts, count = typed_words(argv, at)
	local found = locate.find(whole, project)
	local call, forbidden
	if found then
		call, forbidden = try({ name = found.name, path = found.path, builtin = not found.path }, without(argv, at, found.words), project)
	end
	if call or forbidden or found and found.path then
		return call
	end
	return parts and best_of(candidates(parts, project), argv, at, project, count - 1)
		or best_of(candidates(whole, project), argv, at, project, 0)
end

local SECRET = { "pass", "secret", "token", "key", "pwd", "credential", "auth" }

-- Does a word look as if a secret were in it, or behind it, or stand between several calls?
local function is_delicate(argv)
	for _, token in ipairs(argv) do
		if token == "+" then
			return true -- several calls
		end
		local name = token:match "^%-+([^=]+)" or token:match "^([%a_]+)="
		for _, part in ipairs(name and SECRET or {}) do
			if name:lower():find(part, 1, true) then
				return true
			end
		end
	end
	return false
end

---The failed call, repaired, as a command line; nil: none is safe and sure.
---@param a runner.Attempt
---@return string?
function M.command(a)
	local call = a.call
	local argv = call and call.argv
	if not argv or not argv[1] or #argv > MOST_TOKENS or call.stdin_words or call.has_stdin or is_delicate(argv) then
		return nil
	end
	local ok, words = pcall(repair, argv, a.project)
	local line = ok and words and command_line.line(words)
	return line and line ~= command_line.line(argv) and "runner " .. line or nil
end

return M
