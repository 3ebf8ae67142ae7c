-- declarations: what the commands about runs declare alike: the argument that names a run, those that choose
-- its steps, the columns of a table of steps, and the exit codes beyond those of every command.

local reference = require "runner.core.reference"
local tables = require "runner.core.tables"

local M = {}

-- --- arguments ---------------------------------------------------------------------------------------

---For the args of a declaration, as those that follow.
M.run = { "id", "string", positional = true, required = true, pattern = reference.PATTERN,
	description = "Run: its ID, the beginning or end of it, @last, or a workflow for its newest run",
	suggestion = "Give a run ID or @last; 'runner workflow list' shows the runs" }

M.steps = { "steps", "enum", values = { "failed", "all" },
	description = "Which steps to show; default: all, but of long loops only the items that failed" }
M.limit = { "limit", "integer", min = 0, max = 1000000,
	description = "At most this many steps; default 200, 0: as many as an answer holds" }
M.cursor = { "cursor", "string", description = "Where to go on: meta.pagination.next_cursor of the page before" }
M.html = { "html", "path", description = "Write a page for a browser to this file instead" }

---The first columns of a table, which has a row for each step.
M.columns = { "key", "kind", "state", "attempts", "code", "label", "message" }

-- --- exit codes ----------------------------------------------------------------------------------------

---Of commands that take the ID of a run.
M.id_codes = { NOT_FOUND = { description = "No run with this ID" }, CONFLICT = { description = "Ambiguous ID: several runs match" } }

-- The identical call would start another run.
local function final(description, code)
	return { code = code, retryable = false, side_effects = "partial", description = description }
end

---How a run may fail: with the code of the failed step, or with a step in doubt.
---@param more? table<string, table> further codes
---@return table<string, table>
function M.run_codes(more)
	local out = {
		TIMEOUT = final "A time limit was reached",
		RATE_LIMITED = final "A step failed: too many requests",
		UNAVAILABLE = final "A step failed: a service or the network was unavailable",
		AUTH_REQUIRED = final "A step failed: its credentials were rejected",
		PAYMENT_REQUIRED = final "A step failed: payment is required",
		STEP_IN_DOUBT = final("A step was running when its runner died, and it is not known whether it finished", 81),
		BUDGET_EXHAUSTED = final("The budget of a step or of the run is used up", 82),
		GROUP_TAKEN = { code = 86, retryable = true, side_effects = "none",
			description = "Another run with the same key of concurrency is running, and when_taken is refuse" },
		CHECK_FAILED = final("The check of a step failed, after all its repairs", 84),
		APPROVAL_PENDING = final "A step waits for a person: runner approve",
		APPROVAL_REJECTED = final "A person has refused what a step asked, or no person agreed in time",
		MERGE_CONFLICT = final("The branch of a worktree conflicts with the branch that it is to be merged into", 85),
	}
	return tables.add(out, more)
end

return M
