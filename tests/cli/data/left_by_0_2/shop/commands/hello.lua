return {
	description = "Say hello", danger_level = "safe", output_schema = { type = "object" },
	args = { { "name", "string", positional = true, default = "you" } },
	run = function(args) return { hello = args.name } end,
}
