-- call_flags: what runner's rare flags switch on in a call, whatever its command is. Loaded when
-- one of them is given. Those that need more have a module of their own.

local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

local function needs_yes(a)
	local launch, message = a.launch, "--no-injection-protection needs --yes where no person is at a terminal"
	return a.framework.yes == nil and not launch.person and {
		field = "no_injection_protection", code = "CONFIRMATION_REQUIRED", message = message,
		suggestion = "Add --yes", fix_required = "Add --yes, or leave --no-injection-protection out",
	} or nil
end

-- Said in every answer, whether or not the command has data from outside (REQ-O-023).
local function trust_everything(a)
	attempt.warn("INJECTION_PROTECTION_DISABLED", "Data from outside is not marked as untrusted in this answer")
	host.send("META", { name = "injection_protection", data = "false" }, true)
	return needs_yes(a)
end

---Take the flags; what is wrong with them joins the problems of the arguments.
---@param a runner.Attempt
function M.take(a)
	local problems = a.parsed.problems
	if a.framework.no_injection_protection then
		problems[#problems + 1] = trust_everything(a)
	end
end

return M
