-- runner workflow resume ID: continue a run where it stopped. Completed steps are not
-- run again; retries continue with the attempts already used. A run that has completed
-- answers as `wait` does.

local place = require "runner.project.place"
local reopening = require "runner.workflow.run.reopening"

return reopening(place.go_on, {
	args = {
		{ "failed", "boolean", description = "Run again what failed and was passed over, such as items of a loop" },
		{ "mark_done", "array", items = "string", description = "A step to treat as done: it is not run again" },
		{ "recover", "boolean", description = "Only a run that workflow recover may resume; of another nothing runs" },
	},
	codes = {
		NOT_FOUND = { description = "No run with this ID, or its file is gone" },
		CONFLICT = { description = "The run was cancelled, its file has changed, or several runs match the ID" },
	},
	examples = {
		{ description = "After a failure or an interruption", command = "runner workflow resume run_01J" },
		{ description = "Only the items that failed", command = "runner workflow resume run_01J --failed" },
	},
})
