-- repair: `fix_command` of a call that was wrong: the whole call as it was probably meant, which can be run as it stands. What may have
-- been meant is proposed: commands (lua/project/repair_names.lua) and arguments (lua/project/repair_arguments.lua). Each proposal is
-- parsed, in memory, and those that are right are kept; nothing is run. Of calls that only read the likeliest is the fix; one that changes
-- something must be the only likely one. None confirms: what destroys something is refused until somebody has looked at it. There is none
-- that a policy refuses, and none that would repeat a secret. Loaded when a call was wrong.

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
local names = require "runner.project.repair_names"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"
local vocabulary = require "runner.project.repair_words"

local M = {}

local MOST_TOKENS, TRIED = 60, 10
local MARGIN, LEAST, OWN = 0.8, 0.3, 0.9 -- what is nearly as likely; what is likely enough; what is another command's own name
local SURE, MOST_NAMED = 0.94, 3 -- arguments that leave no doubt; calls in one hint
local EVEN = 0.99 -- as likely as the likeliest: nobody decides between them
local BARRED = 4 / 3 -- how much likelier a call that changes something is than one that no repair may name
local REFUSED = 1 / MARGIN / BARRED -- of one that a policy refuses: it is as near as if it were allowed
local LEVELS = { safe = 1, mutating = 2, destructive = 3 }
local LEAD = tables.set "run runner call exec do invoke please"

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

-- Does a policy refuse a command with these values?
local function is_refused_with(entry, command, given)
	for _, policy in ipairs(attempt.policy and attempt.policy.list or {}) do
		local call = { name = entry.name, builtin = not entry.path, command = command }
		if require("runner.project.policy_limits").by_arguments(policy, call, given) then
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

-- What is searched for is no argument of another name.
local function is_searching(repaired)
	for _, word in ipairs(repaired) do
		local flag = word:match "^%-%-([^=]+)"
		if flag and (flag == "query" or vocabulary.is_same_flag("query", flag)) then
			return true
		end
	end
	return false
end

