-- topic: what the words after `help` and `manifest` name: a command, or a group of commands.

local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local host = require "runner.host"
local locate = require "runner.project.locate"
local settings = require "runner.project.settings"

local M = {}

---The words of the values of `command`: "db.migrate" and "db migrate" are the same.
---@param values {command: string[]}
---@return string[]
function M.words(values)
	return command_line.name_words(table.concat(values.command, "."))
end

---The command that all of the words name, the commands below it, and the name as a dot path.
---@param words string[]
---@param project table
---@return runner.Found?, {name: string, path: string?, builtin: boolean?}[] below, string name
function M.find(words, project)
	local name = table.concat(words, ".")
	local found = locate.find(words, project)
	if found and found.words < #words then
		found = nil
	end
	local below = catalog.list_below(project, name)
	local alias = not found and not below[1] and words[1] and not words[2] and require("runner.project.aliases").find(words[1], project)
	if alias then
		found = locate.find(alias, project)
		name = found and found.name or name
	end
	return found, below, name
end

---The problem of words that name neither, for `validate`.
---@param values {command: string[]}
---@param project table
---@return table[]?
function M.problems(values, project)
	local words = M.words(values)
	if not words[1] then
		return nil
	end
	local found, below = M.find(words, project)
	if not found and not below[1] and not require("runner.tools.help_topics").find(words) then
		local e = require("runner.project.unknown_command").error(words, project)
		return { { field = "command", code = e.code, message = ("Unknown command '%s'"):format(table.concat(words, " ")),
			suggestion = e.suggestion, fix_required = "Name an existing command: run 'runner' to list them" } }
	end
end

---The limits and the policy of a command that is run on its own, not as a child of this run.
---@param command table normal form
---@param project table
---@return table settled
function M.settle(command, project)
	host.setenv("RUNNER_DEADLINE_MS", nil)
	host.setenv("RUNNER_OUTER_RETRIES", nil)
	return settings.settle(command, require("runner.project.args").parse({}, {}), project)
end

return M
