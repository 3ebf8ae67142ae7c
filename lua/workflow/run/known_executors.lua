-- known_executors: the executors that a call can name: those of runner.lua, and of the workflow
-- file that --file names.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local executors = require "runner.workflow.file.executors"
local start = require "runner.workflow.run.start"

local M = {}

---The argument that names a workflow file.
M.file_argument = { "file", "path", description = "Workflow file whose executors are meant too" }

---Problems of that file, for a command's validate.
---@param args table
---@return table[]?
function M.validate(args)
	local workflow, problems
	if args.file then
		workflow, problems = start.load(args.file, true)
	end
	return problems and not workflow and start.rows(args.file, problems) or nil
end

---@param args table file
---@return runner.workflow.Executors known, table<string, string> faults, table<string, string> sources by name: where it is described
function M.of(args)
	local sources = {}
	local known, faults = executors.read({}, nil, attempt.project and attempt.project.executors)
	for _, names in ipairs { known, faults } do
		for name in pairs(names) do
			sources[name] = "runner.lua"
		end
	end
	for name, executor in pairs(args.file and assert(start.load(args.file, true)).executors or {}) do
		sources[name] = sources[name] or args.file
		known[name], faults[name] = executor, nil
	end
	return known, faults, sources
end

---The executor that the call names; raises NOT_FOUND or PRECONDITION.
---@param args table name, file
---@return runner.Executor
function M.named(args)
	local known, faults = M.of(args)
	local message, suggestion = executors.fault(args.name, known, faults)
	if message or not known[args.name] then
		errors.raise(faults[args.name] and "PRECONDITION" or "NOT_FOUND", message or "none is this machine, without an executor",
			{ side_effects = "none", suggestion = suggestion, fix_required = "Name an executor that is described" })
	end
	return known[args.name]
end

return M
