return {
	description = "Remove a file, where it is meant", danger_level = "destructive", dry_run = true, safe_default = true, timeout = "30s",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx)
		ctx.fs.unlink "kept"
		return { effect = "deleted" }
	end,
}
