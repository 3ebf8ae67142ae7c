return {
	description = "Fail twice", danger_level = "safe", retry = { retries = 3, delay = "10ms", jitter = "none" },
		args = { { "always", "boolean" } },
	exit_codes = { UNAVAILABLE = { description = "It is down" } },
	run = function(args, ctx)
		if args.always or ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "Not yet") end
		return { attempt = ctx.attempt }
	end,
}
