-- approvals: steps that ask a person. Such a step asks once, and its run goes on with whatever else can run. When nothing can, a
-- person at the terminal of the run is asked there; without one the run ends, and waits. What is decided holds for the file, the
-- message and what was shown: where one of them has changed, it is asked anew.

local attempt = require "runner.core.attempt"
local confirmation = require "runner.core.confirmation"
local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local fs = require "runner.fs"
local hooks = require "runner.workflow.run.hooks"
local host = require "runner.host"
local inner_lists = require "runner.workflow.file.inner_lists"
local idempotency_keys = require "runner.state.idempotency_keys"
local json = require "runner.json"
local ledger = require "runner.ledger"
local outputs = require "runner.workflow.run.outputs"
local paths = require "runner.core.paths"
local person = require "runner.core.person"
local plain_git = require "runner.workflow.file.plain_git"
local resumed_results = require "runner.workflow.run.resumed_results"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local reference = require "runner.core.reference"
local store = require "runner.workflow.store.approvals"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

local SHOWN = 64 << 10 -- bytes of each thing that is shown; the digest is of all of it
local DONE = { approved = "confirmed", rejected = "declined" }

-- --- what is asked ---------------------------------------------------------------------------

local function raise_unreadable(key, what, why)
	errors.raise("PRECONDITION", ("Step %s can't show %s: %s"):format(key, what, why), { context = { step_key = key } })
end

local function diff(run, key, scope)
	local fence = run.outermost.among.fence -- of any step of the run
	local confine = fence and { write = fence.write and {} or nil, network = fence.network, required = fence.required }
	local result = hooks.run(run, { text = plain_git.DIFF, interpreter = "sh", confine = confine }, key, scope, "show")
	return result.ok and not result.truncated and result.stdout or raise_unreadable(key, "the diff",
		result.truncated and "it is longer than 1 MiB" or (result.stderr or ""):match "[^\n]+" or "git failed")
end

local function read(key, path)
	local text, why = fs.read(path)
	return text or raise_unreadable(key, path, why)
end

-- SHA-256: who writes what is shown must not find another text with the same digest.
local function file_digest(workflow)
	local all = { ledger.digest(workflow.text) }
	for i, child in ipairs(workflow.children) do
		all[i + 1] = file_digest(child)
	end
	return ledger.digest(table.concat(all))
end

-- What is shown, and a digest of all that a decision holds for.
local function described(run, step, key, scope)
	local file = file_digest(run.outermost)
	local message, shown, digest = run.mask(variables.expand(step.approve.message, scope)), {}, file
	for i, template in ipairs(step.approve.show) do
		local name = variables.expand(template, scope)
		local text = name == "diff" and diff(run, key, scope) or read(key, paths.absolute(name, scope.cwd or run.settings.cwd))
		digest = ledger.digest(digest .. ledger.digest(name) .. ledger.digest(text))
		local left = #text > SHOWN and ("\n[%d more bytes]"):format(#text - SHOWN) or ""
		shown[i] = ("--- %s\n%s%s"):format(name, host.clean(run.mask(text):sub(1, SHOWN)), left)
	end
	return { message = message, shown = shown[1] and table.concat(shown, "\n"), digest = ledger.digest(digest .. message), file = file }
end

-- Steps that notify a person know which one it is. They may run again after a crash.
local function with_id(steps, id)
	local out = {}
	for i, step in ipairs(steps) do
		local env = step.env and tables.add({ RUNNER_APPROVAL = id }, step.env)
		out[i] = setmetatable({ env = env, idempotent = env and true or nil }, { __index = step })
	end
	return out
end

-- Once for each time that it asks.
local function notify(run, step, key, place, gate, sequence)
	local list = gate.notified == 0 and step.approve.notify
	if not list then
		return
	end
	local ok, raised = pcall(sequence, run, with_id(list.steps, gate.id), resumed_results.hooks_place(step, place, gate.nth))
	if type(raised) == "userdata" then
		error(raised, 0) -- a cancellation
	end
	doubt.check(run)
	if not ok then
		attempt.warn("NOTIFY_FAILED", ("notify of step %s failed: %s"):format(key, errors.normalise(raised).message))
	end
	run.db:notified(gate.id)
end

-- --- what is decided ------------------------------------------------------------------------------

-- In the audit ledger, or nothing is decided.
local function note(gate, state, by)
	by.approval, by.run, by.step = gate.id, gate.run, gate.key
	local problem = confirmation.decided(DONE[state], by)
	if problem then
		error(problem, 0)
	end
end

---Those of a run, or of a project, whose time is over get their default, which the audit ledger has.
---@param db runner.workflow.Store
---@param run? string
---@param project? string
function M.expire(db, run, project)
	db:expire(function(gate)
		note(gate, gate.state, { by = "default", reason = gate.why })
	end, run, project)
end

