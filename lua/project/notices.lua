-- notices: what a caller should know before a command runs: that it is deprecated (in the
-- answer, and off a terminal as a line of JSON on stderr), or made for another system. Loaded
-- when a command that declares deprecated_in or platform is called.

local attempt = require "runner.core.attempt"
local command_name = require "runner.core.command_name"

local M = {}

local function message_of(command)
	local text = ("'%s' is deprecated since %s"):format(command_name.typed(command.name), command.deprecated_in)
	if command.removed_in then
		text = ("%s and will be removed in %s"):format(text, command.removed_in)
	end
	return command.replacement and ("%s; use '%s'"):format(text, command.replacement) or text
end

local function warn_deprecated(command)
	local about = { deprecated_in = command.deprecated_in, replacement = command.replacement, removed_in = command.removed_in }
	attempt.warn("DEPRECATED", message_of(command), about)
	if attempt.launch.stderr_is_tty or attempt.launch.attempt > 1 then
		return -- a person reads the warning itself
	end
	about.level, about.code, about.message = "warn", "DEPRECATED", message_of(command)
	io.stderr:write(require("runner.json").encode(about), "\n")
end

M.PLATFORM = "linux" -- the only one that runner is built for

---@param platforms string[] of the declaration
---@return boolean
function M.runs_here(platforms)
	for _, name in ipairs(platforms) do
		if name:lower() == M.PLATFORM then
			return true
		end
	end
	return false
end

---@param command table normal form
function M.give(command)
	if command.deprecated_in then
		warn_deprecated(command)
	end
	if command.platform and not M.runs_here(command.platform) then
		attempt.warn("PLATFORM_UNSUPPORTED", ("'%s' is made for %s, and this is %s"):format(command_name.typed(command.name),
			table.concat(command.platform, ", "), M.PLATFORM), { platform = command.platform, found = M.PLATFORM })
	end
end

return M
