-- repair: `fix_command` of a call that was wrong: the whole call as it was probably meant, which can be run as it stands. It is
-- computed from the declarations: the command that the words name, and its arguments (lua/project/repair_arguments.lua). Nothing is run
-- for it. A command that changes something is only meant by its own words, turned round or in the plural: no other is chosen because it is
-- like them. There is none where several commands may be meant, where it would confirm or destroy something, where a policy refuses it,
-- and where it would repeat a secret. Loaded when a call was wrong.

local args = require "runner.project.args"
local argv_parser = require "runner.project.argv_parser"
local arguments = require "runner.project.repair_arguments"
local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local host = require "runner.host"
local locate = require "runner.project.locate"
local search_words = require "runner.core.search_words"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"

local M = {}

local MOST_TOKENS, TRIED = 60, 6
local DECIDES = tables.set "approve reject" -- for a person: what it means is a decision
local LEAD = tables.set "run runner call exec do invoke please"
local ENOUGH, MISSPELT, PLURAL, EQUAL = 0.4, 0.78, 0.9, 0.02 -- of the project's own, of a built-in one; its plural; what counts as equal

-- How much alike a typed word and one of a name are: 0 to 1.
local function likeness(typed, word)
	local a, b = search_words.stem(typed), search_words.stem(word)
	if typed == word then
		return 1
	elseif a == b then
		return 0.95
	elseif arguments.negates(typed) or arguments.negates(word) then
		return 0
	elseif search_words.is_same(a, b) then
		return 0.7
	elseif #word < #typed + 4 and arguments.is_near(typed, word) then
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

-- Are they its own words, in any order, or their plural?
local function is_named(typed, name)
	local same, turned = true, #name == 2
	for i, word in ipairs(name) do
		same = same and typed[i] and arguments.is_same(typed[i], word)
		turned = turned and typed[3 - i] and arguments.is_same(typed[3 - i], word)
	end
	return same or turned or false
end

