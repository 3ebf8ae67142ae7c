return {
	description = "Open a page", danger_level = "safe", gui_operations = { "browser" }, headless_behavior = "emit_in_output",
	run = function(_, ctx)
		ctx:open_url "https://example.org/"
		return {}
	end,
}
