-- runner job list: the jobs of this user, newest first.

local answer = require "runner.jobs.answer"
local folder = require "runner.jobs.folder"
local json = require "runner.json"

return {
	description = "List jobs, newest first",
	danger_level = "safe",
	list = true,
	args = {
		{ "status", "enum", values = { "running", "complete", "failed", "cancelled", "lost" },
			description = "Only jobs of this status" },
	},
	columns = { "job_id", "status", "command", "started", "duration_ms", "exit_code" },
	examples = { { description = "What is running?", command = "runner job list --status running" } },
	run = function(args)
		local rows, names = json.array {}, folder.names()
		for i = #names, 1, -1 do
			local job = folder.open(names[i])
			if job and (not args.status or job.status == args.status) then
				rows[#rows + 1] = answer.row(job)
			end
		end
		return rows
	end,
}
