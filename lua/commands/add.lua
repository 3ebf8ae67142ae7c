-- runner add PATH: copy a library of commands, a folder or a tar file, into this project, with a lock.

local errors = require "runner.core.errors"
local install = require "runner.vendor.install"
local paths = require "runner.core.paths"
local vendor = require "runner.vendor.libraries"
local vendored = require "runner.project.vendored"

-- The effect: "created", "noop", or "updated" where its files had been changed. Another library of that
-- name is not replaced.
local function effect_of(root, libraries, name, row)
	local old = libraries[name]
	if old and old.digest ~= row.digest then
		errors.raise("ALREADY_EXISTS", ("There is a library '%s' already, from %s"):format(name, old.source), { side_effects = "none",
			fix_required = ("Take the new one in its place with runner library update %s --from PATH, or choose another name: --as NAME")
				:format(name) })
	elseif old and not vendored.differences(root, name, old) then
		return "noop"
	end
	return old and "updated" or "created"
end

return {
	dry_run = true,
	timeout = "2m",
	args = {
		{ "path", "path", positional = true, required = true, description = "A folder with commands/, or a .tar or .tar.gz file of one" },
		{ "as", "string", max_length = 100, description = "Name of the library and of its group of commands; default: that of the path" },
	},
	exit_codes = {
		TIMEOUT = vendor.codes.TIMEOUT,
		ALREADY_EXISTS = { description = "The project has another library of this name" },
		LIBRARY_REFUSED = { description = "There is no command in it, or something that a library may not have" },
		LOCK_HELD = { description = "Another call changes the libraries of this project" },
	},
	examples = {
		{ description = "See what would be added", command = "runner add ../shared/tools --dry-run" },
		{ description = "Add an archive under a name", command = "runner add tools-1.2.tar.gz --as tools" },
	},
	validate = function(args)
		local problem = vendor.problem(args.path, args.as)
		return problem and { problem } or nil
	end,
	run = function(args, ctx)
		local root = vendor.root()
		local name = vendor.name(args.path, args.as)
		local gathered = vendor.gather(args.path, paths.here())
		local row = install.row(gathered, vendor.recorded(root, args.path))
		local effect = vendor.change(ctx, root, function(libraries, put)
			local found = effect_of(root, libraries, name, row)
			if found ~= "noop" then
				put(name, row, gathered.files)
			end
			return found
		end)
		local about = vendor.about(root, name, row)
		about.effect = effect
		return about
	end,
}
