-- loader: from a path to a checked declaration, and from runner.lua to the project.
-- Nothing else of a script runs before `run`: a command file has no side effects at its
-- top level, since help, lint and every attempt load it too
-- (docs/design.md#no-effects-at-load).

local host = require "runner.host"

local M = {}

-- Scripts share code in lib/, beside their commands/.
local function add_library(path)
	local dir = path:match "^(.*)/commands/"
	if dir and package.path:sub(1, #dir + 5) ~= dir .. "/lib/" then
		package.path = dir .. "/lib/?.lua;" .. dir .. "/lib/?/init.lua;" .. package.path
	end
end

-- The value that a file returns, or a problem; its text; and whether some of the value is not known. `folder` is the one
-- of command files that it is in. `unread`: it is read for what it declares, and not run. `only`: of its tasks, those of these
-- names will do; the text is without the others, and the whole is the fifth value.
local function read_file(path, folder, unread, list, only)
	add_library(path)
	local text, why = host.source(path, folder)
	if not text then
		return nil, require("runner.project.load_failure").refused(path, why)
	end
	local plain = text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", "") -- like lua5.4, no byte order mark and no "#!" line
	local whole = text
	text = only and host.only(plain, list, only) or text
	local chunk, message = load(only and not unread and text or plain, "@" .. path, "t")
	if not chunk then
		return nil, require("runner.project.load_failure").no_chunk(path, whole, message)
	end
	if unread then
		local value, problem, partial = require("runner.project.inert").value(path, whole)
		return value, problem, text, partial, whole
	end
	local ok, value, traceback, cancelled = host.protect(chunk)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return nil, require("runner.project.load_failure").raised(path, value, traceback)
	end
	return value, nil, text, nil, whole
end

-- Read the settings of runner.lua into the project.
local function read_settings(path, project, unread)
	local value, problem, text, partial = read_file(path, nil, unread)
	project.file = path
	require("runner.project.project").announce(path, text or "")
	problem = problem or require("runner.project.project").read(value, text, path, project)
	return problem and partial and require("runner.project.inert").partial(path) or problem
end

-- Flags that describe a call in place of making it.
local DESCRIBES = " --help -h --version --schema --output-schema --show-config --plan "

-- The project before its settings are read. Of one that this user has not called yet, and does not call now as far as
-- the words say, files are not run.
local function empty(root, a)
	local project = { root = root, config = {}, read = read_file }
	if not (root and a) or a.call.is_call or a.runs_files or host.known(root) then
		return project
	end
	project.commands, project.unread = root .. "/commands", true
	project.describes = host.have_flag(a.call.argv, DESCRIBES)
	local found = not project.describes and require("runner.project.locate").find(a.call.names, project)
	project.looked_up = found
	project.unread = not (found and found.path) and require("runner.project.unread").holds(root, a, found) or nil
	return project
end

---The project around the working directory: runner.lua, checked. Without one an
---empty project. If runner.lua is broken, `rest` is what is known without it, which is
---enough for help and lint. `settings` are those of lua/project/place.lua, instead of runner.lua. Of a project that
---the user of the call `a` has not called yet, and does not call now, files are not run: `unread`.
---@param settings? {config?: string, context?: string, of?: string, none?: boolean}
---@param a? runner.Attempt
---@return table? project, runner.Error? problem, table? rest
function M.project(settings, a)
	local root, has_file = require("runner.project.locate").project_root()
	local project, problem = empty(root, a), nil
	local file = has_file and root .. "/runner.lua"
	if settings and (settings.none or settings.config) then
		file = not settings.none and settings.config
	end
	if file then
		problem = read_settings(file, project, project.unread and not (settings and settings.config))
		if problem then
			project = empty(root, a)
			project.problem, project.look = problem, require("runner.project.notices").broken
		end
	end
	if settings and settings.context and not problem then
		problem = require("runner.project.place").apply_context(project, settings)
		project.problem = problem
	end
	if root then
		local commands = project.commands or "commands"
		project.commands = commands:sub(1, 1) == "/" and commands or root .. "/" .. commands
	end
	return not problem and project or nil, problem, problem and project
end

local function is_unread(found, project)
	return project and project.unread and require("runner.project.unread").is_of(found, project)
end

---The value that the file of a found command returns, unchecked, and its text.
---@param found runner.Found
---@param project? table
---@return any value, runner.Error? problem, string? text nil for a built-in
---@return true? partial some of the value is not known (lua/project/inert.lua)
function M.read(found, project)
	if not found.path then
		return require("runner.project.builtins").declaration(found.name)
	end
	local problem = found.vendored and require("runner.project.vendored").problem(found)
	if problem then
		return nil, problem
	end
	local value, why, text, partial
	if not found.task then
		value, why, text, partial = read_file(found.path, found.folder, is_unread(found, project))
	end
	if found.task or type(value) == "table" and value.shell then
		return require("runner.project.tasks").read(found, project, value, text)
	end
	return value, why, text, partial
end

local STANDARD <const> = 10 -- libraries of Lua in package.loaded, _G included

---The declaration of a found command in its normal form.
---@param found runner.Found
---@param project table
---@param is_called? boolean its digest is needed: another attempt must load the same
---@return table? command, runner.Error? problem
function M.command(found, project, is_called)
	local where = { name = found.name, path = found.path or "builtin:" .. found.name, config = project.config }
	local value, problem, command, partial
	value, problem, where.text, partial = M.read(found, project)
	if problem then
		return nil, problem
	end
	local raised
	command, raised = require("runner.declare.command").normal(value, where)
	if not command then
		return nil, partial and require("runner.project.inert").partial(found.path)
			or require("runner.declare.declaration").error(value, where, raised)
	end
	command.unread, command.path, command.digest = is_unread(found, project), found.path, "builtin"
	local text = found.own or where.text
	if text and is_called then -- and what it has required
		local count = 0
		for name in next, package.loaded do
			count = count + (type(name) == "string" and name:sub(1, 7) == "runner." and 0 or 1)
		end
		command.digest = count > STANDARD and require("runner.project.module_digest").digest(text) or host.digest(text)
	end
	return command
end

return M
