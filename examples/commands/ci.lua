-- runner ci: runs the checks of runner.lua, all of them, and says which failed, with the last
-- lines of what each said.

local LINES = 20

local function last_lines(text)
	local lines = {}
	for line in text:gmatch "[^\n]+" do
		lines[#lines + 1] = line
	end
	return table.concat(lines, "\n", math.max(1, #lines - LINES + 1))
end

return {
	description = "Run all checks of this project",
	danger_level = "safe",
	timeout = "30m",
	args = {
		{ "only", "array", items = "string", variadic = true, description = "Names of checks; default: all" },
	},
	exit_codes = { CHECKS_FAILED = { code = 80, retryable = false, side_effects = "none", description = "data.checks says which failed" } },
	examples = { { description = "Only the linter", command = "runner ci lint" } },
	run = function(args, ctx)
		local names, checks, failed = args.only, {}, {}
		if #names == 0 then
			for name in pairs(ctx.config.checks) do
				names[#names + 1] = name
			end
			table.sort(names)
		end
		for i, name in ipairs(names) do
			ctx:step(name)
			local words = ctx.config.checks[name] or ctx:fail("NOT_FOUND", ("There is no check '%s'"):format(name))
			local result = ctx:run { check = false, merge = true, timeout = "10m", table.unpack(words) }
			checks[i] = { name = name, ok = result.ok, seconds = result.duration_ms // 1000 }
			if not result.ok then
				checks[i].output, failed[#failed + 1] = last_lines(result.stdout), name
			end
		end
		if failed[1] then
			ctx:fail("CHECKS_FAILED", ("%d of %d checks failed: %s"):format(#failed, #checks, table.concat(failed, ", ")),
				{ data = { checks = checks } })
		end
		return { checks = checks }
	end,
}
