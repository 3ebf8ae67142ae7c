-- attempts: one step from its first attempt to its end: ask the store, run, classify,
-- wait, retry. Every transition is committed before it takes effect, so a resumed run
-- continues where the store says the step is.

local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local hooks = require "runner.workflow.run.hooks"
local host = require "runner.host"
local json = require "runner.json"
local kinds = require "runner.workflow.kinds.kinds"
local output_lines = require "runner.workflow.run.output_lines"
local logs = require "runner.workflow.report.logs"
local placements = require "runner.workflow.store.placements"
local plan = require "runner.workflow.run.plan"
local outputs = require "runner.workflow.run.outputs"
local retry_budget = require "runner.core.retry_budget"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local step_process = require "runner.workflow.kinds.step_process"
local attempt = require "runner.core.attempt"
local cost = require "runner.workflow.run.cost"
local tables = require "runner.core.tables"

local M = {}

local SLICE_MS = 60000 -- of a wait until a time of the wall clock
local SPARE_MS = 100 -- POLICY_MIN_LEFT_MS: time that the policy wants left after a wait

-- --- the state of a step -----------------------------------------------------------

-- How an attempt ends that is no failure of its step: with the run, or unseen.
local NO_FAILURE = { CANCELLED = true, [doubt.CODE] = true }

-- Failures in the current round. A usage limit that was waited for is not counted.
local function counted(attempts, round)
	local failures = 0
	for _, row in ipairs(attempts) do
		if row.round == round and row.code and not NO_FAILURE[row.code] and not row.limit_ms then
			failures = failures + 1
		end
	end
	return failures
end

---What the attempts of a round say of its waits.
---@param rows table[] attempts of a step, oldest first
---@param round integer
---@return integer ms planned for usage limits
---@return boolean limited its latest attempt waits for one
local function limit_waits(rows, round)
	local ms = 0
	for _, row in ipairs(rows) do
		ms = ms + (row.round == round and row.limit_ms or 0)
	end
	return ms, #rows > 0 and rows[#rows].limit_ms ~= nil
end

---@class runner.workflow.Turn the state of a step
---@field step table
---@field key string
---@field scope table
---@field noun string "Claude command"
---@field described string its expanded text
---@field round integer 1-based: a new one starts after retries were used up
---@field attempt integer failures of this round + 1
---@field number integer of the attempt, over all rounds
---@field retries integer of its policy
---@field max_attempts integer retries + 1, as in every event
---@field policy table? flat, with the step's own seed
---@field spent_ms integer in this round, before now
---@field limit_ms integer of it, planned for usage limits
---@field limited boolean it waits for a usage limit, or did just now
---@field log string? the file that has its log
---@field log_at integer? offset in that file, which others share
---@field used {cpu_ms: integer, peak_bytes: integer}? by its attempts: of all, and of the largest
---@field lost boolean? an attempt of this process ended unseen
---@field announced boolean? its line was written
---@field usage runner.workflow.Usage? of its latest attempt
---@field session_id string? of its latest attempt
---@field reserved integer? micro-dollars that the attempt may cost
---@field meter runner.workflow.Meter? of what the attempt uses
---@field advice string? how to get more than that

local function turn_of(run, step, key, scope, row)
	local again = row and row.state == "failed"
	local round = row and row.round + (again and 1 or 0) or 1
	local retries = step.retry and step.retry.policy.retries or 0
	local before = row and run.db:attempts(run.id, key) or {}
	local limit_ms, limited = limit_waits(before, round)
	return {
		step = step, key = key, scope = scope, noun = (kinds[step.kind].noun:gsub("^%l", string.upper)), described = step.label,
		round = round, attempt = counted(before, round) + 1, number = #before, policy = plan.policy(step, key, run.seed),
		retries = retries, max_attempts = retries + 1, spent_ms = row and not again and row.spent_ms or 0,
		limit_ms = limit_ms, limited = limited, used = row and row.held and placements.used(row.held.used),
	}
end

-- With what one more attempt has used.
local function used_so_far(before, used)
	return before and used and { cpu_ms = before.cpu_ms + used.cpu_ms, peak_bytes = math.max(before.peak_bytes, used.peak_bytes) }
		or used or before
end

-- --- one attempt ---------------------------------------------------------------------

