-- runner workflow retry ID: run a step of a run and all that follow it again, whatever became of them. What is before the step
-- stays as it is.

local attempt = require "runner.core.attempt"
local declarations = require "runner.workflow.report.declarations"
local place = require "runner.project.place"
local run_command = require "runner.workflow.run.run_command"
local start = require "runner.workflow.run.start"

return {
	timeout = "none",
	grace = "10s",
	args = {
		declarations.run,
		{ "from", "string", required = true, min_length = 1, description = "The step to begin with: an outermost one of the file" },
		{ "force", "boolean", description = "Also if the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again even though it may have finished" },
		start.max_cost_argument,
		declarations.steps, declarations.limit,
	},
	columns = declarations.columns,
	exit_codes = declarations.run_codes {
		NOT_FOUND = { description = "No run with this ID, no such step, or the file is gone" },
		CONFLICT = { description = "The step has not begun, the run was cancelled, its file has changed, or several runs match the ID" },
	},
	rows = "steps",
	examples = {
		{ description = "Deploy again, without building", command = "runner workflow retry run_01J --from deploy" },
	},
	run = function(args, ctx)
		return run_command.run(ctx, "resumed", args, function(db)
			local row = db:find(args.id)
			place.go_on(attempt.project, row.context, row.id)
			return start.reopen(db, args)
		end)
	end,
}
