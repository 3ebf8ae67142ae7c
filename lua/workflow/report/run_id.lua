-- run_id: the argument that names a run, the same for every command that takes one.

local reference = require "runner.core.reference"

local M = {}

---For the args of a declaration.
M.argument = { "id", "string", positional = true, required = true, pattern = reference.PATTERN,
	description = "Run: its ID, the beginning or end of it, @last, or a workflow for its newest run",
	suggestion = "Give a run ID or @last; 'runner workflow list' shows the runs" }

return M
