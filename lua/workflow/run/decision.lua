-- decision: a person agrees to what a step asks, or refuses it, with `runner approve` and `runner reject`: who may, what they see,
-- and what is written down. Running goes on in a call of its own.

local approvals = require "runner.workflow.run.approvals"
local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local confirmation = require "runner.core.confirmation"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local person = require "runner.core.person"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"

local M = {}

local WAIT_MS = 15000 -- for a process that ends

local function refuse(code, gate, message, fields)
	fields.side_effects, fields.retryable, fields.context = "none", false, { approval = gate.id, run = gate.run, step_key = gate.key }
	errors.raise(code, message, fields)
end

-- The ledger, the policies and the settings are those of its project. A call of one that is gone can still be refused.
local function check_place(gate, verb)
	local is_gone = gate.kind == "call" and gate.project ~= "" and fs.lstat(gate.project) == nil
	if is_gone and verb == "approve" then
		refuse("PRECONDITION", gate, ("Approval %s is of a project that is gone: %s"):format(gate.id, gate.project),
			{ suggestion = reference.call("reject " .. gate.id) })
	elseif gate.project ~= scope.project() and not is_gone then
		local place = command_line.quoted(gate.project ~= "" and gate.project or gate.cwd)
		refuse("PRECONDITION", gate, ("Approval %s is of another project"):format(gate.id),
			{ suggestion = reference.call(("--cwd %s %s %s"):format(place, verb, gate.id)) })
	end
end

local function check_person(db, gate)
	local why
	local askers = gate.asker[1] and gate.asker or { gate.asker } -- of a call: all that have made it
	for _, asker in ipairs(gate.run and approvals.askers(db, db:find(gate.run)) or askers) do
		why = why or person.refusal(asker)
	end
	if why then
		confirmation.decided("refused", { by = "runner", reason = why, approval = gate.id, run = gate.run, step = gate.key })
		refuse("PERSON_REQUIRED", gate, ("Approval %s needs a person: %s"):format(gate.id, why),
			{ fix_required = "Have a person decide, at a terminal that nothing of what asked has opened: leave the inner shell, or use a terminal"
				.. " that was open before it asked (not a tmux or screen that was started since), or log in anew" })
	end
end

local function check_state(gate)
	if gate.state ~= "pending" then
		refuse("CONFLICT", gate, ("Approval %s is decided: it was %s"):format(gate.id, gate.state == "replaced" and "asked anew"
			or approvals.said(gate)), { suggestion = reference.call "approvals" })
	elseif gate.run_state == "cancelled" or gate.run_state == "completed" then
		refuse("CONFLICT", gate, ("Run %s is %s"):format(gate.run, gate.run_state), {})
	end
end

local function agrees(gate)
	local what = gate.run and ("step %s of %s"):format(gate.key, gate.workflow) or ("'%s', which then runs"):format(gate.call.command)
	local answer = person.ask(("%sApprove %s? [y/N] "):format(approvals.question(gate), what))
	return answer and answer:lower():match "^%s*y"
end

-- Raises PERSON_REQUIRED where no person decides, CONFLICT where it is decided.
local function make(db, text, state, why)
	local gate = db:approval(text)
	local verb = state == "approved" and "approve" or "reject"
	check_place(gate, verb)
	approvals.expire(db, gate.run, gate.project)
	gate = db:approval(gate.id)
	check_state(gate)
	local denied = gate.run and attempt.policy and attempt.policy.resumes(gate.run)
	if denied then
		denied.suggestion = "Have a person decide without the policy: " .. reference.call(("%s %s"):format(verb, gate.id))
		error(denied, 0)
	end
	check_person(db, gate)
	if state == "approved" and not agrees(gate) then
		refuse("ATTESTATION_MISMATCH", gate, "Nothing is decided: 'y' was not typed", {})
	end
	local problem = approvals.decide(db, gate, state, why)
	if problem then
		error(problem, 0)
	end
	return db:approval(gate.id)
end

-- One that still runs goes on by itself.
local function is_free(db, gate)
	return db:find(gate.run).state ~= "running" and db:wait(gate.run, WAIT_MS) or not db:owner(gate.run)
end

local function answer(gate, outcome)
	local data = { id = gate.id, run = gate.run, workflow = gate.workflow, step = gate.key, state = gate.state, effect = "updated",
		outcome = outcome.outcome, code = outcome.code, message = outcome.message }
	if outcome.outcome == "failed" and not (gate.state == "rejected" and outcome.code == "APPROVAL_REJECTED") then
		errors.raise("PARTIAL_FAILURE", ("Step %s is %s, but run %s failed: %s"):format(gate.key, gate.state, gate.run, outcome.message),
			{ data = data, retryable = false, suggestion = outcome.suggestion })
	end
	return data
end

M.argument = { "id", "string", positional = true, required = true, pattern = reference.PATTERN,
	description = "Approval: its ID, the beginning or end of it", suggestion = "Give an ID that 'runner approvals' shows" }

M.exit_codes = {
	NOT_FOUND = { description = "No approval with this ID" },
	CONFLICT = { description = "It is decided, its time is over, or several match" },
	PERSON_REQUIRED = { description = "No person at a terminal of their own decides" },
	PARTIAL_FAILURE = { retryable = false, side_effects = "partial", description = "It is decided, and its run failed afterwards" },
}

-- Once it is decided it is run once, or not at all: what ends us in between leaves it in doubt.
local function answer_of_call(db, gate, call)
	local data = { id = gate.id, command = gate.call.command, state = gate.state, effect = "updated" }
	if gate.state ~= "approved" then
		return data
	end
	local envelope = call(gate)
	local meta = envelope.meta or {}
	local ok, raised = pcall(db.called, db, gate.id, { ok = envelope.ok, data = envelope.data, error = envelope.error,
		warnings = envelope.warnings, meta = { truncated = meta.truncated, truncation_hint = meta.truncation_hint, rest = meta.rest,
			pagination = meta.pagination }, attachments = meta.attachments, ended_ms = host.wall_ms() })
	if not ok then
		attempt.warn("CALL_NOT_KEPT", ("What came of %s can't be kept: the caller is told that it is in doubt: %s"):format(gate.id,
			errors.normalise(raised).message))
	end
	data.outcome, data.answer = envelope.ok and "completed" or "failed", envelope
	if not envelope.ok then
		errors.raise("PARTIAL_FAILURE", ("%s is approved, but '%s' failed: %s"):format(gate.id, gate.call.command, envelope.error.message),
			{ data = data, retryable = false })
	end
	return data
end

---Decide, and have the run go on, or the call made.
---@param text string ID
---@param state "approved"|"rejected"
---@param why? string
---@param resume fun(run: {id: string, project: string, cwd: string}): table has it go on
---@param call? fun(gate: runner.workflow.Approval): table has it made: its envelope
---@return table data
function M.run(text, state, why, resume, call)
	local gate, free
	do
		local db <close> = store.open {}
		gate = make(db, text, state, why)
		if gate.kind == "call" then
			return answer_of_call(db, gate, call)
		end
		free = is_free(db, gate)
	end
	return answer(gate, free and resume { id = gate.run, project = gate.project, cwd = gate.cwd } or { outcome = "running" })
end

return M
