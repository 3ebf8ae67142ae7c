-- runner workflow show ID: one run: its steps, attempts, errors and logs.

local answer = require "runner.workflow.report.answer"
local exit_codes = require "runner.workflow.report.exit_codes"
local html_file = require "runner.workflow.report.html_file"
local run_id = require "runner.workflow.report.run_id"
local store = require "runner.workflow.store.store"

return {
	description = "Show a run with its steps and attempts",
	danger_level = "safe",
	timeout = "none",
	args = {
		run_id.argument,
		{ "full", "boolean", description = "Whole outputs, not only their first 4096 bytes" },
		{ "watch", "boolean", description = "Wait until the run is over; on a terminal, show its steps meanwhile" },
		html_file.argument,
		answer.arguments[1], answer.arguments[2], answer.cursor,
	},
	columns = answer.columns,
	exit_codes = exit_codes.of_id,
	examples = {
		{ description = "Why it failed", command = "runner workflow show run_01J" },
		{ description = "A page about it", command = "runner workflow show run_01J --html run.html" },
	},
	validate = answer.problems,
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local id = db:resolve(args.id)
		if args.watch then
			require("runner.workflow.report.watch").run(ctx, db, id)
		end
		if args.html then
			local page, run = require("runner.workflow.report.html_run").page(db, id)
			return html_file.write(args.html, page, { id = run.id, workflow = run.workflow, state = run.state })
		end
		return answer.of(db, id, args)
	end,
}
