return {
	description = "Ask a person", danger_level = "safe", interactive = true, args = { { "sure", "boolean" } },
	run = function(args, ctx)
		if args.sure then return { yes = ctx:confirm "Sure?" } end
		return { name = ctx:prompt "Name?" }
	end,
}
