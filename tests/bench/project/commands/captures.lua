return {
	description = "Capture the output of a program",
	danger_level = "safe",
	args = { { "bytes", "integer", required = true, description = "How much in all" } },
	run = function(args, ctx)
		local result = ctx:run { "head", "-c", tostring(args.bytes), "/dev/zero" }
		return { kept = #result.stdout, truncated = result.truncated }
	end,
}