local function spent(turn)
	return turn.spent_ms + math.floor(host.now() - turn.started)
end

-- The limit of this attempt: its own, or what is left of the step's.
local function limit_of(turn)
	local own, total = turn.step.timeout_ms, turn.step.total_timeout_ms
	local left = total and math.max(total - spent(turn), 1)
	return own and left and math.min(own, left) or own or left
end

local function record(run, turn, request, result, outcome, started)
	return run.mask {
		run = run.id, workflow = run.workflow.name, step = turn.key, kind = turn.step.kind, attempt = turn.attempt,
		number = turn.number, argv = request.argv, cwd = request.cwd, started = host.rfc3339(started),
		ended = host.rfc3339(host.wall_ms()), duration_ms = result.duration_ms, status = result.status,
		signal = result.signal, timed_out = result.timed_out or nil, truncated = result.truncated or nil,
		stdin = request.stdin and host.clean(request.stdin), stdout = host.clean(result.stdout),
		stderr = host.clean(result.stderr), data = outcome.data, ok = outcome.ok, code = outcome.code,
		message = outcome.message, usage = turn.usage,
	}
end

-- Its output is kept, on failure too; a full disk does not fail the step.
local function keep(run, turn, request, result, outcome, started)
	local path, detail = logs.write(run.id, turn.log, record(run, turn, request, result, outcome, started), outcome.ok)
	output_lines.over(run, turn, path ~= nil)
	if not path then
		return attempt.warn("LOG_FAILED", ("Can't write the log of step %s: %s"):format(turn.key, detail))
	end
	turn.log, turn.log_at = path, detail
end

local function failure_of(raised)
	local e = errors.normalise(raised)
	return { ok = false, code = e.code, message = e.message, transient = false, duration_ms = 0, output = "",
		context = e.context, suggestion = e.suggestion, fix_required = e.fix_required }
end

-- A long stream keeps its head and tail, with a note about the middle.
local function hide_at_gap(run, result, stream)
	local gap = ("\n[… %d bytes omitted …]\n"):format(result[stream .. "_dropped"])
	local text = result[stream]
	local from, to = text:find(gap, 1, true)
	if from then
		result[stream] = run.hide.before(text:sub(1, from - 1)) .. gap .. run.hide.after(text:sub(to + 1))
	end
end

-- What a result means, kept in its log.
local function judge(run, turn, request, result)
	turn.used = used_so_far(turn.used, result.used)
	hide_at_gap(run, result, "stdout")
	hide_at_gap(run, result, "stderr")
	local whole = outputs.whole(turn.step.kind, result, request)
	local outcome = run.mask(kinds[turn.step.kind].interpret(turn.step, whole, run.settings, request))
	outcome.data = run.mask(outcome.data, true)
	if outcome.ok and turn.step.threshold then
		step_process.hold_to(turn.step.threshold, outcome)
	end
	cost.after(run, turn, outcome, not result.error)
	outcome.lost = result.lost
	outputs.settle(run, turn, request, whole, outcome)
	keep(run, turn, request, result, outcome, request.tag.started)
	return outcome
end

-- Once, and not before all earlier changes are committed.
local function announce(run, turn)
	if not turn.announced then
		turn.announced = true
		events.step(run, scopes.ident(run, turn.step, turn.key, turn.scope))
	end
end

local function request_of(run, turn)
	return kinds[turn.step.kind].request(turn.step, turn.scope, run.settings, cost.carried(run, turn))
end

-- (numbers: so a shell ends whose program was killed)
local KILLED = { SIGHUP = true, SIGINT = true, SIGKILL = true, SIGTERM = true, [129] = true, [130] = true, [137] = true, [143] = true }
local OWN_END_MS, PLACED_END_MS = 1000, 100

-- Who ends runner by a signal may end its steps as well, an instant earlier: systemd, a queue, at its time limit too. Such a step
-- has not failed, it was cut off: our own end comes while we wait here.
local function await_own_end(run, result)
	local killed = KILLED[result.signal or result.status or 0]
	if not result.ok and not result.timed_out and (killed or run.park) then
		scheduler.sleep(killed and OWN_END_MS or PLACED_END_MS)
	end
end

