-- front: a call that makes a job of itself (--detach, async = true), or that waits for one no longer
-- than its budget (interruption, REQ-F-080). The job makes the same call, with the command's limits
-- and retries; the front has neither.

local answer = require "runner.jobs.answer"
local confirmation = require "runner.core.confirmation"
local errors = require "runner.core.errors"
local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local start = require "runner.jobs.start"

local M = {}

local BUDGET_MS = 30000
local RUN_MS = 10000 -- until a workflow's run is on the disk
local LEAST_LEFT_MS = 200 -- of the front's own limit, to answer in

-- AGENT_CALL_BUDGET_MS, which counts only where it is a number.
local function environment_budget()
	local ms = math.tointeger(tonumber(os.getenv "AGENT_CALL_BUDGET_MS"))
	return ms and ms >= 0 and ms or nil
end

-- The budget of this call; nil: it waits, as any call does. At a terminal, only a flag sets one.
local function budget_of(a)
	local given = a.framework.budget
	if given then
		return math.floor(given * 1000 + 0.5)
	elseif a.launch.person and not a.framework.non_interactive then
		return nil
	end
	return environment_budget() or BUDGET_MS
end

---The limits of a command that may be interrupted: its own, of its whole work.
---@param a runner.Attempt
---@param settled table
function M.limit(a, settled)
	local declared = a.command.interruption
	if settled.sources.timeout == "default" then
		settled.timeout_ms = declared.max_lifetime_ms
	elseif settled.timeout_ms == 0 or settled.timeout_ms > declared.max_lifetime_ms then
		settled.timeout_ms = declared.max_lifetime_ms
	end
	if settled.sources.idle_timeout == "default" and a.launch.job then
		a.stall_ms = declared.idle_timeout_ms
	end
end

-- A command that can only resume stops at its first checkpoint after the budget, which counts from
-- the start of the run and not of this attempt: the deadline does so too.
local function take_budget(a, settled, interruption)
	local budget = budget_of(a)
	if budget then
		host.send("META", { name = "budget_ms", data = tostring(budget) }, true)
	end
	local waits = budget and budget > 0 and (settled.timeout_ms == 0 or settled.timeout_ms > budget)
	if waits and interruption.detach then
		a.job = { budget_ms = budget }
	elseif waits then
		host.set_limits(budget, 0)
		a.pause_at = host.now() + host.remaining()
	end
end

---Will this call be a job? Sets a.job; a front makes one attempt, and its limit is that of the job.
---@param a runner.Attempt
---@param settled table
function M.settle(a, settled)
	local framework, interruption = a.framework, a.command.interruption
	if interruption then
		M.limit(a, settled)
	end
	if framework.detach or a.command.async and framework.detach ~= false then
		a.job = {}
	elseif interruption and (framework.detach ~= false or not interruption.detach) then
		take_budget(a, settled, interruption)
	end
	if a.job then
		settled.policy = host.default_policy()
		settled.policy.seed = host.random()
		settled.attempt_timeout_ms, settled.idle_timeout_ms = 0, 0
	end
end

-- Which calls are the same one (REQ-F-081).
local function key_of(a, arguments)
	return host.digest(table.concat({ a.name, arguments, host.getcwd() or "", a.launch.version, a.command.digest,
		a.framework.idempotency_key or "" }, "\0"))
end

local function record_of(a)
	local call = confirmation.call()
	call.arguments = a.mask and a.mask(call.arguments) or call.arguments
	return {
		command = call.command, arguments = call.arguments, cwd = host.getcwd(), started_ms = host.wall_ms(),
		timeout_ms = a.settled.sources.timeout == "outer run" and 0 or a.settled.timeout_ms,
		danger_level = a.command.danger_level, request_id = a.launch.request_id,
		version = a.launch.version, run = a.name == "workflow.run" and "run_" .. a.launch.request_id:match "[^_]+$" or nil,
		checkpoint = (a.command.interruption or {}).resume and require("runner.core.checkpoints").key(a) or nil,
		key = a.job.budget_ms and key_of(a, assert(json.encode(call.arguments, { envelope = true }))) or nil,
	}
end

-- Of two such calls at once, one starts the job. What a command reads from stdin is a part of the call
-- that can't be compared, and may be long in coming: nobody is to wait for it.
local function attach_or_start(a, record, tell)
	if a.command.stdin then
		return start.job(a, record, tell)
	end
	local root = folder.root()
	local ok, message, errno = fs.mkdirs(root, 448)
	if not ok then
		folder.raise(message, errno)
	end
	local lock <close>, why = fs.lock(root .. "/start.lock", { wait_ms = 5000 })
	if not lock then
		folder.raise("Can't lock the jobs: " .. why)
	end
	local id = folder.running_as(record.key)
	if not id then
		return start.job(a, record, tell)
	end
	tell(id)
	return id
end

-- Every answer names the job from here on, however this process ends; TERM ends no more than the
-- wait for it (REQ-F-081).
local function announce(job, a)
	host.send("RUN", {})
	local said = answer.incomplete(job, a.project, a.job.budget_ms)
	host.send("META", { name = "job_id", data = json.encode(job.id) }, true)
	host.send("PROGRESS", { data = assert(json.encode(said.data, { envelope = true })), state = "handed_over",
		suggestion = "The job goes on: " .. said.data.wait_command })
end

local function wait(job, most_ms, holds)
	local left = host.remaining()
	return folder.wait(job, math.max(0, math.min(most_ms, left and left - LEAST_LEFT_MS or math.huge)), holds)
end

-- Whoever reads the ID of a workflow's run may ask for the run at once: its first progress says
-- that it is on the disk.
local function await_run(job)
	wait(job, RUN_MS, function()
		local now = folder.progress(job)
		return now ~= nil and now.progress ~= nil
	end)
	return folder.open(job.id) or job
end

local function hints(command)
	for _, row in ipairs(command.exit_codes) do
		if row.name == "INCOMPLETE" then
			return { retryable = row.retryable == "true", side_effects = row.side_effects,
				retry_after_ms = row.retry_after_ms }
		end
	end
end

local function reply(a)
	local record = record_of(a)
	local job
	local id = (a.job.budget_ms and attach_or_start or start.job)(a, record, function(of)
		job = folder.open(of)
		announce(job, a)
	end)
	if not a.job.budget_ms then
		return { success = true, data = answer.descriptor(record.run and await_run(job) or job, a.project) }
	end
	wait(job, a.job.budget_ms)
	return answer.so_far(folder.open(id), a.project, a.job.budget_ms, hints(a.command))
end

---Start the job of this call, and say what is known of it by now, or when its budget is over.
---@param a runner.Attempt
---@return runner.Answer
function M.answer(a)
	local ok, result, traceback, cancelled = host.protect(reply, a)
	if cancelled or type(result) == "userdata" then
		error("cancelled", 0)
	end
	return ok and result or { error = errors.normalise(result, traceback) }
end

return M
