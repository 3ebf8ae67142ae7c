return {
	description = "Remove the marker", danger_level = "destructive", dry_run = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "What would go", command = "runner purge --dry-run" } },
	run = function(_, ctx)
		ctx.fs.unlink "marker"
		return { effect = "deleted", would_affect = { "marker" } }
	end,
}
