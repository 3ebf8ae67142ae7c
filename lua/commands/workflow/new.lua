-- runner workflow new [FILE]: write a commented workflow file to start from, which already runs.

local new_file = require "runner.tools.new_file"

return {
	description = "Write a workflow file to start from",
	danger_level = "mutating",
	args = {
		{ "file", "path", positional = true, default = "workflow.yaml", min_length = 1, description = "File to create" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Write review.yaml", command = "runner workflow new review.yaml" } },
	validate = function(args)
		if args.file:find("/%.?%.?$") or args.file:find("^%.%.?$") then
			return { { field = "file", code = "INVALID_ARGUMENT", value = args.file,
				message = ("'%s' is not the name of a file"):format(args.file),
				suggestion = "Name the file to create: review.yaml" } }
		end
	end,
	run = function(args, ctx)
		new_file.create(ctx, "workflow file", args.file, require "runner.workflow.file.template")
		local path = new_file.shown(args.file)
		return {
			path = path, effect = "created",
			suggestion = ("Run it: runner workflow run %s. Then edit %s and check it: runner workflow check %s"):format(path,
				path, path),
		}
	end,
}
