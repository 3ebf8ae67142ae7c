-- runner workflow run FILE: a workflow from start to end. Every transition is in
-- the store before it takes effect (lua/workflow/store/store.lua).

local answer = require "runner.workflow.report.answer"
local executors = require "runner.workflow.file.executors"
local exit_codes = require "runner.workflow.report.exit_codes"
local drive = require "runner.workflow.run.drive"
local start = require "runner.workflow.run.start"

return {
	description = "Run a workflow file",
	danger_level = "mutating",
	timeout = "none",
	grace = "10s",
	args = {
		{ "file", "path", positional = true, required = true, description = "Workflow file, in YAML" },
		{ "var", "array", items = "string", description = "Workflow variable: name=value" },
		{ "seed", "integer", min = 0, description = "Seed for the jitter of retries; default: random" },
		start.max_cost_argument, executors.argument,
		answer.arguments[1], answer.arguments[2],
	},
	columns = answer.columns,
	exit_codes = exit_codes.of_run(),
	examples = {
		{ description = "Run a workflow with a variable", command = "runner workflow run review.yaml --var release=1.4.0" },
	},
	validate = function(args)
		return start.problems(args, true)
	end,
	run = function(args, ctx)
		return drive.run(ctx, "started", args, function(db)
			return start.create(db, args)
		end)
	end,
}
