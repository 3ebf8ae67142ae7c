return {
	description = "Fail until the given attempt",
	danger_level = "safe",
	retry = { retries = 10, delay = 0, jitter = "none" },
	args = { { "until", "integer", default = 1, description = "The attempt that succeeds" } },
	run = function(args, ctx)
		if ctx.attempt < args["until"] then
			ctx:fail("UNAVAILABLE", "Not yet")
		end
	end,
}
