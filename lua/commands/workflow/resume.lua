-- runner workflow resume ID: continue a run where it stopped. Completed steps are not
-- run again; retries continue with the attempts already used. A run that has completed
-- answers as `wait` does.

local attempt = require "runner.core.attempt"
local place = require "runner.project.place"
local run_command = require "runner.workflow.run.run_command"

local SHOWS = { id = true, steps = true, limit = true }

-- What a policy allows because `approve` has called it goes on with that run, and does no more.
local function check_called(given)
	local called = attempt.policy and require("runner.project.policy_names").called
	local id = (called or ""):match "^workflow%.resume (.*)$"
	local wrong = id and given.id ~= id and "id" or nil
	for name, value in pairs(id and given or {}) do
		wrong = wrong or not SHOWS[name] and value and (type(value) ~= "table" or value[1] ~= nil) and name or nil
	end
	if wrong then
		error(require("runner.project.caller_policy").refused(attempt.policy.list[1], "allow",
			("'workflow resume' is allowed for run %s alone, and without other arguments: %s"):format(id, wrong)), 0)
	end
end

return run_command.reopening(place.go_on, {
	check = check_called,
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
