-- runner executor probe DIR INDEX: a task of `executor check`, on its node

local probe = require "runner.workflow.executors.probe"

return {
	timeout = "2m",
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
	args = {
		{ "dir", "path", positional = true, required = true, description = "Folder of the check" },
		{ "index", "integer", positional = true, required = true, min = 1, max = 2, description = "Which task" },
	},
	examples = { { description = "As a job script calls it", command = "runner executor probe /shared/runner-1000/check-1f 1" } },
	run = function(args)
		probe.task(args.dir, args.index)
		return { effect = "created" }
	end,
}
