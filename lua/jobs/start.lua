-- start: a call that makes a job of itself (--detach, async = true), or that waits for one no longer than
-- its budget (interruption, REQ-F-080). The job is a runner in a session of its own that makes the same call,
-- with the command's limits and retries; the call that starts it has neither. A job whose folder has a record
-- runs, has ended, or is lost: its lock is taken before the record is written, and handed over with the start.

local answer = require "runner.jobs.answer"
local confirmation = require "runner.core.confirmation"
local errors = require "runner.core.errors"
local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local person = require "runner.core.person"
local process = require "runner.process"
local rules = require "runner.core.rules"
local scope = require "runner.core.scope"

local M = {}

local PRIVATE_FOLDER, PRIVATE_FILE = 448, 384 -- 0700, 0600
local RESERVE = (" "):rep(4096) -- JOB_RESERVE of src/supervisor/job.h
local CHUNK = 1 << 16

-- What belongs to the run that starts the job, and not to the job.
local NOT_INHERITED = { "RUNNER_DEADLINE_MS", "RUNNER_OUTER_RETRIES", "RUNNER_RETRY_BUDGET",
	"RUNNER_TEMPDIR", "RUNNER_TERMINAL", "RUNNER_ARGUMENTS", "RUNNER_NEEDS" }

local function need(result, message, errno)
	if not result then
		folder.raise(message, errno)
	end
	return result
end

-- What the job reads from a file: the words that it is handed, and after them the caller's
-- stdin, as far as the command reads it.
local function spool(a, path, words)
	need(fs.write(path, words .. (a.input.spooled or ""), PRIVATE_FILE))
	if a.input.spooled or not a.command.stdin or a.launch.stdin_is_tty then
		return
	end
	host.take_stdin()
	local file = assert(io.open(path, "ab"))
	for text in function() return io.read(CHUNK) end do
		local ok, message = file:write(text)
		need(ok, message, "ENOSPC")
	end
	local ok, message = file:close()
	need(ok, message, "ENOSPC")
	need(fs.fsync(path))
end

