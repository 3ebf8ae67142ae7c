-- runner workflow cancel ID: end a run, also one that another runner is executing.

local host = require "runner.host"
local report = require "runner.workflow.report"
local store = require "runner.workflow.store"

local WAIT_MS, LOOK_MS = 15000, 50

-- Its supervisor ends it as after Ctrl+C: nothing is left, and the store knows.
local function end_owner(ctx, db, row)
	local pid = row.owner and math.tointeger(row.owner)
	if not db:owner(row.id) or not pid or pid <= 1 then
		return
	end
	ctx:run { "/bin/sh", "-c", 'kill -TERM "$1"', "sh", tostring(pid) }
	local till = host.now() + WAIT_MS
	while db:owner(row.id) do
		if host.now() > till then
			ctx:fail("UNAVAILABLE", ("Process %d, which runs %s, does not end"):format(pid, row.id),
				{ retryable = true, suggestion = "Try again; what a step is doing may take its time to end" })
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
	exit_codes = { TIMEOUT = { retryable = "maybe", side_effects = "partial" } },
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
		local before = report.state(db, row)
		end_owner(ctx, db, row)
		local lock = db:own(row.id)
		ctx:defer(function()
			lock:release()
		end)
		row = db:find(row.id)
		if row.state == "completed" then
			ctx:fail("CONFLICT", ("Run %s completed before it could be cancelled"):format(row.id))
		end
		db:interrupt(row.id, { code = "CANCELLED", message = "The run was cancelled" })
		db:set_run(row.id, { state = "cancelled" })
		return { id = row.id, state = "cancelled", before = before, effect = "updated" }
	end,
}
