-- last_steps: `finally` of a workflow: the steps that run when it ends, whichever way. They are a block with a row for each
-- time that the workflow ends, which says how it did: a resumed run first ends those that were cut off, then goes on.

local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local resumed_results = require "runner.workflow.run.resumed_results"
local scopes = require "runner.workflow.run.scope"
local tables = require "runner.core.tables"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"

local M = {}

local OVER = { completed = true, skipped = true }
local CUT_OFF = { running = true, interrupted = true }

local function place_of(last, place, n)
	local suffix = (n > 1 or last.nested) and place.suffix .. "@" .. n or place.suffix
	return { prefix = place.prefix, suffix = suffix, scope = place.scope }
end

-- Which time was the last one that has begun, and its row. One that was put back has not.
local function latest(run, last, place)
	local n, row = 0, nil
	while true do
		local at = place_of(last, place, n + 1)
		local next_row = run.rows[at.prefix .. last.key .. at.suffix]
		if not next_row or next_row.state == "waiting" then
			return n, row
		end
		n, row = n + 1, next_row
	end
end

---Run them; they see how it ended.
---@param run table
---@param last runner.workflow.Step
---@param place runner.workflow.Place of the workflow's steps
---@param n integer which time it is
---@param ended {state: string, code: string, error: string}
---@param sequence fun(run: table, steps: runner.workflow.Step[], place: runner.workflow.Place): table?
---@return runner.Error? problem
function M.perform(run, last, place, n, ended, sequence)
	local at = place_of(last, place, n)
	at.scope = scopes.inner_scope(place.scope, { run = tables.add(tables.add({}, place.scope.run), ended) }, true)
	run.ending = run.ending or not last.nested and { n = n, ended = ended } or nil -- those of the run itself
	local ok, raised = pcall(sequence, run, { setmetatable({ ended = ended }, { __index = last }) }, at)
	if type(raised) == "userdata" or not ok and raised == run.waits then
		error(raised, 0) -- a cancellation: a resume goes on here
	end
	run.ending = last.nested and run.ending or nil
	doubt.check(run)
	return not ok and errors.normalise(raised) or nil
end

-- Beside the failure that ended the workflow, theirs is a warning.
local function note(run, last, place, n, e)
	local at = place_of(last, place, n)
	local key = at.prefix .. last.key .. at.suffix
	tolerated_failures.note(run, key, { code = "FINALLY_FAILED", message = ("Step %s failed after the failure of the run: %s"):format(key,
		e.message), context = { code = e.code } })
end

-- Those that were cut off, with what the steps before them have left.
local function finish(run, workflow, place, n, ended, sequence)
	local seen = { prefix = place.prefix, suffix = place.suffix, scope = scopes.inner_scope(place.scope, {}, true) }
	resumed_results.recall(run, workflow.steps, seen)
	local e = M.perform(run, workflow.finally, seen, n, ended, sequence)
	if e and ended.state ~= "completed" then
		note(run, workflow.finally, place, n, e)
	end
	return ended.state == "completed" and e
end

-- Something of a workflow that had ended is to run: it ends once more, also where a later process goes on.
local function announce(run, workflow, place, n)
	local last, at, over = workflow.finally, place_of(workflow.finally, place, n), true
	local key = at.prefix .. last.key .. at.suffix
	for _, step in ipairs(workflow.steps) do
		local row = run.rows[place.prefix .. step.key .. place.suffix]
		over = over and row and (OVER[row.state] or resumed_results.was_continued(step, row))
	end
	if not over and not run.rows[key] then
		run.db:soon("set_step", run.id, scopes.ident(run, last, key, place.scope), "waiting", { round = 0 })
		run.db:soon("put_back", run.id, key)
	end
	return not over or run.rows[key] ~= nil
end

---Run the steps of a workflow, and then its last ones. Raises the first failure.
---@param run table
---@param workflow runner.workflow.Workflow
---@param place runner.workflow.Place
---@param sequence fun(run: table, steps: runner.workflow.Step[], place: runner.workflow.Place): table?
---@return table? given
function M.around(run, workflow, place, sequence)
	local last = workflow.finally
	if not last then
		return sequence(run, workflow.steps, place)
	end
	local n, row = latest(run, last, place)
	local ended = row and type(row.data) == "table" and row.data.ended
		or { state = "failed", code = "", error = "" }
	local cut_off = row and CUT_OFF[row.state]
	local failed = cut_off and finish(run, workflow, place, n, ended, sequence)
	local again = row and ended.state == "completed" and announce(run, workflow, place, n + 1)
	run.endings = last.nested and run.endings or n
	local ok, given = pcall(sequence, run, workflow.steps, place)
	doubt.check(run)
	if type(given) == "userdata" or not ok and given == run.waits then
		error(given, 0) -- it isn't over
	elseif failed then
		error(failed, 0)
	elseif ok and row and ended.state == "completed" and row.state ~= "failed" and not again then
		return given -- it had ended
	end
	local e = not ok and errors.normalise(given)
	local problem = M.perform(run, last, place, n + 1, e and { state = "failed", code = e.code, error = run.mask(e.message) }
		or { state = "completed", code = "", error = "" }, sequence)
	if e and problem then
		note(run, last, place, n + 1, problem)
	end
	if e or problem then
		error(e and given or problem, 0)
	end
	return given
end

return M
