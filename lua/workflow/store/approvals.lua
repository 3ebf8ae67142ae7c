-- approvals: what waits for a person, and who decided what. Each is asked, and decided once, in one transaction. The functions of
-- M.queries are methods of the store.

local errors = require "runner.core.errors"
local host = require "runner.host"
local idempotency_keys = require "runner.state.idempotency_keys"
local json = require "runner.json"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local writes = require "runner.workflow.store.writes"

local M = { queries = {} }

---The code of a run that waits for a person. It is stored as interrupted, which every version can resume.
M.CODE = "APPROVAL_PENDING"

---@class runner.workflow.Approval
---@field id string
---@field kind "step"|"call" a step of a workflow; or a call (lua/state/pending_calls.lua), which has no run
---@field run? string
---@field key string of the step
---@field round integer of the step
---@field file string digest of the workflow file
---@field digest string of the file, the message and what was shown
---@field state "pending"|"approved"|"rejected"|"replaced"
---@field asked_ms integer
---@field deadline_ms? integer
---@field fallback "approve"|"reject" what holds after the deadline
---@field notified integer 1: its `notify` has run
---@field decided_ms? integer
---@field decided_by? {by: "terminal"|"default", uid?: integer, user?: string, terminal?: string}
---@field why? string
---@field asker table runner.core.person
---@field message string
---@field shown? string
---@field subject? string of a call
---@field call? table of a call: words, env, cwd, command, arguments, would_affect, client
---@field owner? string the process that has it run
---@field outcome? table the answer it had: ok, data, error
---@field became? "completed"|"failed"|"running"|"doubt" of a call that was approved

-- A call that was approved; doubt: it began, and it is not known whether it ended.
local function became(row)
	if row.outcome then
		return row.outcome.ok and "completed" or "failed"
	end
	return row.state == "approved" and (idempotency_keys.is_alive(row.owner) and "running" or "doubt") or nil
end

local function decoded(row)
	if row then
		row.asker, row.decided_by = json.decode(row.asker), json.decode(row.decided_by or "null") or nil
		row.run_actors = row.run_actors and json.decode(row.run_actors)
		row.call, row.outcome = row.call and json.decode(row.call), row.outcome and json.decode(row.outcome)
		if row.call then
			row.cwd, row.key, row.became = row.call.cwd, nil, became(row)
		end
	end
	return row
end

local function decoded_rows(rows)
	for _, row in ipairs(rows) do
		decoded(row)
	end
	return rows
end

local GATE = "SELECT *, (SELECT count(*) FROM approvals WHERE run = ?1 AND key = ?2) AS nth FROM approvals"
	.. " WHERE run = ?1 AND key = ?2 AND state <> 'replaced'"

---What a step has asked last.
---@param run string
---@param key string
---@return runner.workflow.Approval? approval nth: of this step
function M.queries:gate(run, key)
	return decoded(self:_open():row(GATE, run, key))
end

---What all steps of a run have asked last, whatever has become of the run.
---@param run string
---@return {id: string, key: string, file: string, state: string, asker: table}[]
function M.queries:gates(run)
	return decoded_rows(self:_open():rows([[SELECT id, key, file, state, asker, decided_by FROM approvals
		WHERE run = ? AND state <> 'replaced' ORDER BY asked_ms, id]], run))
end

local OF_OTHER_FILES = [[
	SELECT key, file FROM approvals a WHERE run = ?1 AND state <> 'replaced' AND (file <> ?2 OR state <> 'approved')
		AND EXISTS (SELECT 1 FROM approvals b WHERE b.run = ?1 AND b.key = a.key AND b.file <> ?2)]]

---The steps that have asked about another file than this one, about which no person has agreed.
---@param run string
---@param file string digest
---@return {key: string, file: string}[] file: about which they have asked last
function M.queries:gates_of_other_files(run, file)
	return self:_open():rows(OF_OTHER_FILES, run, file)
end

local REPLACE = "UPDATE main.approvals SET state = 'replaced' WHERE run = ? AND key = ?"
local ASK = [[
	INSERT INTO main.approvals (id, kind, project, run, key, round, file, digest, state, asked_ms, deadline_ms, fallback, asker, message,
		shown)
	SELECT ?, 'step', coalesce(project, ''), id, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?]]

---A step asks, and waits. What it has asked before is replaced.
---@param run string
---@param step {key: string, id?: string, kind: string, label: string}
---@param a table of the approval: round, file, digest, timeout_ms, fallback, asker, message, shown
---@return runner.workflow.Approval
function M.queries:ask(run, step, a)
	local now, id = host.wall_ms(), ("apr_%013x"):format(host.random() & (1 << 52) - 1)
	self:together(function(db)
		db:run(REPLACE, run, step.key)
		db:run(ASK, id, step.key, a.round, a.file, a.digest, now, a.timeout_ms and now + a.timeout_ms, a.fallback,
			assert(json.encode(a.asker)), a.message, a.shown, run)
		writes.set_step(now, run, step, "waiting", { round = a.round, code = M.CODE, message = a.message })(db)
	end)
	return assert(self:gate(run, step.key))
