-- runner status: what runner and the project's commands keep on this machine, and whether the
-- project loads. It changes nothing and always succeeds.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local json = require "runner.json"
local leavings = require "runner.tools.leavings"
local paths = require "runner.core.paths"

local function count_commands(project)
	local own, broken = 0, json.array {}
	for _, entry in ipairs(catalog.list(project)) do
		if not entry.builtin then
			own = own + 1
			broken[#broken + 1] = not catalog.load(entry, project) and entry.name or nil
		end
	end
	return { count = own, broken = broken }
end

local function or_null(v)
	return v == nil and json.null or v
end

return {
	description = "Show what runner and the commands keep on this machine",
	danger_level = "safe",
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
			current_context = all and or_null(attempt.settings and attempt.settings.context) or nil,
			state_directory = all and or_null(paths.state()) or nil,
			commands = all and count_commands(project) or nil,
			side_effects = (all or args.show_side_effects) and leavings.declared(project) or nil,
			state_files = (all or args.show_state_files) and leavings.state() or nil,
		}
	end,
}
