-- runner doctor: check that what runner and the commands need is here, and say how to get what is missing.

local attempt = require "runner.core.attempt"
local checks = require "runner.tools.checks"
local doctor = require "runner.tools.doctor"
local machine = require "runner.tools.machine"

-- The first line is for a report of a fault.
local function text_of(rows, about)
	local lines = { about.summary, "" }
	for _, fact in ipairs(about.facts) do
		checks.add(lines, fact.weaker and "weak" or "ok", ("%s: %s"):format(fact.name, fact.found), fact.weaker, checks.fix(fact.fix))
	end
	for _, row in ipairs(rows) do
		checks.add(lines, row.ok and "ok" or "FAIL", row.ok and row.name or row.error, checks.fix(row.fix))
	end
	return table.concat(lines, "\n") .. "\n"
end

return {
	description = "Check the machine, that files load, and that the programs commands need are there",
	danger_level = "safe",
	timeout = "2m",
	exit_codes = { DOCTOR_CHECKS_FAILED = { description = "A check failed; data.checks has each with its fix" } },
	examples = { { description = "Is everything here?", command = "runner doctor" } },
	run = function(_, ctx)
		local rows = doctor.checks(ctx, attempt.project)
		local failed = checks.failed(rows)
		local about = { summary = machine.summary(), facts = machine.facts() }
		attempt.texts.text = text_of(rows, about)
		if failed > 0 then
			ctx:fail("DOCTOR_CHECKS_FAILED", ("%d of %d checks failed"):format(failed, #rows), { data = { checks = rows, machine = about } })
		end
		return { checks = rows, machine = about }
	end,
}
