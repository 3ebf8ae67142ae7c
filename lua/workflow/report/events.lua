-- events: what a workflow reports while it runs: one line for everything that
-- matters (text on a terminal, JSON elsewhere: the supervisor decides), and the
-- progress that the envelope keeps. It decides nothing; it masks everything it sends.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"
local reference = require "runner.core.reference"

local M = {}

local KEY, LABEL = 20, 27 -- characters of a step's key and label in the progress line

---10000 → "10s", 1500 → "1.5s": a limit as log lines write it.
---@param ms integer
---@return string
local function seconds(ms)
	return ("%gs"):format(ms / 1000)
end

---61500 → "1m 2s": a long wait, rounded up.
---@param ms number
---@return string
local function whole_seconds(ms)
	return host.duration_text(math.ceil(ms / 1000) * 1000)
end

-- One LOG frame, every field masked.
local function log(run, level, event, fields)
	fields.context.run = run.id
	local ok, context = pcall(json.encode, run.mask(fields.context), { envelope = true })
	host.send("LOG", {
		level = level, event = event, message = run.mask(fields.message):sub(1, 8000),
		attempt = fields.attempt, max_attempts = fields.max_attempts, code = fields.code, delay_ms = fields.delay_ms,
		context = ok and context or nil,
	})
end

-- What a terminal shows of it, if one does (lua/workflow/report/live.lua).
local function shown(run, happens, ...)
	return run.screen and run.screen(happens, ...)
end

-- The lines of a step that the tree on the terminal makes unnecessary.
local function tell(run, level, event, fields)
	if not run.screen or attempt.framework.verbose then
		log(run, level, event, fields)
	end
end

-- Whose attempt it is, on a terminal that shows several steps at once. The words that follow are
-- Spec 185's; elsewhere `context.step` says it.
local function of_step(run, turn, text)
	local several = attempt.launch.stderr_is_tty and (run.screen or turn.step.together)
	return several and ("Step %s: %s"):format(turn.key, text) or text
end

local function about(turn)
	return { step = turn.key, log = turn.log }
end

-- What the envelope of an interrupted run shows in data.progress, and the line that a
-- terminal shows.
local function progress(run, key, state, text)
	local data = json.encode({ run = run.id, step = key, state = state, done = run.done }, { envelope = true })
	host.send("PROGRESS", { data = data, text = text and run.mask(text) or nil,
		suggestion = "runner workflow resume " .. run.id })
end

-- The end of a long key, which is more specific: the line needs room for what changes.
local function short_key(key)
	local from = (utf8.len(key) or 0) > KEY and utf8.offset(key, -KEY)
	return from and "…" .. key:sub(from) or key
end

local function short_label(label)
	local cut = (utf8.len(label) or 0) > LABEL and utf8.offset(label, LABEL)
	return cut and label:sub(1, cut - 1) .. "…" or label
end

---@param run table
---@param what "started"|"resumed"
function M.run(run, what)
	log(run, "info", "run." .. what, { message = ("Run %s of %s %s"):format(run.id, run.workflow.name, what),
		context = { workflow = run.workflow.name, file = run.workflow.path } })
	progress(run, nil, "running")
end

---Another run has the key that this one wants.
---@param run table
---@param other {id: string, workflow: string}
---@param what "waits for"|"cancels"
function M.taking(run, other, what)
	local own = require("runner.core.scope").is_subject(other.subject)
	log(run, "info", "run.taking", { message = ("Run %s %s %s: both have the key '%s'"):format(run.id, what, own and ("run %s of %s"):format(
		other.id, other.workflow) or "a run of another subject", run.concurrency.key),
		context = { holder = own and other.id or nil, key = run.concurrency.key } })
end

---@param run table
---@param step {key: string, kind: string, label: string, item: string?}
function M.step(run, step)
	shown(run, "runs", step.key, { label = step.label, item = step.item })
	tell(run, "info", "step.started", { message = ("Step %s: %s"):format(step.key, step.label),
		context = { step = step.key, kind = step.kind } })
end

---An attempt has cost something.
---@param run table
---@param key string
---@param micros integer
function M.cost(run, key, micros)
	if micros > 0 then
		shown(run, "cost", key, micros)
	end
end

---A step that is not run: its condition is false, or it is already done.
---@param run table
---@param key string
---@param why string
function M.skipped(run, key, why)
	shown(run, "ends", key, "skipped", why)
	tell(run, "info", "step.skipped", { message = ("Step %s skipped: %s"):format(key, why), context = { step = key } })
end

