-- aliases: other names for commands, with the words that they stand for: those of runner.lua (`aliases`; their form is in
-- lua/project/project.lua) and of command files, and what becomes of a call by one. Loaded where no command has
-- the name that a call gives, and for lists.

local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local locate = require "runner.project.locate"

local M = {}

local NONE = {}

---@class runner.Alias
---@field name string
---@field words string[] what it stands for
---@field place string the file that says so

---All aliases, of runner.lua and of command files, by name.
---@param project table
---@param rows runner.CommandRow[] of the project's commands and those of other folders
---@param entries table[] the entry of each row
---@return runner.Alias[]
function M.of(project, rows, entries)
	local out = {}
	for name, words in next, project.aliases or {} do
		out[#out + 1] = { name = name, words = words, place = project.file }
	end
	for i = 1, #rows do
		for _, name in ipairs(rows[i].aliases or NONE) do
			out[#out + 1] = { name = name, words = command_line.name_words(entries[i].name), place = entries[i].path }
		end
	end
	table.sort(out, function(a, b)
		return a.name < b.name or a.name == b.name and a.place < b.place
	end)
	return out
end

---The same, for a caller without rows.
---@param project table
---@return runner.Alias[]
function M.list(project)
	return M.of(project, catalog.own_rows(project))
end

---Names that stand for two things.
---@param project table
---@return { name: string, first: string, second: string }[] with the files, or what else has the name
function M.conflicts(project)
	local out, seen = {}, {}
	for _, entry in ipairs(catalog.list(project)) do
		local word = entry.name:match "^[^.]+"
		seen[word] = seen[word] or entry.path or ("the built-in command '%s'"):format(command_line.typed(entry.name))
	end
	for _, alias in ipairs(M.list(project)) do
		if seen[alias.name] then
			out[#out + 1] = { name = alias.name, first = seen[alias.name], second = alias.place }
		end
		seen[alias.name] = seen[alias.name] or alias.place
	end
	return out
end

-- "db.migrate", as the manifest has it: the words of a command, or of a group.
local function dotted(word, project)
	local words = word:find(".", 1, true) and command_line.name_words(word) or {}
	words = table.concat(words, ".") == word and words or {} -- ".db.migrate" and "db..migrate" name nothing
	local found = words[2] and locate.find(words, project)
	return (found and found.words == #words or words[2] and catalog.list_below(project, word)[1]) and words or nil
end

---What a word stands for, where no command and no group has that name: a dot path, or an alias.
---@param word string
---@param project table
---@return string[]? words
---@return runner.Error? problem two files have the alias
function M.find(word, project)
	local words, found = dotted(word, project), nil
	if words then
		return words
	end
	for _, alias in ipairs(M.list(project)) do
		if alias.name == word and found then
			return nil, require("runner.core.errors").new("COMMAND_INVALID",
				("'%s' is an alias in %s and in %s"):format(word, found.place, alias.place), { phase = "validation", side_effects = "none",
					fix_required = ("Remove '%s' from one of them"):format(word), context = { files = { found.place, alias.place } } })
		end
		found = alias.name == word and alias or found
	end
	return found and found.words
end

---The call with the words of an alias in its place, so that all is as if they had been typed.
---@param call runner.Call
---@param words string[]
---@return runner.Call
function M.replace(call, words)
	local place, argv = call.places[1], call.argv
	local longer = table.move(argv, 1, place - 1, 1, {})
	table.move(words, 1, #words, #longer + 1, longer)
	table.move(argv, place + 1, #argv, #longer + 1, longer)
	local out = { argv = longer, in_front = call.in_front, is_call = call.is_call, vouched = call.vouched,
		has_stdin = call.has_stdin, stdin_words = call.stdin_words and call.stdin_words + #words - 1 }
	out.names, out.places = require("runner.project.args").command_words(longer)
	return out
end

return M
