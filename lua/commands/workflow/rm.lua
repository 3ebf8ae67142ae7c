-- runner workflow rm ID…: forget runs, with their logs and outputs.

local answer = require "runner.workflow.report.answer"
local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local reference = require "runner.core.reference"
local remove = require "runner.workflow.store.remove"
local store = require "runner.workflow.store.store"

local FORCED = { failed = true, interrupted = true, ["in doubt"] = true }

local function raise_held(id, hold, data)
	local ways = hold == "worktrees" and "Look at them: runner workflow worktrees. To remove them: runner workflow worktrees --clean " .. id
		or (hold == "running" or hold == "placed") and "Cancel it first: runner workflow cancel " .. id
		or ("Go on with it: runner workflow resume %s. With --force it is removed, and what it has done can't be built on"):format(id)
	errors.raise(hold == "running" and "LOCK_HELD" or "CONFLICT", ("Run %s %s"):format(id, answer.KEPT[hold]),
		{ suggestion = ways, retryable = false, side_effects = data and "partial" or "none", data = data, context = { run = id } })
end

-- The rows of the runs that are meant, each once; all of them may go, as far as one can see.
local function meant(db, args, allows)
	local rows, known = {}, {}
	for _, text in ipairs(args.id) do
		local row = db:find(text)
		local hold = remove.hold(db, row)
		if hold and not allows[hold] then
			raise_held(row.id, hold)
		end
		rows[#rows + 1] = not known[row.id] and row or nil
		known[row.id] = true
	end
	return rows
end

local function go(db, rows, allows)
	local ids = {}
	for i, row in ipairs(rows) do
		ids[i] = row.id
	end
	local done = remove.runs(db, ids, allows)
	local data = answer.removed(done.removed)
	answer.warn_left(done.left, attempt.warn)
	if done.kept[1] then
		raise_held(done.kept[1].id, done.kept[1].hold, data)
	end
	return data
end

return {
	timeout = "10m",
	dry_run = true,
	args = {
		{ "id", "array", items = "string", positional = true, variadic = true, required = true, pattern = reference.PATTERN,
			description = answer.run.description, suggestion = answer.run.suggestion },
		{ "force", "boolean", description = "Also runs that could be resumed, or that have a step in doubt" },
	},
	columns = { "id", "workflow", "state", "created", "bytes_freed" },
	exit_codes = {
		TIMEOUT = { retryable = false, side_effects = "partial" },
		NOT_FOUND = answer.id_codes.NOT_FOUND,
		LOCK_HELD = { retryable = false, side_effects = "none", description = "The run is running" },
		CONFLICT = { description = "The run can be resumed or is in doubt, or the ID is ambiguous" },
	},
	rows = "runs",
	examples = { { description = "See what would go", command = "runner workflow rm run_01J --dry-run" } },
	run = function(args, ctx)
		local db <close> = store.open { readonly = ctx.dry_run }
		local allows = args.force and FORCED or {}
		local rows = meant(db, args, allows)
		if ctx.dry_run then
			remove.preview(db, rows, ctx.fs.remove_tree)
			return answer.removed(rows)
		end
		return go(db, rows, allows)
	end,
}
