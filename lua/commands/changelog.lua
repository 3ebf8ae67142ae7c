-- runner changelog: what changed in the project's commands, from the JSON file that `changelog` in
-- runner.lua names.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"
local versions = require "runner.core.versions"

local LARGEST = 4 << 20

local function read(ctx)
	local project = attempt.project
	if not project.changelog then
		ctx:fail("PRECONDITION", "runner.lua names no changelog", { fix_required = 'Write changelog = "changelog.json" in runner.lua' })
	end
	local path = paths.absolute(project.changelog, project.root or ".")
	local text, why = fs.read(path, LARGEST)
	if not text then
		ctx:fail("NOT_FOUND", ("Can't read the changelog: %s"):format(why), { fix_required = "Write " .. path })
	end
	local value, problem = json.decode(text)
	return value, path, problem
end

local function texts(v)
	local out = {}
	for i, text in ipairs(type(v) == "table" and v or {}) do
		out[i] = tostring(text)
	end
	return json.array(out)
end

-- Entries in the order of the file; nil where one has no version.
local function entries_of(value)
	local out = {}
	local list = type(value) == "table" and (json.is_array(value) and value or value.entries)
	for i, entry in ipairs(type(list) == "table" and list or { false }) do
		if type(entry) ~= "table" or type(entry.version) ~= "string" then
			return nil
		end
		out[i] = { version = entry.version, date = type(entry.date) == "string" and entry.date or json.null,
			breaking = entry.breaking == true, added = texts(entry.added), changed = texts(entry.changed), removed = texts(entry.removed) }
	end
	return out
end

return {
	args = { { "since", "string", pattern = [[^\d+(\.\d+)*.*$]], description = "Only versions after this one" } },
	columns = { "version", "date", "breaking" },
	rows = "entries",
	examples = { { description = "What is new since 1.2?", command = "runner changelog --since 1.2" } },
	run = function(args, ctx)
		local value, path, problem = read(ctx)
		local all = entries_of(value)
		if not all then
			ctx:fail("PRECONDITION", ("%s is no changelog: %s"):format(path, problem or "each entry needs a version"), {
				fix_required = 'Write [ { "version": "1.0.0", "date": "2026-01-31", "breaking": false, "added": [], "changed": [], "removed": [] } ]' })
		end
		local entries = json.array {}
		for _, entry in ipairs(all) do
			entries[#entries + 1] = (not args.since or versions.is_lower(args.since, entry.version)) and entry or nil
		end
		return { entries = entries }
	end,
}
