return {
	description = "Migrate the database",
	danger_level = "mutating",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Migrate it", command = "runner db migrate" } },
	run = function(_, ctx)
		ctx.fs.append("migrated.log", "migrated\n") -- in the place of a migration
		return { effect = "updated" }
	end,
}
