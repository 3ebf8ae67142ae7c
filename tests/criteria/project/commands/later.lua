return {
	description = "Work in the background", danger_level = "safe", async = true, run = function() return { answer = 42 } end,
}
