return {
	description = "Make a file", danger_level = "mutating", dry_run = true, exit_codes = { TIMEOUT = { retryable = false,
		side_effects = "partial" } },
	args = { { "file", "string", default = "made" }, { "effect", "string", default = "created" } },
	run = function(args, ctx)
		ctx.fs.append(args.file, "x\n")
		return { effect = args.effect ~= "none" and args.effect or nil }
	end,
}
