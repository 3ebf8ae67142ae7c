-- runner workflow cancel ID: cancel a run, even while another runner executes it.

local declarations = require "runner.workflow.report.declarations"
local host = require "runner.host"
local owner = require "runner.state.owner"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"

local WAIT_MS, LOOK_MS = 15000, 50
local SIGNAL = 'kill -TERM "$1"; kill -CONT "$1"' -- a run stopped by Ctrl+Z has to continue to end

-- Whom to signal: the supervisor of the process that holds the run. The pid in the store
-- may be reused by now: a process that resumes a run writes its own a little later.
local function supervisor_of(db, id, holder)
	local pid = math.tointeger(db:find(id).owner)
	return pid and pid > 1 and owner.is_child(holder, pid) and pid or nil
end

local function raise_stuck(ctx, id, pid)
	ctx:fail("UNAVAILABLE", ("Process %d, which executes %s, has not ended"):format(pid, id),
		{ retryable = true, suggestion = "Try again; its steps may need more time to stop" })
end

-- Its supervisor ends it as Ctrl+C would: no process is left, and the store is updated.
local function end_owner(ctx, db, id)
	local give_up, signalled = host.now() + WAIT_MS, nil
	for holder in function() return db:owner(id) end do
		local pid = supervisor_of(db, id, holder)
		if pid and pid ~= signalled then
			ctx:run { "/bin/sh", "-c", SIGNAL, "sh", tostring(pid), ok_statuses = { 0, 1 } } -- 1: it is gone already
			signalled = pid
		elseif host.now() > give_up then
			raise_stuck(ctx, id, signalled or holder)
		end
		host.sleep(LOOK_MS)
	end
end

-- What it has placed on executors; no other process watches it now.
local function end_elsewhere(ctx, db, id)
	if not db:live_units(id)[1] then
		return
	end
	local left = require("runner.workflow.run.placed").end_all { id = id, db = db, failures = {} }
	if left[1] then
		ctx:fail("UNAVAILABLE", ("Tasks of %s may still run: their executor does not say that they have ended")
			:format("step " .. table.concat(left, ", step ")), { retryable = true, suggestion = "Try again: runner workflow cancel " .. id })
	end
end

return {
	timeout = "30s",
	args = {
		declarations.run,
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" }, NOT_FOUND = declarations.id_codes.NOT_FOUND,
		CONFLICT = { description = "The run has completed, or the ID is ambiguous" } },
	examples = { { description = "A run that hangs", command = "runner workflow cancel run_01J" } },
	run = function(args, ctx)
		local db = store.open {}
		ctx:defer(function()
			db:close()
		end)
		local row = db:find(args.id)
		if row.state == "cancelled" then
			return { id = row.id, state = "cancelled", effect = "noop" }
		elseif row.state == "completed" then
			ctx:fail("CONFLICT", ("Run %s has completed; there is nothing to cancel"):format(row.id))
		end
		local before = report.settled(db, row).state
		end_owner(ctx, db, row.id)
		local lock = db:own(row.id)
		ctx:defer(function()
			lock:release()
		end)
		row = db:find(row.id)
		if row.state == "completed" then
			ctx:fail("CONFLICT", ("Run %s completed before it could be cancelled"):format(row.id))
		elseif row.state == "cancelled" then
			return { id = row.id, state = "cancelled", effect = "noop" }
		end
		end_elsewhere(ctx, db, row.id)
		db:set_run(row.id, { state = "cancelled", code = "CANCELLED", message = "The run was cancelled" })
		return { id = row.id, state = "cancelled", before = before, effect = "updated" }
	end,
}
