return {
	description = "Take options first", danger_level = "safe", option_placement = "strict",
	args = { { "loud", "boolean" }, { "words", "array", items = "string", variadic = true } },
	run = function(args) return { words = args.words, loud = args.loud } end,
}
