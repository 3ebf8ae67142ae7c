return {
	description = "Fails", danger_level = "mutating", timeout = "60s",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() error { code = "UNAVAILABLE", message = "no stock" } end,
}
