return {
	description = "Do each of several", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false,
		side_effects = "partial" } },
	args = { { "ids", "array", items = "integer", variadic = true } },
	run = function(args, ctx)
		local out = ctx:each(args.ids, function(id)
			if id < 0 then error { code = "NOT_FOUND", message = "There is no such thing" } end
			return { id = id }
		end)
		out.effect = "updated"
		return out
	end,
}
