-- runner reject ID: a person refuses what a step of a workflow asks: its run goes on with that failure; or a call, which isn't made.

local decision = require "runner.workflow.run.decision"
local resumed = require "runner.calls.resumed"

return {
	timeout = "none",
	grace = "15s",
	args = { decision.argument, { "why", "string", description = "What the run, and its readers, are told" } },
	exit_codes = decision.exit_codes,
	examples = { { description = "Refuse, and say why", command = "runner reject apr_0c0ffee --why 'not before Monday'" } },
	run = function(args)
		return decision.run(args.id, "rejected", args.why, resumed.now)
	end,
}
