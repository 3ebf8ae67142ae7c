-- runner status: what runner and the project's commands keep on this machine, and whether the
-- project loads. It changes nothing and always succeeds.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local json = require "runner.json"
local declared_files = require "runner.tools.declared_files"
local paths = require "runner.core.paths"

local function count_commands(project)
	local count, broken, unread, list = 0, json.array {}, json.array {}, catalog.list(project)
	for _, entry in ipairs(list) do
		count = count + (entry.builtin and 0 or 1)
	end
	local rows, listed = catalog.rows(list, project, true)
	for i, row in ipairs(rows) do
		local of = row.broken and broken or row.unread and unread
		if of then
			of[#of + 1] = listed[i].name
		end
	end
	return { count = count, broken = broken, unread = unread[1] and unread or nil }
end

local function or_null(v)
	return v == nil and json.null or v
end

return {
	args = {
		{ "show_side_effects", "boolean", description = "Only the files that commands declare to leave" },
		{ "show_state_files", "boolean", description = "Only the files that runner keeps itself" },
	},
	examples = { { description = "What is on this machine?", command = "runner status" } },
	run = function(args)
		local all = not (args.show_side_effects or args.show_state_files)
		local project = attempt.project
		return {
			version = attempt.launch.version,
			project_root = all and or_null(project.root) or nil,
			settings = all and or_null(project.file) or nil,
			problem = all and project.problem and project.problem.message or nil,
			current_context = all and or_null(attempt.place.settings and attempt.place.settings.context) or nil,
			state_directory = all and or_null(paths.state()) or nil,
			commands = all and count_commands(project) or nil,
			side_effects = (all or args.show_side_effects) and declared_files.declared(project) or nil,
			state_files = (all or args.show_state_files) and declared_files.state() or nil,
		}
	end,
}
