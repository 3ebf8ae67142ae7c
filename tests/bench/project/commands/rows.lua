return { description = "Emit rows", danger_level = "safe", streams = true, timeout = "none",
	args = { { "rows", "integer", required = true, description = "How many" } },
	run = function(args, ctx)
		for i = 1, args.rows do
			ctx:emit { id = i }
		end
	end,
}
