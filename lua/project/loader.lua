-- loader: from a path to a checked declaration, and from runner.lua to the project.
-- Nothing else of a script runs before `run`: a command file has no side effects at its
-- top level, since help, lint and every attempt load it too
-- (docs/design.md#no-effects-at-load).

local host = require "runner.host"

local M = {}

-- Like lua5.4, skip a byte order mark and a "#!" line.
local function source_of(text)
	return (text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", ""))
end

-- The value that a file returns, or a problem; and its text. `folder` is the one of
-- command files that it is in.
local function run_file(path, folder)
	local text, why = host.source(path, folder)
	if not text then
		return nil, require("runner.project.unusable").refused(path, why)
	end
	local chunk, message = load(source_of(text), "@" .. path, "t")
	if not chunk then
		return nil, require("runner.project.unusable").no_chunk(path, text, message)
	end
	local ok, value, traceback, cancelled = host.protect(chunk)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return nil, require("runner.project.unusable").raised(path, value, traceback)
	end
	return value, nil, text
end

-- Read the settings of runner.lua into the project.
local function read_settings(path, project)
	local value, problem, text = run_file(path)
	project.file = path
	require("runner.project.project").announce(path, text or "")
	return problem or require("runner.project.project").read(value, text, path, project)
end

---The project around the working directory: runner.lua, checked. Without one an
---empty project. If runner.lua is broken, `rest` is what is known without it, which is
---enough for help and lint. `settings` are those of lua/project/place.lua, instead of runner.lua.
---@param settings? {config?: string, context?: string, of?: string, none?: boolean}
---@return table? project, runner.Error? problem, table? rest
function M.project(settings)
	local root, has_file = require("runner.project.locate").project_root()
	local project, problem = { root = root, config = {} }, nil
	local file = has_file and root .. "/runner.lua"
	if settings and (settings.none or settings.config) then
		file = not settings.none and settings.config
	end
	if file then
		problem = read_settings(file, project)
		if problem then
			project = { root = root, config = {}, problem = problem, look = require("runner.project.notices").broken }
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

---Scripts share code in lib/, beside their commands/.
local function add_library(path)
	local dir = path:match("^(.*)/commands/")
	if dir and package.path:sub(1, #dir + 5) ~= dir .. "/lib/" then
		package.path = dir .. "/lib/?.lua;" .. dir .. "/lib/?/init.lua;" .. package.path
	end
end

---The value that the file of a found command returns, unchecked, and its text.
---@param found runner.Found
---@return any value, runner.Error? problem, string? text nil for a built-in
function M.read(found)
	if not found.path then
		return (require("runner.commands." .. found.name))
	end
	local problem = found.vendored and require("runner.project.vendored").problem(found)
	if problem then
		return nil, problem
	end
	add_library(found.path)
	return run_file(found.path, found.folder)
end

local STANDARD = 10 -- libraries of Lua in package.loaded, _G included

-- Of the file, and of what it has required.
local function digest_of(text)
	local count = 0
	for name in next, package.loaded do
		count = count + (type(name) == "string" and name:sub(1, 7) == "runner." and 0 or 1)
	end
	return count > STANDARD and require("runner.project.required").digest(text) or host.digest(text)
end

---The declaration of a found command in its normal form.
---@param found runner.Found
---@param project table
---@return table? command, runner.Error? problem
function M.command(found, project)
	local where = { name = found.name, path = found.path or "builtin:" .. found.name, config = project.config }
	local value, problem, command
	value, problem, where.text = M.read(found)
	if problem then
		return nil, problem
	end
	local raised
	command, raised = require("runner.declare.command").normal(value, where)
	if not command then
		return nil, require("runner.declare.declaration").error(value, where, raised)
	end
	command.path, command.digest = found.path, where.text and digest_of(where.text) or "builtin"
	return command
end

return M
