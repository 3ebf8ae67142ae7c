return {
	description = "Serve a protocol", danger_level = "safe", stdout = "protocol", protocol = "echo",
	run = function(_, ctx) return ctx:delegate { "cat" } end,
}
