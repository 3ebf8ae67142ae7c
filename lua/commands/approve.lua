-- runner approve ID: a person agrees to what a step of a workflow asks, and its run goes on; or to a call, which is made.

local decision = require "runner.workflow.run.decision"
local resumed = require "runner.calls.resumed"

return {
	timeout = "none",
	grace = "15s",
	args = { decision.argument },
	exit_codes = decision.exit_codes,
	examples = { { description = "Read what is asked, and agree", command = "runner approve apr_0c0ffee" } },
	run = function(args)
		return decision.run(args.id, "approved", nil, resumed.now, resumed.run)
	end,
}
