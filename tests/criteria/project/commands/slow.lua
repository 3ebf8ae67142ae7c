return {
	description = "Take some time", danger_level = "safe", timeout = "20s", args = { { "seconds", "number", default = 10 } },
	steps = { "one", "two", "three" },
	run = function(args, ctx)
		ctx:step "one"
		ctx:step "two"
		ctx.fs.write("began", "x")
		ctx:sleep(args.seconds)
		ctx:step "three"
		return { done = true }
	end,
}
