-- report: a run as data, for envelopes, `show` and `list`. It reads the store and
-- changes nothing.

local host = require "runner.host"
local json = require "runner.json"
local amounts = require "runner.core.amounts"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local run_rows = require "runner.workflow.report.run_rows"

local M = {}

local VARIABLES = 1 << 20 -- bytes of JSON that an answer carries

local function time(ms)
	return ms and host.rfc3339(ms) or nil
end

-- A run without an owner can't be running: its runner died. But it may have ended, or
-- been resumed, after we read its row: so read it again.
-- Its steps are what they will be once it is resumed or cancelled.
local function mark_dead(row, steps, by_state)
	row.state = "interrupted"
	for _, step in ipairs(steps or {}) do
		if step.state == "running" then
			step.state, step.code = "interrupted", step.attempts > 0 and "STEP_IN_DOUBT" or nil
			step.message = step.code and "was running when its runner died" or nil
		end
	end
	if by_state and by_state.running then
		by_state.interrupted, by_state.running = (by_state.interrupted or 0) + by_state.running, nil
	end
end

local function settle(db, row, read)
	while row.state == "running" and not db:owner(row.id) do
		local again = read()
		if again.state == "running" and again.resumes == row.resumes then
			local page = again.page or {}
			mark_dead(again, page.rows, page.steps_by_state)
		end
		row = again
	end
	if row.state == "interrupted" and row.code == "APPROVAL_PENDING" then
		row.state = "waiting" -- for a person
	end
	return row
end

---A row of store:list with the state that the run is in.
---@param db table
---@param row table
---@return table row this one, or a newer one
function M.settled(db, row)
	return settle(db, row, function()
		return db:list { id = row.id }[1]
	end)
end

-- --- one run ------------------------------------------------------------------------------------------

-- Seed 004: Failed { retryable }. Other states have none.
local function retryable_of(row)
	if row.state == "failed" then
		return row.retryable or false
	end
end

---The summary of a run, as `list` has it.
---@param row table as M.settled gives it
---@param among_all? boolean the list has those of all projects; what is short means none of another one
---@return table
function M.summary(row, among_all)
	local is_foreign = among_all and row.project ~= scope.project()
	local starter = (row.actors or {})[1] or {}
	return {
		id = row.id, short = is_foreign and row.id or reference.short(row.id), workflow = row.workflow, state = row.state, file = row.file,
		retryable = retryable_of(row),
		code = row.code, message = row.message, failed_step = row.failed_step, steps = row.steps,
		created = time(row.created_ms), ended = time(row.ended_ms),
		duration_ms = row.ended_ms and math.max(row.ended_ms - row.created_ms, 0) or nil, -- the clock may be set back
		project = among_all and scope.label(row.project) or nil,
		subject = row.subject, client = starter.client, trace_id = starter.trace_id,
	}
end

-- One snapshot: its steps are those of its state.
local function stored(db, id, opts)
	return db:snapshot(function()
		local row = db:find(id)
		row.page = run_rows.steps(db, row.id, opts)
		return row
	end)
end

local function small(value, most)
	local text = json.encode(value)
	return text and #text <= most and value or nil
end

-- Its steps on executors, one row each; nil: it has none.
local function placed_of(db, id)
	local rows = db:units(id)
	for i, unit in ipairs(rows) do
		rows[i] = { step = unit.key, executor = unit.executor, kind = unit.kind, items = unit.items > 0 and unit.items or nil,
			parts = unit.chunks, planned = unit.planned, queued = unit.queued, running = unit.running, completed = unit.completed,
			failed = unit.failed, placements = unit.placements, queue_ms = unit.queue_ms, run_ms = unit.run_ms,
			longest_queue_ms = unit.longest_queue_ms and math.max(unit.longest_queue_ms, 0),
			measured = unit.measured > 0 and unit.measured or nil, cpu_ms = unit.cpu_ms, peak_bytes = unit.peak_bytes,
			why = unit.queued > 0 and unit.why or nil, directory = unit.directory }
	end
	return rows[1] and json.array(rows) or nil
end

-- Who has asked: of a call, all that have made it.
local function askers_of(gate)
	local out = json.array {}
	for i, asker in ipairs(gate.asker and (gate.asker[1] and gate.asker or { gate.asker }) or {}) do
		local pids = json.array {}
		for name in pairs(asker.processes or {}) do
			pids[#pids + 1] = math.tointeger(tonumber(name:match "^%d+"))
		end
		table.sort(pids)
		out[i] = { uid = asker.uid, processes = pids }
	end
	return out
end

---What a person is asked, as answers have it.
---@param gate table
---@return table
function M.approval(gate)
	local call, starter = gate.call or {}, (gate.run_actors or {})[1] or {}
	return { id = gate.id, run = gate.run, workflow = gate.workflow, step = gate.key, state = gate.state, message = gate.message,
		shown = gate.shown, command = call.command, arguments = call.arguments, would_affect = call.would_affect, cwd = call.cwd,
		asked_by = askers_of(gate), subject = gate.subject or gate.run_subject, client = call.client or starter.client,
		trace_id = call.trace_id or starter.trace_id, outcome = gate.became,
		asked = time(gate.asked_ms), deadline = time(gate.deadline_ms), default = gate.deadline_ms and gate.fallback,
		decided = time(gate.decided_ms), by = gate.decided_by, why = gate.why, project = scope.label(gate.project) }
end

local function asked(db, id)
	local rows = db:approvals { run = id }
	for i, gate in ipairs(rows) do
		rows[i] = M.approval(gate)
		rows[i].shown = nil
	end
	return rows[1] and json.array(rows) or nil
end

---A run with its steps, as many as an answer has room for.
---@param db table
---@param id string
---@param opts? runner.workflow.PageOptions
---@return table data, table page total, returned, truncated, has_more, next_cursor
function M.full(db, id, opts)
	local function read()
		return stored(db, id, opts or {})
	end
	local row = settle(db, read(), read)
	local out, page = M.summary(row), row.page
	out.cwd, out.seed, out.env_names = row.cwd, tostring(row.seed), row.env_names
	out.variables = small(row.variables, VARIABLES)
	out.digest, out.request_id, out.resumes, out.cost_usd = row.digest, row.request_id, row.resumes, page.cost_usd
	out.max_cost_usd = row.max_cost_micros and amounts.dollars(row.max_cost_micros)
	out.concurrency, out.actors = row.concurrency, row.actors
	out.placed = placed_of(db, row.id)
	out.approvals = row.state ~= "running" and asked(db, row.id) or nil
	out.steps, out.steps_total, out.steps_by_state = page.rows, page.steps_total, page.steps_by_state
	return out, page.pagination
end

---What the envelope of a failed run holds besides its error.
---@param run table
---@param opts? runner.workflow.PageOptions
---@return table data, table? retry metadata of the failed step, table? page as M.full gives it
function M.of_failure(run, opts)
	local ok, data, page = pcall(M.full, run.db, run.id, opts)
	if not ok then
		return { id = run.id, state = "failed" }, nil
	elseif data.state == "running" then
		mark_dead(data, data.steps, data.steps_by_state) -- its end could not be written; it has no owner any more
	end
	local retry = run.failed and run_rows.retry(run.db:attempts(run.id, run.failed.key))
	return data, retry and retry.error_history[1] and retry or nil, page
end

return M
