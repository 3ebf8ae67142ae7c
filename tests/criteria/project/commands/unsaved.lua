return {
	description = "Save without saying so", danger_level = "mutating",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx)
		ctx:save_settings { colour = "blue" }
		return { effect = "updated" }
	end,
}
