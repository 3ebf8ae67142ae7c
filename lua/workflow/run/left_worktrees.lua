-- left_worktrees: the worktrees that the steps of runs have, or have left, for `workflow worktrees`, and those of runs that no
-- process executes removed. What of one is nowhere else stays, unless the caller wants otherwise.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local merge = require "runner.workflow.run.merge"
local paths = require "runner.core.paths"
local report = require "runner.workflow.report.report"
local scope = require "runner.core.scope"
local scheduler = require "runner.task.scheduler"
local unsaved = require "runner.workflow.run.unsaved"
local worktree = require "runner.workflow.run.worktree"

local M = {}

-- What calls git as a run does; `lock` is that of the run, where it is owned.
local function caller(db, id, lock)
	return { id = id, db = db, lock = lock, merging = {}, settings = { cwd = "/", env = {} } }
end

local function row_of(run, state, row)
	local tree = row.worktree
	local left, ignored = unsaved.all(run, tree)
	return { run = run.id, state = state, step = row.key, branch = tree.branch, path = tree.path, repository = tree.repo,
		unsaved = left, ignored = ignored }
end

local function of_run(db, id, lock)
	local run, rows = caller(db, id, lock), {}
	local state = report.settled(db, db:find(id)).state
	for _, row in ipairs(db:worktrees(id)) do
		if worktree.is_left(row.worktree) then
			local shown = row_of(run, state, row)
			rows[#rows + 1], shown.tree = shown, row.worktree
		end
	end
	return rows, run
end

-- Its row says what became of it.
local function clean(run, row, force)
	if row.unsaved and not force then
		row.outcome = "kept: it has " .. row.unsaved
		return
	end
	local _ <close> = merge.turn(row.tree)
	local branch = worktree.remove(run, row.tree)
	row.outcome = branch and ("removed; its branch %s stays"):format(branch) or "removed"
end

local function clean_run(db, id, args, dry_run)
	local ok, lock = pcall(db.own, db, id)
	if not ok and not (errors.is(lock) and lock.code == "LOCK_HELD") then
		error(lock, 0)
	end
	local rows, run = of_run(db, id, ok and lock or nil)
	for _, row in ipairs(rows) do
		if not ok then
			row.outcome = "kept: its run is running"
		elseif dry_run then
			row.outcome = row.unsaved and not args.force and "would be kept: it has " .. row.unsaved or "would be removed"
		else
			clean(run, row, args.force)
		end
	end
	if ok then
		fs.rmdir(paths.worktrees(id))
		lock:release()
	end
	return rows
end

---@param db runner.workflow.Store
---@param args {id: string?, clean: boolean?, force: boolean?}
---@param dry_run boolean
---@return table[] rows with an `outcome` each, where they are to be removed
function M.all(db, args, dry_run)
	return scheduler.run(function()
		local out = json.array {}
		for _, id in ipairs(args.id and { db:find(args.id).id } or worktree.runs()) do
			local seen = not scope.subject() or db:list({ id = id })[1] -- their folders say nothing of whose they are
			for _, row in ipairs(seen and (args.clean and clean_run(db, id, args, dry_run) or of_run(db, id)) or {}) do
				row.tree = nil
				out[#out + 1] = row
			end
		end
		return out
	end)
end

return M
