-- job_descriptor: the JSON Schema of what `--detach` and every call of an `async` command
-- answer with (REQ-C-022), for the manifest.

local json = require "runner.json"

local TEXT, COUNT = { type = "string" }, { type = "integer", minimum = 0 }

return {
	["$schema"] = "http://json-schema.org/draft-07/schema#",
	type = "object",
	required = json.array { "job_id", "status", "terminal", "status_command", "cancel_command", "poll_interval_ms",
		"timeout_ms" },
	properties = {
		job_id = TEXT, status = { enum = json.array { "running", "complete", "failed", "cancelled", "lost" } },
		terminal = { type = "boolean" }, status_command = TEXT, cancel_command = TEXT, wait_command = TEXT,
		logs_command = TEXT, poll_interval_ms = COUNT, timeout_ms = COUNT,
	},
}
