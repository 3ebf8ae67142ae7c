-- loader: from a place to a checked declaration, and from runner.lua to the
-- project. Running a file here is the only thing that happens before `run`;
-- files of commands have no effects at their top level (design §2).

local errors = require "runner.errors"
local host = require "runner.host"

local M = {}

local function invalid(path, message, fields)
	fields = fields or {}
	fields.phase, fields.context = "validation", { file = path }
	return errors.new("COMMAND_INVALID", message, fields)
end

local function first_line(text)
	return (text:match("^[^\n]*"))
end

-- The value that a file returns, and its text.
local function run_file(path)
	local text, why = host.source(path)
	if not text then
		return nil, invalid(path, ("Can't load %s: %s"):format(path, why),
			{ fix_required = "Make it a plain Lua file of at most 4 MiB that only you or root may write" })
	end
	local chunk, message = load(text, "@" .. path, "t")
	if not chunk then
		local binary = text:find("\0", 1, true) or text:sub(1, 1) == "\27"
		return nil, invalid(path, binary and path .. " is no Lua source but binary data" or first_line(message),
			{ fix_required = "Mend the syntax error" })
	end
	local ok, value, traceback, cancelled = host.protect(chunk)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		local raised = errors.normalise(value, traceback)
		return nil, invalid(path, "The file raised an error while it was loaded: " .. raised.message,
			{ detail = raised.detail })
	end
	return value, nil, text
end

---@type table<string, fun(v: any): any> key of runner.lua → its normal form, nil when wrong
local PROJECT = {
	name = function(v) return type(v) == "string" and v or nil end,
	version = function(v) return type(v) == "string" and v or nil end,
	commands = function(v) return type(v) == "string" and v ~= "" and v or nil end,
	exit_table = function(v) return (v == "standard" or v == "classic") and v or nil end,
	config = function(v) return type(v) == "table" and v or nil end,
	retry = function(v) return type(v) == "table" and require("runner.policy").normalise(v) and v or nil end,
}
for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
	PROJECT[name] = function(v) return require("runner.policy").duration(v) end
end

---The project around the working directory: runner.lua, checked. Without one an
---empty project.
---@return table? project, runner.Error? problem
function M.project()
	local root, has_file = require("runner.locate").project_root()
	local project = { root = root, config = {} }
	if has_file then
		local path = root .. "/runner.lua"
		local value, problem = run_file(path)
		if problem then
			return nil, problem
		elseif type(value) ~= "table" then
			return nil, invalid(path, path .. " must return a table")
		end
		for key, v in pairs(value) do
			local accept = PROJECT[key]
			project[key] = accept and accept(v)
			if project[key] == nil then
				return nil, require("runner.declaration").project_problem(path, key, v, PROJECT)
			end
		end
		project.file = path
	end
	if root then
		local commands = project.commands or "commands"
		project.commands = commands:sub(1, 1) == "/" and commands or root .. "/" .. commands
	end
	return project
end

---Scripts share code in lib/ beside their commands/.
local function add_library(path)
	local dir = path:match("^(.*)/commands/")
	if dir then
		package.path = dir .. "/lib/?.lua;" .. dir .. "/lib/?/init.lua;" .. package.path
	end
end

---The declaration of a found command in its normal form.
---@param found runner.Found
---@param project table
---@return table? command, runner.Error? problem
function M.command(found, project)
	local where = { name = found.name, path = found.path, config = project.config }
	local value, problem
	if not found.path then
		value, where.path = require("runner.commands." .. found.name), "builtin:" .. found.name
	elseif found.untrusted then
		return nil, invalid(found.path, found.untrusted,
			{ fix_required = "Give the folder an owner and a mode that only you or root can write" })
	else
		add_library(found.path)
		value, problem, where.text = run_file(found.path)
		if problem then
			return nil, problem
		end
	end
	local command
	command, problem = require("runner.command").check(value, where)
	if command then
		command.path, command.digest = found.path, where.text and host.digest(where.text) or "builtin"
	end
	return command, problem
end

return M
