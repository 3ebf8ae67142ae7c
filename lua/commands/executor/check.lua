-- runner executor check NAME: does this executor do what runs need of it?

local attempt = require "runner.core.attempt"
local checks = require "runner.tools.checks"
local known_executors = require "runner.workflow.run.known_executors"
local probe = require "runner.workflow.place.probe"

local function text_of(rows)
	local lines = {}
	for _, row in ipairs(rows) do
		checks.add(lines, row.ok and "ok" or "FAIL", ("%-10s  %s"):format(row.name, row.detail), checks.fix(row.remedy))
	end
	return table.concat(lines, "\n") .. "\n"
end

return {
	description = "Check an executor: its queue, and two tasks on it",
	danger_level = "mutating",
	timeout = "10m",
	args = {
		{ "name", "string", positional = true, required = true, description = "Executor" },
		known_executors.file_argument,
		{ "wait", "duration", default = "5m", min = "1s", description = "How long to wait for the two tasks" },
	},
	exit_codes = {
		TIMEOUT = { retryable = true, side_effects = "none" },
		NOT_FOUND = { description = "No executor has this name" },
		DOCTOR_CHECKS_FAILED = { description = "A check failed; data.checks has each with its remedy" },
	},
	examples = { { description = "Will it do?", command = "runner executor check cluster" } },
	validate = known_executors.validate,
	run = function(args, ctx)
		local executor = known_executors.named(args)
		local place = require("runner.workflow.place." .. executor.kind).open(executor)
		local about = probe.prepare(executor)
		about.wait_ms = math.floor(args.wait * 1000)
		ctx:defer(function()
			probe.clean_up(place, about)
		end)
		local rows = probe.run(place, executor, about)
		local failed = checks.failed(rows)
		attempt.texts.text = text_of(rows)
		if failed > 0 then
			ctx:fail("DOCTOR_CHECKS_FAILED", ("%d of %d checks of %s failed: %s"):format(failed, #rows, executor.name, rows[#rows].detail),
				{ data = { executor = executor.name, checks = rows } })
		end
		return { effect = "noop", executor = executor.name, checks = rows }
	end,
}
