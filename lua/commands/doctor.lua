-- runner doctor: check that what runner and the commands need is here, and say how to get what is missing.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local doctor = require "runner.tools.doctor"

-- The first line is for a report of a fault.
local function text_of(rows, about)
	local lines = { about.summary, "" }
	for _, fact in ipairs(about.facts) do
		doctor.add_row(lines, fact.weaker and "weak" or "ok", ("%s: %s"):format(fact.name, fact.found), fact.weaker, doctor.fix(fact.fix))
	end
	for _, row in ipairs(rows) do
		doctor.add_row(lines, row.ok and "ok" or "FAIL", row.ok and row.name or row.error, doctor.fix(row.fix))
	end
	return table.concat(lines, "\n") .. "\n"
end

return {
	timeout = "2m",
	exit_codes = { DOCTOR_CHECKS_FAILED = { description = "A check failed; data.checks has each with its fix" } },
	rows = "checks",
	examples = { { description = "Is everything here?", command = "runner doctor" } },
	run = function(_, ctx)
		local rows = doctor.checks(ctx, attempt.project)
		local failed = doctor.failed(rows)
		local about = { summary = doctor.summary(), facts = doctor.facts() }
		display.set { text = text_of(rows, about) }
		if failed > 0 then
			ctx:fail("DOCTOR_CHECKS_FAILED", ("%d of %d checks failed"):format(failed, #rows), { data = { checks = rows, machine = about } })
		end
		return { checks = rows, machine = about }
	end,
}
