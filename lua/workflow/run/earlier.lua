-- earlier: what an earlier process of a resumed run left: the results of steps that are over,
-- and where it stopped between a failure and the steps that follow it. It runs nothing and
-- changes nothing.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local outputs = require "runner.workflow.run.outputs"
local scopes = require "runner.workflow.run.scope"

local M = {}

local OVER = { completed = true, skipped = true }

---Where the steps of on_failure are: they run once for each round of their step.
---@param place runner.workflow.Place of the step
---@param round integer
---@return runner.workflow.Place
function M.hooks_place(place, round)
	return { prefix = place.prefix, suffix = round > 1 and place.suffix .. "@" .. round or place.suffix, scope = place.scope }
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

-- A file that changed may have a different step here by now.
local function restored(run, step, key, row)
	if row.kind ~= step.kind or row.label ~= step.label then
		attempt.warn("STEP_CHANGED", ("Step %s has completed and is not run again, but the file now has a different step there"):format(key),
			{ step = key, was = row.label, is = step.label })
	end
	return outputs.result(run, key, row, true)
end

-- Restores what parallel steps left behind.
local function recall(run, steps, place)
	for _, step in ipairs(steps) do
		local key = place.prefix .. step.key .. place.suffix
		local row = run.rows[key]
		if row and row.state == "completed" then
			scopes.remember(step, place.scope, restored(run, step, key, row))
			recall(run, step.kind == "parallel" and step.steps or {}, place)
			recall(run, step.on_success and step.on_success.steps or {}, place)
		elseif row and row.state == "failed" then
			scopes.remember_failure(step, place.scope, M.failure(row), outputs.result(run, key, row, false))
			recall(run, step.on_failure and step.on_failure.steps or {}, M.hooks_place(place, row.round))
		end
	end
end

---The result of a completed step, which is not run again.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param row table
---@return table given
function M.pass_over(run, step, key, place, row)
	if step.kind == "parallel" then
		recall(run, step.steps, { prefix = place.prefix, suffix = place.suffix, scope = scopes.side_scope(place.scope) })
	end
	return restored(run, step, key, row)
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
		if after and M.is_unfinished(run, after.steps, failed and M.hooks_place(place, row.round) or place) then
			return true
		elseif failed and not M.was_continued(step, row) then
			return false
		end
	end
	return false
end

return M
