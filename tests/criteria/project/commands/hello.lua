return {
	description = "Greet somebody", danger_level = "safe", schema_version = "2.1", required_scopes = { "read" },
	args = { { "name", "string", default = "world", description = "Whom" }, { "count", "integer", min = 1, max = 9,
		description = "How often" } },
	examples = { { description = "Greet Ada", command = "runner hello --name Ada" } },
	output_schema = { type = "object", required = { "greeting" }, properties = { greeting = { type = "string" } } },
	run = function(args) return { greeting = "Hello, " .. args.name, count = args.count } end,
}
