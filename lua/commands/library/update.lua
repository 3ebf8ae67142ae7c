-- runner library update [NAME…]: take libraries again from where they came from, or the very files that
-- runner.lock has (--locked).

local errors = require "runner.core.errors"
local install = require "runner.vendor.install"
local json = require "runner.json"
local paths = require "runner.core.paths"
local vendor = require "runner.vendor.libraries"
local tables = require "runner.core.tables"
local vendored = require "runner.project.vendored"

local function read(root, args, name, row)
	local gathered = vendor.gather(args.from or row.source, args.from and paths.here() or root)
	local new = install.row(gathered, args.from and vendor.recorded(root, args.from) or row.source)
	if args.locked and new.digest ~= row.digest then
		errors.raise("CONFLICT", ("%s has other files of '%s' than runner.lock"):format(gathered.source, name), { side_effects = "none",
			fix_required = ("Name the version that runner.lock has: runner library update %s --locked --from PATH"):format(name) })
	end
	return gathered, new
end

-- What is different in the new one: sorted paths.
local function compared(old, new)
	local out = { added = json.array {}, changed = json.array {}, removed = json.array {} }
	for _, path in ipairs(tables.sorted_keys(new.files)) do
		local list = not old.files[path] and out.added or old.files[path] ~= new.files[path] and out.changed
		if list then
			list[#list + 1] = path
		end
	end
	for _, path in ipairs(tables.sorted_keys(old.files)) do
		out.removed[#out.removed + 1] = not new.files[path] and path or nil
	end
	return out
end

local function update(root, args, old, name, put)
	local gathered, new = read(root, args, name, old)
	local about = compared(old, new)
	local same = old.digest == new.digest and old.source == new.source and not vendored.differences(root, name, old)
	about.library, about.digest, about.effect = name, new.digest, same and "noop" or "updated"
	if not same then
		put(name, new, gathered.files)
	end
	return about
end

return {
	dry_run = true,
	timeout = "2m",
	args = {
		{ "names", "array", items = "string", positional = true, description = "Libraries; default: all" },
		{ "from", "path", description = "Take it from here, now and later: a folder or a tar file" },
		{ "locked", "boolean", description = "Only files that are in runner.lock: bring back what was changed here" },
	},
	exit_codes = {
		TIMEOUT = { retryable = false, side_effects = "partial" },
		NOT_FOUND = { description = "The project has no library of that name, or it is no longer where it came from" },
		CONFLICT = { description = "With --locked: what is there now is not what runner.lock has" },
		LIBRARY_REFUSED = { description = "There is no command in it, or something that a library may not have" },
		LOCK_HELD = { description = "Another call changes the libraries of this project" },
	},
	rows = "libraries",
	examples = {
		{ description = "See what is new", command = "runner library update --dry-run" },
		{ description = "Bring back what was changed by hand", command = "runner library update tools --locked" },
	},
	validate = function(args)
		return args.from and #(args.names or {}) ~= 1 and { { field = "from", message = "--from needs the name of one library" } } or nil
	end,
	run = function(args, ctx)
		local root, out, effect = vendor.root(), json.array {}, "noop"
		vendor.change(ctx, root, function(libraries, put)
			for i, name in ipairs(vendor.chosen(libraries, args.names)) do
				out[i] = update(root, args, libraries[name], name, put)
				effect = out[i].effect == "updated" and "updated" or effect
			end
		end)
		return { effect = effect, libraries = out }
	end,
}