---A step whose last attempt has no end, and that runs again.
---@param run table
---@param key string
---@param what string became of it: "was cut off …"
---@param why string it may run again; "" where that goes without saying
function M.again(run, key, what, why)
	log(run, "warn", "step.again", { message = ("Step %s %s; it runs again%s"):format(key, what, why ~= "" and ": " .. why or ""),
		context = { step = key } })
end

---A step, or its check, has failed, and a repair begins.
---@param run table
---@param key string
---@param e runner.Error
---@param which string "repair 1 of 3"
function M.repair(run, key, e, which)
	shown(run, "runs", key, { label = which })
	tell(run, "warn", "step.repair", { message = ("%s; %s"):format(e.message, which), code = e.code, context = { step = key } })
end

---A step waits for a person.
---@param run table
---@param step table
---@param key string
---@param gate table the approval
function M.asks(run, step, key, gate)
	local approve = reference.call("approve " .. gate.id)
	shown(run, "runs", key, { label = step.label })
	shown(run, "prints", key, "waits for a person: " .. approve)
	log(run, "warn", "step.asks", { message = ("Step %s waits for a person: %s (%s)"):format(key, gate.message, approve),
		context = { step = key, approval = gate.id } })
end

---A worktree stays, or its branch is merged.
---@param run table
---@param key string of the step
---@param message string
function M.worktree(run, key, message)
	tell(run, "info", "step.worktree", { message = message, context = { step = key } })
end

---@param run table
---@param message string
---@param key? string
function M.warn(run, message, key)
	log(run, "warn", "step.warning", { message = message, context = { step = key } })
end

---@param run table
---@param turn table
function M.attempt(run, turn)
	local label = turn.step.label
	shown(run, "runs", turn.key, { attempt = turn.attempt, retries = turn.retries })
	if turn.retries > 0 then
		label = ("%s · attempt %d"):format(short_label(label), turn.attempt)
	end
	progress(run, turn.key, "running", ("step %s: %s"):format(short_key(turn.key), label))
end

---A line that the step's program wrote to stderr. On a terminal it says whose it is, where
---several run.
---@param run table
---@param turn runner.workflow.Turn
---@param line string
function M.stderr(run, turn, line)
	local whose = turn.step.together and attempt.launch.stderr_is_tty and turn.key .. ": " or ""
	shown(run, "prints", turn.key, line)
	tell(run, "info", "step.stderr", { message = whose .. line, context = { step = turn.key } })
end

---A line that the step's program wrote to stdout, which only the tree on a terminal shows.
---@param run table
---@param key string
---@param line string
function M.printed(run, key, line)
	shown(run, "prints", key, line)
end

---What a step's program says or does, on one line, which the supervisor cuts to the terminal.
---@param run table
---@param key string
---@param text string
function M.live(run, key, text)
	local line = host.clean(text):gsub("%s+", " ")
	shown(run, "prints", key, line)
	tell(run, "info", "step.live", { message = ("%s: %s"):format(short_key(key), line), context = { step = key } })
end

---@param run table
---@param turn table
---@param outcome table of a timed-out attempt
function M.timed_out(run, turn, outcome)
	log(run, "warn", "step.timeout", { message = of_step(run, turn, ("%s timed out after %s: %s"):format(turn.noun,
		seconds(outcome.limit_ms or outcome.duration_ms), turn.described)), attempt = turn.attempt,
		max_attempts = turn.max_attempts, code = outcome.code, context = about(turn) })
end

---A failure that another attempt will follow. The line is Spec 185's (AC6,
---docs/design.md#workflow-logs): the number after / counts retries, max_attempts attempts.
---@param run table
---@param turn table
---@param outcome table
---@param wait_ms integer
function M.retrying(run, turn, outcome, wait_ms)
	local fields = { attempt = turn.attempt, max_attempts = turn.max_attempts, code = outcome.code,
		delay_ms = wait_ms, context = about(turn) }
	fields.message = of_step(run, turn, ("%s failed (attempt %d/%d): %s"):format(turn.noun, turn.attempt, turn.retries,
		outcome.reason or outcome.message))
	log(run, "warn", "retry.failed", fields)
	shown(run, "waits", turn.key, wait_ms, { attempt = turn.attempt + 1, retries = turn.retries,
		text = outcome.reason or outcome.message })
	fields.message = of_step(run, turn, ("Retrying in %.1f seconds..."):format(wait_ms / 1000))
	log(run, "info", "retry.wait", fields)
end

