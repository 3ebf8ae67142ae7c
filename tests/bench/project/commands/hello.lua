return {
	description = "Say hello",
	danger_level = "safe",
	args = { { "name", "string", default = "world", description = "Whom to greet" } },
	run = function(args)
		return { greeting = "Hello, " .. args.name }
	end,
}
