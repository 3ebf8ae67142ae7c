-- unread: which calls only read the files of a project that its user has not called yet, and run none
-- (docs/design.md#known-projects). How a file is read then is lua/project/inert.lua's. Loaded for such a project.

local host = require "runner.host"

local M = {}

-- Flags that describe a call in place of making it, as values of runner's own.
local FRAMEWORK = { "help", "version", "schema", "output_schema", "show_config", "plan" }

-- Built-in commands that call those of the project, or pack them.
local CALLS = { bundle = true, conformance = true, exec = true, flame = true, test = true, several = true, watch = true,
	["mcp.serve"] = true, ["workflow.run"] = true, ["workflow.resume"] = true, ["workflow.retry"] = true,
	["workflow.chunk"] = true, approve = true, reject = true }

-- Does RUNNER_TRUST name it, or a folder that it is in?
local function is_vouched(root)
	local fs, paths = require "runner.fs", require "runner.core.paths"
	local trusted, real = os.getenv "RUNNER_TRUST", fs.realpath(root)
	trusted = paths.is_absolute(trusted) and fs.realpath(trusted)
	return trusted and real and (real == trusted or real:sub(1, #trusted + 1) == (trusted == "/" and "" or trusted) .. "/")
end

---Are the files of the project, of which this user has called no command, only read in this call? Not where the
---call is one of a command of its own, as far as its words say, or where the user vouches for the project.
---@param root string
---@param a runner.Attempt
---@param found? runner.Found|false the built-in command that the words name
---@return boolean
function M.holds(root, a, found)
	if is_vouched(root) or os.getenv "RUNNER_SERVED" == root then
		return false
	end
	return not (found and (CALLS[found.name] or found.name == "lint" and host.have_flag(a.call.argv, " --run-examples ")))
end

---Is the command's file one of this project, whose files are not run?
---@param found runner.Found
---@param project table
---@return boolean?
function M.is_of(found, project)
	return found.path and (found.vendored ~= nil or found.folder == project.commands
		or not found.folder and found.path:sub(1, #project.root + 1) == project.root .. "/") or nil
end

---Is this a call of a command that the words have found? What may be one by what an unread runner.lua says is none.
---@param project table unread
---@param found? runner.Found
---@return boolean?
function M.is_call(project, found)
	return not project.describes and found and found.path ~= nil
end

---Were those flags arguments of the command itself, so that it is called after all?
---@param framework table<string, any>
---@return boolean
function M.is_called_after_all(framework)
	for _, name in ipairs(FRAMEWORK) do
		if framework[name] then
			return false
		end
	end
	return true
end

---The call becomes one of `help` for the command, which says why it can't be described.
---@param a runner.Attempt
---@param command_of fun(found: runner.Found, project: table): table?, runner.Error?
---@return {found: runner.Found, name: string, tokens: string[], command?: table}
---@return runner.Error? problem
function M.help(a, command_of)
	local given = require("runner.project.args").parse({}, a.call.argv).framework.format
	local tokens, help = require("runner.core.command_line").name_words(a.found.name), { name = "help", words = 0 }
	tokens[#tokens + 1] = "--help"
	tokens[#tokens + 1] = given and "--format=" .. given or nil
	local command, problem = command_of(help, a.project)
	return { found = help, name = help.name, tokens = tokens, command = command }, problem
end

return M
