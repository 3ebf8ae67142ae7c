return {
	description = "Do three steps", danger_level = "mutating", steps = { "one", "two", "three" }, resumable = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" }, PARTIAL_FAILURE = { description = "Half of it" } },
	args = { { "fail", "boolean" }, { "bad_rollback", "boolean" } },
	rollback = function(args, ctx)
		ctx.fs.write("rolled", "back")
		if args.bad_rollback then error "no way back" end
	end,
	run = function(args, ctx)
		for _, name in ipairs { "one", "two", "three" } do
			local wanted = ctx:step(name)
			if wanted and name == "two" and args.fail then ctx:fail("PARTIAL_FAILURE", "Two failed") end
		end
		return { effect = "updated" }
	end,
}
