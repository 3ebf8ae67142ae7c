-- runner library remove NAME: take a library out of this project.

local shared = require "runner.vendor.shared"

return {
	description = "Remove a library from this project",
	danger_level = "mutating",
	dry_run = true,
	timeout = "2m",
	args = {
		{ "name", "string", positional = true, required = true, description = "Library" },
	},
	exit_codes = {
		TIMEOUT = shared.codes.TIMEOUT,
		NOT_FOUND = { description = "The project has no library of that name" },
		LOCK_HELD = { description = "Another call changes the libraries of this project" },
	},
	examples = { { description = "Do without it", command = "runner library remove tools" } },
	run = function(args, ctx)
		local root = shared.root()
		return shared.change(ctx, root, function(libraries, put)
			local name = shared.chosen(libraries, { args.name })[1]
			local about = shared.about(root, name, libraries[name])
			put(name)
			about.effect = "deleted"
			return about
		end)
	end,
}
