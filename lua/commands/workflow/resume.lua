-- runner workflow resume ID: continue a run where it stopped. Completed steps are not
-- run again; retries continue with the attempts already used.

local answer = require "runner.workflow.report.answer"
local attempt = require "runner.core.attempt"
local exit_codes = require "runner.workflow.report.exit_codes"
local drive = require "runner.workflow.run.drive"
local place = require "runner.project.place"
local run_id = require "runner.workflow.report.run_id"
local start = require "runner.workflow.run.start"

return {
	description = "Resume a run where it stopped",
	danger_level = "mutating",
	timeout = "none",
	grace = "10s",
	args = {
		run_id.argument,
		{ "force", "boolean", description = "Resume even if the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again even though it may have finished" },
		{ "mark_done", "array", items = "string", description = "A step to treat as done: it is not run again" },
		start.max_cost_argument,
		answer.arguments[1], answer.arguments[2],
	},
	columns = answer.columns,
	exit_codes = exit_codes.of_run {
		NOT_FOUND = { description = "No run with this ID, or its file is gone" },
		CONFLICT = { description = "The run has completed or was cancelled, or its file has changed" },
	},
	examples = {
		{ description = "After a failure or an interruption", command = "runner workflow resume run_01J" },
	},
	run = function(args, ctx)
		return drive.run(ctx, "resumed", args, function(db)
			local row = db:find(args.id)
			place.go_on(attempt.project, row.context, row.id)
			return start.reopen(db, args)
		end)
	end,
}
