-- again: what of a run is put back, so that it runs once more: all from a step on, or what has failed and was passed over. It
-- changes rows, in the commit that says that the run goes on, and runs nothing. A step that is put back waits for the first
-- attempt of a new round; those that it has had stay.

local check = require "runner.workflow.file.check"
local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local loop = require "runner.workflow.run.loop"
local outputs = require "runner.workflow.run.outputs"
local reference = require "runner.core.reference"
local resumed_results = require "runner.workflow.run.resumed_results"
local tolerated_failures = require "runner.workflow.run.tolerated_failures"

local M = {}

local TOP = { prefix = "", suffix = "" }

local function refuse(run, code, message, suggestion)
	errors.raise(code, message, { retryable = false, side_effects = "none", suggestion = suggestion, context = { run = run.id } })
end

-- The tasks of a placed step have journals of their own, which say what is over.
local function check_place(run, holds)
	for _, unit in ipairs(run.db:all_units(run.id)) do
		if holds(unit.key) then
			refuse(run, "CONFLICT", ("Step %s ran on an executor: what is over there isn't run again"):format(unit.key),
				"Start the workflow again: runner workflow run " .. run.workflow.path)
		end
	end
end

-- --- a step and all that holds it --------------------------------------------------------------------

local way_to

-- One that was skipped, or couldn't start, has none.
local function is_way(row)
	return row ~= nil and row.kind == "steps" and type(row.data) == "table"
end

