return {
	description = "Tell of events", danger_level = "safe", streams = true, args = { { "fail", "boolean" }, { "wait",
		"duration", default = 0 } },
	exit_codes = { CONFLICT = { description = "It is taken" } },
	run = function(args, ctx)
		for i = 1, 3 do ctx:emit { n = i } end
		ctx:sleep(args.wait)
		if args.fail then ctx:fail("CONFLICT", "It is taken") end
		return { last = 3 }
	end,
}