---What a decision is, for data and messages: "rejected by ada: too early".
---@param gate runner.workflow.Approval
---@return string
function M.said(gate)
	local by = gate.decided_by or {}
	return ("%s by %s%s"):format(gate.state, by.by == "default" and "default" or by.user or by.uid or "?", gate.why and ": " .. gate.why or "")
end

---Decide, once.
---@param db runner.workflow.Store
---@param gate runner.workflow.Approval
---@param state "approved"|"rejected"
---@param why? string
---@return runner.Error? problem
function M.decide(db, gate, state, why)
	local uid, user = ledger.user()
	local by = { by = "terminal", uid = uid, user = user, login_uid = require("runner.core.scope").login_uid(uid),
		terminal = person.terminal(), trace_id = attempt.launch.trace_id }
	local owner = gate.kind == "call" and idempotency_keys.owner(attempt.launch.supervisor) or nil
	M.expire(db, gate.run, gate.project)
	if not db:decide(gate.id, state, by, why, function()
		note(gate, state, { by = "terminal", terminal = by.terminal, reason = why })
	end, owner) then
		local now = db:approval(gate.id)
		return errors.new("CONFLICT", ("Approval %s is decided: it was %s"):format(gate.id, M.said(now)),
			{ side_effects = "none", context = { approval = gate.id, state = now.state } })
	end
end

-- --- the step ---------------------------------------------------------------------------------------

local function ident(step, key)
	return { key = key, id = step.id, kind = step.kind, label = step.label }
end

-- Its run goes on elsewhere, and comes back.
local function wait(run, gate)
	run.waits = run.waits or errors.new(store.CODE, "", { retryable = false, side_effects = "partial" })
	run.waits.gates = run.waits.gates or {}
	table.insert(run.waits.gates, gate)
	error(run.waits, 0)
end

local function rejected(run, step, key, gate, round)
	local message = ("Step %s was %s"):format(key, M.said(gate))
	run.db:set_step(run.id, ident(step, key), "failed",
		{ code = "APPROVAL_REJECTED", message = message, round = round, output = gate.why })
	return nil, errors.new("APPROVAL_REJECTED", message, { retryable = false, side_effects = "partial",
		suggestion = ("runner workflow resume %s asks again"):format(run.id),
		context = { run = run.id, step_key = key, approval = gate.id, why = gate.why } })
end

local function approved(run, step, key, gate, round)
	local outcome = { output = gate.why or "", data = { decision = gate.state, by = gate.decided_by, approval = gate.id }, round = round }
	run.db:soon("set_step", run.id, ident(step, key), "completed", outcome)
	events.over(run, key, "completed")
	return outputs.result(run, key, outcome, true)
end

local function ask(run, step, key, place, what, round, before)
	what.round, what.timeout_ms, what.asker = round, step.approve.timeout_ms, run.askers
	what.fallback = step.approve.fallback
	if before and before.digest ~= what.digest then
		events.warn(run, ("Step %s: what was asked has changed, and is asked anew"):format(key), key)
	end
	return run.db:ask(run.id, scopes.ident(run, step, key, place.scope), what)
end

local ENDS = { approved = approved, rejected = rejected }

---Go on where a person has agreed; else ask, once, and wait.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param round integer
---@param sequence fun(run: table, steps: runner.workflow.Step[], place: runner.workflow.Place): table?
---@return table? given, runner.Error? problem
function M.step(run, step, key, place, round, sequence)
	scheduler.settled()
	local ok, what = pcall(described, run, step, key, place.scope)
	if not ok then
		local e = errors.normalise(what)
		if type(what) == "userdata" or (e.context or {}).database then
			error(what, 0)
		end
		e.context = tables.add({ step_key = key }, e.context)
		run.db:set_step(run.id, scopes.ident(run, step, key, place.scope), "failed", { code = e.code, message = e.message, round = round })
		return nil, e
	end
	M.expire(run.db, run.id)
	local gate = run.db:gate(run.id, key)
	if not gate or gate.round ~= round or gate.digest ~= what.digest then
		gate = ask(run, step, key, place, what, round, gate)
	elseif ENDS[gate.state] then
		return ENDS[gate.state](run, step, key, gate, round)
	end
	events.asks(run, step, key, gate)
	notify(run, step, key, place, gate, sequence)
	return wait(run, gate)
end

-- --- the run --------------------------------------------------------------------------------------------

local ANSWERS = { y = "approved", yes = "approved", n = "rejected", no = "rejected" }

---What a person reads before they decide.
---@param gate runner.workflow.Approval
---@return string
function M.question(gate)
	local text = (gate.shown and gate.shown .. "\n---\n" or "") .. gate.message
	return ("  | %s\n"):format(text:gsub("\n", "\n  | ")) -- no line of it is one of runner's
end

-- Why no person is asked at the terminal of this call; nil: there is a person, who isn't what has asked before.
local function why_unasked(run)
	local why = person.absent() or not attempt.launch.person and "it is no terminal to ask at"
		or not person.asker().shell and "its terminal isn't the one of a shell" or nil
	for _, asker in ipairs(run.asked_before or {}) do
		why = why or person.refusal(asker)
	end
	return why
