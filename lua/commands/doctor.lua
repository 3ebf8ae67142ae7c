-- runner doctor: check that what runner and the commands need is here, and say how to get what is missing.

local attempt = require "runner.core.attempt"
local doctor = require "runner.tools.doctor"
local machine = require "runner.tools.machine"

-- The first line is for a report of a fault.
local function text_of(checks, about)
	local lines = { about.summary, "" }
	for _, fact in ipairs(about.facts) do
		lines[#lines + 1] = ("%-4s  %s: %s"):format(fact.weaker and "weak" or "ok", fact.name, fact.found)
		lines[#lines + 1] = fact.weaker and "      " .. fact.weaker or nil
		lines[#lines + 1] = fact.fix and "      fix: " .. fact.fix or nil
	end
	for _, check in ipairs(checks) do
		lines[#lines + 1] = ("%-4s  %s"):format(check.ok and "ok" or "FAIL", check.ok and check.name or check.error)
		lines[#lines + 1] = check.fix and "      fix: " .. check.fix or nil
	end
	return table.concat(lines, "\n") .. "\n"
end

local function count_failed(checks)
	local n = 0
	for _, check in ipairs(checks) do
		n = n + (check.ok and 0 or 1)
	end
	return n
end

return {
	description = "Check the machine, that files load, and that the programs commands need are there",
	danger_level = "safe",
	timeout = "2m",
	exit_codes = { DOCTOR_CHECKS_FAILED = { description = "A check failed; data.checks has each with its fix" } },
	examples = { { description = "Is everything here?", command = "runner doctor" } },
	run = function(_, ctx)
		local checks = doctor.checks(ctx, attempt.project)
		local failed = count_failed(checks)
		local about = { summary = machine.summary(), facts = machine.facts() }
		attempt.texts.text = text_of(checks, about)
		if failed > 0 then
			ctx:fail("DOCTOR_CHECKS_FAILED", ("%d of %d checks failed"):format(failed, #checks), { data = { checks = checks, machine = about } })
		end
		return { checks = checks, machine = about }
	end,
}
