-- runner workflow worktrees: the worktrees that the steps of runs have, or have left; --clean removes those of runs that have
-- ended, as far as nothing is lost.

local attempt = require "runner.core.attempt"
local reference = require "runner.core.reference"
local store = require "runner.workflow.store.store"

-- What became of them.
local function conclude(rows)
	local removed, kept = 0, 0
	for _, row in ipairs(rows) do
		local outcome = row.outcome or ""
		removed = removed + (outcome:find "removed" and 1 or 0)
		kept = kept + (outcome:find "kept" and 1 or 0)
	end
	if kept > 0 then
		attempt.warn("WORKTREES_KEPT", ("%d worktrees stay: see their outcome. With --force those of ended runs go, and with them what is not"
			.. " committed; a branch that has commits of its own stays"):format(kept))
	end
	return { worktrees = rows, effect = removed > 0 and "deleted" or "noop" }
end

return {
	timeout = "10m",
	dry_run = true,
	args = {
		{ "id", "string", positional = true, pattern = reference.PATTERN, description = "Only those of this run" },
		{ "clean", "boolean", description = "Remove those of runs that have ended, unless something in them is nowhere else" },
		{ "force", "boolean", description = "With --clean: also what has uncommitted changes, or commits that are not merged" },
	},
	columns = { "run", "state", "step", "branch", "unsaved", "ignored", "path", "repository", "outcome" },
	rows = "worktrees",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		NOT_FOUND = { description = "No run with this ID" }, CONFLICT = { description = "Ambiguous ID: several runs match" } },
	examples = {
		{ description = "What is left", command = "runner workflow worktrees" },
		{ description = "Remove what is not needed", command = "runner workflow worktrees --clean" },
	},
	run = function(args, ctx)
		local db <close> = store.open {}
		return conclude(require("runner.workflow.run.worktree").all(db, args, ctx.dry_run))
	end,
}
