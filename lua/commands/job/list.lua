-- runner job list: the jobs of this project, newest first.

local answer = require "runner.jobs.answer"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local folder = require "runner.jobs.folder"
local json = require "runner.json"
local scope = require "runner.core.scope"

return {
	list = true,
	args = {
		{ "status", "enum", values = { "running", "complete", "failed", "cancelled", "lost" },
			description = "Only jobs of this status" },
		scope.argument(),
	},
	columns = { "job_id", "status", "command", "started", "duration_ms", "exit_code" },
	examples = { { description = "What is running?", command = "runner job list --status running" } },
	run = function(args)
		local rows, project, enough = json.array {}, scope.of(args), attempt.enough or math.huge
		for name in folder.newest() do
			if #rows >= enough then
				display.set { goes_on = true }
				break
			end
			local job = folder.open(name, project)
			if job and (not args.status or job.status == args.status) then
				rows[#rows + 1] = answer.row(job, args.all)
			end
		end
		return rows
	end,
}
