-- runner workflow show ID: one run: its steps, attempts, errors and logs.

local answer = require "runner.workflow.report.answer"
local html = require "runner.workflow.report.html"
local store = require "runner.workflow.store.store"

return {
	timeout = "none",
	args = {
		answer.run,
		{ "full", "boolean", description = "Whole outputs, not only their first 4096 bytes" },
		{ "watch", "boolean", description = "Wait until the run is over; on a terminal, show its steps meanwhile" },
		answer.html,
		answer.steps, answer.limit, answer.cursor,
	},
	columns = answer.columns,
	exit_codes = answer.id_codes,
	rows = "steps",
	examples = {
		{ description = "Why it failed", command = "runner workflow show run_01J" },
		{ description = "A page about it", command = "runner workflow show run_01J --html run.html" },
	},
	validate = answer.problems,
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local id = db:resolve(args.id)
		if args.watch then
			require("runner.workflow.report.live").watch(db, id)
		end
		if args.html then
			local page, run = require("runner.workflow.report.html_run").page(db, id)
			return html.write(args.html, page, { id = run.id, workflow = run.workflow, state = run.state })
		end
		return answer.of(db, id, args)
	end,
}
