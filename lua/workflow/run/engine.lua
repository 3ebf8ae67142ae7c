-- engine: the order of steps: sequences, conditions, loops, parallel steps, and what
-- follows a step. A resumed run walks the same path again: it passes over what the
-- store calls completed, and continues with the first step that isn't.

local approvals = require "runner.workflow.run.approvals"
local attempt = require "runner.core.attempt"
local attempts = require "runner.workflow.run.attempts"
local condition = require "runner.workflow.expr.condition"
local cost = require "runner.workflow.run.cost"
local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local host = require "runner.host"
local resumed_results = require "runner.workflow.run.resumed_results"
local kinds = require "runner.workflow.kinds.kinds"
local last_steps = require "runner.workflow.run.last_steps"
local loop = require "runner.workflow.run.loop"
local output_lines = require "runner.workflow.run.output_lines"
local outputs = require "runner.workflow.run.outputs"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local secrets = require "runner.workflow.run.secrets"
local steps_of = require "runner.workflow.file.steps"

local M = {}

local SHOWN = 50 -- characters of a step's text in error.context.step (seed 004)

---@class runner.workflow.Place where we are in the tree of steps
---@field prefix string of the keys below: "3[2]." within an item of a foreach
---@field suffix string "@2" within the hooks of a second round
---@field scope table

local COMPOUND = loop.kinds

local perform

local function placed()
	return require "runner.workflow.run.placed" -- few workflows have such steps
end

---@return table? last result of the last step
local function sequence(run, steps, place)
	local last
	for _, step in ipairs(steps) do
		last = perform(run, step, place) or last
	end
	return last
end

-- --- failures ------------------------------------------------------------------------------

local function described(turn)
	local text = turn.described
	local cut = utf8.len(text) and utf8.offset(text, SHOWN + 1) or SHOWN + 1
	return ("Executing %s: %s"):format(kinds[turn.step.kind].noun, cut and text:sub(1, cut - 1) or text)
end

-- The error of a step that has failed for good. A resumed run retries it; the identical
-- call would start from the beginning.
local function failure(run, turn, outcome, verdict)
	local context = { run = run.id, step = described(turn), step_key = turn.key, attempts = turn.attempt, log = turn.log,
		resume = "runner workflow resume " .. run.id }
	for name, value in pairs(outcome.context or {}) do
		context[name] = context[name] == nil and value or context[name]
	end
	local e = errors.new(outcome.code, outcome.message, {
		retryable = false, side_effects = outcome.side_effects or "partial", context = context,
		retries_exhausted = verdict == "exhausted" and turn.attempt - 1 or nil,
		retry_after_ms = outcome.retry_after_ms,
		errors = outcome.errors, fix_required = outcome.fix_required, fix_command = outcome.fix_command,
		suggestion = outcome.suggestion or context.resume .. (outcome.in_file and " --force" or ""), -- its fix changes the file
	})
	run.failures[turn.key] = { key = turn.key, transient = outcome.transient or false }
	if verdict == "budget" then
		attempt.warn("RETRY_BUDGET", ("Step %s: no retry, since the wait would overrun the time left"):format(turn.key))
	end
	return e
end

-- --- the kinds of steps ------------------------------------------------------------------------

local function simple(run, step, key, place, row)
	local outcome, turn, verdict = attempts.run(run, step, key, place.scope, row)
	outcome.session_id = turn.session_id
	local given = outputs.result(run, key, outcome, outcome.ok)
	if not outcome.ok then
		return nil, failure(run, turn, outcome, verdict), given
	end
	return given
end

-- Run all of them: the first failure that counts, or their results together.
local function run_all(run, step, key, place, items)
	local kind, problem, waits = COMPOUND[step.kind], nil, nil
	local all = loop.gather(run, key, kind.what(step, place, items))
	local ok, raised = pcall(function()
		local take = all.in_order(function(result)
			problem = problem or tolerated_failures.problem(step, result, all.tally(), items.total)
		end)
		local next_task = kind.tasks(step, key, place, items, function(steps, inner)
			local done, given = pcall(sequence, run, steps, inner)
			if not done and given ~= run.waits then
				error(given, 0)
			end
			waits = waits or not done and given -- the others go on meanwhile
			return done and given or nil
		end)
		scheduler.each(function() return not problem and next_task() or nil end, kind.limit(step), function(i, result)
			events.item(run, key, result.ok)
			take(i, result)
		end, { keep_going = step.continue_on_error })
		problem = problem or tolerated_failures.exceeded(step, all.tally(), all.tally().total)
		return not problem and not waits and not run.doubt and all.finish()
	end)
	if type(raised) == "userdata" then
		error(raised, 0) -- a cancellation
	end
	doubt.check(run)
	if ok and not problem and waits then
		error(waits, 0)
	end
	return problem or not ok and raised or nil, raised
