-- answer: what is said of a job: its descriptor (REQ-C-022), that it is not finished yet
-- (REQ-F-082), and the answer that it ended with, as if the caller had waited for it.

local errors = require "runner.core.errors"
local folder = require "runner.jobs.folder"
local host = require "runner.host"
local json = require "runner.json"
local invoke = require "runner.invoke"
local scope = require "runner.core.scope"
local locate = require "runner.project.locate"

local M = {}

local POLL_MS = 1000

-- `runner job …`, also in a project that has a command of this name.
local function command(project, verb, id)
	local found = locate.find({ "job", verb }, project)
	local ours = found and not found.path
	return ("runner %sjob %s %s"):format(ours and "" or "self ", verb, id)
end

-- An answer counts progress in its own data; before that, the supervisor's notes do.
local function add_progress(out, job)
	local now = job.status == "running" and folder.progress(job)
	if now then
		out.progress, out.step, out.attempt = invoke.value(now.progress), now.step, now.attempt
		out.completed_steps = now.completed_steps[1] and now.completed_steps or nil
	end
end

---A job as data.
---@param job runner.Job
---@param project table
---@return table
function M.descriptor(job, project)
	local record = job.record
	local out = {
		job_id = job.id, status = job.status, terminal = job.status ~= "running", command = record.command,
		started_ms = record.started_ms, timeout_ms = record.timeout_ms, poll_interval_ms = POLL_MS, run = record.run,
		status_command = command(project, "status", job.id), cancel_command = command(project, "cancel", job.id),
		wait_command = command(project, "wait", job.id), logs_command = command(project, "logs", job.id),
	}
	if job.answer then
		out.exit_code, out.duration_ms = job.answer.meta.exit_code, job.answer.meta.duration_ms
	end
	add_progress(out, job)
	return out
end

---A job for a list.
---@param job runner.Job
---@param among_all? boolean the list has those of all projects
---@return table
function M.row(job, among_all)
	local meta = job.answer and job.answer.meta or {}
	return { job_id = job.id, status = job.status, command = job.record.command, started = host.rfc3339(job.record.started_ms),
		exit_code = meta.exit_code, duration_ms = meta.duration_ms, subject = job.record.subject,
		client = job.record.client, trace_id = job.record.trace_id, project = among_all and scope.label(job.record.project) or nil }
end

---INCOMPLETE: the job goes on.
---@param job runner.Job
---@param project table
---@param budget_ms? integer that the caller had; the next call gets as much
---@param fields? table of the error
---@return runner.Error
function M.incomplete(job, project, budget_ms, fields)
	local data = M.descriptor(job, project)
	data.state = "running"
	data.continue_command = data.wait_command .. (budget_ms and " --for " .. host.duration_text(budget_ms) or "")
	fields = fields or { retryable = true, side_effects = "none", retry_after_ms = POLL_MS }
	fields.data = data
	fields.suggestion = data.continue_command
	return errors.new("INCOMPLETE", ("Job %s is still running"):format(job.id), fields)
end

---JOB_LOST: no more will be known of it than its log says.
---@param job runner.Job
---@param project table
---@return runner.Error
function M.lost(job, project)
	local log = (require("runner.fs").read(job.path .. "/log") or ""):sub(-4096)
	local safe = job.record.danger_level == "safe"
	return errors.new("JOB_LOST", ("Job %s ended without an answer: its supervisor was killed, or the machine stopped")
		:format(job.id), { data = M.descriptor(job, project), detail = log ~= "" and host.clean(log) or nil,
		retryable = safe, side_effects = safe and "none" or "partial", suggestion = command(project, "logs", job.id) })
end

local function repeat_warnings(list)
	for _, w in ipairs(type(list) == "table" and list or {}) do
		if type(w) == "table" and type(w.code) == "string" then
			require("runner.core.attempt").warn(w.code, tostring(w.message), invoke.value(w.context))
		end
	end
end

---What the job ended with, as the answer of this call.
---@param job runner.Job ended
---@param project table
---@return runner.Answer
function M.of(job, project)
	local envelope = job.answer
	if not envelope then
		return { error = M.lost(job, project) }
	end
	repeat_warnings(envelope.warnings)
	host.send("META", { name = "job", data = assert(json.encode(envelope.meta, { envelope = true })) }, true)
	if envelope.ok then
		return { success = true, data = invoke.value(envelope.data) }
	end
	local e = invoke.failure(envelope)
	e.exit_code = envelope.meta.exit_code
	e.phase = envelope.error.phase
	return { error = e }
end

---What a caller that has waited long enough answers. The job may have ended in the moment between
---its wait and this look, or have its answer while its last process is about to end.
---@param job runner.Job
---@param project table
---@param budget_ms integer
---@param fields? table of the error INCOMPLETE
---@return runner.Answer
function M.so_far(job, project, budget_ms, fields)
	if job.status ~= "running" then
		return M.of(job, project)
	end
	return { error = M.incomplete(job, project, budget_ms, fields) }
end

return M
