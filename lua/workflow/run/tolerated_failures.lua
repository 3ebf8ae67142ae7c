-- tolerated_failures: what a run goes on in spite of: the failed items of a loop, or parallel steps
-- (continue_on_error, max_failures), and failed steps with on_failure: continue. Each of these
-- steps has one warning, in the store, so that every answer about the run has it.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local scopes = require "runner.workflow.run.scope"

local M = {}

M.CODE = "PASSED_OVER"

---@class runner.workflow.PassedOver
---@field failed integer
---@field total integer
---@field first? {i: integer, error: runner.Error, of: {item: any, step: string?}}

---A step is over, with a warning or without one.
---@param run table
---@param key string
---@param warning? runner.workflow.StepWarning
---@param again? boolean an earlier process may have left one
function M.note(run, key, warning, again)
	if warning then
		warning.context = warning.context or {}
		warning.context.step = key
		-- On an executor the run that it is of tells of it; of what is inside of loops its answer does, all at once.
		if not run.park and not key:find("[", 1, true) then
			run.warned[key] = true
			attempt.warn(warning.code, warning.message, warning.context)
		end
	end
	if warning or again then
		run.db:soon("warn_step", run.id, key, warning)
	end
end

---An attempt has succeeded, with something strange about it, or not.
---@param run table
---@param key string
---@param warning? {code: string, message: string}|false
function M.outcome(run, key, warning)
	if warning then
		M.note(run, key, { code = warning.code, message = ("Step %s: %s"):format(key, warning.message) })
	end
end

-- "3 of 5 items failed; the first, item 2 (b): Shell command exited with status 1"
local function said(step, found)
	local first = found.first
	local noun = step.kind == "foreach" and "item" or "step"
	local what = first.of.step or ("%d (%s)"):format(first.i, scopes.item_text(first.of.item))
	return ("%d of %d %ss failed; the first, %s %s: %s"):format(found.failed, found.total, noun, noun, what, first.error.message)
end

local function context_of(found)
	local first = found.first
	return { failed = found.failed, total = found.total,
		first = { item = first.of.item, step = first.of.step, index = first.i, code = first.error.code, message = first.error.message } }
end

-- A loop did nothing, although there was something.
local function nothing_chosen(key, none_of)
	return { code = "NOTHING_CHOSEN", message = ("Step %s: where holds for none of %d item%s"):format(key, none_of,
		none_of == 1 and "" or "s"), context = { none_of = none_of } }
end

---The failures of a step that holds steps have been passed over; or there were none; or its `where` holds for none of its items.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param found? runner.workflow.PassedOver
---@param again boolean
---@param none_of? integer items
function M.inside(run, step, key, found, again, none_of)
	local warning = none_of and nothing_chosen(key, none_of) or found and { code = M.CODE,
		message = ("Step %s: %s"):format(key, said(step, found)), context = context_of(found) } or nil
	if warning then
		events.warn(run, warning.message, key)
	end
	M.note(run, key, warning, again)
end

---A step has failed, and its run goes on.
---@param run table
---@param key string
---@param e runner.Error
function M.step(run, key, e)
	M.note(run, key, { code = M.CODE, message = ("Step %s failed, and the run went on (on_failure: continue): %s"):format(key, e.message),
		context = { failed = 1, total = 1, first = { step = key, code = e.code, message = e.message } } })
end

---Have more failed than max_failures allows?
---@param step runner.workflow.Step
---@param found runner.workflow.PassedOver
---@param total? integer of all, where it is known
---@return runner.Error?
function M.exceeded(step, found, total)
	local allowed = step.max_failures
	local most = allowed and (allowed.count or total and allowed.percent * total / 100)
	if most and found.failed > most then
		return errors.new("PARTIAL_FAILURE", ("%s; max_failures is %s"):format(said(step, found),
			allowed.count or allowed.percent .. "%"), { retryable = false, side_effects = "partial", context = context_of(found) })
	end
end

---What ends a loop, or parallel steps, once one of them is over.
---@param step runner.workflow.Step
---@param result runner.TaskResult
---@param found runner.workflow.PassedOver
---@param total? integer
---@return any raised
function M.problem(step, result, found, total)
	if result.ok then
		return nil
	elseif not step.continue_on_error then
		return result.error
	end
	return M.exceeded(step, found, total)
end

return M
