-- confirmation: what a call would do, as far as its declaration says, and the error of a
-- destructive call that nobody has confirmed. Loaded where one of them is needed.

local attempt = require "runner.core.attempt"
local command_name = require "runner.core.command_name"
local errors = require "runner.core.errors"

local M = {}

---The command and the arguments of this call; *** for secrets.
---@return {command: string, arguments: table<string, any>}
function M.call()
	local arguments = {}
	for _, row in ipairs(attempt.command.args) do
		local value = attempt.parsed.values[row.name]
		arguments[row.name] = row.secret and value ~= nil and "***" or value
	end
	return { command = command_name.typed(attempt.name), arguments = arguments }
end

---What confirming this call confirms: what it does, and the commands that it needs.
---@param would_affect? table[] what a dry run says of the command; default: the command and its arguments
---@return table[]
function M.affected(would_affect)
	local list = table.move(would_affect or { M.call() }, 1, #(would_affect or { 0 }), 1, {})
	for _, need in ipairs(attempt.command.needs or {}) do
		list[#list + 1] = { command = need.name, arguments = need.args }
	end
	return list
end

---CONFIRMATION_REQUIRED: exit 2, nothing was done.
---@param why string the rest of a sentence: "there is no terminal to ask on"
---@param would_affect? table[] default: as M.affected
---@return runner.Error
function M.required(why, would_affect)
	would_affect = would_affect or M.affected()
	local message = ("'%s' is destructive and was not confirmed: %s"):format(command_name.typed(attempt.name), why)
	return errors.new("CONFIRMATION_REQUIRED", message, {
		phase = "validation", retryable = false, side_effects = "none",
		context = { would_affect = require("runner.json").array(would_affect), danger_level = "destructive",
			command = command_name.typed(attempt.name) },
		suggestion = "Preview it with --dry-run; then pass --confirm-destructive",
	})
end

return M