---A usage limit: another attempt follows when it has reset, and isn't counted.
---@param run table
---@param turn table
---@param outcome table
---@param wait_ms integer
function M.limited(run, turn, outcome, wait_ms)
	local text = ("%s failed: %s. Waiting %s for the limit to reset; this is not counted as a retry"):format(turn.noun,
		outcome.reason or outcome.message, whole_seconds(wait_ms))
	log(run, "warn", "limit.wait", { message = of_step(run, turn, text), attempt = turn.attempt,
		max_attempts = turn.max_attempts, code = outcome.code, delay_ms = wait_ms, context = about(turn) })
end

---@param run table
---@param turn table
---@param left_ms number
function M.waiting(run, turn, left_ms)
	shown(run, "waits", turn.key, left_ms, { attempt = turn.attempt + (turn.limited and 0 or 1), retries = turn.retries,
		text = turn.limited and "usage limit" or nil })
	if turn.limited then
		return progress(run, turn.key, "waiting", ("step %s: usage limit, next attempt in %s"):format(short_key(turn.key),
			whole_seconds(left_ms)))
	end
	progress(run, turn.key, "waiting", ("step %s: retry %d/%d in %d s"):format(short_key(turn.key), turn.attempt,
		turn.retries, math.ceil(left_ms / 1000)))
end

---@param run table
---@param turn table
function M.succeeded(run, turn)
	shown(run, "ends", turn.key, "completed")
	if turn.attempt > 1 then
		log(run, "info", "retry.succeeded", { message = of_step(run, turn, ("%s succeeded on attempt %d"):format(turn.noun, turn.attempt)),
			attempt = turn.attempt, max_attempts = turn.max_attempts, context = about(turn) })
	end
end

---@param run table
---@param turn table
---@param outcome table
---@param spent_ms integer since the first attempt started
function M.failed(run, turn, outcome, spent_ms)
	for _, line in ipairs(shown(run, "tail", turn.key) or {}) do
		log(run, "info", "step.stderr", { message = turn.key .. ": " .. line, context = { step = turn.key } })
	end
	shown(run, "ends", turn.key, "failed", outcome.message)
	local tally = turn.attempt > 1 and (" after %d attempts over %.1fs"):format(turn.attempt, spent_ms / 1000) or ""
	local repeated = outcome.message:sub(1, #turn.noun + 1) == turn.noun .. " " -- already in the message
	local why = repeated and outcome.message:sub(#turn.noun + 2) or outcome.message
	log(run, "error", "step.failed", { message = of_step(run, turn, ("%s failed%s: %s"):format(turn.noun, tally, why)),
		attempt = turn.attempt, max_attempts = turn.max_attempts, code = outcome.code, context = about(turn) })
end

---A step that holds steps is over.
---@param run table
---@param key string
---@param state "completed"|"failed"
---@param message? string
function M.over(run, key, state, message)
	shown(run, "ends", key, state, message)
end

---A loop knows its items.
---@param run table
---@param key string
---@param total? integer nil: they were not counted
function M.items(run, key, total)
	shown(run, "runs", key, { total = total })
end

---An item of a loop is over.
---@param run table
---@param key string of the loop
---@param ok boolean
function M.item(run, key, ok)
	shown(run, "item", key, ok)
end

---How far a step on an executor has come, where that has changed.
---@param run table
---@param key string
---@param text string "3 waiting (Resources), 2 running, 5 of 10 done"
function M.placed(run, key, text)
	shown(run, "prints", key, text)
	tell(run, "info", "step.placed", { message = ("Step %s: %s"):format(key, text), context = { step = key } })
	progress(run, key, "running", ("step %s: %s"):format(short_key(key), text))
end

---A run that was ended from outside. On a terminal the error that follows says so, with
---the way to resume.
---@param run table
function M.interrupted(run)
	if attempt.launch.stderr_is_tty then
		return
	end
	log(run, "warn", "run.interrupted", { message = ("Run %s interrupted; to continue: runner workflow resume %s"):format(run.id,
		run.id), context = { workflow = run.workflow.name } })
end

---Old runs were removed, as the project's retention says.
---@param count integer
function M.removed(count)
	host.send("LOG", { level = "info", event = "runs.removed",
		message = ("%d old %s removed (retention of runner.lua)"):format(count, count == 1 and "run was" or "runs were") })
end

---@param run table
---@param state string
function M.ended(run, state)
	if state ~= "completed" or not attempt.launch.stdout_is_tty then
		shown(run, "is_over") -- else the answer has them
	end
	log(run, state == "completed" and "info" or state == "waiting" and "warn" or "error", "run." .. state, {
		message = ("Run %s %s"):format(run.id, state), context = { workflow = run.workflow.name } })
end

return M
