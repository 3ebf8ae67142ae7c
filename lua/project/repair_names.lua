-- repair_names: the commands that the words of a call may name, and how well. The verb may stand in front or be another that means the
-- same, words may be divided otherwise, in the plural or misspelt, and the group be left out. Loaded for a call that was wrong
-- (lua/project/repair.lua).

local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local flag_errors = require "runner.declare.flag_errors"
local search_words = require "runner.core.search_words"
local tables = require "runner.core.tables"
local values = require "runner.declare.values"
local words = require "runner.project.repair_words"

local M = {}

local ENOUGH, MISSPELT, PLURAL = 0.4, 0.78, 0.9 -- of the project's own, of a built-in one; its plural
local MOST_TOKENS, MOST_LOADED = 4, 40
local SAID, LOOSELY = 0.68, 0.55 -- a verb that the description begins with; one that is sometimes used for that of the name
local SAME_VERB, KIN, REMOTE = 0.7, 0.57, 0.45 -- a verb that means the same; one of its family in that group; one that may be
local HEARD = 0.42 -- one that the description has
local READS = 0.5 -- a command that reads, where no verb was typed
local MAKES = tables.set "a an new another somebody"
local SHOW = tables.set "get show view display describe read fetch"

local function sorted(word)
	local letters = { word:byte(1, -1) }
	table.sort(letters)
	return string.char(table.unpack(letters))
end

-- How much alike a typed word and one of a name are: 0 to 1; true: too little so to change something; "verb": unless all else is sure.
local function likeness(typed, word, is_verb)
	local a, b = search_words.stem(typed), search_words.stem(word)
	if typed == word then
		return 1
	elseif words.is_same(typed, word) then
		return 0.95, is_verb == "alone" and typed ~= word
	elseif a == b then
		return 0.95, is_verb -- "migrations" are no "migrate"
	elseif words.is_same_verb(typed, word) then
		return 0.72, is_verb and words.is_half(typed, word) and "verb"
	elseif is_verb and words.may_mean(typed, word) then
		return LOOSELY, "verb"
	elseif words.negates(typed) or words.negates(word) then
		return 0
	elseif words.is_misspelt(typed, word) and not words.is_verb(typed) and not words.has_family(typed) then
		return 0.85, is_verb and #typed < 6 and #typed >= #word and sorted(typed) ~= sorted(word) -- "look" is no "lock"
	elseif #word < #typed + 4 and not words.has_family(typed) and words.is_near(typed, word) then
		return 0.8, true
	elseif #b > 3 and typed:sub(1, #b) == b then
		return 0.75, is_verb
	end
	if #typed > (is_verb and 2 or 1) and not (is_verb and words.has_family(typed)) and words.abbreviates(typed, word) then
		return 0.65, is_verb or #typed == 2
	end
	return is_verb and words.is_loosely_used_for(typed, word) and LOOSELY or 0, "verb"
end

