-- runner workflow show ID: one run: its steps, attempts, errors and logs.

local exit_codes = require "runner.workflow.report.exit_codes"
local report = require "runner.workflow.report.report"
local run_id = require "runner.workflow.report.run_id"
local attempt = require "runner.core.attempt"
local store = require "runner.workflow.store.store"
local report_text = require "runner.workflow.report.report_text"

local ALL = 1 << 40

return {
	description = "Show a run with its steps and attempts",
	danger_level = "safe",
	args = {
		run_id.argument,
		{ "full", "boolean", description = "Whole outputs, not only their first 4096 bytes" },
	},
	exit_codes = exit_codes.of_id,
	examples = { { description = "Why it failed", command = "runner workflow show run_01J" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local data = report.full(db, args.id, args.full and ALL or nil)
		attempt.texts.text = report_text.text(data)
		return data
	end,
}
