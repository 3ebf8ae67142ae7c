-- runner workflow resume ID: continue a run where it stopped. Completed steps are not
-- run again; retries continue with the attempts already used. A run that has completed
-- answers as `wait` does.

local attempt = require "runner.core.attempt"
local declarations = require "runner.workflow.report.declarations"
local run_command = require "runner.workflow.run.run_command"
local place = require "runner.project.place"
local start = require "runner.workflow.run.start"

return {
	timeout = "none",
	grace = "10s",
	args = {
		declarations.run,
		{ "failed", "boolean", description = "Run again what failed and was passed over, such as items of a loop" },
		{ "force", "boolean", description = "Resume even if the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again even though it may have finished" },
		{ "mark_done", "array", items = "string", description = "A step to treat as done: it is not run again" },
		{ "recover", "boolean", description = "Only a run that workflow recover may resume; of another nothing runs" },
		start.max_cost_argument,
		declarations.steps, declarations.limit,
	},
	columns = declarations.columns,
	exit_codes = declarations.run_codes {
		NOT_FOUND = { description = "No run with this ID, or its file is gone" },
		CONFLICT = { description = "The run was cancelled, its file has changed, or several runs match the ID" },
	},
	rows = "steps",
	examples = {
		{ description = "After a failure or an interruption", command = "runner workflow resume run_01J" },
		{ description = "Only the items that failed", command = "runner workflow resume run_01J --failed" },
	},
	run = function(args, ctx)
		return run_command.run(ctx, "resumed", args, function(db)
			local row = db:find(args.id)
			if row.state ~= "completed" or args.failed then
				place.go_on(attempt.project, row.context, row.id)
			end
			return start.reopen(db, args)
		end)
	end,
}
