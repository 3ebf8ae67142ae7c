-- runner job wait ID: wait for a job, and answer as it did.

local answer = require "runner.jobs.answer"
local attempt = require "runner.core.attempt"
local folder = require "runner.jobs.folder"
local waiting = require "runner.core.waiting"

local function answer_of(job)
	local said = answer.of(job, attempt.project)
	if said.error then
		error(said.error, 0)
	end
	return said.data
end

return {
	timeout = "none",
	args = {
		folder.argument,
		waiting.argument,
		{ "until", "string", pattern = folder.CONDITION, default = "ended",
			description = "ended; or sooner: started, step:NAME (it is completed), done:N (ctx:progress said at least N)" },
	},
	exit_codes = folder.exit_codes_with {
		INCOMPLETE = { retryable = true, side_effects = "none", description = "It is still running" },
		JOB_FAILED = { retryable = false, side_effects = "none", description = "It ended before the condition of --until was met" },
		JOB_LOST = { description = "It ended without an answer" },
	},
	examples = {
		{ description = "Ten minutes at most", command = "runner job wait job_01J --for 10m" },
		{ description = "Until a step is done", command = "runner job wait job_01J --until step:build" },
	},
	run = function(args, ctx)
		local job, limit_ms = folder.find(args.id), waiting.limit(args)
		local holds = folder.condition(args["until"])
		local why = folder.wait(job, limit_ms or math.huge, holds)
		job = folder.open(job.id) or ctx:fail("NOT_FOUND", ("Job %s was removed"):format(job.id))
		if why == nil and job.status == "running" then
			error(answer.incomplete(job, attempt.project, limit_ms), 0)
		elseif not holds then
			return answer_of(job)
		elseif not holds(job) then
			ctx:fail("JOB_FAILED", ("Job %s ended before '%s' held"):format(job.id, args["until"]),
				{ data = answer.descriptor(job, attempt.project) })
		end
		return answer.descriptor(job, attempt.project)
	end,
}
