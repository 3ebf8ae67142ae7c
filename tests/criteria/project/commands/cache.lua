return {
	description = "Keep a value", danger_level = "safe", filesystem_side_effects = { { path = "cache.txt", type = "cache",
		ttl_seconds = 60 } },
	run = function(_, ctx) return { value = ctx:cached("k", function() return os.time() end) } end,
}
