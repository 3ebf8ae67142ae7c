-- runner workflow resume ID: go on with a run where it stopped. Completed steps are
-- not run again; a retry sequence goes on with the attempts already used.

local exit_codes = require "runner.workflow.report.exit_codes"
local drive = require "runner.workflow.run.drive"
local start = require "runner.workflow.run.start"

return {
	description = "Go on with a run where it stopped",
	danger_level = "mutating",
	timeout = "none",
	grace = "10s",
	args = {
		{ "id", "string", positional = true, required = true, description = "Of the run, or how it begins" },
		{ "force", "boolean", description = "Also where the file has changed or the run was cancelled" },
		{ "retry_in_doubt", "boolean", description = "Run a step again though it may have done its work" },
		{ "mark_done", "array", items = "string", description = "A step that has done its work, or need not: it is not run again" },
	},
	exit_codes = exit_codes.of_run {
		NOT_FOUND = { description = "No run has this id, or its file is gone" },
		CONFLICT = { description = "The run has completed or was cancelled, or its file has changed" },
	},
	examples = {
		{ description = "After a failure or an interruption", command = "runner workflow resume run_01J" },
	},
	run = function(args, ctx)
		return drive.run(ctx, "resumed", function(db)
			return start.reopen(db, args)
		end)
	end,
}
