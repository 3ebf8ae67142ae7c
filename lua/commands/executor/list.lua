-- runner executor list: the executors that workflows may name here

local json = require "runner.json"
local known_executors = require "runner.workflow.run.known_executors"
local tables = require "runner.core.tables"

return {
	list = true,
	args = { known_executors.file_argument },
	columns = { "name", "kind", "source", "directory", "problem" },
	examples = {
		{ description = "Those of runner.lua", command = "runner executor list" },
		{ description = "And those of a workflow", command = "runner executor list --file squares.yaml" },
	},
	validate = known_executors.validate,
	run = function(args)
		local known, faults, sources = known_executors.of(args)
		local rows = json.array {}
		for i, name in ipairs(tables.sorted_keys(sources)) do
			local e = known[name] or {}
			rows[i] = { name = name, kind = e.kind or json.null, source = sources[name],
				directory = e.via and ("%s:%s"):format(e.via, e.directory) or e.directory or json.null,
				problem = faults[name] or json.null }
		end
		return rows
	end,
}
