-- runner workflow retry ID: run a step of a run and all that follow it again, whatever became of them. What is before the step
-- stays as it is.

local place = require "runner.project.place"
local run_command = require "runner.workflow.run.run_command"

return run_command.reopening(place.go_on, {
	args = {
		{ "from", "string", required = true, min_length = 1, description = "The step to begin with: an outermost one of the file" },
	},
	codes = {
		NOT_FOUND = { description = "No run with this ID, no such step, or the file is gone" },
		CONFLICT = { description = "The step has not begun, the run was cancelled, its file has changed, or several runs match the ID" },
	},
	examples = {
		{ description = "Deploy again, without building", command = "runner workflow retry run_01J --from deploy" },
	},
})
