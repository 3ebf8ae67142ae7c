-- runner workflow chunk DIR TOKEN TASK: what an executor starts on a machine: a task of a step
-- that `on` has placed there (lua/workflow/run/chunk.lua). People don't call it.

local chunk = require "runner.workflow.run.chunk"
local process = require "runner.process"

return {
	timeout = "none",
	grace = "10s",
	args = {
		{ "dir", "path", positional = true, required = true, description = "Folder of the step in the shared directory" },
		{ "token", "string", positional = true, required = true, secret = false, description = "Token of the placement" },
		{ "task", "integer", positional = true, required = true, min = 1, description = "Which of its tasks" },
	},
	exit_codes = {
		CONFLICT = { description = "The chunk was placed again while this task ran it", retryable = false, side_effects = "partial" },
		PRECONDITION = { description = "The folder is missing, damaged, or not ours alone", retryable = false, side_effects = "none" },
		OUTPUT_FAILED = { description = "The shared directory can't be written", retryable = false, side_effects = "partial" },
		RESOURCE_EXHAUSTED = { description = "The shared directory is full", retryable = false, side_effects = "partial" },
	},
	examples = {
		{ description = "As an executor calls it", command = "runner workflow chunk /shared/runner-1000/run_01J/1 rn-8XK2.1 3" },
	},
	run = function(args, ctx)
		process.prepare() -- while this process is small
		return chunk.run(ctx, args.dir, args.token, args.task)
	end,
}