---"Alert-List", "alert:list", "alertList" → alert list; "alert..list" names nothing
---@param word string
---@return string[]
local function split(word)
	local out = {}
	if ("." .. word .. "."):find "[-_.:/][-_.:/]" then
		return { word:lower() }
	end
	for part in word:gsub("(%l)(%u)", "%1-%2"):lower():gmatch "[^-_.:/]+" do
		out[#out + 1] = part
	end
	return out
end

-- The words of a name, and which of them is the first of its last part.
local function name_parts(name)
	local path, out, last = command_line.name_words(name), {}, 1
	for _, word in ipairs(path) do
		last = #out + 1
		table.move(split(word), 1, #split(word), last, out)
	end
	return out, last
end

-- Which typed word is which of the name's: the surest first.
local function matched(typed, own, last)
	local pairs_of, of_typed, of_own = {}, {}, {}
	local score, turned, loose = 1, false, false
	for i, word in ipairs(typed) do
		for j, other in ipairs(own) do
			local how, is_loose = likeness(word, other, j >= last and (last == #own and "alone" or true))
			pairs_of[#pairs_of + 1] = how > 0 and { i = i, j = j, how = how, loose = is_loose } or nil
		end
	end
	table.sort(pairs_of, function(a, b)
		if a.how ~= b.how then
			return a.how > b.how
		end
		return math.abs(a.i - a.j) < math.abs(b.i - b.j)
	end)
	for _, one in ipairs(pairs_of) do
		if not of_typed[one.i] and not of_own[one.j] then
			of_typed[one.i], of_own[one.j] = one.j, one.i
			score, loose = score * one.how, loose ~= true and one.loose and (one.loose == "verb" and typed[one.i] or true) or loose
		end
	end
	for i = 1, #typed do
		for k = i + 1, #typed do
			turned = turned or of_typed[i] and of_typed[k] and of_typed[i] > of_typed[k]
		end
	end
	return { score = turned and score * 0.97 or score, loose = loose, of_typed = of_typed, of_own = of_own }
end

local function is_listing(typed, own, is_last)
	local plural, verb = false, nil
	for i, word in ipairs(typed) do
		verb = SHOW[word] and i or verb
		for _, other in ipairs(own) do
			plural = plural or words.is_plural(word, other)
		end
	end
	return is_last == "list" and plural and verb
end

-- How likely a word beside the name is one that its description has; true: it stands for the verb that is missing. nil: it is none.
local function said_of(word, command, own, missing, last)
	if not command or #word < 3 and not words.is_verb(word) or words.negates(word) then
		return nil
	end
	local first = command.description:lower():match "^%a+" or ""
	local is_first = words.is_in(word, first) or words.is_one_verb(word, first)
	if missing[1] and missing[#missing] >= last and not words.negates(own[missing[#missing]]) and is_first then
		return SAID, true
	end
	if own[missing[1]] == "list" and word:find "s$" and words.is_in(word, command.description) then
		return SAID, true -- "firewall rules"
	end
	return not missing[1] and (is_first and words.is_verb(word)
		or words.is_in(word, command.description .. " " .. table.concat(command.keywords or {}, " "))) and 0.7 or nil
end

-- How well these words name an entry; nil: they don't. `of`: the command, loaded where its description has to say more.
local function reading(typed, entry, of, is_group)
	local own, last = name_parts(entry.name)
	local m = matched(typed, own, last)
	local score, is_named = m.score, #typed == #own
	local show = is_listing(typed, own, own[#own])
	if show and not m.of_typed[show] and not m.of_own[#own] then
		m.of_typed[show], m.of_own[#own], score = #own, show, score * 0.75
	end
	local extra, missing = {}, {}
	for i in ipairs(typed) do
		extra[#extra + 1] = not m.of_typed[i] and i or nil
		is_named = is_named and m.of_typed[i] and words.is_same(typed[i], own[m.of_typed[i]])
	end
	for j in ipairs(own) do
		missing[#missing + 1] = not m.of_own[j] and j or nil
	end
	if #typed > 6 or #extra > 1 or #extra == #typed or score < ENOUGH then
		return nil
	end
	local word, bare = typed[extra[1]], false
	local loose, level = m.loose, nil
	if type(loose) == "string" then
		level = not words.may_mean(loose, own[#own]) and words.level(loose) or nil
		local command = not entry.builtin and of(entry)
		local is_said = command and words.is_in(loose, command.description:lower():match "^%a+")
		score, loose = is_said and score * SAID / LOOSELY or score, not is_said and "verb"
	end
	if word then
		local factor, is_verb = said_of(word, not entry.builtin and of(entry), own, missing, last)
		if not factor then
			return nil
		end
		score, missing[#missing] = score * factor, not is_verb and missing[#missing] or nil
		loose = loose or is_verb and own[last] ~= "list" and "kin"
		bare = not is_verb and extra[1] == #typed and not words.is_verb(word)
	end
	local left_out, all = false, false
	for _, j in ipairs(missing) do
		if is_group and j < last then
			return nil
		elseif j < last then
			score, left_out = left_out and score or score * 0.6, true
		elseif own[j] == "list" and j == #own and not left_out and not entry.builtin then
			score, all = score * 0.5, true
		else
			return nil
		end
	end
	loose = loose or left_out and m.score < 0.9
	local generic = left_out and #typed == 1 and (words.is_verb(typed[1]) or m.score < 0.85)
	return score, { named = is_named, loose = all or generic or loose, bare = bare, level = level,
		whole = all or generic and (m.score < 0.85 or own[#own] == "list") }
end

-- The verb that a command's last word is, or else the first of its description.
local function verb_of(word, command)
	local first = not words.has_family(word) and command and command.description:lower():match "^%l+"
	return first and (words.has_family(first) and first or first:match "^(.-)e?s$") or word
end

-- Is each typed word but one the same as the name's but one, in their order?
local function is_rest(typed, i, own, j)
	local place = 0
	for k, word in ipairs(typed) do
		place = place + (k == i and 0 or 1)
		if k ~= i and not words.is_same(word, own[place < j and place or place + 1]) then
			return false
		end
	end
	return true
end

-- How the verb of a group that these words name, and nothing else, is one of an entry's family; nil: it isn't.
local function kin(typed, entry, of)
	local own, last = name_parts(entry.name)
	for i, word in ipairs(last > 1 and #typed == #own and typed or {}) do
		for j = words.has_family(word) and last or #own + 1, #own do
			local command = is_rest(typed, i, own, j) and of(entry) or nil
			local how, level = words.kinship(word, command and verb_of(own[j], command) or "")
			if not how and command and words.is_in(word, command.description) and not words.negates(command.description) then
				how, level = "said", words.level(word)
			end
			local second = how == "near" and words.is_one_verb(word, "create") and command.description:match "^%a+ (%l+)"
			if how == "near" and not words.has_family(own[j] or "") and command.danger_level ~= "safe" then
				how = "loose" -- nothing but its description says so
			end
			if second and not MAKES[second] and not words.is_one_verb(own[j], "create") then
				how = "loose" -- "Open an incident" makes one, and "Open the gate" doesn't
			end
			if how then
				return how, level, entry.name:match "^(.*)%."
			end
		end
	end
end

-- Add what a verb means in its group, where none has it: the only one of its family, or else what may be meant.
local function add_kin(out, typed, list, of)
	local found, near, known = {}, {}, {}
	for _, one in ipairs(out) do
		local group = one.score >= SAME_VERB and one.loose ~= true and one.entry.name:match "^(.*)%."
		known[group or ""] = true
	end
	for _, entry in ipairs(list) do
		for used = #typed, 1, -1 do
			local how, level, group = kin(typed[used], entry, of)
			if how and not entry.builtin and not known[group] then
				near[group] = (near[group] or 0) + (how == "near" and 1 or 0)
				found[#found + 1] = { entry = entry, used = used, level = level, group = group, how = how }
			end
		end
	end
	for _, one in ipairs(found) do
		one.score = one.how == "near" and KIN or one.how == "loose" and REMOTE or HEARD
		one.loose = (one.how ~= "near" or near[one.group] > 1) and "kin" or nil
		out[#out + 1] = one
	end
end

local function takes_what(command)
	for _, row in ipairs(command.args) do
		if row.positional or row.required then
			return true
		end
	end
	return false
end

-- Add what reads of a group that was named without a verb, and with what it is about: the likeliest is what shows one.
local function add_readers(out, tokens, list, of)
	local what = tokens[2] or ""
	local is_word = words.shape(what) == "word"
	if what == "" or words.has_family(what) or words.is_verb(what) or is_word and tokens[3] then
		return
	end
	for _, one in ipairs(out) do
		if one.used > 1 and one.score >= SAME_VERB then
			return
		end
	end
	for _, entry in ipairs(list) do
		local group, verb = entry.name:match "^([^.]+)%.([^.]+)$"
		local command = group and not entry.builtin and words.is_same(tokens[1], group) and of(entry)
		if command and command.danger_level == "safe" and takes_what(command) then
			out[#out + 1] = { entry = entry, used = 1, score = words.kinship("show", verb_of(verb, command)) == "near" and READS or READS * 0.995,
				guessed = is_word or nil }
		end
	end
end

---@class runner.Candidate
---@field entry table of the catalog
---@field used integer how many tokens name it
---@field score number
---@field named? boolean by its own words, in any order, or their plural
---@field loose? boolean|"verb"|"kin" too little is said to change something; "verb": unless all else is sure; "kin": somebody has to say so
---@field level? integer the most that the verb which was typed does: 1 it reads, 2 it changes, 3 it destroys
---@field at? integer where its words begin, if elsewhere
---@field guessed? boolean somebody has to say so
---@field whole? boolean too little for a word more
---@field bare? boolean one that may be a value is taken for a word of its description

---The commands that the tokens at `at` may name, the best first.
---@param argv string[]
---@param at integer
---@param project table
---@return runner.Candidate[]
function M.candidates(argv, at, project)
	local out, loaded, count = {}, {}, 0
	local function of(entry)
		if loaded[entry.name] == nil and count < MOST_LOADED then
			count = count + 1
			loaded[entry.name] = catalog.load(entry, project) or false
		end
		return loaded[entry.name] or nil
	end
	local typed, tokens = {}, {}
	for i = at, math.min(at + MOST_TOKENS - 1, #argv) do
		if values.is_option(argv[i]) then
			break
		end
		tokens[#tokens + 1] = argv[i]:lower()
		local parts, before = split(argv[i]), typed[#tokens - 1] or {}
		typed[#tokens] = table.move(parts, 1, #parts, #before + 1, table.move(before, 1, #before, 1, {}))
	end
	local habit, list, is_group = flag_errors.word(tokens), catalog.all(project), false -- what is refused may be meant, too
	local groups = {} -- by the words that name them
	for _, entry in ipairs(list) do
		local name = not entry.builtin and command_line.name_words(entry.name) or {}
		for i = 1, name[2] and 2 or 0 do
			groups[i] = groups[i] or tokens[i] and words.is_same(name[1], tokens[i])
		end
		is_group = is_group or name[2] ~= nil and name[1] == tokens[1]
	end
	for _, entry in ipairs(list) do
		local habitual = entry.builtin and (habit and PLURAL or MISSPELT) or habit and not tokens[2] and PLURAL
		local best = 0
		for used = #tokens, 1, -1 do
			local score, how = reading(typed[used], entry, of, is_group)
			score = score and entry.builtin and score * 0.95 or score
			if score and score >= (habitual or ENOUGH) and score > best then
				best = score
				out[#out + 1] = tables.add({ entry = entry, used = used, score = score }, how)
			end
		end
	end
	add_kin(out, typed, list, of)
	add_readers(out, tokens, list, of)
	for _, one in ipairs(out) do
		local group = not one.entry.builtin and one.entry.name:match "^[^.]+"
		local is_other = group and not words.is_same(group, tokens[1])
			and (groups[1] or groups[2] and one.used > 1 and not words.is_same(group, tokens[2]))
		one.loose = one.loose or is_other and "kin" or nil
	end
	table.sort(out, function(a, b)
		return a.score > b.score or a.score == b.score and a.entry.name < b.entry.name
	end)
	return out
end

return M
