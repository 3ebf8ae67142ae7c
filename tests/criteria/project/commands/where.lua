return {
	description = "Say where it works", danger_level = "safe", args = { { "leave", "boolean" } },
	run = function(args, ctx)
		if args.leave then os.execute "cd /" end
		return { dir = ctx:run({ "pwd" }).stdout:gsub("%s", ""), temp = ctx.tempdir, mode = ctx:run({ "stat", "-c", "%a",
			ctx.tempdir }).stdout, id = ctx.request_id }
	end,
}
