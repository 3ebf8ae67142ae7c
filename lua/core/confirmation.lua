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

---CONFIRMATION_REQUIRED: exit 2, nothing was done.
---@param why string the rest of a sentence: "there is no terminal to ask on"
---@param would_affect? table[] default: the command and its arguments
---@return runner.Error
function M.required(why, would_affect)
	would_affect = would_affect or { M.call() }
	local message = ("'%s' is destructive and was not confirmed: %s"):format(command_name.typed(attempt.name), why)
	return errors.new("CONFIRMATION_REQUIRED", message, {
		phase = "validation", retryable = false, side_effects = "none",
		context = { would_affect = require("runner.json").array(would_affect), danger_level = "destructive" },
		suggestion = "Preview it with --dry-run; then pass --confirm-destructive",
	})
end

return M
