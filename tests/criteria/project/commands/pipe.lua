return {
	description = "Run a pipeline", danger_level = "safe",
	run = function(_, ctx)
		ctx:pipeline { { "sh", "-c", "exit 3" }, { "cat" } }
		return {}
	end,
}