-- "Alert-List", "alert:list", "alert.list" → alert list; "alert..list" names nothing
local function split(word)
	local out = {}
	if ("." .. word .. "."):find "[-_.:/][-_.:/]" then
		return { word:lower() }
	end
	for part in word:lower():gmatch "[^-_.:/]+" do
		out[#out + 1] = part
	end
	return out
end

-- The commands that the words may name, the best first.
local function candidates(typed, project)
	local out = {}
	local habit = require("runner.declare.foreign_names").word(typed) and PLURAL -- a word of other tools, which has its advice
	for _, entry in ipairs(catalog.list(project)) do
		local name = command_line.name_words(entry.name)
		local joined = split(table.concat(name, "-"))
		local is_joined = joined[#name + 1] and is_named({ table.unpack(typed, 1, #joined) }, joined) -- rule list, of rule-list
		local score, used = fit(typed, name)
		score, used, name = is_joined and 1 or score, is_joined and #joined or used, is_joined and joined or name
		if score >= (entry.builtin and (habit or MISSPELT) or not typed[2] and habit or ENOUGH) then
			out[#out + 1] = { entry = entry, score = entry.builtin and score * 0.95 or score, used = used,
				named = is_named(typed, name) }
		end
	end
	table.sort(out, function(a, b)
		return a.score > b.score or a.score == b.score and a.entry.name < b.entry.name
	end)
	return out
end

-- Where the words begin that may name a command: behind flags, and "run".
local function begins_at(argv, project)
	local i = 1
	while argv[i] and (values.is_option(argv[i]) or LEAD[argv[i]] and argv[i + 1] and not values.is_option(argv[i + 1])
		and not locate.find({ argv[i] }, project)) do
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

local CONFIRMS = tables.add({ ["confirm-destructive"] = true, live = true, confirm = true, approve = true }, arguments.confirming)

-- Would the repaired words confirm what is done?
local function confirms(words)
	for _, word in ipairs(words) do
		local name = word:match "^%-%-?([^=]+)"
		if name and CONFIRMS[name:gsub("^runner%-", ""):gsub("^no%-", "")] then
			return true
		end
	end
	return false
end

local function is_refused(found, level)
	for _, policy in ipairs(attempt.policy and attempt.policy.list or {}) do
		if require("runner.project.caller_policy").refusal(policy, found.name, found.path, level) then
			return true
		end
	end
	return false
end

-- A destructive command is named by no repair, whatever else the words might mean. named: by its own words
local function try(found, tokens, project, front, named)
	local command = not (found.builtin and DECIDES[found.name]) and not is_refused(found) and catalog.load(found, project)
	if not command or command.danger_level == "destructive" or command.requires_person or command.raw
		or command.danger_level ~= "safe" and not named or is_refused(found, command.danger_level) then
		return nil, true
	end
	local repaired, guessed = arguments.repaired(command, tokens, project.config)
	local all = repaired and table.move(repaired, 1, #repaired, #front + 1, table.move(front, 1, #front, 1, {}))
	local parsed = all and args.parse(command.args, all, { config = project.config, command = command, in_front = #front })
	if not parsed or parsed.problems[1] or confirms(all) then
		return nil
	end
	local words = table.move(front, 1, #front, 1, {})
	for _, word in ipairs(command_line.name_words(command.name)) do
		words[#words + 1] = word
	end
	return table.move(repaired, 1, #repaired, #words + 1, words), nil, command.danger_level == "safe", guessed
end

-- Of those that fit equally well, the one whose arguments fit, too.
local function best_of(list, argv, at, project, front, extra)
	local made, safe, i = {}, true, 1
	while list[i] and i <= TRIED do
		local top = list[i].score
		local stop
		while list[i] and i <= TRIED and list[i].score >= top - EQUAL do
			local call, forbidden, harmless, guessed = try(list[i].entry, without(argv, at, math.max(list[i].used - extra, 1)), project, front,
				list[i].named and not values.is_option(argv[1]))
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

-- Runner's own flags in front stay there as they are.
local function own_in_front(argv)
	local i = 1
	while argv[i] and values.is_option(argv[i]) do
		local name = argv[i]:match "^%-%-([^=]+)"
		if not (name and (flags.find(name) or contract.find(name, nil, true))
			or flags.by_short[argv[i]:match "^%-(%a)$"] or contract.find(argv[i], nil, true)) then
			break
		end
		i = argv_parser.last_of(argv[i], i, false) + 1
	end
	return table.move(argv, 1, i - 1, 1, {}), table.move(argv, argv[i] == "--" and i + 1 or i, #argv, 1, {})
end

local function repair(whole_argv, project)
	local front, argv = own_in_front(whole_argv)
	if not argv[1] then
		return nil
	end
	local at = begins_at(argv, project)
	for i = at or 1, values.is_option(argv[1]) and #argv or 0 do -- behind the value of a flag that stands in front
		local found = not values.is_option(argv[i]) and locate.find({ argv[i], argv[i + 1] }, project)
		if found and i > at then
			return (try({ name = found.name, path = found.path, builtin = not found.path }, without(argv, i, found.words), project, front))
		end
	end
	if not at then
		return nil
	end
	local whole, parts, count = typed_words(argv, at)
	local found = locate.find(whole, project)
	local call, forbidden
	if found then
		call, forbidden = try({ name = found.name, path = found.path, builtin = not found.path }, without(argv, at, found.words), project, front,
			not values.is_option(argv[1]))
	end
	if call or forbidden or found and found.path then
		return call
	end
	return parts and best_of(candidates(parts, project), argv, at, project, front, count - 1)
		or best_of(candidates(whole, project), argv, at, project, front, 0)
end

local CREDENTIALS = { "://[^/%s]*:[^/%s]*@", "[Bb]earer%s", "[Bb]asic%s", "[Aa]uthorization", "%-%-%-%-%-BEGIN" }
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

-- Is it as it was typed wherever it goes: without a secret, and without bytes that no answer repeats?
local function is_open(a, line)
	for _, pattern in ipairs(CREDENTIALS) do
		if line:find(pattern) then
			return false
		end
	end
	return require("runner.core.mask").tokens(line) == line and (not a.mask or a.mask(line) == line)
		and host.clean(line) == line and not line:find "%c" and utf8.len(line) ~= nil
end

-- A call that a client of MCP has made, as words: the command and an option for each of its arguments; nil: it has none such.
-- lua/mcp/speech.lua makes a call of the repaired words again.
local function words_of_call(a)
	local text = a.parsed and a.parsed.framework.raw_payload
	local object = text and require("runner.declare.arg_words").is_over_mcp() and require("runner.json").decode(text)
	local words = object and command_line.name_words(a.name)
	local seen = {}
	for _, name in ipairs(words and tables.sorted_keys(object) or {}) do
		local option = "--" .. name:gsub("_", "-")
		local list = type(object[name]) == "table" and object[name] or { object[name] }
		if list[1] == nil or not name:find "^%a[%w_-]*$" or seen[option] then
			return nil
		end
		seen[option] = true
		for _, v in ipairs(list) do
			if type(v) == "table" or type(v) == "userdata" then
				return nil
			end
			words[#words + 1] = v == true and option or ("%s=%s"):format(option, math.tointeger(v) or tostring(v))
		end
	end
	return words
end

---The failed call, repaired, as a command line; nil: none is safe and sure.
---@param a runner.Attempt
---@return string?
function M.command(a)
	local call = a.call
	local argv = call and (call.is_call and words_of_call(a) or not call.stdin_words and call.argv)
	argv = argv and require("runner.core.tool").typed(argv)
	if not argv or not argv[1] or #argv > MOST_TOKENS or call.has_stdin or is_delicate(argv) then
		return nil
	end
	local ok, words = pcall(repair, argv, a.project)
	local line = ok and words and command_line.line(words)
	return line and line ~= command_line.line(argv) and is_open(a, line) and "runner " .. line or nil
end

return M
