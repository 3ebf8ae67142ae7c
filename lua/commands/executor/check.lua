-- runner executor check NAME: does this executor do what runs need of it?

local display = require "runner.core.display"
local doctor = require "runner.tools.doctor"
local known_executors = require "runner.workflow.run.known_executors"
local probe = require "runner.workflow.executors.probe"

local function text_of(rows)
	local lines = {}
	for _, row in ipairs(rows) do
		doctor.add_row(lines, row.ok and "ok" or "FAIL", ("%-10s  %s"):format(row.name, row.detail), doctor.fix(row.remedy))
	end
	return table.concat(lines, "\n") .. "\n"
end

local function check_here(executor, wait_ms, ctx)
	local place = require("runner.workflow.executors.registry").open(executor)
	local about = probe.prepare(executor)
	about.wait_ms = wait_ms
	ctx:defer(function()
		probe.clean_up(place, about)
	end)
	return probe.run(place, executor, about)
end

local function check_there(executor, wait_ms)
	return require("runner.workflow.executors.via").check(executor, wait_ms)
end

return {
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
	rows = "checks",
	examples = { { description = "Will it do?", command = "runner executor check cluster" } },
	validate = known_executors.validate,
	run = function(args, ctx)
		local executor = known_executors.named(args)
		local rows = (executor.via and check_there or check_here)(executor, require("runner.core.rules").milliseconds(args.wait), ctx)
		local failed = doctor.failed(rows)
		display.set { text = text_of(rows) }
		if failed > 0 then
			ctx:fail("DOCTOR_CHECKS_FAILED", ("%d of %d checks of %s failed: %s"):format(failed, #rows, executor.name, rows[#rows].detail),
				{ data = { executor = executor.name, checks = rows } })
		end
		return { effect = "noop", executor = executor.name, checks = rows }
	end,
}
