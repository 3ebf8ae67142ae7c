-- locate: the file of a command, by its words. It probes paths and never lists a folder,
-- so that the cost of a call does not grow with the number of commands; catalog does
-- the listing.

local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

local probe = host.probe

-- No file can take the names of these: shells, people and executors call them in every project. Any other built-in
-- command gives way to a file or task of its name (docs/design.md#built-in-names).
---@type table<string, true>
M.fixed = { completion = true, help = true, self = true, workflow = true }

-- `runner self NAME` is a built-in command, whatever the project has.
M.SELF = "self"

---@class runner.Found
---@field name string dot path, "db.migrate"
---@field path? string file; nil for a built-in
---@field words integer how many words name it
---@field folder? string of command files, in which it was found
---@field listed? boolean found by listing, not by name
---@field task? true it is a task of the file (lua/project/tasks.lua)
---@field group? string dot path of the command file that it is a command of
---@field of_group? true the words are those of a group, and help answers the call
---@field vendored? string root of the project that has it from a library (lua/project/vendored.lua)

---The project: the nearest ancestor with a runner.lua, else with a commands/, else with a tasks.lua, up
---to the root of the repository or the home directory.
---@return string? root, boolean has_file
function M.project_root()
	local dir, home, fallback, last = host.getcwd()
	while dir do
		if probe(dir .. "/runner.lua") then
			return dir, true
		elseif not fallback and probe(dir .. "/commands") == "directory" then
			fallback = dir
		elseif probe(dir .. "/tasks.lua") then
			last = last or dir
		end
		if not home then
			home = os.getenv "HOME" or ""
			if home:find "^/" and (dir .. "/"):sub(1, #home + 1) ~= home .. "/" then
				-- as the search meets it on its way up, whatever its spelling: with a slash behind it, through a link, with ".."
				home = require("runner.fs").realpath(home) or ""
			end
		end
		if dir == home or dir == "/" or probe(dir .. "/.git") then
			break
		end
		dir = dir:match "^(.+)/" or "/"
	end
	return fallback or last, false
end

-- The deepest file wins: db/migrate.lua before db.lua with an argument.
local function resolve(dir, words, i)
	local word = words[i]
	if not word or not rules.is_command_word(word) then
		return nil
	end
	local below = dir .. "/" .. word
	if words[i + 1] and probe(below) == "directory" then
		local path, last = resolve(below, words, i + 1)
		if path then
			return path, last
		end
	end
	if probe(below .. ".lua") then
		return below .. ".lua", i
	end
end

-- Of the project's own files, one may be a group of commands.
local function in_folder(dir, words, project)
	local path, last = resolve(dir, words, 1)
	local found = path and { name = table.concat(words, ".", 1, last), path = path, words = last, folder = dir }
	local text = found and project and host.source(path, dir)
	if text and text:find("commands", 1, true) then
		return require("runner.project.tasks").find_in(found, words, project, text)
	end
	return found
end

---Find the command that `words` begin with.
---@param words string[]
---@param project? table
---@return runner.Found?
function M.find(words, project)
	if M.fixed[words[1]] then
		return require("runner.project.builtins").find(words, words[1] == M.SELF and 2 or 1)
	end
	local found = project and project.root and (in_folder(project.commands, words, project)
		or probe(project.root .. "/tasks.lua") and require("runner.project.tasks").find(words, project))
	if found then
		return found
	end
	local builtins = require "runner.project.builtins"
	return require("runner.project.folders").find(words, project, in_folder, builtins.names[words[1]]) or builtins.find(words, 1)
end

return M
