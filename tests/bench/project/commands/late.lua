return {
	description = "Work until the limit",
	danger_level = "safe",
	timeout = "100ms",
	run = function(_, ctx)
		ctx:sleep(60)
	end,
}
