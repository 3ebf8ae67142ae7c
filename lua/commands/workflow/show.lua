-- runner workflow show ID: one run: its steps, attempts, errors and logs.

local answer = require "runner.workflow.report.answer"
local exit_codes = require "runner.workflow.report.exit_codes"
local run_id = require "runner.workflow.report.run_id"
local store = require "runner.workflow.store.store"

return {
	description = "Show a run with its steps and attempts",
	danger_level = "safe",
	args = {
		run_id.argument,
		{ "full", "boolean", description = "Whole outputs, not only their first 4096 bytes" },
		answer.arguments[1], answer.arguments[2], answer.cursor,
	},
	columns = answer.columns,
	exit_codes = exit_codes.of_id,
	examples = { { description = "Why it failed", command = "runner workflow show run_01J" } },
	validate = answer.problems,
	run = function(args)
		local db <close> = store.open { readonly = true }
		return answer.of(db, db:resolve(args.id), args)
	end,
}
