return {
	description = "Count the arguments",
	danger_level = "safe",
	args = { { "number", "array", items = "integer", positional = true, description = "Any number of numbers" } },
	run = function(args)
		return { count = #args.number }
	end,
}
