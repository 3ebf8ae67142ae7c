return {
	description = "Take a secret", danger_level = "safe", args = { { "api_key", "string", secret = true, required = true } },
	run = function(args, ctx)
		ctx:log("info", "the key is " .. args.api_key)
		return { length = #args.api_key }
	end,
}
