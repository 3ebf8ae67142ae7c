-- job_id: the argument that names a job, the same for every command that takes one.

local reference = require "runner.core.reference"

local M = {}

---For the args of a declaration.
M.argument = { "id", "string", positional = true, required = true, description = "Job: its ID, the beginning or end of it, or @last",
	pattern = reference.PATTERN,
	suggestion = "Give a job ID; 'runner job list' shows them" }

---Exit codes of every such command.
M.exit_codes = { NOT_FOUND = { description = "No job with this ID" },
	CONFLICT = { description = "Ambiguous ID: several jobs match" } }

---M.exit_codes with more.
---@param more table<string, table>
---@return table<string, table>
function M.codes(more)
	for name, entry in next, M.exit_codes do
		more[name] = entry
	end
	return more
end

return M
