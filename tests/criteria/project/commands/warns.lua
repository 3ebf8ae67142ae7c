return {
	description = "Warn", danger_level = "safe", run = function(_, ctx)
		ctx:warn("SLOW", "It was slow")
		return {}
	end,
}
