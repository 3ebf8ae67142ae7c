return {
	description = "Be on its way out", danger_level = "safe", deprecated_in = "1.3.0", replacement = "hello",
		removed_in = "2.0.0", run = function() return {} end,
}
