-- runner library check [NAME…]: are the files of the libraries those of runner.lock? For CI; a call of a
-- command checks its own library.

local json = require "runner.json"
local vendor = require "runner.vendor.libraries"
local vendored = require "runner.project.vendored"

return {
	args = {
		{ "names", "array", items = "string", positional = true, description = "Libraries; default: all" },
	},
	exit_codes = {
		NOT_FOUND = { description = "The project has no library of that name" },
		LIBRARY_CHANGED = { description = "A file was changed, added or removed; error.context names it" },
	},
	rows = "libraries",
	examples = { { description = "Are all as they were added?", command = "runner library check" } },
	run = function(args)
		local root, out, first = vendor.root(), json.array {}, nil
		local libraries = vendor.libraries()
		for i, name in ipairs(vendor.chosen(libraries, args.names)) do
			local problem = vendored.changed(root, name, libraries[name])
			out[i] = { library = name, state = problem and "changed" or "ok", files = vendor.about(root, name, libraries[name]).files }
			first = first or problem
		end
		if first then
			first.data = { libraries = out }
			error(first, 0)
		end
		return { libraries = out }
	end,
}
