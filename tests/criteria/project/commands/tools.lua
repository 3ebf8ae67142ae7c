return {
	description = "Need what isn't here", danger_level = "safe", platform = { "plan9" },
		required_tools = { ["no-such-tool"] = "1.0" }, run = function() return {} end,
}
