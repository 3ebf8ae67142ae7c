return {
	description = "Raise a Lua error", danger_level = "safe", run = function() error "it broke" end,
}
