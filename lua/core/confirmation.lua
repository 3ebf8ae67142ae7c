-- confirmation: what a call would do, as far as its declaration says, the error of a destructive call that was not
-- confirmed, and what only a person at a terminal may confirm (REQ-C-036): a statement, and a text that must be typed
-- exactly. No flag and no variable answers that.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

local record -- in the audit ledger

---Have decisions written down.
---@param f fun(decision: "confirmed"|"declined"|"refused", by: table): runner.Error?
function M.record_with(f)
	record = f
end

---Who agreed to this call, or did not.
---@param decision "confirmed"|"declined"|"refused"
---@param by table { by = "terminal"|"flag"|"client"|"policy"|"runner", … }
---@return runner.Error? problem it can't be written down, and must be
function M.decided(decision, by)
	return record and record(decision, by) or nil
end

---The command and the arguments of this call; *** for secrets.
---@return {command: string, arguments: table<string, any>}
function M.call()
	local arguments = {}
	for _, row in ipairs(attempt.command.args) do
		local value = attempt.parsed.values[row.name]
		arguments[row.name] = row.secret and value ~= nil and "***" or value
	end
	return { command = command_line.typed(attempt.name), arguments = arguments }
end

---What confirming this call confirms: what it does, and the commands that it needs.
---@param would_affect? table[] what a dry run says of the command; default: the command and its arguments
---@return table[]
function M.affected(would_affect)
	local list = table.move(would_affect or { M.call() }, 1, #(would_affect or { 0 }), 1, {})
	for _, needs in ipairs { attempt.command.needs or {}, attempt.command.parallel or {} } do
		for _, need in ipairs(needs) do
			list[#list + 1] = { command = need.name, arguments = need.args }
		end
	end
	return list
end

---CONFIRMATION_REQUIRED: exit 2, nothing was done.
---@param why string the rest of a sentence: "there is no terminal to ask on"
---@param would_affect? table[] default: as M.affected
---@return runner.Error
function M.required(why, would_affect)
	would_affect = would_affect or M.affected()
	local policy = attempt.policy
	local asked = policy and (policy.asked or policy.over and policy.over.full[1])
	local message = ("'%s' %s was not confirmed: %s"):format(command_line.typed(attempt.name),
		asked and "is asked for by a policy, and" or "is destructive and", why)
	return errors.new("CONFIRMATION_REQUIRED", message, {
		phase = "validation", retryable = false, side_effects = "none",
		context = { would_affect = require("runner.json").array(would_affect), danger_level = "destructive",
			command = command_line.typed(attempt.name) },
		fix_required = asked and "Have a person confirm it: look at context.would_affect" or nil,
		suggestion = asked and "Have a person call it at a terminal" or "Preview it with --dry-run; then pass --confirm-destructive",
	})
end

---The same, in the audit ledger, too.
---@param why string
---@param would_affect? table[]
---@param decision? { decision: string, by: string } default: refused by runner
---@return runner.Error
function M.refused(why, would_affect, decision)
	M.decided(decision and decision.decision or "refused", { by = decision and decision.by or "runner", reason = why })
	local e = M.required(why, would_affect)
	if decision then -- a person who has said no needs no advice: a terminal gets this line and no more (src/supervisor/notice.c)
		e.message, e.suggestion = ("'%s' was not confirmed, and nothing was done"):format(command_line.typed(attempt.name)), nil
	end
	return e
end

-- --- a person at a terminal ------------------------------------------------------------------

local function refusal(code, why)
	return errors.new(code, ("'%s' needs a person: %s"):format(command_line.typed(attempt.name), why), {
		phase = not attempt.ctx and "validation" or nil, retryable = false, side_effects = not attempt.ctx and "none" or nil,
		suggestion = "A person must call it at a terminal, and type what it asks for" })
end

-- Why there is no person to ask; nil: there is one.
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
function M.attest(statement, expected)
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
function M.by_person(command)
	local dry = attempt.framework.dry_run
	if dry == nil then
		dry = os.getenv "RUNNER_DRY_RUN" == "1" and command.danger_level ~= "safe"
	end
	if dry or attempt.launch.confirmed then -- by an attempt before: it comes after this
		return nil
	end
	local call = M.call()
	local lines = require("runner.core.visible").argument_lines(call.arguments)
	table.insert(lines, 1, ("%s: %s"):format(call.command, command.description))
	local e = M.attest(table.concat(lines, "\n"), call.command)
	if not e then
		host.send("META", { name = "confirmed", data = "true" }, true)
		return M.decided("confirmed", { by = "terminal" })
	end
	local declined = e.code == "ATTESTATION_MISMATCH"
	M.decided(declined and "declined" or "refused", { by = declined and "terminal" or "runner", reason = e.message })
	return e
end

return M