end

-- The round of its steps: one more after each failure.
local function round_of(row)
	return row and row.round + (row.state == "failed" and 1 or 0) or 1
end

-- What its steps raised, or what kept it from starting. The items stay: a resumed run
-- loops over the same ones.
local function compound_failed(run, step, key, place, row, raised, items)
	local e = secrets.hide_in_error(raised, run.mask)
	e.context = e.context or {}
	if e.context.database and not e.context.step_key then
		error(raised, 0) -- the store's: no step has failed
	elseif not e.context.step_key then
		e.context.step_key, run.failures[key] = key, { key = key, transient = false }
	end
	run.db:set_step(run.id, scopes.ident(run, step, key, place.scope), "failed",
		{ status = e.context.status, code = e.code, message = e.message, data = run.mask(items), round = round_of(row) })
	events.over(run, key, "failed", e.message)
	return nil, e
end

local function compound(run, step, key, place, row)
	local ok, items = pcall(COMPOUND[step.kind].items, run, step, place, row)
	if not ok then
		local _, e = compound_failed(run, step, key, place, row, items)
		events.warn(run, ("Step %s can't start: %s"):format(key, e.message), key)
		return nil, e
	end
	run.db:soon("set_step", run.id, scopes.ident(run, step, key, place.scope), "running",
		{ data = run.mask(items.stored), round = round_of(row) })
	events.items(run, key, items.stored and #items.stored > 0 and #items.stored or nil)
	local problem, outcome, left = (step.on and placed().items or COMPOUND[step.kind].run or run_all)(run, step, key, place, items, sequence)
	if problem then
		local _, e = compound_failed(run, step, key, place, row, problem, items.stored)
		return nil, e, left
	end
	local found, given = outcome.passed_over, outcome.given
	outcome.passed_over, outcome.given = nil, nil -- no columns
	run.db:soon("set_step", run.id, scopes.ident(run, step, key, place.scope), "completed", outcome)
	tolerated_failures.inside(run, step, key, found, row ~= nil, items.none_of)
	local _ = step.on and placed().over(run, key)
	events.over(run, key, "completed")
	return given or outputs.result(run, key, outcome, true)
end

-- A person is asked. A decision is a result like any other.
local function asks(run, step, key, place, row)
	local given, e = approvals.step(run, step, key, place, round_of(row), sequence)
	if e then
		run.failures[key] = { key = key, transient = false, refused = e.code == "APPROVAL_REJECTED" or nil }
		events.over(run, key, "failed", e.message)
	end
	return given, e, e and { output = e.context.why or "" }
end

-- A step that is no loop, whole, on its executor. What keeps it from running there is its failure.
local function elsewhere(run, step, key, place, row)
	if step.kind == "foreach" then
		return compound(run, step, key, place, row)
	end
	events.step(run, scopes.ident(run, step, key, place.scope))
	run.db:set_step(run.id, scopes.ident(run, step, key, place.scope), "running", { round = round_of(row) })
	local given, problem, left = placed().whole(run, step, key, place)
	if problem and run.db:step(run.id, key).state ~= "failed" then
		compound_failed(run, step, key, place, row, problem)
	elseif given then
		events.over(run, key, "completed")
	end
	return given, problem, left
end

-- --- a step and what follows it -------------------------------------------------------------------

-- True if all its steps succeeded. A failure is only a warning; a doubt is neither.
local function run_hooks(run, step, key, place, round)
	local ok, raised = pcall(sequence, run, step.on_failure.steps, resumed_results.hooks_place(step, place, round))
	if not ok then
		doubt.check(run)
		local _ = raised == run.waits and error(raised, 0)
		attempt.warn("ON_FAILURE_FAILED", ("on_failure of step %s failed: %s"):format(key,
			errors.normalise(raised).message))
	end
	return ok
end

local function after_failure(run, step, key, place, e, left, round)
	local hook = step.on_failure
	if not hook then
		error(e, 0)
	end
	local given = scopes.remember_failure(step, place.scope, e, left)
	if not run_hooks(run, step, key, place, round) or hook.go ~= "continue" then
		error(e, 0)
	end
	events.warn(run, ("Step %s failed; the run continues (on_failure: continue)"):format(key), key)
	tolerated_failures.step(run, key, e)
	return given
end

-- A condition that can't be evaluated ends the run: it is unknown whether its step is
-- to be run.
local function wanted(run, step, key, scope)
	if not step.when then
		return true
	end
	local ok, answer = pcall(condition.eval, step.when.ast, scope)
	if not ok then
		local e = errors.normalise(answer)
		e.message = ("Step %s, when: %s"):format(key, e.message)
		e.context = { step_key = key }
		run.failures[key] = { key = key, transient = false }
		error(e, 0)
	end
	return answer
end

-- A condition was evaluated when the step started; a resumed run keeps the answer, unless all of the step was put back.
local function skips(run, step, key, place, row)
	if row and row.started_ms then
		return row.state == "skipped"
	elseif wanted(run, step, key, place.scope) then
		return false
	end
	run.db:soon("set_step", run.id, scopes.ident(run, step, key, place.scope), "skipped", {})
	events.skipped(run, key, "when: " .. step.when.text)
	return true
end

-- The user's decision, whatever became of it before.
local function marked_done(run, step, key, place, row)
	local _ = step.on and placed().give_up(run, key)
	events.skipped(run, key, "marked done")
	run.db:soon("set_step", run.id, scopes.ident(run, step, key, place.scope), "completed", { output = "" })
	run.db:soon("leave_inside", run.id, key, ("was left out: step %s was marked done"):format(key))
	return outputs.result(run, key, { output = "", session_id = row.session_id }, true)
end

-- The steps that follow a failure end before its step starts over: they may be what makes
-- that safe.
local function finish_hooks(run, step, key, place, row)
	local hook = row and row.state == "failed" and step.on_failure
	if hook and resumed_results.is_unfinished(run, hook.steps, resumed_results.hooks_place(step, place, row.round)) then
		scopes.remember_failure(step, place.scope, resumed_results.failure(row), resumed_results.left_of(run, step, key, place, row))
		run_hooks(run, step, key, place, row.round)
	end
end

function perform(run, step, place)
	doubt.check(run)
	step = step.name and steps_of.named(step, place.scope, run.mask) or step
	local key = place.prefix .. step.key .. place.suffix
	local row, given, problem, left = run.rows[key], nil, nil, nil
	local round = round_of(row)
	if skips(run, step, key, place, row) then
		return nil
	elseif row and row.state == "completed" and not (step.approve and row.kind ~= step.kind) then
		given = resumed_results.pass_over(run, step, key, place, row)
	elseif row and run.mark_done[key] then
		given = marked_done(run, step, key, place, row)
	elseif resumed_results.was_continued(step, row) then
		problem, round = resumed_results.failure(row), row.round -- its hooks have run in that round
		left = resumed_results.left_of(run, step, key, place, row)
	else
		finish_hooks(run, step, key, place, row)
		if COMPOUND[step.kind] and not (step.on and step.kind ~= "foreach") then
			events.step(run, scopes.ident(run, step, key, place.scope))
		end
		local does = step.on and elsewhere or COMPOUND[step.kind] and compound or step.approve and asks or simple
		given, problem, left = does(run, step, key, place, row)
	end
	if problem then
		return after_failure(run, step, key, place, problem, left, round)
	end
	run.done = run.done + 1
	scopes.remember(step, place.scope, given)
	if step.on_success then
		sequence(run, step.on_success.steps, place)
	end
	return given
end

---A step, and what follows it. Raises its error where that ends what it is in.
---@param run table
---@param step runner.workflow.Step
---@param place runner.workflow.Place
---@return table? given its result; nil: it was skipped
function M.perform(run, step, place)
	return perform(run, step, place)
end

---A step alone, without its condition and without what follows it.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param row table? what the store knows of it; it is not over
---@return table? given, runner.Error? problem, table? left of a failure: its result
function M.alone(run, step, key, place, row)
	return (COMPOUND[step.kind] and compound or simple)(run, step, key, place, row)
end

-- --- the whole ----------------------------------------------------------------------------------------

---Ended from outside: the processes are gone, and steps that had completed by themselves are
---completed.
---@param run table
function M.collect(run)
	for _, left in ipairs(scheduler.abandoned()) do
		if left.options.tag and left.result and (left.result.lost or left.result.ok and not left.stopped) then
			attempts.finish(run, left.options, left.result)
		end
	end
	output_lines.cut_off(run)
	outputs.sweep(run.id)
end

local OF_MACHINE = { [15] = true, [1] = true } -- TERM and HUP

local LAST_MS = 6000 -- for last steps, within the grace of `workflow run`

local function top(run)
	return { prefix = "", suffix = "", scope = run.scope }
end

-- The last steps of a run that was ended from outside, or what is left of them, as many as there is time for. A resumed run goes
-- on with them.
local function run_last(run)
	local last = run.workflow.finally
	if not last or run.doubt or not run.endings then
		return
	end
	run.db:end_steps(run.id)
	run.rows = cost.rows(run.db, run.id)
	local at = run.ending or { n = run.endings + 1, ended = { state = "interrupted", code = "CANCELLED", error = "The run was interrupted" } }
	pcall(scheduler.run, function()
		scheduler.after(LAST_MS, function() scheduler.abort("there is no more time") end)
		last_steps.perform(run, last, top(run), at.n, at.ended, sequence)
	end, function()
		run.db:flush()
	end)
end

-- What has not completed is interrupted, and the run can be resumed: not by `workflow recover` where a person or a limit has ended it.
-- An end that was committed just before stays.
local function cut_off(run)
	M.collect(run)
	if run.placed then
		placed().cut_off(run)
	end
	for tree in pairs(run.merging) do
		scheduler.run(function() require("runner.workflow.run.merge").recover(run, tree) end)
	end
	if run.db:find(run.id).state == "running" then
		run_last(run)
		local fields = { code = "CANCELLED", message = "The run was interrupted" }
		if not OF_MACHINE[host.ended_by()] then
			fields.recover = false
		end
		run.db:interrupt(run.id, fields)
		events.interrupted(run)
	end
end

-- All that can run has ended, and steps wait for a person.
local function wait_for_person(run)
	local e = approvals.wait(run)
	if e then
		events.ended(run, "waiting")
	else
		run.rows, run.failures, run.done = cost.rows(run.db, run.id), {}, 0
	end
	return e
end

local function fail(run, raised)
	local e = secrets.hide_in_error(raised, run.mask)
	local key = e.context and e.context.step_key
	local failed = run.failures[key]
	run.failed = failed
	local state = run.doubt and "interrupted" or "failed"
	-- if even this can't be written, the run is found without an owner: interrupted
	pcall(run.db.set_run, run.db, run.id, { state = state, code = e.code, message = e.message:sub(1, 8000),
		retryable = failed and failed.transient or false, failed_step = (failed or run.doubt) and key or nil })
	events.ended(run, state)
	return e
end

-- Where it doesn't get its turn, the run has failed.
local function take_turn(run, ctx)
	local ok, raised = pcall(require("runner.workflow.run.concurrency").wait, run, ctx)
	if not ok then
		error(type(raised) == "userdata" and raised or fail(run, raised), 0)
	end
end

---Run the steps of a run that is owned and in state "running", to the run's end.
---Raises the error of the step that failed.
---@param run table made by runner.workflow.start
---@param ctx table
function M.execute(run, ctx)
	local over = false
	ctx:defer(function()
		if not over then
			cut_off(run)
		end
	end)
	outputs.sweep(run.id) -- an earlier process may have been killed
	if run.concurrency then
		take_turn(run, ctx)
	end
	local ok, raised, waiting
	repeat
		run.waits = nil
		ok, raised = pcall(scheduler.run, function()
			return last_steps.around(run, run.workflow, top(run), sequence)
		end, function()
			run.db:flush()
		end)
		local waits = not ok and run.waits == raised
		waiting = waits and wait_for_person(run)
	until not waits or waiting
	if not ok then
		local e = waiting or fail(run, raised)
		over = true
		error(e, 0)
	end
	run.db:set_run(run.id, { state = "completed" })
	over = true
	events.ended(run, "completed")
end

return M
