-- engine: the order of steps: sequences, conditions, loops, parallel steps, and what
-- follows a step. A resumed run walks the same path again: it passes over what the
-- store calls completed, and continues with the first step that isn't.

local attempts = require "runner.workflow.run.attempts"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local expression = require "runner.workflow.expr.expression"
local items_in = require "runner.workflow.run.items"
local scheduler = require "runner.task.scheduler"
local attempt = require "runner.core.attempt"

local M = {}

local NOUNS = { claude = "Claude", shell = "shell", runner = "runner" }
local SHOWN = 50 -- characters of a step's text in error.context.step (seed 004)

---@class runner.workflow.Place where we are in the tree of steps
---@field prefix string of the keys below: "3[2]." within an item of a foreach
---@field suffix string "@2" within the hooks of a second round
---@field scope table

local perform

---@return table? last result of the last step
local function sequence(run, steps, place)
	local last
	for _, step in ipairs(steps) do
		last = perform(run, step, place) or last
	end
	return last
end

-- --- results of steps ----------------------------------------------------------

local function remember(step, scope, given)
	if step.id then
		scope.steps[step.id] = given
	end
	if NOUNS[step.kind] then
		scope[step.kind] = given
	end
	if type(step.capture) == "string" then
		scope.vars[step.capture] = given.output
	end
	return given
end

-- Tables of an item's own, which inherit from the outer ones.
local function inner_scope(scope, fields, own_steps)
	local inner = setmetatable(fields, { __index = scope })
	inner.vars = rawget(fields, "vars") or setmetatable({}, { __index = scope.vars })
	inner.steps = own_steps and setmetatable({}, { __index = scope.steps }) or scope.steps
	return inner
end

-- --- failures ------------------------------------------------------------------------------

local function described(turn)
	local text = turn.described
	local cut = utf8.len(text) and utf8.offset(text, SHOWN + 1) or SHOWN + 1
	return ("Executing %s command: %s"):format(NOUNS[turn.step.kind], cut and text:sub(1, cut - 1) or text)
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
		fix_required = outcome.fix_required, suggestion = outcome.suggestion or context.resume,
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
	if not outcome.ok then
		return nil, failure(run, turn, outcome, verdict), outcome.output
	end
	return { output = outcome.output, data = outcome.data, status = outcome.status, ok = true }
end

-- Decided once: a resumed run loops over the same ones.
local function items_of(step, place, row)
	return row and row.data or items_in.of(step, place.scope)
end

local function item_tasks(run, step, key, place, items)
	local tasks = {}
	for i, item in ipairs(items) do
		local scope = inner_scope(place.scope, { item = item, item_index = i }, true)
		tasks[i] = function()
			return sequence(run, step.steps, { prefix = ("%s[%d]."):format(key, i), suffix = place.suffix, scope = scope })
		end
	end
	return tasks
end

-- Ids and captured variables are shared; the last step of a kind is its own.
local function side_scope(scope)
	return inner_scope(scope, { vars = scope.vars }, false)
end

local function side_tasks(run, step, _, place)
	local tasks = {}
	for i, below in ipairs(step.steps) do
		tasks[i] = function()
			local scope = side_scope(place.scope)
			return perform(run, below, { prefix = place.prefix, suffix = place.suffix, scope = scope })
		end
	end
	return tasks
end