local function environment(path, words)
	local env = table.move(NOT_INHERITED, 1, #NOT_INHERITED, 1, {})
	env[#env + 1], env[#env + 2], env[#env + 3] = "RUNNER_JOB=" .. path, "RUNNER_LOG_KEPT=1", person.handed()
	if words ~= "" then
		env[#env + 1] = ("RUNNER_ARGUMENTS=stdin:%d"):format(#words)
	end
	return env
end

-- The first of the words that the job gets on stdin, where no list of processes
-- shows them: those that we got there, and all where one may be a secret.
local function first_handed(a)
	return a.call.stdin_words or a.mask and 1 or #a.call.argv + 1
end

-- The same call; a person's yes is passed on.
local function words(a)
	local argv = { invoke.program() }
	local level = a.policy and a.policy.asked or a.command.danger_level -- what is asked for besides was confirmed before the job
	if level == "destructive" and (a.unconfirmed or a.call.vouched) then
		argv[2] = "--confirm-destructive"
	end
	return table.move(a.call.argv, 1, first_handed(a) - 1, #argv + 1, argv)
end

local function handed_words(a)
	local first, argv = first_handed(a), a.call.argv
	local some = a.call.stdin_words or first <= #argv
	return some and invoke.handed(table.move(argv, first, #argv, 1, {})) or ""
end

local function write_files(a, path, record)
	need(fs.write(path .. "/answer.part", RESERVE, PRIVATE_FILE))
	need(fs.write(path .. "/log", "", PRIVATE_FILE, false))
	need(fs.write(path .. "/progress", "", PRIVATE_FILE, false)) -- so that it can be watched from the start
	spool(a, path .. "/input", handed_words(a))
	need(fs.write(path .. "/record.json", assert(json.encode(record, { envelope = true })) .. "\n", PRIVATE_FILE))
end

local function spawn(a, path, lock)
	local input <close> = assert(io.open(path .. "/input", "rb"))
	local argv = words(a)
	local handle, message, _, context = process.start {
		argv = argv, argv0 = invoke.name(), env = environment(path, handed_words(a)), detach = true, lock = lock, stdin_file = input,
		stderr = path .. "/log", cwd = a.place.came_from,
	}
	if not handle then
		errors.raise("RESOURCE_EXHAUSTED", "Can't start the job: " .. tostring(message), { side_effects = "none",
			context = type(context) == "table" and context or nil })
	end
	fs.unlink(path .. "/input") -- the job has it open: what may be secret in it stays nowhere
end

-- A cancellation comes before the job runs, or when its caller has been told of it.
local function fill(a, path, record, lock, tell)
	if a.policy and a.policy.job then
		a.policy.job(a, path)
	end
	write_files(a, path, record)
	host.shielded(function()
		spawn(a, path, lock)
		tell(record.id)
	end)
end

---Start a job that makes this very call.
---@param a runner.Attempt
---@param record table what is remembered of it, without secrets
---@param tell fun(id: string) called when it runs: no cancellation comes in between
---@return string id
function M.job(a, record, tell)
	local id = "job_" .. a.launch.request_id:match "[^_]+$"
	local path = folder.root() .. "/" .. id
	need(fs.mkdirs(path, PRIVATE_FOLDER, true))
	local lock, why, about = fs.lock(path .. "/lock")
	need(lock, why, about)
	record.id = id
	local ok, raised = host.protect(fill, a, path, record, lock, tell) -- a cancellation, too: what is half made goes
	lock:release()
	if not ok and not fs.locked(path .. "/lock") then -- else it runs: we are told to end just after its start
		fs.remove_tree(path)
	end
	if not ok then
		error(raised, 0)
	end
	pcall(folder.forget_old, host.wall_ms())
	return id
end

-- --- the call that starts it ---------------------------------------------------------------

local BUDGET_MS = 30000
local START_MS = 10000 -- until the job has begun
local RUN_MS = 10000 -- until a workflow's run is on the disk
local LEAST_LEFT_MS = 200 -- of the call's own limit, to answer in

-- AGENT_CALL_BUDGET_MS, which counts only where it is a number.
local function environment_budget()
	local ms = math.tointeger(tonumber(os.getenv "AGENT_CALL_BUDGET_MS"))
	return ms and ms >= 0 and ms or nil
end

-- The budget of this call; nil: it waits, as any call does. At a terminal, only a flag sets one.
local function budget_of(a)
	local given = a.framework.budget
	if given then
		return rules.milliseconds(given)
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
	if settled.sources.timeout == "default" or settled.timeout_ms == 0 or settled.timeout_ms > declared.max_lifetime_ms then
		settled.timeout_ms, settled.sources.timeout = declared.max_lifetime_ms, "interruption"
	end
	if settled.sources.idle_timeout == "default" and a.launch.job then
		settled.stall_ms = declared.idle_timeout_ms
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
		return { budget_ms = budget }
	elseif waits then
		host.set_limits(budget, 0)
		settled.pause_at = host.now() + host.remaining()
	end
end

---Will this call be a job? It makes one attempt then, and its limit is that of the job, but not less than it takes to
---start one on a loaded machine.
---@param a runner.Attempt
---@param settled table
---@return {budget_ms: integer?}? job
function M.settle(a, settled)
	local framework, interruption = a.framework, a.command.interruption
	local job
	if interruption then
		M.limit(a, settled)
	end
	if framework.detach or a.command.async and framework.detach ~= false then
		job = {}
	elseif interruption and (framework.detach ~= false or not interruption.detach) then
		job = take_budget(a, settled, interruption)
	end
	if job then
		settled.policy = host.default_policy()
		settled.policy.seed = host.random()
		settled.attempt_timeout_ms, settled.idle_timeout_ms = 0, 0
		local is_short = settled.timeout_ms > 0 and settled.timeout_ms < START_MS and settled.sources.timeout ~= "outer run"
		settled.call_ms = is_short and START_MS or nil
	end
	return job
end

-- Which calls are the same one (REQ-F-081).
local function key_of(a, arguments)
	return host.digest(table.concat({ a.name, arguments, scope.project(), host.getcwd() or "", a.launch.version, a.command.digest,
		a.framework.idempotency_key or "", scope.subject() }, "\0"))
end

local function record_of(a)
	local call = confirmation.call()
	call.arguments = a.mask and a.mask(call.arguments) or call.arguments
	return {
		command = call.command, arguments = call.arguments, project = scope.project(), cwd = host.getcwd(), started_ms = host.wall_ms(),
		timeout_ms = a.settled.sources.timeout == "outer run" and 0 or a.settled.timeout_ms,
		danger_level = a.command.danger_level, request_id = a.launch.request_id, subject = scope.subject(),
		client = scope.client(), trace_id = a.launch.trace_id, version = a.launch.version,
		run = a.name == "workflow.run" and "run_" .. a.launch.request_id:match "[^_]+$" or nil,
		checkpoint = (a.command.interruption or {}).resume and require("runner.core.checkpoints").key(a) or nil,
		key = a.job.budget_ms and key_of(a, assert(json.encode(call.arguments))) or nil,
	}
end

-- Of two such calls at once, one starts the job. What a command reads from stdin is a part of the call
-- that can't be compared, and may be long in coming: no other call is to wait for it.
local function attach_or_start(a, record, tell)
	if a.command.stdin then
		return M.job(a, record, tell)
	end
	local root = folder.root()
	local ok, message, errno = fs.mkdirs(root, 448, true)
	if not ok then
		folder.raise(message, errno)
	end
	local lock <close>, why = fs.lock(root .. "/M.lock", { wait_ms = 5000 })
	if not lock then
		folder.raise("Can't lock the jobs: " .. why)
	end
	local id = folder.running_as(record.key)
	if not id then
		return M.job(a, record, tell)
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

-- A caller that has the ID of a workflow's run may ask for the run at once: its first progress says
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
	local id = (a.job.budget_ms and attach_or_start or M.job)(a, record, function(of)
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