-- Committed, then started; the outcome, masked.
local function run_once(run, turn)
	local made, request = pcall(request_of, run, turn)
	local _ <close> = cost.settling(run, turn)
	doubt.check(run) -- it may have waited, for a budget or for its retry
	turn.number, turn.log_at = turn.number + 1, nil
	turn.log = made and logs.path(run.id, turn.key, turn.number) or nil -- nothing runs, nothing is printed
	if made then
		cost.before(turn, request)
	end
	run.db:soon("start_attempt", run.id, scopes.ident(run, turn.step, turn.key, turn.scope),
		{ number = turn.number, round = turn.round, log = turn.log, usage = turn.usage })
	scheduler.settled() -- committed
	announce(run, turn)
	if not made then
		return run.mask(failure_of(request))
	end
	turn.described = run.mask(request.described or turn.step.label)
	events.attempt(run, turn)
	request.timeout_ms = limit_of(turn)
	request.on_line = output_lines.reporter(run, turn)
	request.lock, request.measured = run.lock:handle(), true
	request.env[#request.env + 1] = run.segment and run.segment.variable(turn.key, turn.number)
	request.tag = { turn = turn, started = host.wall_ms() }
	outputs.prepare(run, turn, request)
	local result = scheduler.process(request)
	await_own_end(run, result)
	local starved = run.park and run.starved(result)
	local outcome = judge(run, turn, request, result)
	if starved then
		outcome.code, outcome.message = "RESOURCE_EXHAUSTED", outcome.message .. ": its task is out of memory"
	end
	if result.timed_out then
		outcome.limit_ms = request.timeout_ms
		events.timed_out(run, turn, outcome)
	end
	return outcome
end

-- --- usage limits --------------------------------------------------------------------------
--
-- Waiting until a usage limit resets, where the failure names the time. It is no retry that the policy
-- counts, and has a cap of its own: limit_wait, for all such waits of a round together.

-- A failure that isn't waited for says when its run can be resumed.
local function refuse(run, turn, outcome)
	local resets_at = host.rfc3339((host.wall_ms() + outcome.retry_after_ms) // 1000 * 1000)
	outcome.context = outcome.context or {}
	outcome.context.resets_at = resets_at
	outcome.suggestion = ("The limit resets at %s, later than limit_wait (%s) allows. After that: runner workflow resume %s")
		:format(resets_at, host.duration_text(turn.step.retry.limit_wait_ms), run.id)
end

---Is a failure a usage limit that is worth waiting for? nil: no, it is retried like any
---other. --retries, total_timeout and retry_budget hold for this wait too.
---@param run table
---@param turn runner.workflow.Turn
---@param outcome table of a limit that isn't waited for, it gets the way to go on
---@param left_ms number what total_timeout and retry_budget leave
---@return "wait"|"budget"|"limit"|nil verdict limit: it resets later than limit_wait allows
---@return integer? wait_ms to the reset, and the policy's first wait, so that steps don't all start at once
local function decide_limit(run, turn, outcome, left_ms)
	local own, retry = outcome.resets and outcome.retry_after_ms, turn.step.retry
	if not (own and retry and outcome.transient) or retry_budget.budget() == 0 then
		return nil
	elseif own <= host.policy_delay(turn.policy, turn.attempt - 1) then
		return nil
	elseif turn.limit_ms + own > retry.limit_wait_ms then
		refuse(run, turn, outcome)
		return "limit"
	end
	local wait_ms = own + host.policy_delay(turn.policy, 0)
	return wait_ms <= left_ms and "wait" or "budget", wait_ms
end

---Wait for the next attempt. For a usage limit it is until a time of the wall clock, but
---never longer than `most_ms`: a machine that slept wakes in time, and a clock that jumped
---back makes it no longer.
---@param run table its `park`, of a run on an executor, may raise instead of waiting for long
---@param turn runner.workflow.Turn
---@param wake_ms integer
---@param most_ms number
---@param on_tick fun(left_ms: number)
local function sleep_until(run, turn, wake_ms, most_ms, on_tick)
	if run.park then
		run.park(turn.key, wake_ms, most_ms)
	end
	if not turn.limited then
		return scheduler.sleep(most_ms, on_tick)
	end
	local last = host.now() + most_ms
	while true do
		local left = math.min(last - host.now(), wake_ms - host.wall_ms())
		if left <= 0 then
			return
		end
		local slice = math.min(left, SLICE_MS)
		scheduler.sleep(slice, function(of_slice)
			on_tick(left - slice + of_slice)
		end)
	end
end

-- --- and then ----------------------------------------------------------------------------

-- ms that waiting may still take, of the step's total and of its retry budget. The
-- budget limits waits alone, so it needs no time left for an attempt.
local function left_of(turn)
	local total, budget = turn.step.total_timeout_ms, turn.step.retry and turn.step.retry.budget_ms
	return math.min(total and total - spent(turn) or math.huge, budget and budget + SPARE_MS - spent(turn) or math.huge)
end

-- --retries N is one budget for every kind of retry.
local function within_budget(policy, made)
	local budget = retry_budget.budget()
	if budget then
		policy.retries = math.min(policy.retries < 0 and math.maxinteger or policy.retries, made + budget)
	end
end

-- A wait that the failure asks for is capped by max_delay.
local function requested_wait(policy, outcome)
	local own = outcome.retry_after_ms
	return own and policy.max_delay_ms > 0 and math.min(own, policy.max_delay_ms) or own
end

---"wait", ms, for a usage limit? | "as_raised" | "exhausted" | "budget" | "permanent" | "limit".
local function decide(run, turn, outcome)
	local policy, made = turn.policy, turn.attempt - 1
	if not policy then
		return "as_raised"
	elseif not outcome.transient then
		return "permanent"
	end
	local verdict, wait_ms = decide_limit(run, turn, outcome, left_of(turn))
	if verdict then
		return verdict, wait_ms, true
	end
	within_budget(policy, made)
	return host.policy_decide(policy, made, made, requested_wait(policy, outcome), left_of(turn))
end

-- What isn't in the row of its step; NULL where an earlier attempt's was.
local function held_of(turn, outcome)
	return turn.used and tables.add({ used = turn.used }, outcome.held) or outcome.held or turn.number > 1 and json.null or nil
end

-- A success is committed together with what follows: nothing takes effect before that. What
-- fails, or waits, is committed at once.
local function record_end(run, turn, outcome, after, more)
	local row = { status = outcome.status, signal = outcome.signal, code = outcome.code,
		message = outcome.message and outcome.message:sub(1, 8000), delay_ms = more and more.wait_ms,
		wake_ms = more and more.wake_ms, limit_ms = more and more.limit_ms, usage = turn.usage, log_at = turn.log_at }
	local step = { state = after, spent_ms = spent(turn), code = more and more.code, message = more and more.message }
	if after ~= "waiting" then
		step.held = held_of(turn, outcome)
		step.output = turn.step.capture ~= false and outcome.output or nil
		step.data = after == "completed" and outcome.data or nil
	elseif turn.used then
		step.held = { used = turn.used }
	end
	run.db:soon("end_attempt", run.id, turn.key, turn.number, row, step)
	tolerated_failures.outcome(run, turn.key, after == "completed" and outcome.warning)
end

local function ended(run, turn, outcome, after, more)
	record_end(run, turn, outcome, after, more)
	if after ~= "completed" then
		scheduler.settled()
	end
end

-- A retry that would find nothing left of max_cost is not waited for: its step fails now.
-- The attempt keeps its own failure.
local function unaffordable(run, turn, outcome)
	local ok, raised = pcall(cost.check, run, turn)
	if ok then
		return nil
	end
	local refused = run.mask(failure_of(raised))
	refused.output, refused.held, refused.status = outcome.output, outcome.held, outcome.status
	tables.add(refused.context, outcome.context)
	return refused
end

local function sleep(run, turn, wake_ms, wait_ms)
	local function tick(left_ms)
		doubt.check(run) -- it goes on waiting when the run is resumed
		events.waiting(run, turn, left_ms)
	end
	retry_budget.note()
	sleep_until(run, turn, wake_ms, wait_ms, tick)
end

local function wait(run, turn, outcome, wait_ms, limited)
	local from, wake_ms = host.now(), host.wall_ms() + wait_ms
	local limit_ms = limited and outcome.retry_after_ms or nil
	turn.limited = limited or false
	ended(run, turn, outcome, "waiting", { wait_ms = wait_ms, wake_ms = wake_ms, limit_ms = limit_ms })
	doubt.check(run)
	events[limited and "limited" or "retrying"](run, turn, outcome, wait_ms)
	events.waiting(run, turn, wait_ms)
	hooks.on_retry(run, turn, { attempt = turn.attempt, max_attempts = turn.max_attempts, code = outcome.code,
		message = outcome.message, next_delay_ms = wait_ms, elapsed_ms = spent(turn), usage_limit = limited })
	sleep(run, turn, wake_ms, math.max(wait_ms - (host.now() - from), 0))
	turn.limit_ms = turn.limit_ms + (limit_ms or 0)
	turn.attempt = turn.attempt + (limited and 0 or 1)
end

-- --- from its state in the store ------------------------------------------------------------

-- The rest of a wait that started in an earlier process; a clock that jumped can't
-- make it longer. Of a run on an executor, its coordinator has waited already.
local function rest_of_wait(run, turn, row)
	local left = (row.wake_ms or 0) > (run.waited_ms or 0) and math.min((row.wake_ms or 0) - host.wall_ms(), row.wait_ms or 0) or 0
	announce(run, turn)
	if left > 0 then
		local counts = turn.limited and 0 or 1
		turn.attempt = turn.attempt - counts
		events.waiting(run, turn, left)
		sleep(run, turn, row.wake_ms, left)
		turn.attempt = turn.attempt + counts
	end
end

local function done_already(run, turn)
	events.skipped(run, turn.key, "already done")
	run.db:soon("set_step", run.id, scopes.ident(run, turn.step, turn.key, turn.scope), "completed", { output = "" })
	return { ok = true, output = "", duration_ms = 0 }
end

-- Its runner died, or was stopped, during an attempt.
local function settle(run, turn, row)
	announce(run, turn)
	if doubt.settle(run, turn, row) == "done" then
		return done_already(run, turn)
	end
end

local UNFINISHED = { interrupted = settle, waiting = rest_of_wait }

-- --- an end that was not seen ---------------------------------------------------------------------

-- Its shepherd was killed: what the program did is as unknown as after the death of its
-- runner.
local UNSEEN = { code = doubt.CODE, message = doubt.KILLED }

-- The outcome of an attempt. One whose end was not seen is no failure: if the step may run
-- again, it does, once. A program that always takes its shepherd with it fails then.
local function witnessed(run, turn)
	local outcome = run_once(run, turn)
	if not outcome.lost then
		return outcome
	end
	ended(run, turn, UNSEEN, "interrupted") -- first, so that a crash while `verify` runs changes nothing
	if doubt.settle(run, turn, UNSEEN, true) == "done" then
		return done_already(run, turn)
	elseif turn.lost then
		return outcome
	end
	turn.lost = true
	return witnessed(run, turn)
end

---Run a simple step to its end. Raises only errors that aren't the step's.
---@param run table
---@param step table
---@param key string
---@param scope table
---@param row table? what the store knows of it
---@return table outcome, runner.workflow.Turn turn, string? verdict why it was not retried
function M.run(run, step, key, scope, row)
	local turn = turn_of(run, step, key, scope, row)
	local _ <close> = cost.of_step(run, turn, row)
	turn.started = host.now()
	local early = row and UNFINISHED[row.state] and UNFINISHED[row.state](run, turn, row)
	if early then
		return early, turn
	end
	while true do
		local outcome = witnessed(run, turn)
		if outcome.ok then
			ended(run, turn, outcome, "completed")
			events.succeeded(run, turn)
			return outcome, turn
		end
		local verdict, wait_ms, limited = decide(run, turn, outcome)
		local refused = verdict == "wait" and unaffordable(run, turn, outcome) or nil
		if refused or verdict ~= "wait" then
			ended(run, turn, outcome, "failed", refused)
			outcome = refused or outcome
			events.failed(run, turn, outcome, spent(turn))
			return outcome, turn, verdict
		end
		wait(run, turn, outcome, wait_ms, limited)
	end
end

---The run is being ended, but this program had ended by itself, or unseen.
---@param run table
---@param request table with its tag
---@param result runner.Result
function M.finish(run, request, result)
	local turn = request.tag.turn
	local outcome = judge(run, turn, request, result)
	if outcome.lost then
		record_end(run, turn, UNSEEN, "interrupted")
	elseif outcome.ok then
		record_end(run, turn, outcome, "completed")
	end
end

return M
