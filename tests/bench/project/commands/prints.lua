return {
	description = "Text on stdout",
	danger_level = "safe",
	args = { { "bytes", "integer", required = true, description = "How much in all" } },
	run = function(args)
		dofile(os.getenv "BENCH" .. "/print.lua")(args.bytes)
	end,
}