local function way_inside(run, step, key, place, wanted)
	local row = run.rows[key]
	if step.kind == "foreach" then
		local i = wanted:sub(1, #key) == key and wanted:match("^%[%d+%]%.", #key + 1)
		return i and way_to(run, step.steps, { prefix = key .. i, suffix = place.suffix }, wanted)
	elseif step.kind == "parallel" then
		return way_to(run, step.steps, place, wanted)
	end
	return is_way(row) and way_to(run, step.steps, resumed_results.hooks_place(step, place, row.data.rounds["do"]), wanted)
end

-- A step with those that hold it, the innermost first; nil: a run that goes on doesn't come by, as by hooks and earlier rounds.
function way_to(run, steps, place, wanted)
	for _, step in ipairs(steps) do
		local key = place.prefix .. step.key .. place.suffix
		if key == wanted then
			return { { step = step, key = key } }
		end
		local way = step.steps and way_inside(run, step, key, place, wanted)
		if way then
			way[#way + 1] = { step = step, key = key }
			return way
		end
		way = step.on_success and way_to(run, step.on_success.steps, place, wanted)
		if way then
			return way
		end
	end
end

-- The items of a loop that is over: its data have them.
local function items_of(run, key, row)
	local items = json.array {}
	for i, given in ipairs(large_value.value(outputs.result(run, key, row, true).data)) do
		items[i] = given.item == nil and refuse(run, "PRECONDITION", ("Item %d of step %s was not stored"):format(i, key),
			"Start the workflow again: runner workflow run " .. run.workflow.path) or given.item
	end
	return loop.whole(run, key, items)
end

-- What it goes on with: a loop with its items; a block with its steps, and all its repairs.
local function data_of(run, found, row, begins)
	if found.step.kind == "foreach" then
		return row.state == "completed" and items_of(run, found.key, row) or row.data
	elseif found.step.worktree and begins and begins(found.key) then
		return nil
	elseif found.step.worktree and row.state == "completed" then
		refuse(run, "CONFLICT", ("What runs again in step %s was in its worktree, which is gone"):format(found.key),
			("runner workflow retry %s --from %s"):format(run.id, found.key:match "^[^.%[@]+"))
	elseif found.step.kind == "steps" and is_way(row) then
		row.data.phase, row.data.granted = "do", row.data.rounds.repair
		return row.data
	end
end

-- It goes on there, as it was decided. known: keys that are put back already; begins: and that begin anew
local function put_way_back(run, way, known, begins)
	for _, found in ipairs(way) do
		if not known[found.key] then
			known[found.key] = true
			check_place(run, function(placed) return placed == found.key end)
			local row = run.rows[found.key]
			run.db:soon("put_back", run.id, found.key, { data = data_of(run, found, row, begins), started_ms = row.started_ms })
		end
	end
end

-- --- what has asked a person -----------------------------------------------------------------------------

---Put back steps that asked a person about another file than that of the run by now: they ask anew, and no `when` and no list of
---this one is decided that would keep them from asking. Raises CONFLICT where the run doesn't come by one any more.
---@param run table owned; what is put off in its store comes with the next commit
---@param gates {key: string}[]
---@param begins fun(key: string): boolean? as M.from gives it
function M.gates(run, gates, begins)
	local known = {}
	for _, gate in ipairs(gates) do
		local way = way_to(run, run.workflow.steps, TOP, gate.key)
		if not way and not (begins and begins(gate.key)) then
			refuse(run, "CONFLICT", ("Step %s has asked a person, and the file has changed: in a repair, or an earlier round, it isn't asked anew")
				:format(gate.key), "Undo the change: another file is another run")
		end
		put_way_back(run, way or {}, known, begins)
	end
end

-- --- all from a step on ----------------------------------------------------------------------------

local function index_of(run, wanted)
	local keys = {}
	for i, step in ipairs(run.workflow.steps) do
		if step.key == wanted then
			return i
		elseif reference.holder(step.key)(wanted) then
			refuse(run, "NOT_FOUND", ("Step %s is inside of another one"):format(wanted), "Give the outermost step: --from " .. step.key)
		end
		keys[i] = step.key
	end
	refuse(run, "NOT_FOUND", ("The workflow has no step '%s'"):format(wanted), check.meant(wanted, keys)
		or "runner workflow show " .. run.id)
end

local function check_doubts(run, holds)
	for _, key in ipairs(run.retry_in_doubt and {} or run.in_doubt) do
		local way = holds(key) and way_to(run, run.workflow.steps, TOP, key)
		if holds(key) and not (way and doubt.is_harmless(way[1].step)) then
			refuse(run, doubt.CODE, ("Step %s is in doubt: it is not known whether it finished its work"):format(key),
				("To run it again all the same: --retry-in-doubt. Otherwise: runner workflow resume %s --mark-done %s"):format(run.id, key))
		end
	end
end

-- What is in a worktree is work of the steps that would begin again.
local function check_worktrees(run, holds)
	for _, row in ipairs(run.db:worktrees(run.id)) do
		if holds(row.key) and fs.lstat(row.worktree.path) then
			refuse(run, "CONFLICT", ("Step %s has a worktree, %s"):format(row.key, row.worktree.path),
				"Keep what you need of it, then: runner workflow worktrees --clean " .. run.id)
		end
	end
end

---Put back a step and all that follow it. Raises NOT_FOUND where it is none of the file's outermost steps, CONFLICT where it has
---not begun, one before it is not over or one of them ran on an executor, and STEP_IN_DOUBT.
---@param run table owned; what is put off in its store comes with the next commit
---@param key string
---@return fun(key: string): boolean? begins anew
function M.from(run, key)
	local first, all = index_of(run, key), {}
	if not run.rows[key] then
		refuse(run, "CONFLICT", ("Step %s has not begun"):format(key), "runner workflow resume " .. run.id)
	end
	for i = 1, first - 1 do
		local step = run.workflow.steps[i]
		local row = run.rows[step.key]
		if not (row and (row.state == "completed" or row.state == "skipped" or resumed_results.was_continued(step, row))) then
			refuse(run, "CONFLICT", ("Step %s, which is before it, is not over"):format(step.key), "runner workflow resume " .. run.id)
		end
	end
	for i = first, #run.workflow.steps do
		local step = run.workflow.steps[i]
		local holds = reference.holder(step.key)
		check_place(run, holds)
		check_worktrees(run, holds)
		check_doubts(run, holds)
		run.db:soon("put_back", run.id, step.key)
		all[#all + 1] = holds
	end
	return function(other)
		for _, holds in ipairs(all) do
			if holds(other) then
				return true
			end
		end
	end
end

-- --- what was passed over --------------------------------------------------------------------------

local OVER = { completed = true, failed = true }

---Put back what the run has gone on in spite of: the failed items of loops, failed parallel steps, and failed steps with
---on_failure: continue. What has succeeded stays. Raises CONFLICT where a person has not answered: the run went on without that
---step, which is skipped, and what follows it there isn't to run.
---@param run table owned; what is put off in its store comes with the next commit
---@return boolean some
function M.failed(run)
	local known = {}
	for _, gate in ipairs(run.db:gates(run.id)) do
		if gate.state == "pending" then
			refuse(run, "CONFLICT", ("Step %s has asked a person, who has not answered"):format(gate.key), "runner workflow show " .. run.id)
		end
	end
	for _, key in ipairs(run.db:warned_steps(run.id, tolerated_failures.CODE)) do
		local way = OVER[run.rows[key].state] and way_to(run, run.workflow.steps, TOP, key)
		put_way_back(run, way or {}, known)
	end
	return next(known) ~= nil
end

return M
