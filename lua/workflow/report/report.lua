-- report: a run as data, for envelopes, `show` and `list`. It reads the store and
-- changes nothing.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

local OUTPUT = 4096 -- bytes of a step's output that an envelope carries

local function time(ms)
	return ms and host.rfc3339(ms) or nil
end

-- A run without an owner can't be running: its runner died. But it may have ended, or
-- been resumed, after we read its row: so read it again.
local function settle(db, row, read)
	while row.state == "running" and not db:owner(row.id) do
		local again = read()
		if again.state == "running" and again.resumes == row.resumes then
			again.state = "interrupted"
		end
		row = again
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

-- --- retries (seed 004: RetryMetadata, RetryAttempt) ----------------------------------------------

-- Attempts by step, in the order of their numbers.
local function by_step(attempts)
	local out = {}
	for _, a in ipairs(attempts) do
		out[a.key] = out[a.key] or {}
		table.insert(out[a.key], a)
	end
	return out
end

local function history_of(attempts)
	local rows, logs = json.array {}, json.array {}
	for _, a in ipairs(attempts) do
		logs[#logs + 1] = a.log
		if a.code then
			rows[#rows + 1] = { attempt_number = a.number, error = a.message, code = a.code,
				timestamp = time(a.ended_ms or a.started_ms), delay_before_next = a.delay_ms and a.delay_ms / 1000 or nil,
				log = a.log }
		end
	end
	return rows, logs
end

-- Attempts and the waits between them, in seconds, without a wait still going on.
local function total_duration(attempts)
	local ms = 0
	for i, a in ipairs(attempts) do
		local waited = attempts[i + 1] and a.delay_ms or 0
		ms = ms + math.max((a.ended_ms or a.started_ms) - a.started_ms, 0) + waited
	end
	return ms / 1000
end

local function retry_metadata(attempts)
	local history, logs = history_of(attempts)
	return { attempts = #attempts, total_duration = total_duration(attempts), error_history = history }, logs
end

-- --- one run ------------------------------------------------------------------------------------------

local function step_row(step, attempts)
	local retry, logs = retry_metadata(attempts)
	return {
		key = step.key, id = step.id, kind = step.kind, label = step.label, state = step.state, status = step.status,
		code = step.code, message = step.message, output = step.output, data = step.data,
		started = time(step.started_ms), ended = time(step.ended_ms), wake = step.state == "waiting" and time(step.wake_ms) or nil,
		attempts = #attempts, retry = #retry.error_history > 0 and retry or nil, logs = #logs > 0 and logs or nil,
	}
end

-- An output longer than `most` bytes is cut; output_bytes has its length.
local function cut_output(row, most)
	local bytes = row.output and #row.output or 0
	if bytes > most then
		row.output, row.output_bytes = most > 0 and host.clean(row.output:sub(1, most)) or nil, bytes
	end
end

local function steps_of(db, id, most)
	local rows, attempts = json.array {}, by_step(db:attempts(id))
	for i, step in ipairs(db:steps(id)) do
		rows[i] = step_row(step, attempts[step.key] or {})
		cut_output(rows[i], most)
	end
	return rows
end

-- Seed 004: Failed { retryable }. Other states have none.
local function retryable_of(row)
	if row.state == "failed" then
		return row.retryable or false
	end
end

---The summary of a run, as `list` has it.
---@param row table as M.settled gives it
---@return table
function M.summary(row)
	return {
		id = row.id, workflow = row.workflow, state = row.state, file = row.file,
		retryable = retryable_of(row),
		code = row.code, message = row.message, failed_step = row.failed_step, steps = row.steps,
		created = time(row.created_ms), ended = time(row.ended_ms),
		duration_ms = row.ended_ms and row.ended_ms - row.created_ms or nil,
	}
end

-- One snapshot: its steps are those of its state.
local function stored(db, id, most)
	return db:snapshot(function()
		local row = db:find(id)
		row.steps = steps_of(db, row.id, most)
		return row
	end)
end

---A run with its steps.
---@param db table
---@param id string
---@param most? integer bytes of each step's output; default 4096
---@return table
function M.full(db, id, most)
	local function read()
		return stored(db, id, most or OUTPUT)
	end
	local row = settle(db, read(), read)
	local out = M.summary(row)
	out.cwd, out.seed, out.variables, out.env_names = row.cwd, tostring(row.seed), row.variables, row.env_names
	out.digest, out.request_id, out.resumes = row.digest, row.request_id, row.resumes
	return out
end

---What the envelope of a failed run holds besides its error.
---@param run table
---@return table data, table? retry metadata of the failed step
function M.of_failure(run)
	local ok, data = pcall(M.full, run.db, run.id)
	if not ok then
		return { id = run.id, state = "failed" }, nil
	elseif data.state == "running" then
		data.state = "interrupted" -- its end could not be written; it has no owner any more
	end
	for _, step in ipairs(data.steps) do
		if run.failed and step.key == run.failed.key then
			return data, step.retry
		end
	end
	return data, nil
end

return M
