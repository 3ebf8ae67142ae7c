-- runner workflow run FILE: a workflow from start to end. Every transition is in
-- the store before it takes effect (lua/workflow/store/store.lua).

local answer = require "runner.workflow.report.answer"
local executors = require "runner.workflow.file.executors"
local run_command = require "runner.workflow.run.run_command"
local start = require "runner.workflow.run.start"

return {
	timeout = "none",
	grace = "10s",
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
		{ "var", "array", items = "string", description = "Workflow variable: name=value" },
		{ "seed", "integer", min = 0, description = "Seed for the jitter of retries; default: random" },
		start.max_cost_argument, executors.argument,
		answer.steps, answer.limit,
	},
	columns = answer.columns,
	exit_codes = answer.run_codes(),
	rows = "steps",
	examples = {
		{ description = "Run a workflow with a variable", command = "runner workflow run review.yaml --var release=1.4.0" },
	},
	validate = function(args)
		start.tell_cost(args)
		return start.problems(args, true)
	end,
	run = function(args, ctx)
		return run_command.run(ctx, "started", args, function(db)
			return start.create(db, args)
		end)
	end,
}
