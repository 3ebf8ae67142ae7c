return {
	description = "Start a program", danger_level = "safe", args = { { "script", "string", positional = true, required = true } },
	run = function(args, ctx)
		local done = ctx:run { "sh", "-c", args.script, "sh", "a b", "*" }
		return { out = done.stdout }
	end,
}
