-- runner library remove NAME: take a library out of this project.

local vendor = require "runner.vendor.libraries"

return {
	dry_run = true,
	timeout = "2m",
	args = {
		{ "name", "string", positional = true, required = true, description = "Library" },
	},
	exit_codes = {
		TIMEOUT = vendor.codes.TIMEOUT,
		NOT_FOUND = { description = "The project has no library of that name" },
		LOCK_HELD = { description = "Another call changes the libraries of this project" },
	},
	examples = { { description = "Do without it", command = "runner library remove tools" } },
	run = function(args, ctx)
		local root = vendor.root()
		return vendor.change(ctx, root, function(libraries, put)
			local name = vendor.chosen(libraries, { args.name })[1]
			local about = vendor.about(root, name, libraries[name])
			put(name)
			about.effect = "deleted"
			return about
		end)
	end,
}
