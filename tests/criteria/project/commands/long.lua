return {
	description = "Work for long", danger_level = "safe", interruption = { detach = true }, timeout = "60s",
		args = { { "seconds", "number", default = 30 } },
	exit_codes = { INCOMPLETE = { description = "It goes on", retryable = true, side_effects = "none" } },
	run = function(args, ctx)
		ctx:progress { done = 1, total = 2, unit = "parts" }
		ctx:sleep(args.seconds)
		return { whole = true }
	end,
}
