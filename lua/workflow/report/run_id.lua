-- run_id: the argument that names a run, the same for every command that takes one.

local M = {}

---For the args of a declaration.
M.argument = { "id", "string", positional = true, required = true, description = "Run ID, or a unique prefix",
	pattern = "^[^/?#%.[:space:]]+$",
	suggestion = "Give a run id; 'runner workflow list' shows them" }

return M
