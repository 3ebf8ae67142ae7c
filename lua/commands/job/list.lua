-- runner job list: the jobs of this project, newest first.

local answer = require "runner.jobs.answer"
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
		local rows, names, project = json.array {}, folder.names(), scope.of(args)
		for i = #names, 1, -1 do
			local job = folder.open(names[i], project)
			if job and (not args.status or job.status == args.status) then
				rows[#rows + 1] = answer.row(job, args.all)
			end
		end
		return rows
	end,
}
