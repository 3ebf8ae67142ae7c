return {
	description = "Have rules between arguments", danger_level = "safe",
	args = { { "shape", "enum", values = { "csv", "json" } }, { "separator", "string" }, { "one", "boolean" }, { "other", "boolean" } },
	requires = { { if_flag = "shape", if_value = "csv", then_required = { "separator" } }, { if_flag = "one", prohibited = { "other" } } },
	validate = function(args)
		if args.separator == "bad" then
			return { { field = "separator", message = "It is bad", code = "BAD" }, { field = "shape", message = "So is this", code = "WORSE" } }
		end
	end,
	run = function(args, ctx)
		ctx.fs.write("ran", "x")
		return args
	end,
}
