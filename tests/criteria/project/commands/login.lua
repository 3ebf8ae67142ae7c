return {
	description = "Sign in", danger_level = "safe", auth = true, headless_supported = false, token_env_vars = { "PROBES_TOKEN" },
	run = function(_, ctx) return { length = #ctx.token } end,
}
