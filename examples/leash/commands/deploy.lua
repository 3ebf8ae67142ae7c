return {
	description = "Deploy to an environment",
	danger_level = "mutating",
	args = { { "env", "enum", values = { "staging", "prod" }, required = true, description = "Where" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Deploy to staging", command = "runner deploy --env staging" } },
	run = function(args, ctx)
		ctx.fs.append("deployed.log", args.env .. "\n") -- in the place of a deployment
		return { effect = "updated", env = args.env }
	end,
}
