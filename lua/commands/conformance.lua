-- runner conformance PROFILE: check any command-line tool against the CLI Agent Spec: runs
-- the probes of a profile and reports the levels that it reaches, with the evidence.

local display = require "runner.core.display"
local documents = require "runner.conformance.documents"
local host = require "runner.host"
local kit = require "runner.conformance.kit"
local paths = require "runner.core.paths"

local function text_of(result)
	local lines = {}
	for _, row in ipairs(result.checks) do
		lines[#lines + 1] = ("%-4s  level %d  %s  %s"):format(row.status, row.level, row.id,
			row.skipped_reason and "(" .. row.skipped_reason .. ")" or row.title)
		for _, failure in ipairs(row.failures) do
			lines[#lines + 1] = ("        %s: %s"):format(failure.probe, failure.detail)
			lines[#lines + 1] = "          " .. table.concat(failure.argv, " ")
		end
	end
	local summary, levels = result.summary, result.levels
	lines[#lines + 1] = ("%s: %d passed, %d failed, %d skipped; level 1 %s, level 2 %s, level 3 %s"):format(result.tool,
		summary.passed, summary.failed, summary.skipped, levels.level_1, levels.level_2, levels.level_3)
	return table.concat(lines, "\n") .. "\n"
end

local profile ---@type runner.ConformanceProfile as validate has read it

return {
	timeout = "30m",
	args = {
		{ "profile", "path", positional = true, required = true, description = "JSON file that says what to run" },
	},
	exit_codes = { CONFORMANCE_FAILED = { description = "A check failed; data has the evidence" } },
	rows = "checks",
	examples = { { description = "Check the tool that a profile names", command = "runner conformance profile.json" } },
	validate = function(args)
		local problem
		profile, problem = documents.profile(paths.absolute(args.profile, host.getcwd()))
		return not profile and { { field = "profile", code = "INVALID_ARGUMENT", value = args.profile, message = problem } } or nil
	end,
	run = function(_, ctx)
		local result = kit.check(ctx, profile)
		local summary = result.summary
		display.set { text = text_of(result) }
		if summary.failed > 0 then
			ctx:fail("CONFORMANCE_FAILED", ("%d of %d checks failed"):format(summary.failed, summary.failed + summary.passed),
				{ data = result })
		end
		return result
	end,
}
