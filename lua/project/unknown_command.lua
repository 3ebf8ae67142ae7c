-- unknown_command: what answers a call whose words name no command: the command that they are an alias of, help, or
-- an error that says what was probably meant. Loaded then.

local aliases = require "runner.project.aliases"
local builtins = require "runner.project.builtins"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"
local locate = require "runner.project.locate"
local flag_errors = require "runner.declare.flag_errors"
local folders = require "runner.project.folders"
local rules = require "runner.core.rules"
local suggest = require "runner.core.suggest"
local tables = require "runner.core.tables"

local M = {}

local function did_you_mean(names)
	local typed = {}
	for i, name in ipairs(names) do
		typed[i] = command_line.typed(name)
	end
	return ("Did you mean '%s'?"):format(table.concat(typed, "' or '"))
end

-- Names in the group that the first word names.
local function below(word, list)
	local names = {}
	for _, c in ipairs(list) do
		if c.name:sub(1, #word + 1) == word .. "." then
			names[#names + 1] = c.name:sub(#word + 2)
		end
	end
	return names
end

local function sorted_parts(text)
	local parts = {}
	for part in text:lower():gmatch "[^-_. ]+" do
		parts[#parts + 1] = part
	end
	table.sort(parts)
	return table.concat(parts, " ")
end

-- "rule list" or "list-rule" of rule-list: the same words.
local function divided_otherwise(words, names)
	local two = sorted_parts(words[2] or "")
	local three = words[3] and sorted_parts(words[2] .. " " .. words[3])
	for _, name in ipairs(names) do
		local own = sorted_parts(name)
		if own == two or own == three then
			return name
		end
	end
end

-- The nearest name that doesn't say the opposite: "unmute" is no "mute".
local function nearest_of(word, names)
	for _, name in ipairs(suggest.nearest(word, names)) do
		local long, short = #word > #name and word or name, #word > #name and name or word
		if not tables.set "un de dis re non"[long:sub(1, #long - #short)] or long:sub(-#short) ~= short then
			return name
		end
	end
end

-- The group exists: the second word is the wrong one.
local function in_group(words, names)
	local near = divided_otherwise(words, names) or words[2] and nearest_of(words[2], names)
	if near then
		return ("Did you mean '%s %s'?"):format(words[1], command_line.typed(near))
	end
	for i, name in ipairs(names) do
		names[i] = words[1] .. " " .. command_line.typed(name)
	end
	return ("Commands in '%s': %s"):format(words[1], table.concat(names, ", "))
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

local function nearest(words, list, wanted)
	local names = {}
	for _, c in ipairs(list) do
		names[#names + 1] = wanted(c) and c.name or nil
	end
	return suggest.nearest(table.concat(words, ".", 1, math.min(#words, 2)), names, 1)[1]
		or suggest.nearest(words[1], names, 1)[1]
end

local function is_own(c)
	return not c.builtin
end

local function is_any()
	return true
end

-- Verbs that one tool has in front of a thing and another after it, and what means the same.
local VERBS = {}
for _, same in ipairs { "get list show ls view describe read fetch", "create new add make", "delete remove rm destroy",
	"set update edit change" } do
	for verb in same:gmatch "%S+" do
		VERBS[verb] = same
	end
end

-- "list hosts" → the command hosts.list, or one of the group hosts that means the same; "get alerts" → alerts, a command
-- or a group.
local function turned_round(words, by_name, list)
	local verb, thing = words[1], words[2]
	if not thing then
		return nil
	elseif by_name[thing .. "." .. verb] then
		return did_you_mean { thing .. "." .. verb }
	end
	for same in (VERBS[verb] or ""):gmatch "%S+" do
		if by_name[thing .. "." .. same] then
			return did_you_mean { thing .. "." .. same }
		end
	end
	local names = VERBS[verb] and below(thing, list) or {}
	if names[1] then
		return in_group({ thing }, names)
	end
	return VERBS[verb] and by_name[thing] and did_you_mean { thing } or nil
end

-- "silence" → the commands of groups that are called so.
local function in_groups(word, list)
	local found = {}
	for _, c in ipairs(list) do
		found[#found + 1] = #found < 3 and not c.builtin and c.name:match "%.([^.]+)$" == word and c.name or nil
	end
	return found[1] and did_you_mean(found) or nil
end

local function by_names(list)
	local out = {}
	for _, c in ipairs(list) do
		out[c.name] = c
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
	local attempt = require "runner.core.attempt"
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

local function anywhere(words, list, project)
	local run = flag_errors.RUN[words[1]] and without_run(words, list, project)
	if run then
		return run
	end
	local habit = flag_errors.word(words)
	local sure = turned_round(words, by_names(list), list) or (not habit or not words[2]) and in_groups(words[1], list)
	if sure then
		return sure
	end
	local near = nearest(words, list, is_own)
	near = near or not habit and nearest(words, list, is_any)
	if near then
		return did_you_mean { near }
	elseif habit then
		return habit
	elseif is_empty(list, project) then
		return ("No commands/ here or above; create the command: runner new %s"):format(rules.is_command_word(words[1])
			and words[1] or "NAME")
	end
	return "Run 'runner' to list the commands"
end

---The error for words that name no command.
---@param words string[]
---@param project table
---@return runner.Error
function M.error(words, project)
	local list = catalog.list(project)
	words = (words[1] or ""):find("%w%.%w") and command_line.name_words(table.concat(words, ".")) or words -- as the manifest has it
	local names = words[1] == locate.SELF and builtins.list() or below(words[1], list)
	local group = names[1] ~= nil
	local nowhere = not host.getcwd() and "The working directory no longer exists: cd to one that exists"
	local message = group and not words[2] and ("'%s' is a group of commands, and no command itself"):format(words[1])
		or ("Unknown command '%s'"):format(group and words[1] .. " " .. words[2] or words[1])
	local advice = nowhere or group and in_group(words, names) or anywhere(words, list, project)
	if not group and flag_errors.RUN[words[1]] and advice:find "^Write " then
		message = message .. ": the name of a command is enough to run it"
	end
	return errors.new("COMMAND_NOT_FOUND", message, {
			phase = "validation", suggestion = advice,
			context = { folders = folders.list(project) },
		})
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
