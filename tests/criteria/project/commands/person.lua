return {
	description = "Want a person", danger_level = "mutating", interactive = true, requires_person = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = function(_, ctx)
		ctx.fs.write("ran", "x")
		return { effect = "updated" }
	end,
}
