return {
	description = "Remove a file", danger_level = "destructive", dry_run = true, timeout = "30s",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "file", "string", default = "kept" } },
	run = function(args, ctx)
		ctx.fs.unlink(args.file)
		return { effect = "deleted" }
	end,
}
