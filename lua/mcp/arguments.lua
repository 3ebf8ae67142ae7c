-- arguments: those of the commands that choose tools, and the check of the names in them.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local selection = require "runner.mcp.selection"

local M = {}

local SELECTION = {
	{ "allow", "array", items = "string", description = "A command that is a tool only if it is named here: one that is destructive, "
		.. "or a built-in one that runs files or code" },
	{ "only", "array", items = "string", description = "Only this command" },
	{ "group", "array", items = "string", description = "Only the commands of this group" },
}

---The arguments that choose tools, and more.
---@param more table[] rows of `args`
---@return table[]
function M.selection(more)
	return table.move(more, 1, #more, #SELECTION + 1, table.move(SELECTION, 1, #SELECTION, 1, {}))
end

---Names that name nothing are mistakes: a server that lists less than was meant helps nobody.
---@param values runner.mcp.Settings
---@return table[]? problems
function M.validate(values)
	local names = {}
	for i, listed in ipairs(catalog.list(attempt.project)) do
		names[i] = listed.name
	end
	local problems = {}
	for i, unknown in ipairs(selection.unknown(values, names)) do
		local what = unknown.flag == "group" and "group of commands" or "command"
		problems[i] = { field = unknown.flag, code = "INVALID_ARGUMENT", message = ("There is no %s '%s'"):format(what, unknown.name),
			fix_required = ("Name a %s: runner lists them"):format(what) }
	end
	return problems[1] and problems or nil
end

return M
