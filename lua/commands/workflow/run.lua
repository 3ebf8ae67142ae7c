-- runner workflow run FILE: a workflow from its beginning to its end. Every
-- transition is in the store before it takes effect (lua/workflow/store/store.lua).

local exit_codes = require "runner.workflow.report.exit_codes"
local drive = require "runner.workflow.run.drive"
local start = require "runner.workflow.run.start"

return {
	description = "Run a workflow file",
	danger_level = "mutating",
	timeout = "none",
	grace = "10s",
	args = {
		{ "file", "path", positional = true, required = true, description = "The workflow, in YAML" },
		{ "var", "array", items = "string", description = "A variable of the workflow: name=value" },
		{ "seed", "integer", min = 0, description = "Of the jitter between attempts; default: random" },
	},
	exit_codes = exit_codes.of_run(),
	examples = {
		{ description = "A workflow with a variable", command = "runner workflow run review.yaml --var release=1.4.0" },
	},
	validate = function(args)
		return start.problems(args, true)
	end,
	run = function(args, ctx)
		return drive.run(ctx, "started", function(db)
			return start.create(db, args)
		end)
	end,
}
