-- attempts: one step from its first attempt to its end: ask the store, run, classify,
-- wait, retry. Every transition is committed before it takes effect, so a resumed run
-- continues where the store says the step is.

local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local hooks = require "runner.workflow.run.hooks"
local host = require "runner.host"
local kinds = require "runner.workflow.kinds.kinds"
local logs = require "runner.workflow.report.logs"
local step_policy = require "runner.workflow.run.step_policy"
local scheduler = require "runner.task.scheduler"
local attempt = require "runner.core.attempt"

local M = {}

local PIECE = 65536 -- PROC_LINE_MAX: a longer line comes in pieces of this size
local SPARE_MS = 100 -- POLICY_MIN_LEFT_MS: time that the policy wants left after a wait

-- --- the state of a step -----------------------------------------------------------

-- Failures in the current round, and all attempts there ever were. An attempt that
-- ended with our own run is not a failure of the step.
local function counted(run, key, round)
	local failures, all = 0, run.db:attempts(run.id, key)
	for _, row in ipairs(all) do
		if row.round == round and row.code and row.code ~= "CANCELLED" then
			failures = failures + 1
		end
	end
	return failures, #all
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
---@field retries integer as configured: max_attempts of the file
---@field max_attempts integer retries + 1, as in every event
---@field policy table? flat, with the step's own seed
---@field spent_ms integer in this round, before now
---@field log string?

local function turn_of(run, step, key, scope, row)
	local again = row and row.state == "failed"
	local round = row and row.round + (again and 1 or 0) or 1
	local failures, number = 0, 0
	local retries = step.retry and step.retry.max_attempts or 0
	if row then
		failures, number = counted(run, key, round)
	end
	return {
		step = step, key = key, scope = scope, noun = kinds[step.kind].noun, described = step.label,
		round = round, attempt = failures + 1, number = number, policy = step_policy.policy(step, key, run.seed),
		retries = retries, max_attempts = retries + 1, spent_ms = row and not again and row.spent_ms or 0,
	}
end

local function ident(turn)
	local step = turn.step
	return { key = turn.key, id = step.id, kind = step.kind, label = step.label }
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
		stdout = host.clean(result.stdout), stderr = host.clean(result.stderr), data = outcome.data, ok = outcome.ok,
		code = outcome.code, message = outcome.message,
	}
end

-- Its output is kept, on failure too; a full disk does not fail the step.
-- The output of a success is committed with it: its log need not wait for the disk.
local function keep(run, turn, request, result, outcome, started)
	local ok, why = logs.write(turn.log, record(run, turn, request, result, outcome, started), not outcome.ok)
	if not ok then
		attempt.warn("LOG_FAILED", ("Can't write the log of step %s: %s"):format(turn.key, why))
	end
end

local function refuse_output(outcome, message, fix)
	outcome.ok, outcome.code, outcome.transient = false, "OUTPUT_FAILED", false
	outcome.message, outcome.fix_required = message, fix
end

-- Whole or not at all.
local function save_output(path, outcome, result)
	if not (outcome.ok and path) then
		return
	elseif result.stdout_dropped > 0 then
		return refuse_output(outcome, ("The output is too long for output_file: its middle was dropped, so %s is not written")
			:format(path), "Let the step write the file itself, as in command >FILE")
	end
	local ok, why = require("runner.fs").write(path, outcome.output or "")
	if not ok then
		refuse_output(outcome, ("Can't write the output to %s: %s"):format(path, why),
			"Create the directory of output_file, or name another file")
	end
end

local function failure_of(raised)
	local e = errors.normalise(raised)
	return { ok = false, code = e.code, message = e.message, transient = false, duration_ms = 0, output = "",
		context = e.context, suggestion = e.suggestion }
end

-- Reports what its program writes to stderr, line by line.
local function stderr_reporter(run, key)
	local continued = false
	return function(line, stream)
		if stream == "stderr" then
			events.stderr(run, key, continued and run.hide.after(line) or line)
			continued = #line >= PIECE
		end
	end
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

local judge

-- Committed, then started; the outcome, masked.
local function run_once(run, turn)
	local kind = kinds[turn.step.kind]
	local made, request = pcall(kind.request, turn.step, turn.scope, run.workflow, run.settings)
	turn.number = turn.number + 1
	turn.log = made and logs.path(run.id, turn.key, turn.number) or nil -- nothing runs, nothing is printed
	run.db:start_attempt(run.id, ident(turn), { number = turn.number, round = turn.round, log = turn.log })
	if not made then
		return run.mask(failure_of(request))
	end
	turn.described = run.mask(request.described or turn.step.label)
	events.attempt(run, turn)
	request.timeout_ms = limit_of(turn)
	request.on_line = stderr_reporter(run, turn.key)
	request.lock = run.lock:handle()
	request.tag = { turn = turn, started = host.wall_ms() }
	local result = scheduler.process(request)
	local outcome = judge(run, turn, request, result)
	if result.timed_out then
		outcome.limit_ms = request.timeout_ms
		events.timed_out(run, turn, outcome)
	end
	return outcome
