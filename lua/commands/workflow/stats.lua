-- runner workflow stats: attempts, retries, waits and costs over all runs, by code, step,
-- workflow and day.

local host = require "runner.host"
local html_file = require "runner.workflow.report.html_file"
local json = require "runner.json"
local store = require "runner.workflow.store.store"

return {
	description = "Count attempts, retries, waits and costs across runs",
	danger_level = "safe",
	args = {
		{ "workflow", "string", description = "Only runs of this workflow" },
		{ "since", "duration", description = "Only runs that started within this time, such as 7d" },
		html_file.argument,
	},
	examples = {
		{ description = "The last week", command = "runner workflow stats --since 7d" },
		{ description = "A page about it", command = "runner workflow stats --since 7d --html stats.html" },
	},
	run = function(args)
		local db <close> = store.open { readonly = true }
		local since = args.since and host.wall_ms() - math.floor(args.since * 1000) or nil
		local stats = db:stats { workflow = args.workflow, since_ms = since }
		local executors = db:stats_by_executor { workflow = args.workflow, since_ms = since }
		stats.by_executor = executors[1] and json.array(executors) or nil
		if args.html then
			return html_file.write(args.html, require("runner.workflow.report.html_stats").page(stats), { runs = stats.runs })
		end
		return stats
	end,
}
