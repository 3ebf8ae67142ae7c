return {
	description = "Print where nobody should", danger_level = "safe",
	run = function(_, ctx)
		print "stray text"
		ctx:log("warn", "a log line")
		return { coloured = "\27[31mred\27[0m\r", latin = "caf\xe9", nul = "a\0b", long = ("x"):rep(300) }
	end,
}
