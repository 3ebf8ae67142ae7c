-- resumed_results: what an earlier process of a resumed run left: the results of steps that are over,
-- and where it stopped between a failure and the steps that follow it. It runs nothing and
-- changes nothing.

local attempt = require "runner.core.attempt"
local children = require "runner.workflow.run.children"
local errors = require "runner.core.errors"
local outputs = require "runner.workflow.run.outputs"
local reference = require "runner.core.reference"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local steps_of = require "runner.workflow.file.steps"

local M = {}

local OVER = { completed = true, skipped = true }

---Where the steps of on_failure are: they run once for each round of their step. Only the outermost first round goes
---unsaid, so that round 2 in round 1 and round 1 in round 2 have keys of their own.
---@param step runner.workflow.Step that has the rounds
---@param place runner.workflow.Place of the step
---@param round integer
---@return runner.workflow.Place
function M.hooks_place(step, place, round)
	local suffix = (round > 1 or step.nested) and place.suffix .. "@" .. round or place.suffix
	return { prefix = place.prefix, suffix = suffix, scope = place.scope }
end

---It failed and its workflow continued: it is not retried.
---@param step runner.workflow.Step
---@param row table?
---@return boolean
function M.was_continued(step, row)
	return row ~= nil and row.state == "failed" and step.on_failure ~= nil and step.on_failure.go == "continue"
end

---The failure of an earlier process, which did not end its run.
---@param row table
---@return runner.Error
function M.failure(row)
	return errors.new(row.code, row.message, { context = { status = row.status } })
end

-- A file that changed may have a different step here by now. Of files inside nothing is known but what their steps were called.
local function restored(run, step, key, row)
	local was, is = row.label, step.label
	if was == is or (step.name or ""):find("${", 1, true) then
		was, is = run.said and run.said[reference.static(key)], steps_of.text(step)
	end
	if row.kind ~= step.kind or was and was ~= is then
		attempt.warn("STEP_CHANGED", ("Step %s has completed and is not run again, but the file now has a different step there"):format(key),
			run.mask { step = key, was = was or row.label, is = is or step.label })
	end
	return outputs.result(run, key, row, true)
end

---Restores what steps left that are inside another one; the result of the last of them.
---@param run table
---@param steps runner.workflow.Step[]
---@param place runner.workflow.Place
---@return table? given
function M.recall(run, steps, place)
	local last
	for _, step in ipairs(steps) do
		local key = place.prefix .. step.key .. place.suffix
		local row = run.rows[key]
		if row and row.state == "completed" then
			last = scopes.remember(step, place.scope, M.pass_over(run, step, key, place, row))
			M.recall(run, step.on_success and step.on_success.steps or {}, place)
		elseif row and row.state == "failed" then
			last = scopes.remember_failure(step, place.scope, M.failure(row), M.left_of(run, step, key, place, row))
			M.recall(run, step.on_failure and step.on_failure.steps or {}, M.hooks_place(step, place, row.round))
		end
	end
	return last
end

---The result of a block, and what its steps have left.
---@param run table
---@param step runner.workflow.Step
---@param place runner.workflow.Place
---@param round integer of its steps
---@return table given, runner.workflow.Scope scope of its steps
function M.of_block(run, step, place, round)
	scheduler.settled()
	local within, scope = children.enter(run, step, place.scope, true)
	local inner = M.hooks_place(step, { prefix = place.prefix, suffix = place.suffix, scope = scope }, round)
	local given = M.recall(within, step.child and step.child.steps or step.steps, inner) or { output = "", ok = true }
	given = children.result(run, step, place.prefix .. step.key .. place.suffix, scope, given, true)
	return scopes.remember(step, place.scope, given), scope
end

-- What the steps beside those of a block have left that is over.
local function recall_beside(run, step, place, rounds)
	local side = scopes.inner_scope(place.scope, {}, false)
	for phase, holder in pairs { check = step.check, merge = step.worktree, repair = step.repair } do
		local at = holder.steps and (rounds[phase] or 0) > 0 and M.hooks_place(step, place, rounds[phase])
		M.recall(run, at and holder.steps or {}, at and { prefix = at.prefix, suffix = at.suffix, scope = side })
	end
end

---What a step that has failed has left; a block: its steps, or that of them that has failed.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param row table
---@return table left
function M.left_of(run, step, key, place, row)
	local failure = step.kind == "steps" and row.kind == "steps" and type(row.data) == "table" and row.data.failure
	local given = failure and M.of_block(run, step, place, failure.round)
	local inner = failure and failure.of == "do" and run.rows[failure.key]
	return inner and outputs.result(run, failure.key, inner, false) or given or outputs.result(run, key, row, false)
end

---The result of a completed step, which is not run again.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param row table
---@return table given
function M.pass_over(run, step, key, place, row)
	local given = restored(run, step, key, row)
	if step.kind == "steps" and row.kind == "steps" and type(row.data) == "table" then
		given = scopes.passed((M.of_block(run, step, place, row.data.rounds["do"])))
		recall_beside(run, step, place, row.data.rounds)
	elseif step.kind == "parallel" then
		M.recall(run, step.steps, { prefix = place.prefix, suffix = place.suffix, scope = scopes.side_scope(place.scope) })
	end
	return given
end

---Did the earlier process end before these steps had? After one that failed for good, none
---was to follow.
---@param run table
---@param steps runner.workflow.Step[]
---@param place runner.workflow.Place
---@return boolean
function M.is_unfinished(run, steps, place)
	for _, step in ipairs(steps) do
		local row = run.rows[place.prefix .. step.key .. place.suffix]
		local failed = row and row.state == "failed"
		if not (row and (failed or OVER[row.state])) then
			return true
		end
		local after = failed and step.on_failure or row.state == "completed" and step.on_success
		if after and M.is_unfinished(run, after.steps, failed and M.hooks_place(step, place, row.round) or place) then
			return true
		elseif failed and not M.was_continued(step, row) then
			return false
		end
	end
	return false
end

return M
