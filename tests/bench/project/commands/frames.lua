return {
	description = "Progress without end: one frame each",
	danger_level = "safe",
	args = { { "bytes", "integer", required = true, description = "How much in all" } },
	run = function(args, ctx)
		local data = { note = ("x"):rep(56 * 1024) }
		for _ = 1, args.bytes // (56 * 1024) do
			ctx:progress(data)
		end
	end,
}