-- The results of many steps together, and the first failure that counts.
local function gathered(step, results)
	local outputs, problem = {}, nil
	local data = require("runner.json").array {}
	for i, result in ipairs(results) do
		local given = result.ok and result.value or {}
		outputs[#outputs + 1] = given.output
		data[i] = { ok = result.ok, output = given.output, data = given.data }
		problem = problem or not result.ok and result.error
	end
	return { output = table.concat(outputs, "\n"), data = data, ok = true },
		not step.continue_on_error and problem or nil
end

local COMPOUND = {
	foreach = { items = items_of, tasks = item_tasks, limit = function(step) return step.parallel or 1 end },
	parallel = { items = function() end, tasks = side_tasks, limit = function(step) return step.limit or 16 end },
}

local function ident(step, key)
	return { key = key, id = step.id, kind = step.kind, label = step.label }
end

-- The round of its steps: one more after each failure.
local function round_of(row)
	return row and row.round + (row.state == "failed" and 1 or 0) or 1
end

-- What its steps raised, or what kept it from starting. The items stay: a resumed run
-- loops over the same ones.
local function compound_failed(run, step, key, row, raised, items)
	local e = run.mask(errors.normalise(raised))
	e.context = e.context or {}
	if not e.context.step_key then
		e.context.step_key, run.failures[key] = key, { key = key, transient = false }
	end
	run.db:set_step(run.id, ident(step, key), "failed",
		{ code = e.code, message = e.message, data = items, round = round_of(row) })
	return nil, e
end

local function compound(run, step, key, place, row)
	local kind = COMPOUND[step.kind]
	local ok, items = pcall(kind.items, step, place, row)
	if not ok then
		local _, e = compound_failed(run, step, key, row, items)
		events.warn(run, ("Step %s can't start: %s"):format(key, e.message), key)
		return nil, e
	end
	run.db:set_step(run.id, ident(step, key), "running", { data = items, round = round_of(row) })
	local results = scheduler.all(kind.tasks(run, step, key, place, items), kind.limit(step),
		{ keep_going = step.continue_on_error })
	local given, problem = gathered(step, results)
	if problem then
		return compound_failed(run, step, key, row, problem, items)
	end
	run.db:set_step(run.id, ident(step, key), "completed", { output = given.output, data = given.data })
	return given
end

-- --- a step and what follows it -------------------------------------------------------------------

-- Steps to be run after a failure run once for each round of the step.
local function hooks_place(place, round)
	return { prefix = place.prefix, suffix = round > 1 and place.suffix .. "@" .. round or place.suffix, scope = place.scope }
end

-- What the steps of on_failure, and later ones, can see of it.
local function remember_failure(step, scope, e, output)
	return remember(step, scope, { ok = false, output = output or "", status = e.context and e.context.status,
		error = { code = e.code, message = e.message } })
end

local function after_failure(run, step, key, place, e, output, round)
	local hook = step.on_failure
	if not hook then
		error(e, 0)
	end
	local given = remember_failure(step, place.scope, e, output)
	local ok, raised = pcall(sequence, run, hook.steps, hooks_place(place, round))
	if not ok then
		attempt.warn("ON_FAILURE_FAILED", ("on_failure of step %s failed: %s"):format(key,
			errors.normalise(raised).message))
	end
	if hook.go ~= "continue" or not ok then
		error(e, 0)
	end
	events.warn(run, ("Step %s failed; the run continues (on_failure: continue)"):format(key), key)
	return given
end

-- A condition that can't be evaluated ends the run: nobody knows whether its step is
-- to be run.
local function wanted(run, step, key, scope)
	if not step.when then
		return true
	end
	local ok, answer = pcall(expression.eval, step.when.ast, scope)
	if not ok then
		local e = errors.normalise(answer)
		e.message = ("Step %s, when: %s"):format(key, e.message)
		e.context = { step_key = key }
		run.failures[key] = { key = key, transient = false }
		error(e, 0)
	end
	return answer
end

-- A condition was evaluated when the step started; a resumed run keeps the answer.
local function skips(run, step, key, place, row)
	if row then
		return row.state == "skipped"
	elseif wanted(run, step, key, place.scope) then
		return false
	end
	run.db:set_step(run.id, ident(step, key), "skipped", {})
	events.skipped(run, key, "when: " .. step.when.text)
	return true
end

-- It failed before and its workflow continued: it is not retried.
local function was_continued(step, row)
	return row and row.state == "failed" and step.on_failure and step.on_failure.go == "continue"
end

-- A file that changed may have a different step here by now.
local function restored(run, step, key, row)
	if row.kind ~= step.kind or row.label ~= step.label then
		attempt.warn("STEP_CHANGED", ("Step %s has completed and is not run again, but the file now has a different step there"):format(key),
			{ step = key, was = row.label, is = step.label })
	end
	return { output = row.output, data = row.data, status = row.status, ok = true }
end

-- The user's decision, whatever became of it before.
local function marked_done(run, step, key)
	events.skipped(run, key, "marked done")
	run.db:set_step(run.id, ident(step, key), "completed", { output = "" })
	return { output = "", ok = true }
end

-- The failure of an earlier process, which did not end its run.
local function old_failure(row)
	return errors.new(row.code, row.message, { context = { status = row.status } })
end

-- Restores what parallel steps left behind when an earlier process ran them.
local function recall(run, steps, place)
	for _, step in ipairs(steps) do
		local key = place.prefix .. step.key .. place.suffix
		local row = run.rows[key]
		if row and row.state == "completed" then
			remember(step, place.scope, restored(run, step, key, row))
			recall(run, step.kind == "parallel" and step.steps or {}, place)
			recall(run, step.on_success and step.on_success.steps or {}, place)
		elseif row and row.state == "failed" then
			remember_failure(step, place.scope, old_failure(row), row.output)
			recall(run, step.on_failure and step.on_failure.steps or {}, hooks_place(place, row.round))
		end
	end
end

local function pass_over(run, step, key, place, row)
	if step.kind == "parallel" then
		recall(run, step.steps, { prefix = place.prefix, suffix = place.suffix, scope = side_scope(place.scope) })
	end
	return restored(run, step, key, row)
end

function perform(run, step, place)
	local key = place.prefix .. step.key .. place.suffix
	local row, given, problem, output = run.rows[key], nil, nil, nil
	local round = round_of(row)
	if skips(run, step, key, place, row) then
		return nil
	elseif row and row.state == "completed" then
		given = pass_over(run, step, key, place, row)
	elseif row and run.mark_done[key] then
		given = marked_done(run, step, key)
	elseif was_continued(step, row) then
		problem, output, round = old_failure(row), row.output, row.round -- its hooks have run in that round
	else
		events.step(run, step, key)
		given, problem, output = (COMPOUND[step.kind] and compound or simple)(run, step, key, place, row)
	end
	if problem then
		return after_failure(run, step, key, place, problem, output, round)
	end
	run.done = run.done + 1
	remember(step, place.scope, given)
	if step.on_success then
		sequence(run, step.on_success.steps, place)
	end
	return given
end

-- --- the whole ----------------------------------------------------------------------------------------

-- Ended from outside: steps that had completed by themselves are completed, the rest is
-- interrupted, and the run can be resumed. An end that was committed just before stays.
local function cut_off(run)
	for _, left in ipairs(scheduler.abandoned()) do
		if left.options.tag and left.result and left.result.ok and not left.stopped then
			attempts.finish(run, left.options, left.result)
		end
	end
	if run.db:find(run.id).state == "running" then
		run.db:interrupt(run.id, { code = "CANCELLED", message = "The run was interrupted" })
		events.interrupted(run)
	end
end

local function fail(run, raised)
	local e = run.mask(errors.normalise(raised))
	local failed = run.failures[e.context and e.context.step_key]
	run.failed = failed
	local state = e.code == "STEP_IN_DOUBT" and "interrupted" or "failed"
	-- if even this can't be written, the run is found without an owner: interrupted
	pcall(run.db.set_run, run.db, run.id, { state = state, code = e.code, message = e.message:sub(1, 8000),
		retryable = failed and failed.transient or false, failed_step = failed and failed.key or nil })
	events.ended(run, state)
	return e
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
	local ok, raised = pcall(scheduler.run, function()
		return sequence(run, run.workflow.steps, { prefix = "", suffix = "", scope = run.scope })
	end)
	if not ok then
		local e = fail(run, raised)
		over = true
		error(e, 0)
	end
	run.db:set_run(run.id, { state = "completed" })
	over = true
	events.ended(run, "completed")
end

return M
