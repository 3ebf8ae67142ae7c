-- runner library list: the libraries of this project, and whether their files are those of the lock.

local json = require "runner.json"
local vendor = require "runner.vendor.libraries"
local vendored = require "runner.project.vendored"

return {
	list = true,
	args = {},
	columns = { "library", "state", "commands", "files", "source" },
	examples = { { description = "What was added?", command = "runner library list" } },
	run = function()
		local root, rows = vendor.root(), json.array {}
		local libraries = vendor.libraries()
		for i, name in ipairs(vendor.chosen(libraries)) do
			rows[i] = vendor.about(root, name, libraries[name])
			rows[i].state = vendored.differences(root, name, libraries[name]) and "changed" or "ok"
		end
		return rows
	end,
}
