return {
	description = "Fail with a code", danger_level = "safe", args = { { "code", "string", required = true } },
	exit_codes = { CONFLICT = { description = "It is taken" }, NOT_FOUND = { description = "It is not there" },
		RATE_LIMITED = { description = "Too often" },
		UNAVAILABLE = { description = "It is down" }, PERMISSION_DENIED = { description = "Not allowed" },
			ALREADY_EXISTS = { description = "It is there" },
		REDIRECTED = { description = "It is elsewhere" }, TOKEN_EXPIRED = { description = "Too old" }, MINE = { code = 99,
			description = "Its own", retryable = false, side_effects = "none" } },
	run = function(args, ctx)
		ctx:fail(args.code, "That is how it ends", { data = args.code == "ALREADY_EXISTS" and { id = 7 } or nil,
			redirect = args.code == "REDIRECTED" and "runner hello" or nil,
				expires_at = args.code == "TOKEN_EXPIRED" and "2026-01-01T00:00:00Z" or nil,
			refresh_command = args.code == "TOKEN_EXPIRED" and "runner hello" or nil,
				required_permission = args.code == "PERMISSION_DENIED" and "write" or nil })
	end,
}
