-- attestation: what only a person at a terminal may confirm (REQ-C-036): a statement, and a text
-- that must be typed exactly. No flag and no variable answers it. Loaded where a command declares
-- `requires_person`, or calls ctx:attest.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

local function refusal(code, why)
	return errors.new(code, ("'%s' needs a person: %s"):format(attempt.name:gsub("%.", " "), why), {
		phase = not attempt.ctx and "validation" or nil, retryable = false, side_effects = not attempt.ctx and "none" or nil,
		suggestion = "A person must call it at a terminal, and type what it asks for" })
end

-- Why nobody can be asked; nil: there is a person.
local function absent()
	if attempt.framework.non_interactive then
		return "--non-interactive was given"
	elseif attempt.framework.detach then
		return "a job (--detach) has no terminal"
	elseif not attempt.launch.person then
		return "stdin and stdout are not a terminal"
	end
end

---Have a statement confirmed at the terminal.
---@param statement string
---@param expected string what must be typed
---@return runner.Error? PERSON_REQUIRED, or ATTESTATION_MISMATCH; nil: it was typed exactly
function M.problem(statement, expected)
	local why = absent()
	if why then
		return refusal("PERSON_REQUIRED", why)
	end
	local question = host.clean(("%s\nType '%s' to go on: "):format(statement, expected))
	local answer, silent = require("runner.terminal").ask(question, false)
	if not answer then
		return refusal("PERSON_REQUIRED", silent or "there was no answer")
	elseif answer ~= expected then
		return refusal("ATTESTATION_MISMATCH", ("'%s' was not typed"):format(expected))
	end
end

---The problem of a call whose command requires a person. A retry doesn't ask again.
---@param command table normal form
---@return runner.Error?
function M.of_call(command)
	local dry = attempt.framework.dry_run
	if dry == nil then
		dry = os.getenv "RUNNER_DRY_RUN" == "1" and command.danger_level ~= "safe"
	end
	if dry or attempt.launch.confirmed then -- by an attempt before: it comes after this
		return nil
	end
	local call = require("runner.core.confirmation").call()
	local shown = next(call.arguments) and " " .. require("runner.json").encode(call.arguments, { envelope = true }) or ""
	local e = M.problem(("%s: %s%s"):format(call.command, command.description, shown), call.command)
	if not e then
		host.send("META", { name = "confirmed", data = "true" }, true)
	end
	return e
end

return M
