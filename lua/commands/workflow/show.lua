-- runner workflow show ID: one run: its steps, attempts, errors and logs.

local codes = require "runner.workflow.codes"
local report = require "runner.workflow.report"
local session = require "runner.session"
local store = require "runner.workflow.store"
local story = require "runner.workflow.story"

local ALL = 1 << 40

return {
	description = "Show a run with its steps and attempts",
	danger_level = "safe",
	args = {
		{ "id", "string", positional = true, required = true, description = "Of the run, or how it begins" },
		{ "full", "boolean", description = "Outputs of any length, not only their first 4096 bytes" },
	},
	exit_codes = codes.of_id,
	examples = { { description = "Why it failed", command = "runner workflow show run_01J" } },
	run = function(args)
		local db <close> = store.open { readonly = true }
		local data = report.full(db, args.id, args.full and ALL or nil)
		session.texts.text = story.text(data)
		return data
	end,
}
