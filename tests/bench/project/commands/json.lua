return {
	description = "How fast JSON is read and written",
	danger_level = "safe",
	timeout = "none",
	args = {
		{ "folder", "path", required = true, description = "Where the texts are" },
		{ "names", "string", required = true, description = "Their names, with commas between" },
		{ "times", "integer", default = 3, description = "How often each is read and written" },
	},
	run = function(args)
		local measure = dofile(os.getenv "BENCH" .. "/json_speed.lua")
		return measure(require "runner.json", args.folder, args.names, args.times)
	end,
}