-- What a candidate may be, called with these tokens; with a number it is none that a repair may name, and is so much in the way of others.
local function calls_of(one, tokens, project, front, variables)
	local entry = one.entry
	local is_out = is_refused(entry)
	local command = not catalog.is_for_person(entry) and not is_out and catalog.load(entry, project)
	local level = command and command.danger_level
	if variables ~= "" and level ~= "safe" then
		return {}, 1
	end
	if one.level and (LEVELS[level] or 0) > one.level then
		return {} -- a verb that reads never changes, and one that makes never destroys
	elseif not command or catalog.is_for_person(entry, command) or command.raw or is_refused(entry, level)
		or entry.builtin and (" " .. table.concat(tokens, " ") .. " "):find(" -- ", 1, true) -- a call of its own stands there, as of `watch`
		or level ~= "safe" and (one.bare or one.loose == true or entry.builtin and (not one.named or level == "destructive")) then
		return {}, is_out and REFUSED or 1
	end
	local out, denied = {}, nil
	for _, proposal in ipairs(arguments.proposals(command, tokens, project.config)) do
		local repaired = proposal.words
		local all = table.move(repaired, 1, #repaired, #front + 1, table.move(front, 1, #front, 1, {}))
		local parsed = args.parse(command.args, all, { config = project.config, command = command, in_front = #front })
		local is_right = not parsed.problems[1] and not confirms(all)
		if is_right and is_refused_with(entry, command, parsed.values) then
			denied = REFUSED
		elseif is_right and not (one.sought and not is_searching(repaired)) then
			local made = table.move(front, 1, #front, 1, {})
			for _, word in ipairs(command_line.name_words(command.name)) do
				made[#made + 1] = word
			end
			table.move(repaired, 1, #repaired, #made + 1, made)
			local is_sure = not one.loose or one.loose == "verb" and level ~= "destructive" and proposal.sure > 0 and proposal.cost > SURE
			out[#out + 1] = { rest = #repaired,
				line = variables .. "runner " .. command_line.line(made), words = made, name = command.name, cost = one.score * proposal.cost,
				safe = level == "safe", guessed = proposal.guessed or one.guessed, maybe = proposal.dropped or level ~= "safe" and not is_sure }
		end
	end
	return out, not out[1] and denied or nil
end

-- The call that was meant, of all that are valid; else those of which one may have been.
local function best_of(list, argv, at, project, front, variables)
	local calls, seen, barred = {}, {}, 0
	for i = 1, math.min(#list, TRIED) do
		local one = list[i]
		local made, forbidden = {}, nil
		local first = one.at or at
		local next_word = argv[first + one.used]
		local is_sought = one.entry.name:find "list$" and vocabulary.may_mean(argv[first + one.used - 1], "list")
		if not one.whole or not next_word or values.is_option(next_word) then
			one.sought = is_sought and next_word and not values.is_option(next_word)
			made, forbidden = calls_of(one, without(argv, first, one.used), project, front, variables)
		end
		barred = forbidden and math.max(barred, one.score * forbidden) or barred
		for _, call in ipairs(made) do
			calls[#calls + 1] = not seen[call.line] and call or nil
			seen[call.line] = true
		end
	end
	table.sort(calls, function(a, b) return a.cost > b.cost end)
	local best = calls[1]
	if not best or barred * (best.safe and MARGIN or BARRED) > best.cost or best.cost < LEAST then
		return nil
	end
	local near, safe = {}, best.safe
	for _, call in ipairs(calls) do
		if call.cost > best.cost * MARGIN then
			near[#near + 1], safe = call, safe and call.safe
		end
	end
	local is_even = near[2] and near[2].name ~= best.name and near[2].cost > best.cost * EVEN
	if not best.maybe and not best.guessed and (safe and not is_even or not near[2]) then
		return best
	end
	for i = #near, near[MOST_NAMED + 1] and 1 or #near + 1, -1 do
		near[i] = near[i].cost > best.cost * EVEN and near[i] or nil -- sorted: the last ones go
	end
	local is_many = near[MOST_NAMED + 1]
	return nil, not is_many and near or nil
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

local function as_candidate(found)
	return { entry = { name = found.name, path = found.path, builtin = not found.path }, used = found.words, score = 1, named = true }
end

-- Behind the value of a flag that stands in front.
local function behind_flags(argv, at, project)
	for i = at + 1, values.is_option(argv[1]) and #argv or 0 do
		local found = not values.is_option(argv[i]) and locate.find({ argv[i], argv[i + 1] }, project)
		if found then
			return found, i
		end
	end
end

-- Without those in front of the first flag, and how many words there are from that on; nil: there are none.
local function without_filling(argv)
	local out, options = {}, 0
	for _, word in ipairs(argv) do
		options = (options > 0 or values.is_option(word)) and options + 1 or 0
		out[#out + 1] = (options > 0 or not vocabulary.FILLING[word:lower()]) and word or nil
	end
	return out[1] and #out < #argv and out or nil, options
end

-- Variables that are set in front ("REGION=eu bucket list") as flags behind the rest.
local function with_variables(argv)
	local i, out, options, variables = 1, {}, {}, ""
	while argv[i] and argv[i]:find "^%u[%u%d_]*=." do
		variables = variables .. argv[i]:match "^[^=]*=" .. command_line.quoted(argv[i]:match "=(.*)") .. " "
		options[i], i = "--" .. argv[i], i + 1
	end
	table.move(argv, i, #argv, 1, out)
	local rest = table.move(out, 1, #out, 1, {})
	return table.move(options, 1, #options, #out + 1, out), rest, variables
end

-- The commands that the words at `at` may name; "run" in front of a thing may be the verb.
local function candidates(argv, at, project)
	local list = names.candidates(argv, at, project)
	local verb = at > 1 and vocabulary.has_family(argv[at - 1]:lower())
	for _, one in ipairs(verb and names.candidates(argv, at - 1, project) or {}) do
		one.at = at - 1
		list[#list + 1] = one.used > 1 and not one.entry.builtin and one or nil
	end
	table.sort(list, function(a, b) return a.score > b.score end)
	return list
end

-- `variables`: what a shell sets in front of the call
local function repair(whole_argv, project, is_short, variables)
	local front, argv = own_in_front(whole_argv)
	local at = argv[1] and begins_at(argv, project)
	if not at then
		return nil
	end
	local in_front = values.is_option(argv[1])
	local found, place = behind_flags(argv, at, project)
	local list = found and { as_candidate(found) } or candidates(argv, at, project)
	if not found then
		local typed = {}
		for i = at, #argv do
			if values.is_option(argv[i]) then
				break
			end
			typed[#typed + 1] = argv[i]:lower()
		end
		found, place = locate.find(typed, project), at
		local exact = found and as_candidate(found)
		for i = #list, 1, -1 do -- what is called by its name is meant, unless more of the words are another's name
			local one = list[i]
			if exact and (one.entry.name == exact.entry.name and one.used == exact.used
				or one.entry.name ~= exact.entry.name and exact.entry.path and (one.used <= exact.used or one.score < OWN)) then
				table.remove(list, i)
			end
		end
		table.move(list, 1, #list, exact and 2 or 1)
		list[1] = exact or list[1]
	end
	local first = list[1]
	for i = #list, first and first.named and first.entry.path and first.score >= OWN and 2 or #list + 1, -1 do
		if list[i].score < OWN and list[i].used <= first.used then
			table.remove(list, i)
		end
	end
	for _, one in ipairs(list) do
		one.loose = one.loose or in_front or is_short
	end
	return best_of(list, argv, place, project, front, variables)
end

local CREDENTIALS = { "://[^/%s]*:[^/%s]*@", "[Bb]earer%s", "[Bb]asic%s", "[Aa]uthorization", "%-%-%-%-%-BEGIN" }
local PUBLIC = tables.set "id type size algorithm count length bits format ttl"
local OF = tables.set "token key auth" -- of which those are known to others
local SECRET = { "pass", "secret", "token", "key", "pwd", "credential", "auth" }

-- Does a word look as if a secret were in it, or behind it, or stand between several calls?
local function is_delicate(argv)
	for i, token in ipairs(argv) do
		if token == "+" then
			return true -- several calls
		end
		local value = token:match "=(.*)" or argv[i + 1]
		local name = value and not (token:find "^%-[^=]*$" and values.is_option(value)) -- a switch holds none
			and (token:match "^%-+([^=]+)" or token:match "^([%a_]+)=")
		local is_about = name and PUBLIC[name:lower():match "%a+$"]
		for _, part in ipairs(name and SECRET or {}) do
			if not (is_about and OF[part]) and name:lower():gsub("author%f[^%l]", ""):find(part, 1, true) then
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

-- The project, of which the files of other commands than the called one are only read where its user has not called any before.
local function unrun(a)
	local project = a.project
	local root = project and project.root
	if not root or a.call.is_call or a.runs_files or host.known(root) or not require("runner.project.unread").holds(root, a) then
		return project
	end
	return tables.add({ unread = true }, project)
end

---The failed call, repaired, as a command line; nil: none is safe and sure.
---@param a runner.Attempt
---@return string?
---@return string? advice which command that is, or what may have been meant where that isn't sure
function M.command(a)
	local call = a.call
	local argv = call and (call.is_call and words_of_call(a) or not call.stdin_words and call.argv)
	argv = argv and require("runner.core.tool").typed(argv)
	if not argv or not argv[1] or #argv > MOST_TOKENS or call.has_stdin or is_delicate(argv) then
		return nil
	end
	local project = unrun(a)
	local given, bare, variables = with_variables(argv)
	local ok, best, near = pcall(repair, given, project, false, "")
	if ok and not best and not near and variables ~= "" and not variables:find "RUNNER_" then
		ok, best, near = pcall(repair, bare, project, false, variables) -- as a shell has it, it is of no argument
	end
	local short, options = without_filling(argv)
	if short then
		local again, other = pcall(repair, with_variables(short), project, true, "")
		if again and other and other.safe and (other.rest <= options or not best) then
			best, near = other, nil
		end
	end
	local lines, calls = {}, {}
	for i, one in ipairs(ok and (near or { best }) or {}) do
		calls[i] = one.words
		if one.line == "runner " .. command_line.line(argv) or not is_open(a, one.line) then
			return nil
		end
		lines[i] = i <= MOST_NAMED and one.line or nil
	end
	if not near then
		return lines[1], lines[1] and ("Did you mean '%s'?"):format(command_line.typed(best.name)) or nil, calls
	elseif not call.is_call then
		return nil, (lines[2] and "Write the one that is meant: %s" or "If that is meant, write %s"):format(table.concat(lines, "; or ")), calls
	end
	return nil, nil, calls
end

local function plain(text)
	return (" " .. text:gsub("%f[-%w]%-+", ""):gsub("[_.]", "-") .. " ")
end

-- Do these words, or the name of this flag, stand in one of the calls?
local function is_in(calls, text)
	for _, words in ipairs(calls) do
		for i, word in ipairs(words) do
			local name, value = word:match "^%-%-([^=]+)=(.*)$"
			if plain(word) == plain(text) or name and (plain(name) == plain(text) or value == text)
				or plain(table.concat(words, " ", i)):find(plain(text), 1, true) == 1 then
				return true
			end
		end
	end
	return false
end

---Leave out of an error what was meant by its own lights where the calls say otherwise: both never name another thing.
---@param e runner.Error
---@param calls? string[][] the call that was meant, or those of which one was
function M.agree(e, calls)
	for _, of in ipairs(calls and calls[1] and { e, table.unpack(e.errors or {}) } or {}) do
		local before, said = (of.suggestion or ""):match "^(.-)%.? ?Did you mean ('.*')%?"
		local kept = {}
		for text in (said or ""):gmatch "'([^']+)'" do
			kept[#kept + 1] = is_in(calls, text) and text or nil
		end
		if said and not kept[1] then
			of.suggestion = before ~= "" and before or nil
		elseif kept[1] and said ~= "'" .. table.concat(kept, "' or '") .. "'" then
			local first, last = of.suggestion:find(said, 1, true)
			of.suggestion = ("%s'%s'%s"):format(of.suggestion:sub(1, first - 1), table.concat(kept, "' or '"), of.suggestion:sub(last + 1))
		end
		local from, to = (of.fix_required or ""):match "^Rename '(.-)' to '(.-)'$"
		local used = (of.fix_required or ""):match "^Use (%-%-format %l+)$"
		if to and not is_in(calls, to) then
			of.fix_required = kept[1] and ("Rename '%s' to '%s'"):format(from, kept[1]) or ("Correct '%s'"):format(from)
		elseif used and not is_in(calls, used) then
			of.fix_required = "Correct the arguments before retrying"
			of.suggestion = of.suggestion ~= "Use " .. used and of.suggestion or nil
		end
	end
end

return M
