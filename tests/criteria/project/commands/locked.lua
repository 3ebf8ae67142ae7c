return {
	description = "Hold a lock", danger_level = "safe", args = { { "seconds", "number", default = 0 } },
	run = function(args, ctx)
		ctx:lock("it", { wait = "100ms" })
		ctx.fs.write("holds", "x")
		ctx:sleep(args.seconds)
		return {}
	end,
}
