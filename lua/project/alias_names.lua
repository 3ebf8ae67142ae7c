-- alias_names: the aliases that there are: those of runner.lua, and those of command files, which it asks
-- catalog for. Loaded where no command has the name that a call gives, and for lists.

local catalog = require "runner.project.catalog"
local command_name = require "runner.core.command_name"

local M = {}

local NONE = {}

---@class runner.Alias
---@field name string
---@field words string[] what it stands for
---@field place string the file that says so

local function own_entries(project)
	local out = {}
	for _, entry in ipairs(catalog.list(project)) do
		out[#out + 1] = not entry.builtin and entry or nil
	end
	return out
end

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
			out[#out + 1] = { name = name, words = command_name.words(entries[i].name), place = entries[i].path }
		end
	end
	table.sort(out, function(a, b)
		return a.name < b.name or a.name == b.name and a.place < b.place
	end)
	return out
end

---The same, for who has no rows.
---@param project table
---@param load? boolean the files of a project that is unknown, too: one of its commands is being called
---@return runner.Alias[]
function M.list(project, load)
	return M.of(project, catalog.rows(own_entries(project), project, load))
end

---Names that stand for two things.
---@param project table
---@return { name: string, first: string, second: string }[] with the files, or what else has the name
function M.conflicts(project)
	local out, seen = {}, {}
	for _, entry in ipairs(catalog.list(project)) do
		local word = entry.name:match "^[^.]+"
		seen[word] = seen[word] or entry.path or ("the built-in command '%s'"):format(command_name.typed(entry.name))
	end
	for _, alias in ipairs(M.list(project)) do
		if seen[alias.name] then
			out[#out + 1] = { name = alias.name, first = seen[alias.name], second = alias.place }
		end
		seen[alias.name] = seen[alias.name] or alias.place
	end
	return out
end

---What a word stands for, where no command and no group has that name.
---@param word string
---@param project table
---@param load? boolean as in M.list
---@return string[]? words
---@return runner.Error? problem two files have the alias
function M.find(word, project, load)
	local found
	for _, alias in ipairs(M.list(project, load)) do
		if alias.name == word and found then
			return nil, require("runner.core.errors").new("COMMAND_INVALID",
				("'%s' is an alias in %s and in %s"):format(word, found.place, alias.place), { phase = "validation", side_effects = "none",
					fix_required = ("Remove '%s' from one of them"):format(word), context = { files = { found.place, alias.place } } })
		end
		found = alias.name == word and alias or found
	end
	return found and found.words
end

return M
