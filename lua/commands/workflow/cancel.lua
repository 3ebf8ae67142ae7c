-- runner workflow cancel ID: end a run, also one that another runner is executing.

local exit_codes = require "runner.workflow.report.exit_codes"
local host = require "runner.host"
local owner = require "runner.state.owner"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"

local WAIT_MS, LOOK_MS = 15000, 50
local TELL = 'kill -TERM "$1"; kill -CONT "$1"' -- a run that Ctrl+Z has stopped hears nothing else

-- Whom to tell: the supervisor of who holds the run. A number that the store has of an
-- earlier owner may be anybody's by now: one who resumes the run has yet to write its own.
local function supervisor_of(db, id, holder)
	local pid = math.tointeger(db:find(id).owner)
	return pid and pid > 1 and owner.is_child(holder, pid) and pid or nil
end

local function raise_deaf(ctx, id, pid)
	ctx:fail("UNAVAILABLE", ("Process %d, which runs %s, does not end"):format(pid, id),
		{ retryable = true, suggestion = "Try again; what a step is doing may take its time to end" })
end

-- Its supervisor ends it as after Ctrl+C: nothing is left, and the store knows.
local function end_owner(ctx, db, id)
	local give_up, told = host.now() + WAIT_MS, nil
	for holder in function() return db:owner(id) end do
		local pid = supervisor_of(db, id, holder)
		if pid and pid ~= told then
			ctx:run { "/bin/sh", "-c", TELL, "sh", tostring(pid) }
			told = pid
		elseif host.now() > give_up then
			raise_deaf(ctx, id, told or holder)
		end
		host.sleep(LOOK_MS)
	end
end

return {
	description = "End a run for good",
	danger_level = "mutating",
	timeout = "30s",
	args = {
		{ "id", "string", positional = true, required = true, description = "Of the run, or how it begins" },
	},
	exit_codes = { TIMEOUT = { retryable = "maybe", side_effects = "partial" }, NOT_FOUND = exit_codes.of_id.NOT_FOUND,
		CONFLICT = { description = "The run has completed, or several have ids that begin so" } },
	examples = { { description = "A run that hangs", command = "runner workflow cancel run_01J" } },
	run = function(args, ctx)
		local db = store.open {}
		ctx:defer(function()
			db:close()
		end)
		local row = db:find(args.id)
		if row.state == "cancelled" then
			return { id = row.id, state = "cancelled", effect = "unchanged" }
		elseif row.state == "completed" then
			ctx:fail("CONFLICT", ("Run %s has completed; nothing is left to cancel"):format(row.id))
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
			return { id = row.id, state = "cancelled", effect = "unchanged" }
		end
		db:interrupt(row.id, { state = "cancelled", message = "The run was cancelled" })
		return { id = row.id, state = "cancelled", before = before, effect = "updated" }
	end,
}
