-- runner job cancel ID: ask the job's own supervisor to end it, and wait until it has.

local answer = require "runner.jobs.answer"
local attempt = require "runner.core.attempt"
local folder = require "runner.jobs.folder"
local host = require "runner.host"

local WAIT_MS, LOOK_MS = 20000, 50

local function finish(ctx, job)
	local give_up, asked = host.now() + WAIT_MS, false
	repeat
		asked = asked or folder.ask_to_end(job)
		if folder.wait(job, LOOK_MS) then
			return
		end
	until host.now() > give_up
	ctx:fail("UNAVAILABLE", ("Job %s has not ended yet"):format(job.id), { retryable = true, side_effects = "none",
		data = answer.descriptor(job, attempt.project), suggestion = "Try again; it may need more time to stop" })
end

-- What is cancelled is not gone on with.
local function forget_checkpoint(job)
	if job.status == "cancelled" and type(job.record.checkpoint) == "string" then
		require("runner.core.checkpoints").remove(job.record.checkpoint)
	end
end

return {
	timeout = "30s",
	args = { folder.argument },
	exit_codes = folder.exit_codes_with {
		TIMEOUT = { retryable = true, side_effects = "none" },
		CONFLICT = { description = "The job has ended already, or the ID is ambiguous" },
	},
	examples = { { description = "A job that hangs", command = "runner job cancel job_01J" } },
	run = function(args, ctx)
		local job = folder.find(args.id)
		local was_running = job.status == "running"
		if was_running then
			finish(ctx, job)
			job = folder.open(job.id) or job
			forget_checkpoint(job)
		end
		local data = answer.descriptor(job, attempt.project)
		if job.status == "complete" or job.status == "failed" then
			ctx:fail("CONFLICT", ("Job %s had ended before it could be cancelled"):format(job.id), { data = data,
				suggestion = data.wait_command })
		end
		data.effect = was_running and "updated" or "noop"
		return data
	end,
}
