-- runner job status ID: what became of a job, and how far it is.

local answer = require "runner.jobs.answer"
local attempt = require "runner.core.attempt"
local folder = require "runner.jobs.folder"

return {
	args = { folder.argument },
	exit_codes = folder.exit_codes_with {
		INCOMPLETE = { retryable = true, side_effects = "none", description = "It is running" },
		JOB_FAILED = { retryable = false, side_effects = "none", description = "It has failed, or was cancelled" },
		JOB_LOST = { description = "It ended without an answer" },
	},
	examples = { { description = "How far is it?", command = "runner job status job_01J" } },
	run = function(args, ctx)
		local job, project = folder.find(args.id), attempt.project
		if job.status == "running" then
			error(answer.incomplete(job, project), 0)
		elseif job.status == "lost" then
			error(answer.lost(job, project), 0)
		end
		local data = answer.descriptor(job, project)
		if job.status ~= "complete" then
			local e = job.answer.error
			ctx:fail("JOB_FAILED", ("Job %s %s: %s: %s"):format(job.id, job.status == "failed" and "has failed" or "was cancelled",
				e.code, e.message), { data = data, suggestion = data.wait_command })
		end
		return data
	end,
}
