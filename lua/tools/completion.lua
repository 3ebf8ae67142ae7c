-- completion: the candidates for the next word of a command line. Loaded by `runner completion`
-- alone. It loads the command that is being typed, and what lists say of commands while a name is
-- being typed. It writes nothing.

local aliases = require "runner.project.aliases"
local command_line = require "runner.core.command_line"
local catalog = require "runner.project.catalog"
local contract = require "runner.declare.contract"
local locate = require "runner.project.locate"
local computed_values = require "runner.declare.computed"

local M = {}

local TAKES_NAMES = { help = true, flame = true } -- of commands, as arguments

---@class runner.Candidate
---@field value string
---@field description? string

-- --- candidates -----------------------------------------------------------------------

local function begins(text, with)
	return text:sub(1, #with) == with
end

-- The options, those of the command itself first: so many of them are its own.
local function option_rows(command)
	local rows, taken, others = {}, {}, {}
	for _, row in ipairs(command and command.args or {}) do
		rows[#rows + 1] = not row.positional and row or nil
		taken[row.flag] = true
	end
	for _, row in ipairs(contract.rows(command)) do
		local list = command and contract.belongs(row, command) and rows or others
		list[#list + 1] = not taken[row.flag] and not (command and row.front) and row or nil
	end
	return table.move(others, 1, #others, #rows + 1, rows), #rows - #others
end

-- The forty flags that every command takes are offered once a letter of one is typed, or where the command has none.
local function options(command, typed, out)
	local rows, own = option_rows(command)
	for i, row in ipairs(rows) do
		local spelt = "--" .. row.flag
		if begins(spelt, typed) and (i <= own or own == 0 or #typed > 2) then
			out[#out + 1] = { value = spelt, description = row.description }
		end
	end
end

-- The row whose value comes next, if the previous word is its flag.
local function awaited(command, before)
	for _, row in ipairs(before and option_rows(command) or {}) do
		if row.type ~= "boolean" and (before == "--" .. row.flag or row.short and before == "-" .. row.short) then
			return row
		end
	end
end

-- What a declaration's function returns.
local function computed(row, config)
	local ok, list = pcall(catalog.guarded, computed_values.listed, row, config)
	return ok and list or {}
end

local function listed(row, config, typed, out, front)
	local list = type(row.values) == "function" and computed(row, config) or row.values
	for _, value in ipairs(type(list) == "table" and list or {}) do
		if begins(tostring(value), typed) then
			out[#out + 1] = { value = (front or "") .. tostring(value) }
		end
	end
end

local function add_matching(candidates, typed, out)
	for _, candidate in ipairs(candidates) do
		out[#out + 1] = begins(candidate.value, typed) and candidate or nil
	end
end

-- What the argument is a name of, in one of our own commands: "workflow" or "job" for an ID,
-- "step" for a step of the run that the words name.
local function kind_of(command, slot)
	local group = command and not command.path and command.name:match "^(%l+)%."
	if group == "workflow" and (slot.name == "step" or slot.name == "mark_done") then
		return "step"
	end
	return slot.name == "id" and group
end

-- The aliases that begin so, each with what it stands for.
local function add_aliases(all, typed, out)
	for _, alias in ipairs(all) do
		if begins(alias.name, typed) then
			out[#out + 1] = { value = alias.name, description = command_line.line(alias.words) }
		end
	end
end

-- What lists say of the entries, by entry. Where a first word is typed, the aliases among them are added.
local function rows_of(asked, first, typed, project, out)
	local rows, listed_entries = catalog.rows(asked, project)
	local by_entry = {}
	if first then
		add_aliases(aliases.of(project, rows, listed_entries), typed, out)
	end
	for i = 1, #rows do
		by_entry[listed_entries[i]] = rows[i]
	end
	return by_entry
end

-- Of each name, the word that stands at `after`: a command's, or that of a group unless a command of that name hides
-- it. Its name comes before theirs.
local function add_words(entries, after, rows, out)
	local shown = {}
	for i = 1, #entries do
		local name, row = entries[i].name, rows[entries[i]]
		local dot = name:find(".", after, true)
		local word = name:sub(after, dot and dot - 1)
		if dot and not shown[word] then
			shown[word], out[#out + 1] = true, { value = word, description = "…" }
		elseif row and not dot then
			shown[word], out[#out + 1] = true, { value = word, description = row.description }
		end
	end
end

-- The project's own, tasks in the order of their file, and behind them the built-in ones.
local function own_first(entries)
	local own, builtin, has_order = {}, {}, false
	for i = 1, #entries do
		local list = entries[i].builtin and builtin or own
		list[#list + 1], has_order = entries[i], has_order or entries[i].order ~= nil
	end
	if has_order then
		table.sort(own, function(a, b)
			return (a.order or 0) < (b.order or 0) or (a.order or 0) == (b.order or 0) and a.name < b.name
		end)
	end
	return table.move(builtin, 1, #builtin, #own + 1, own)
end

-- The next word of every name that begins with the words before it. Where it is the first word, the whole project is
-- asked for, since its files declare aliases.
local function names(words, typed, project, out)
	local prefix, entries, matching, asked = words[1] and table.concat(words, ".") .. "." or "", catalog.list(project), {}, {}
	local wanted, after, first = prefix .. typed, #prefix + 1, prefix == ""
	for i = 1, #entries do -- ipairs takes a call of C for each
		local entry = entries[i]
		local matches = begins(entry.name, wanted)
		if matches then
			matching[#matching + 1] = entry
		end
		if matches and not entry.name:find(".", after, true) or first and not entry.builtin then
			asked[#asked + 1] = entry
		end
	end
	add_words(own_first(matching), after, rows_of(asked, first, typed, project, out), out)
end

-- The same; a dot path, "db.mi", has its last word completed.
local function names_or_paths(words, typed, project, out)
	local path, last = typed:match "^(.+%.)([^.]*)$"
	if words[1] or not path then
		return names(words, typed, project, out)
	end
	local found = {}
	names(command_line.name_words(path), last, project, found)
	for _, one in ipairs(found) do
		out[#out + 1] = { value = path .. one.value, description = one.description }
	end
end

local function plain_words(words)
	local out = {}
	for _, word in ipairs(words) do
		if not begins(word, "-") then
			out[#out + 1] = word
		end
	end
	return out
end

-- With the words of an alias in its place.
local function without_alias(words, project)
	if not words[1] or locate.find(words, project) then
		return words
	end
	local alias = aliases.find(words[1], project)
	return alias and table.move(words, 2, #words, #plain_words(alias) + 1, plain_words(alias)) or words
end

local function load_command(words, project)
	local found = words[1] and locate.find(words, project)
	if not found then
		return nil
	end
	return catalog.load({ name = found.name, path = found.path, builtin = not found.path }, project), found.words
end

-- The n-th positional; a variadic one takes all that follow.
local function positional(command, n)
	local last
	for _, row in ipairs(command and command.args or {}) do
		if row.positional then
			n, last = n - 1, row
			if n == 0 then
				return row
			end
		end
	end
	return last and last.variadic and last or nil
end

-- Behind each plus sign of `runner + build + test` stands another command, but for what begins with a dash behind the first:
-- that is for all of them.
local function behind_plus(words)
	local marker, at = words[1] and words[1]:match "^%++$", 1
	for i = 2, marker and #words - 1 or 0 do
		at = words[i] == marker and i or at
	end
	if marker and #words > 1 and not (at == 1 and begins(words[#words], "-") and #words == 2) then
		return table.move(words, at + 1, #words, 1, {})
	end
end

-- Behind "--" of `watch` stands another command.
local function behind_dashes(command, words)
	if command and command.name == "watch" and not command.path then
		for i = 1, #words - 1 do
			if words[i] == "--" then
				return table.move(words, i + 1, #words, 1, {})
			end
		end
	end
end

---The candidates that may replace the last word.
---@param words string[] after "runner"; the last one is being typed and may be ""
---@param project table
---@param ids fun(kind: string, typed: string, id: string?): runner.Candidate[] what names a "workflow" run or a "job",
---  or a "step" of the run `id`
---@param shell string bash replaces what is behind a "=" alone
---@return runner.Candidate[]
function M.candidates(words, project, ids, shell)
	local part = behind_plus(words)
	if part then
		return M.candidates(part, project, ids, shell)
	end
	local before, typed, out = table.move(words, 1, #words - 1, 1, {}), words[#words] or "", {}
	local plain = without_alias(plain_words(before), project)
	local command, used = load_command(plain, project)
	local inner = behind_dashes(command, words)
	if inner then
		return M.candidates(inner, project, ids, shell)
	end
	local row, front = awaited(command, before[#before])
	local flag, rest = typed:match "^(%-%-?[%w-]+)=(.*)$"
	if not row and flag and awaited(command, flag) then
		row, typed, front = awaited(command, flag), rest, shell ~= "bash" and flag .. "=" or nil
	end
	local id = command and plain[used + 1]
	if row and kind_of(command, row) then
		add_matching(ids(kind_of(command, row), typed, id), typed, out)
	elseif row then
		listed(row, project.config, typed, out, front)
	elseif begins(typed, "-") then
		options(command, typed, out)
	else
		local slot = command and positional(command, #plain - used + 1)
		if slot and slot.values then
			listed(slot, project.config, typed, out)
		elseif slot and kind_of(command, slot) then
			add_matching(ids(kind_of(command, slot), typed, id), typed, out)
		end
		local topic = command and TAKES_NAMES[command.name] and 1 or 0
		names_or_paths(table.move(plain, 1 + topic, #plain, 1, {}), typed, project, out)
	end
	return out
end

return M
