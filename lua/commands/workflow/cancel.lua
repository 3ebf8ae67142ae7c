-- runner workflow cancel ID: cancel a run, even while another runner executes it.

local answer = require "runner.workflow.report.answer"
local cancellation = require "runner.workflow.run.cancellation"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"

return {
	timeout = "30s",
	args = {
		answer.run,
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" }, NOT_FOUND = answer.id_codes.NOT_FOUND,
		CONFLICT = { description = "The run has completed, or the ID is ambiguous" } },
	examples = { { description = "A run that hangs", command = "runner workflow cancel run_01J" } },
	run = function(args, ctx)
		local db = store.open {}
		ctx:defer(function()
			db:close()
		end)
		local row = db:find(args.id)
		local before = report.settled(db, row).state
		local state, changed = cancellation.run(ctx, db, row.id)
		if state == "completed" then
			ctx:fail("CONFLICT", (row.state == state and "Run %s has completed; there is nothing to cancel"
				or "Run %s completed before it could be cancelled"):format(row.id))
		end
		return { id = row.id, state = state, before = changed and before or nil, effect = changed and "updated" or "noop" }
	end,
}