end

-- What a result means, kept in its log.
function judge(run, turn, request, result)
	hide_at_gap(run, result, "stdout")
	hide_at_gap(run, result, "stderr")
	local outcome = run.mask(kinds[turn.step.kind].interpret(turn.step, result, run.settings))
	save_output(request.output_file, outcome, result)
	keep(run, turn, request, result, outcome, request.tag.started)
	return outcome
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
	local budget = attempt.budget()
	if budget then
		policy.retries = math.min(policy.retries < 0 and math.maxinteger or policy.retries, made + budget)
	end
end

-- A wait that the failure asks for is capped by max_delay.
local function requested_wait(policy, outcome)
	local own = outcome.retry_after_ms
	return own and policy.max_delay_ms > 0 and math.min(own, policy.max_delay_ms) or own
end

---"wait", ms | "as_raised" | "exhausted" | "budget" | "permanent".
local function decide(turn, outcome)
	local policy, made = turn.policy, turn.attempt - 1
	if not policy then
		return "as_raised"
	elseif not outcome.transient then
		return "permanent"
	end
	within_budget(policy, made)
	return host.policy_decide(policy, made, made, requested_wait(policy, outcome), left_of(turn))
end

local function ended(run, turn, outcome, after, more)
	local row = { status = outcome.status, signal = outcome.signal, code = outcome.code,
		message = outcome.message and outcome.message:sub(1, 8000), delay_ms = more and more.wait_ms,
		wake_ms = more and more.wake_ms }
	local step = { state = after, spent_ms = spent(turn) }
	if after ~= "waiting" then
		step.output = turn.step.capture ~= false and outcome.output or nil
		step.data = after == "completed" and outcome.data or nil
	end
	run.db:end_attempt(run.id, turn.key, turn.number, row, step)
end

local function sleep(run, turn, wait_ms)
	attempt.note_repeat()
	scheduler.sleep(wait_ms, function(left_ms)
		events.waiting(run, turn, left_ms)
	end)
end

local function wait(run, turn, outcome, wait_ms)
	local from = host.now()
	ended(run, turn, outcome, "waiting", { wait_ms = wait_ms, wake_ms = host.wall_ms() + wait_ms })
	events.retrying(run, turn, outcome, wait_ms)
	events.waiting(run, turn, wait_ms)
	hooks.on_retry(run, turn, { attempt = turn.attempt, max_attempts = turn.max_attempts, code = outcome.code,
		message = outcome.message, next_delay_ms = wait_ms, elapsed_ms = spent(turn) })
	sleep(run, turn, math.max(wait_ms - (host.now() - from), 0))
	turn.attempt = turn.attempt + 1
end

-- --- from its state in the store ------------------------------------------------------------

-- The rest of a wait that started in an earlier process; a clock that jumped can't
-- make it longer.
local function rest_of_wait(run, turn, row)
	local left = math.min((row.wake_ms or 0) - host.wall_ms(), row.wait_ms or 0)
	if left > 0 then
		turn.attempt = turn.attempt - 1
		events.waiting(run, turn, left)
		sleep(run, turn, left)
		turn.attempt = turn.attempt + 1
	end
end

-- Its runner died, or was stopped, during an attempt.
local function settle(run, turn, row)
	local interrupted = row.state == "interrupted"
	if doubt.settle(run, turn.step, turn.key, turn.scope, interrupted) == "repeat" then
		return nil
	end
	events.skipped(run, turn.key, "already done")
	run.db:set_step(run.id, ident(turn), "completed", { output = "" })
	return { ok = true, output = "", duration_ms = 0 }
end

local UNFINISHED = { running = settle, interrupted = settle, waiting = rest_of_wait }

---Run a simple step to its end. Raises only errors that aren't the step's.
---@param run table
---@param step table
---@param key string
---@param scope table
---@param row table? what the store knows of it
---@return table outcome, runner.workflow.Turn turn, string? verdict why it was not retried
function M.run(run, step, key, scope, row)
	local turn = turn_of(run, step, key, scope, row)
	turn.started = host.now()
	local early = row and UNFINISHED[row.state] and UNFINISHED[row.state](run, turn, row)
	if early then
		return early, turn
	end
	while true do
		local outcome = run_once(run, turn)
		if outcome.ok then
			ended(run, turn, outcome, "completed")
			events.succeeded(run, turn)
			return outcome, turn
		end
		local verdict, wait_ms = decide(turn, outcome)
		if verdict ~= "wait" then
			ended(run, turn, outcome, "failed")
			events.failed(run, turn, outcome, spent(turn))
			return outcome, turn, verdict
		end
		wait(run, turn, outcome, wait_ms)
	end
end

---The run is being ended, but this program had ended by itself.
---@param run table
---@param request table with its tag
---@param result runner.Result
function M.finish(run, request, result)
	local turn = request.tag.turn
	local outcome = judge(run, turn, request, result)
	if outcome.ok then
		ended(run, turn, outcome, "completed")
	end
end

return M
