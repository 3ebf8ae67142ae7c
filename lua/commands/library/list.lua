-- runner library list: the libraries of this project, and whether their files are those of the lock.

local json = require "runner.json"
local shared = require "runner.vendor.shared"
local vendored = require "runner.project.vendored"

return {
	description = "List the libraries of this project",
	danger_level = "safe",
	list = true,
	args = {},
	columns = { "library", "state", "commands", "files", "source" },
	examples = { { description = "What was added?", command = "runner library list" } },
	run = function()
		local root, rows = shared.root(), json.array {}
		local libraries = shared.libraries()
		for i, name in ipairs(shared.chosen(libraries)) do
			rows[i] = shared.about(root, name, libraries[name])
			rows[i].state = vendored.differences(root, name, libraries[name]) and "changed" or "ok"
		end
		return rows
	end,
}