end

---@param id string of the approval whose `notify` has run
function M.queries:notified(id)
	self:together(function(db)
		db:run("UPDATE main.approvals SET notified = 1 WHERE id = ?", id)
	end)
end

local DECIDE = [[
	UPDATE main.approvals SET state = ?2, decided_ms = ?3, decided_by = ?4, why = ?5, owner = ?6
	WHERE id = ?1 AND state = 'pending' AND (deadline_ms IS NULL OR deadline_ms > ?3)]]

---@param id string
---@param state "approved"|"rejected"
---@param by table
---@param why? string
---@param also fun() in the same transaction, if it is decided
---@param owner? string of a call: who has it run
---@return boolean decided false: it is decided, or its time is over
function M.queries:decide(id, state, by, why, also, owner)
	return self:together(function(db)
		local decided = db:run(DECIDE, id, state, host.wall_ms(), assert(json.encode(by)), why, owner) == 1
		local _ = decided and also()
		return decided
	end)
end

---A call that was approved has ended.
---@param id string
---@param outcome table
function M.queries:called(id, outcome)
	local text = assert(json.encode(outcome, { envelope = true }))
	self:together(function(db)
		db:run("UPDATE main.approvals SET outcome = ? WHERE id = ?", text, id)
	end)
end

local IS_OVERDUE = "state = 'pending' AND deadline_ms <= ?1 AND (?2 IS NULL OR run = ?2) AND (?3 IS NULL OR project = ?3)"
local OVERDUE = "SELECT 1 FROM approvals WHERE " .. IS_OVERDUE
local EXPIRE = [[
	UPDATE main.approvals SET state = CASE fallback WHEN 'approve' THEN 'approved' ELSE 'rejected' END, decided_ms = ?1,
		decided_by = '{"by":"default"}', why = 'no person decided in time'
	WHERE id IN (SELECT id FROM approvals WHERE ]] .. IS_OVERDUE .. ") RETURNING *"

---Those whose time is over get their default.
---@param also fun(gate: runner.workflow.Approval) for each, in the same transaction
---@param run? string only of this run
---@param project? string
function M.queries:expire(also, run, project)
	local now = host.wall_ms()
	if self:_open():row(OVERDUE, now, run, project) then
		self:together(function(db)
			for _, gate in ipairs(db:rows(EXPIRE, now, run, project)) do
				also(decoded(gate))
			end
		end)
	end
end

-- With their run: where it is, and whose.
local SELECT = "SELECT a.*, r.workflow, r.file AS path, r.cwd, r.state AS run_state, r.subject AS run_subject, r.actors AS run_actors"
	.. " FROM approvals a LEFT JOIN runs r ON r.id = a.run"
local LIST = SELECT .. [[ WHERE (?1 IS NULL OR a.project = ?1) AND (?2 IS NULL OR a.run = ?2) AND (?3 IS NULL OR a.state = ?3)
		AND a.state <> 'replaced' AND (a.state <> 'pending' OR coalesce(r.state, '') NOT IN ('completed', 'cancelled'))
	ORDER BY a.asked_ms, a.id]]

---@param opts {project?: string, run?: string, state?: string} pending: what still waits
---@return runner.workflow.Approval[] with workflow, path and cwd of their run
function M.queries:approvals(opts)
	return decoded_rows(self:_open():rows(LIST, opts.project, opts.run, opts.state))
end

local FIND = SELECT
	.. " WHERE a.id = ?1 OR length(?1) >= 4 AND (substr(a.id, 1, length(?1)) = ?1 OR substr(a.id, -length(?1)) = ?1) LIMIT 2"

---@param text string an ID, its beginning or its end
---@return runner.workflow.Approval
function M.queries:approval(text)
	local rows = self:_open():rows(FIND, text)
	if rows[2] then
		errors.raise("CONFLICT", ("Ambiguous ID '%s': several approvals match"):format(text),
			{ suggestion = reference.call "approvals --all" })
	elseif not (rows[1] and scope.sees(rows[1].project)) then
		errors.raise("NOT_FOUND", ("No approval '%s'"):format(text), { suggestion = reference.call "approvals" })
	end
	return decoded(rows[1])
end

local UNDECIDED = "SELECT 1 FROM approvals WHERE run = ? AND key = ? AND state = 'pending'"

---The run ends, and waits for a person: unless one has decided meanwhile.
---@param run string
---@param keys string[] of its steps that wait
---@param message string
---@return boolean waits
function M.queries:wait_for_person(run, keys, message)
	local now = host.wall_ms()
	return self:together(function(db)
		for _, key in ipairs(keys) do
			if not db:row(UNDECIDED, run, key) then
				return false
			end
		end
		writes.set_run(now, run, { state = "interrupted", code = M.CODE, message = message, failed_step = keys[1] })(db)
		return true
	end)
end

return M
