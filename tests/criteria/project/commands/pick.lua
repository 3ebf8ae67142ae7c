return {
	description = "Take IDs", danger_level = "safe",
	args = { { "id", "array", items = "integer", pipe_compatible = true }, { "file", "path", pattern = "filepath" },
		{ "key", "string", pattern = "alphanumeric_id" },
		{ "config_json", "json" }, { "text", "string", max_bytes = 10 }, { "inside", "path", within = "." } },
	run = function(args) return { ids = args.id, value = args.config_json } end,
}
