return {
	description = "Fail after every wait, and say when it begins to work",
	danger_level = "safe",
	timeout = "30s",
	retry = { retries = 50, delay = "50ms", strategy = "constant", jitter = "none" },
	run = function(_, ctx)
		ctx:log("warn", "here") -- shown without --verbose, too
		ctx:fail("UNAVAILABLE", "Not yet")
	end,
}
