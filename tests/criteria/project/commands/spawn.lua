return {
	description = "Leave a process", danger_level = "mutating", spawns_background_process = true, cleanup_command = "true",
		max_lifetime_seconds = 60,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx)
		local p = ctx:spawn { "sleep", "5", detach = true }
		return { effect = "created", pid = p.pid }
	end,
}
