-- runner workflow prune: forget old runs of this project, with their logs and outputs.

local answer = require "runner.workflow.report.answer"
local attempt = require "runner.core.attempt"
local host = require "runner.host"
local remove = require "runner.workflow.store.remove"
local amounts = require "runner.core.amounts"
local scope = require "runner.core.scope"
local store = require "runner.workflow.store.store"
local tables = require "runner.core.tables"

-- What the flags say; where they say nothing about which runs, what runner.lua says of its project.
local function keeping_of(args)
	local declared = attempt.project.retention
	if not (args.keep or args.older_than or args.max_size) and declared then
		local copy = { project = scope.own(), root = attempt.project.root }
		tables.add(copy, declared)
		copy.workflow, copy.failed, copy.interrupted = args.workflow, args.failed or declared.failed, args.interrupted or declared.interrupted
		return copy
	end
	return { keep = args.keep, older_than_ms = args.older_than and require("runner.core.rules").milliseconds(args.older_than),
		max_size = args.max_size and amounts.size(args.max_size, 0), failed = args.failed, interrupted = args.interrupted,
		workflow = args.workflow, project = scope.of(args) }
end

-- What is passed over: how many runs of others would have gone, too. Where there is no project, as for cron, the
-- caller may mean them.
local function say_others(db, args, keeping, data)
	local others = not args.all and not scope.is_closed() and remove.others(db, keeping, host.wall_ms()) or 0
	data.others = others > 0 and others or nil
	if others > 0 and keeping.project == "" then
		attempt.warn("OTHERS_STAY", ("%d runs of projects stay: this call is in none. With --all they go, too"):format(others),
			{ runs = others })
	end
	return data
end

return {
	timeout = "10m",
	dry_run = true,
	args = {
		{ "older_than", "duration", description = "Runs that ended so long ago, such as 30d" },
		{ "max_size", "string", description = "Oldest first, what exceeds this size of all logs and outputs, such as 1GiB" },
		{ "keep", "integer", min = 0, max = 1000000000, description = "Always keep this many of the newest runs; on its own: remove all others" },
		{ "failed", "boolean", description = "Also runs that failed and could be resumed" },
		{ "interrupted", "boolean", description = "Also runs that were interrupted and could be resumed" },
		{ "workflow", "string", description = "Only runs of this workflow" },
		scope.argument(),
	},
	columns = { "id", "workflow", "state", "created", "bytes_freed" },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	rows = "runs",
	examples = {
		{ description = "See what would go", command = "runner workflow prune --older-than 30d --keep 100 --dry-run" },
	},
	validate = function(args)
		if args.max_size and not amounts.size(args.max_size, 0) then
			return { { field = "max_size", code = "INVALID_ARGUMENT", value = args.max_size,
				message = ("'%s' is no size"):format(args.max_size), suggestion = "Write a size such as 500MiB or 1GiB" } }
		elseif not (args.keep or args.older_than or args.max_size or attempt.project.retention and not args.all) then
			return { { field = "older_than", code = "MISSING_ARGUMENT", message = "Nothing says which runs are old",
				fix_required = "Give --older-than, --max-size or --keep, or set retention in runner.lua",
				suggestion = "runner workflow prune --older-than 30d --dry-run" } }
		end
	end,
	run = function(args, ctx)
		local db <close> = store.open { readonly = ctx.dry_run }
		local keeping = keeping_of(args)
		local rows, ids = remove.chosen(db, keeping, host.wall_ms()), {}
		if ctx.dry_run then
			remove.preview(db, rows, ctx.fs.remove_tree)
			return say_others(db, args, keeping, answer.removed(rows))
		end
		for i, row in ipairs(rows) do
			ids[i] = row.id
		end
		local finished = remove.finish(db)
		local done = remove.runs(db, ids, keeping)
		answer.warn_left(done.left, attempt.warn)
		local data = answer.removed(done.removed)
		data.finished = finished > 0 and finished or nil
		data.effect = finished > 0 and "deleted" or data.effect
		return say_others(db, args, keeping, data)
	end,
}
