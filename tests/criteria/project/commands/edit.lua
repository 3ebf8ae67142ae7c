return {
	description = "Edit a text", danger_level = "safe", interactive = true, requires_editor = true,
		non_interactive_alternatives = { "text" },
	args = { { "text", "string", description = "The text itself" } },
	run = function(args, ctx) return { text = args.text or ctx:edit "x" } end,
}
