-- libraries: what the commands about libraries (runner add, runner library) have in common: the project, the
-- names of libraries, where they come from, and what an answer says of one.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local install = require "runner.vendor.install"
local json = require "runner.json"
local locate = require "runner.project.locate"
local paths = require "runner.core.paths"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local source = require "runner.vendor.source"
local suggest = require "runner.core.suggest"
local vendored = require "runner.project.vendored"

local M = {}

M.codes = { TIMEOUT = { retryable = true, side_effects = "none" } }

---The directory of the project; PRECONDITION where there is none.
---@return string
function M.root()
	local project = attempt.project
	if not project.root then
		errors.raise("PRECONDITION", "There is no project here to keep a library in", { side_effects = "none",
			fix_required = "Go to a directory with commands/ or runner.lua, or make one: runner new hello" })
	end
	return project.root
end

---The libraries of the project.
---@return table<string, runner.Library>
function M.libraries()
	local libraries, problem = vendored.read(M.root())
	return libraries or error(problem, 0)
end

---The names to act on: those that were given, which must exist, or all.
---@param libraries table<string, runner.Library>
---@param given? string[]
---@return string[]
function M.chosen(libraries, given)
	local all = tables.sorted_keys(libraries)
	for _, name in ipairs(given or {}) do
		if not libraries[name] then
			local near = suggest.nearest(name, all, 1)[1]
			errors.raise("NOT_FOUND", ("There is no library '%s' in this project"):format(name), { side_effects = "none",
				suggestion = near and ("Did you mean '%s'?"):format(near)
					or all[1] and "The libraries are " .. table.concat(all, ", ") or "Add one with runner add PATH" })
		end
	end
	return given and given[1] and given or all
end

-- --- names ------------------------------------------------------------------------------------

local function real(path)
	return require("runner.fs").realpath(path) or path
end

---The group that the commands of a new library are to have.
---@param path string of the library, as it was given
---@param as? string the name that was asked for
---@return string
function M.name(path, as)
	return as or source.name_of(real(paths.absolute(path, paths.here())))
end

-- A command or a group of the project itself, as it is typed.
local function own_command(name)
	local project = attempt.project
	for _, entry in ipairs(project.root and require("runner.project.catalog").list(project) or {}) do
		if entry.folder == project.commands and (entry.name .. "."):sub(1, #name + 1) == name .. "." then
			return (entry.name:gsub("%.", " "))
		end
	end
end

---What is wrong with a new library, before it is read: its name can't be that of a command or a group, and
---it can't be the project.
---@param path string
---@param as? string
---@return runner.Problem?
function M.problem(path, as)
	local root, name = attempt.project.root, M.name(path, as)
	if root and real(paths.absolute(path, paths.here())) == real(root) then
		return { field = "path", message = "The project can't be a library of its own", fix_required = "Name another folder, or an archive" }
	end
	local own = own_command(name)
	local message = not rules.is_command_word(name)
			and ("'%s' can't be the name of a library: it has letters, digits, '-' and '_', and begins with a letter or digit"):format(name)
		or (require("runner.project.builtins").names[name] or locate.fixed[name]) and ("'%s' is a built-in command"):format(name)
		or own and ("The project has a command '%s' of its own"):format(own)
	return message and { field = "as", message = message, fix_required = ("Choose a name: runner add %s --as NAME"):format(path) } or nil
end

-- --- sources ----------------------------------------------------------------------------------

-- The way from one folder to a path: "../shared/tools".
local function relative(from, to)
	local up = ""
	while to:sub(1, #from + 1) ~= from .. "/" do
		from, up = from:match "^(.*)/[^/]*$", up .. "../"
	end
	return up .. to:sub(#from + 2)
end

---A source as runner.lock has it: absolute if it was given so, else from the project, so that the lock means
---the same in every checkout.
---@param root string
---@param path string as it was given, from the working directory
---@return string
function M.recorded(root, path)
	if path:sub(1, 1) == "/" then
		return path
	end
	return relative(real(root), real(paths.absolute(path, paths.here())))
end

---Read a library (lua/vendor/source.lua).
---@param path string as it was given, or as the lock has it
---@param from string the directory that it starts at
---@return runner.Gathered
function M.gather(path, from)
	return source.read(real(paths.absolute(path, from)), path)
end

---Change the libraries, or only note it where this is a dry run.
---@param ctx runner.Context
---@param root string
---@param change fun(libraries: table<string, runner.Library>, put: fun(name: string, row?: runner.Library, files?: table)): any
---`put` replaces a library, or removes it where there is no row
function M.change(ctx, root, change)
	if ctx.dry_run then
		local libraries = M.libraries()
		install.check_place(root)
		return change(libraries, function(name, row)
			if row then
				install.check_place(root, name)
				ctx.fs.mkdirs(vendored.folder(root, name, row))
			else
				ctx.fs.remove_tree(vendored.folder(root, name, libraries[name]))
			end
			ctx.fs.write(vendored.lock_path(root), "")
		end)
	end
	return install.alone(root, function(libraries)
		return change(libraries, function(name, row, files)
			local act = row and install.put or install.remove
			act(root, libraries, name, row, files)
		end)
	end)
end

-- --- answers ----------------------------------------------------------------------------------

---The commands of a library, as they are typed.
---@param name string
---@param row runner.Library
---@return string[]
local function commands_of(name, row)
	local out = json.array {}
	for _, path in ipairs(tables.sorted_keys(row.files)) do
		local below = vendored.command_of(path)
		out[#out + 1] = below and ("%s %s"):format(name, (below:gsub("%.", " "))) or nil
	end
	return out
end

---What an answer says of a library.
---@param root string
---@param name string
---@param row runner.Library
---@return table
function M.about(root, name, row)
	return { library = name, source = row.source, digest = row.digest, commands = commands_of(name, row),
		files = #tables.sorted_keys(row.files),
		folder = vendored.folder(root, name, row):sub(#root + 2) }
end

return M
