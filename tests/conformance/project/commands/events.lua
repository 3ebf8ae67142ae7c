return {
	description = "Print events", danger_level = "safe", streams = true,
	args = { { "wait", "boolean", description = "Go on until somebody ends it" } },
	examples = { { description = "As they come", command = "runner events --stream" } },
	run = function(args, ctx)
		for i = 1, 3 do
			ctx:emit { id = i }
		end
		while args.wait do
			ctx:sleep "1s"
		end
	end,
}
