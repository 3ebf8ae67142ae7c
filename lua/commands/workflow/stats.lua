-- runner workflow stats: attempts, retries, waits and costs over the runs of a project, by code, step,
-- workflow and day.

local answer = require "runner.workflow.report.answer"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
local html = require "runner.workflow.report.html"
local json = require "runner.json"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"

return {
	args = {
		{ "workflow", "string", description = "Only runs of this workflow" },
		{ "since", "duration", description = "Only runs that started within this time, such as 7d" },
		{ "resources", "boolean", description = "Propose memory and chunk for steps on executors, by what was measured" },
		answer.html,
		scope.argument(),
	},
	examples = {
		{ description = "The last week", command = "runner workflow stats --since 7d" },
		{ description = "What steps on executors need", command = "runner workflow stats --resources" },
		{ description = "A page about it", command = "runner workflow stats --since 7d --html stats.html" },
	},
	run = function(args)
		local db <close> = store.open { readonly = true }
		local since = args.since and host.wall_ms() - require("runner.core.rules").milliseconds(args.since) or nil
		local chosen = { workflow = args.workflow, since_ms = since, project = scope.of(args) }
		local stats, executors = db:stats(chosen), db:stats_by_executor(chosen)
		if executors[1] or args.resources then
			local resources, units = require "runner.workflow.report.statistics", db:units_used(chosen)
			resources.add_used(executors, units)
			local here = args.resources and db:used_here(chosen)
			stats.resources = here and resources.proposals(table.move(here, 1, #here, #units + 1, units)) or nil
		end
		stats.by_executor = executors[1] and json.array(executors) or nil
		if args.html then
			return html.write(args.html, require("runner.workflow.report.statistics").page(stats), { runs = stats.runs })
		end
		if attempt.format == "text" then
			display.set { text = require("runner.workflow.report.statistics").text(stats) }
		end
		return stats
	end,
}