end

---Who has asked anything in a run.
---@param db runner.workflow.Store
---@param row table of the run
---@return table[] askers
function M.askers(db, row)
	local out = { row.askers }
	for _, gate in ipairs(db:gates(row.id)) do
		out[#out + 1] = gate.asker
	end
	return out
end

-- At the terminal of the run. Enter alone leaves it to others.
local function prompt(run, gate)
	local answer = person.ask(("%sApprove step %s? [y, n, Enter: later] "):format(M.question(gate), gate.key))
	local state = ANSWERS[(answer or ""):lower():match "^%s*(.-)%s*$"]
	if not state then
		return false
	end
	local why = state == "rejected" and person.ask "Why? " or nil
	M.decide(run.db, gate, state, why ~= "" and why or nil)
	return true -- whichever person has decided
end

---All that can run has ended. Ask a person at the terminal, else end the run.
---@param run table
---@return runner.Error? waits nil: something is decided, and the run goes on
function M.wait(run)
	local gates, keys, ids, decided, why = run.waits.gates, {}, {}, false, why_unasked(run)
	for i, gate in ipairs(gates) do
		keys[i], ids[i] = gate.key, gate.id
		decided = not why and prompt(run, gate) or decided
	end
	M.expire(run.db, run.id)
	local message = ("Step %s waits for a person: %s"):format(table.concat(keys, ", "), gates[1].message)
	if decided or not run.db:wait_for_person(run.id, keys, message) then
		return nil
	end
	why = why and "; here no person is asked: " .. why or ""
	return errors.new(store.CODE, message .. (attempt.launch.stdin_is_tty and why or ""), { retryable = false, side_effects = "partial",
		suggestion = reference.call("approve " .. ids[1]), fix_required = "Have a person decide, at a terminal" .. why,
		context = { run = run.id, step_key = keys[1], approvals = json.array(ids) } })
end

-- --- what can't be passed over ---------------------------------------------------------------------------

-- The last of the outermost steps that hold one.
local function last_gate(workflow)
	local last = 0
	for i, step in ipairs(workflow.steps) do
		inner_lists.each({ step }, function(inner)
			last = inner.approve and i or last
		end)
	end
	return last
end

-- Why a run can't go on with another file than the one that a gate has asked about; nil: it can. The text of the files that it
-- runs isn't stored, nor one with a secret.
local function hindrance(gate, workflow, before)
	if gate.state ~= "approved" then
		return "the file has changed before a person agreed"
	elseif before == workflow then
		return nil -- it goes on with this one already
	elseif not before or before.children[1] and file_digest(before) ~= gate.file then
		return "what the file was isn't known any more"
	end
	local last, reader = last_gate(before), require "runner.workflow.file.reader" -- few runs have another file
	return reader.up_to(before.text, last) ~= reader.up_to(workflow.text, last) and "more of the file has changed than steps behind it" or nil
end

---Refuse to resume a run with a gate in what is marked as done, and with another file than the one that a gate has asked about: as
---long as no person has agreed to that, and where it differs in more than the steps behind the last of the gates.
---@param db runner.workflow.Store
---@param row table of the run
---@param workflow table as the run goes on with it
---@param marked table<string, true>
---@param before? table the workflow as it was; nil: it has not changed, or isn't known
function M.hold(db, row, workflow, marked, before)
	local gates = {}
	inner_lists.each(workflow.steps, function(step, key)
		gates[#gates + 1] = step.approve and key or nil
	end)
	for mark in pairs(marked) do
		local holds = reference.holder(reference.static(mark))
		for _, key in ipairs(gates) do
			if holds(key) then
				errors.raise("CONFLICT", ("Step %s asks a person, and can't be marked as done"):format(key), { side_effects = "none",
					suggestion = "runner approvals", context = { run = row.id, step_key = key } })
			end
		end
	end
	local file = file_digest(workflow)
	for _, gate in ipairs(db:gates(row.id)) do
		local why = gate.file ~= file and hindrance(gate, workflow, before)
		if why then
			errors.raise("CONFLICT", ("Step %s has asked a person, and %s"):format(gate.key, why), { side_effects = "none",
				suggestion = "runner workflow show " .. row.id, fix_required = "Undo the change: another file is another run",
				context = { run = row.id, step_key = gate.key, approval = gate.id } })
		end
	end
end

---What has asked about another state of the file asks anew.
---@param run table owned; what is put off in its store comes with the next commit
---@param begins? fun(key: string): boolean? what has been put back, with a condition or a list that might keep it from asking
function M.ask_anew(run, begins)
	local file, gates = file_digest(run.workflow), {}
	for _, gate in ipairs(run.db:gates_of_other_files(run.id, file)) do
		gates[#gates + 1] = (gate.file ~= file or begins and begins(gate.key)) and gate or nil
	end
	local _ = gates[1] and require("runner.workflow.run.again").gates(run, gates, begins)
end

return M
