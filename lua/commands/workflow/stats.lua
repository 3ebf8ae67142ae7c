-- runner workflow stats: attempts, retries, waits and costs over all runs, by code, step,
-- workflow and day.

local host = require "runner.host"
local store = require "runner.workflow.store.store"

return {
	description = "Count attempts, retries, waits and costs across runs",
	danger_level = "safe",
	args = {
		{ "workflow", "string", description = "Only runs of this workflow" },
		{ "since", "duration", description = "Only runs that started within this time, such as 7d" },
	},
	examples = { { description = "The last week", command = "runner workflow stats --since 7d" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local since = args.since and host.wall_ms() - math.floor(args.since * 1000) or nil
		return db:stats { workflow = args.workflow, since_ms = since }
	end,
}
