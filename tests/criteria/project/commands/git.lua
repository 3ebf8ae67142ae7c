return {
	description = "Pass a name to a program", danger_level = "safe", args = { { "branch", "string", required = true } },
	subprocess = { binary = "echo", user_controlled_args = { "branch" } },
	run = function(args, ctx) return { out = ctx:run({ "echo", args.branch }).stdout } end,
}
