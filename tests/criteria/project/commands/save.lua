return {
	description = "Save a setting", danger_level = "mutating", config_write_scope = "global",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx)
		ctx:save_settings { colour = "blue" }
		return { effect = "updated" }
	end,
}
