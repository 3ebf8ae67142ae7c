-- worktree: where the steps of a block with `worktree` run. What it is stands in the block's row before git makes it, so that a
-- resumed run finds what was made, half or whole. It lies in the state folder, never in the repository; what git keeps of it
-- there goes with it, and so does its branch, if we have made that and it has nothing that isn't elsewhere.

local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local fs = require "runner.fs"
local git = require "runner.workflow.run.git"
local host = require "runner.host"
local json = require "runner.json"
local merge = require "runner.workflow.run.merge"
local paths = require "runner.core.paths"
local records = require "runner.core.scope"
local report = require "runner.workflow.report.report"
local scheduler = require "runner.task.scheduler"
local scopes = require "runner.workflow.run.scope"
local unsaved = require "runner.workflow.run.unsaved"
local variables = require "runner.workflow.expr.variables"

local M = {}

local NAME_MAX = 60 -- characters of a step's key

---@class runner.workflow.Worktree as the row of its block has it
---@field path string
---@field branch string that we make
---@field base string the commit that it starts from
---@field into? string the full name of the branch that the repository had; nil: its HEAD was detached
---@field repo string the working tree that it is of
---@field sub string the folder in it where the steps run; "" or with a slash at its end
---@field common string the folder of git that all worktrees share
---@field dir string that of the repository's own working tree
---@field fence? table what holds for git, where a step of the run is confined
---@field admin? string its own, once it is made
---@field ready? boolean it is made: steps may have run in it
---@field merged? boolean its branch is merged, or its `merge` steps have ended well
---@field going? boolean its steps are over, and it is being removed
---@field over? boolean it is removed

-- --- what is to be made ------------------------------------------------------------------

-- Is that the folder of git of this working tree? A confined step could have led it to another one, to write there next.
local function leads_back(run, tree, place)
	if tree.dir ~= tree.common then
		local back = (fs.read(tree.dir .. "/gitdir") or ""):match "^(/[^\n]*)/%.git\n?$"
		return tree.dir:match "^(.*)/worktrees/[^/]+$" == tree.common and back and fs.realpath(back) == tree.repo
	end
	local set = tree.dir ~= tree.repo .. "/.git" and git.line(run, place, { "config", "--file", tree.dir .. "/config", "core.worktree" })
	return tree.dir == tree.repo .. "/.git" or set and fs.realpath(paths.absolute(set, tree.dir)) == tree.repo
end

-- The repository that a directory is in.
local function repository(run, cwd, who)
	local place = { cwd = cwd, fence = run.workflow.among.fence, writable = {} }
	local result = git.run(run, place, { "rev-parse", "--show-toplevel", "--show-prefix", "--git-common-dir", "--git-dir" })
	local repo, sub, common, dir = (result.ok and result.stdout or ""):match "^([^\n]+)\n([^\n]*)\n([^\n]+)\n([^\n]+)\n$"
	if not repo then
		git.refuse(run, ("%s needs a repository of git with a working tree: %s"):format(who, git.said(result)),
			"Run it in the working tree of a repository (git init makes one)")
	end
	local tree = { repo = repo, sub = sub, common = fs.realpath(paths.absolute(common, cwd)), dir = fs.realpath(paths.absolute(dir, cwd)),
		fence = place.fence }
	if tree.fence and not leads_back(run, tree, place) then
		git.refuse(run, ("%s: %s/.git leads to %s, which is not of that working tree"):format(who, repo, tree.dir),
			"See what has changed it: a step is confined here, and could write where that leads")
	end
	return tree
end

-- The branch that the repository had when the first worktree of this run was made.
local function branch_of(run, tree)
	for _, row in ipairs(run.db:worktrees(run.id)) do
		if row.worktree.repo == tree.repo then
			return row.worktree.into
		end
	end
	return (git.line(run, git.outside(tree), { "symbolic-ref", "-q", "HEAD" }))
end

local function slug(key)
	return (key:gsub("[^%w_]+", "-"):gsub("^%-+", ""):gsub("%-+$", ""):sub(1, NAME_MAX))
end

local function check_branch(run, tree, who)
	local branch, outside = tree.branch, git.outside(tree)
	if branch:find "^refs/" or git.line(run, outside, { "check-ref-format", "--branch", branch }) ~= branch then
		git.refuse(run, ("%s: '%s' is no name of a branch"):format(who, branch), "See git help check-ref-format")
	end
	local known = git.line(run, outside, { "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads" }) or ""
	for name in known:gmatch "[^\n]+" do
		if name == branch then
			git.refuse(run, ("%s: the branch %s exists already"):format(who, branch), ("Give each item another branch, such as %s-${run.id}; or"
				.. " remove that one, if it isn't needed: git branch -d %s"):format(branch, branch))
		elseif (name .. "/"):find(branch .. "/", 1, true) == 1 or (branch .. "/"):find(name .. "/", 1, true) == 1 then
			git.refuse(run, ("%s: there can't be a branch %s beside the branch %s"):format(who, branch, name),
				"Give it a name that is no folder of that one, nor in it as in a folder")
		end
	end
end

local function name_of(block)
	return ("The worktree of step %s"):format(block.key)
end

-- tree: the repository
local function plan(block, tree)
	local run, said, scope, who = block.run, block.step.worktree, block.outer, name_of(block)
	tree.branch = said.branch and variables.expand(said.branch, scope) or ("runner/%s/%s"):format(run.id:sub(-10):lower(), slug(block.key))
	tree.path = ("%s/%s-%s"):format(paths.worktrees(run.id), slug(block.key), host.digest(run.id .. block.key):sub(1, 8))
	local base = variables.expand(said.base, scope)
	tree.base = not base:find "^%-" and git.line(run, git.outside(tree), { "rev-parse", "-q", "--verify",
		base .. "^{commit}" }) or nil
	if not tree.base then
		git.refuse(run, ("%s: there is no commit %s"):format(who, base == "HEAD" and "yet" or base), base == "HEAD" and "Commit something first"
			or "Correct its base")
	end
	tree.into = branch_of(run, tree)
	if said.merge and not tree.into then
		git.refuse(run, ("%s can't be merged: HEAD of %s is detached"):format(who, tree.repo), "Check out a branch that it is to be merged into")
	end
	check_branch(run, tree, who)
end

-- --- making and removing ---------------------------------------------------------------------

local tip_of, is_merged = unsaved.tip_of, unsaved.is_merged

-- On its branch, which is made if it isn't there. Where steps are confined git makes it without its files, and puts them there
-- as confined as those steps.
local function add(run, tree)
	fs.mkdirs(tree.path:match "^(.*)/", 448) -- 0700
	fs.mkdirs(tree.common .. "/worktrees")
	local args = tip_of(run, tree) and { "worktree", "add", tree.path, tree.branch }
		or { "worktree", "add", "--no-track", "-b", tree.branch, tree.path, tree.base }
	args[#args + 1] = tree.fence and "--no-checkout" or nil
	local result = git.run(run, git.making(tree), args)
	tree.admin = result.ok and git.line(run, { cwd = tree.path, fence = tree.fence, writable = {} }, { "rev-parse", "--absolute-git-dir" })
		or nil
	if tree.admin and tree.fence then
		result = git.run(run, git.inside(tree), { "reset", "-q", "--hard", "--no-recurse-submodules" })
	end
	if not (tree.admin and result.ok) then
		M.remove(run, tree)
		tree.over = true
		git.refuse(run, ("The worktree on the branch %s can't be made: %s"):format(tree.branch, git.said(result)), "Mend what git reports")
	end
	if tree.sub ~= "" then
		git.run(run, git.inside(tree), { "mkdir", "-p", "--", tree.sub }, { program = true })
	end
end

---Remove a worktree, and its branch, unless that has commits of its own, is checked out elsewhere, or became another name of one.
---@param run table
---@param tree runner.workflow.Worktree
---@return string? left the branch that stays
---@return string? of it is another name of this one by now
function M.remove(run, tree)
	local going = tree.path .. ".going" -- never half of it under its name
	local ok, why = fs.remove_tree(going)
	if ok and fs.rename(tree.path, going) then
		ok, why = fs.remove_tree(going)
	end
	if not ok then
		git.refuse(run, ("The worktree %s can't be removed: %s"):format(tree.path, why), "Remove it by hand")
	end
	fs.remove_tree(tree.admin or ("%s/worktrees/%s"):format(tree.common, tree.path:match "[^/]+$")) -- what git keeps of it
	fs.rmdir(tree.common .. "/worktrees")
	fs.rmdir(tree.path:match "^(.*)/")
	local name, tip, result = "refs/heads/" .. tree.branch, tip_of(run, tree)
	if not tip and result.status ~= 1 and fs.lstat(tree.dir) then
		git.refuse(run, ("Whether the branch %s is there can't be told: %s"):format(tree.branch, git.said(result)), "Mend what git reports")
	end
	if not tip or not is_merged(run, tree, tip) then
		return tip and tree.branch
	end
	local held
	held, result = git.line(run, git.outside(tree), { "for-each-ref", "--format=%(symref)%(worktreepath)", name })
	if held == "" then
		result = git.run(run, git.branches(tree), { "update-ref", "--no-deref", "-d", name, tip })
	end
	if not result.ok then
		git.refuse(run, ("The branch %s can't be removed: %s"):format(tree.branch, git.said(result)), "Mend what git reports")
	elseif held ~= "" then
		return tree.branch, held:match "^refs/[^/]+/[^\n]+"
	end
end

-- What a git that was killed in it has left: nothing of this run is alive in it now.
local function restore(run, tree)
	local there, dot = fs.lstat(tree.path), tree.path .. "/.git"
	if there and there.type == "directory" and fs.lstat(tree.admin) and not fs.lstat(dot) then
		fs.create(dot, ("gitdir: %s\n"):format(tree.admin)) -- its files are more than this
	end
	if not fs.lstat(dot) then
		local lost, changes = unsaved.what(run, tree)
		if lost or changes and there then
			git.refuse(run, ("The worktree %s was removed, and has %s"):format(tree.path, lost or changes), lost
				and ("Give them a branch: git --git-dir=%s branch NAME HEAD"):format(tree.admin) or "Move what you need of it away, and remove it")
		end
		M.remove(run, tree)
		return add(run, tree)
	end
	local inner = { repo = tree.path, dir = tree.admin, common = tree.common, fence = tree.fence }
	merge.recover(run, inner) -- one into it, of a worktree inside of it
	local of_branch = ("%s/refs/heads/%s.lock"):format(tree.common, tree.branch)
	for _, path in ipairs { tree.admin .. "/index.lock", tree.admin .. "/HEAD.lock", of_branch } do
		local _ = git.is_own(path) and fs.unlink(path)
	end
	merge.back(run, tree)
end

---The IDs of runs that have a folder of worktrees.
---@return string[]
function M.runs()
	local ids = {}
	for _, name in ipairs(fs.list(paths.state() .. "/worktrees") or {}) do
		ids[#ids + 1] = name:find "^run_" and name or nil
	end
	table.sort(ids)
	return ids
end

---Is something of it there?
---@param tree runner.workflow.Worktree
---@return boolean
function M.is_left(tree)
	return not tree.over and (not tree.ready or (fs.lstat(tree.path) or fs.lstat(tree.path .. ".going") or fs.lstat(tree.admin)) ~= nil)
end

-- Those that were being made when a run was killed: git can't make another one beside them.
local function sweep(run)
	for _, id in ipairs(run.swept and {} or M.runs()) do
		for _, row in ipairs((id == run.id or not run.db:owner(id)) and run.db:worktrees(id) or {}) do
			local _ = row.worktree.ready or row.worktree.over or M.remove(run, row.worktree)
		end
	end
	run.swept = true
end

-- --- around the steps of a block -----------------------------------------------------------------

local function save(block)
	block.save()
	scheduler.settled() -- committed
end

---The scope of the steps in the worktree of a block, which is made or found again.
---@param block runner.workflow.Block its `outer` scope, and `save`
---@return runner.workflow.Scope
function M.enter(block)
	local run, way = block.run, block.way
	local tree = way.worktree and not way.worktree.over and way.worktree or nil
	tree = tree and tree.ready and tree or repository(run, block.outer.cwd or run.settings.cwd, name_of(block))
	local _ <close> = merge.turn(tree)
	sweep(run)
	if tree.ready then
		git.unlock { tree.common .. "/packed-refs.lock", tree.dir .. "/HEAD.lock", tree.into and ("%s/%s.lock"):format(tree.common, tree.into) }
		local _ = tree.going or restore(run, tree)
	else
		local _ = way.worktree and not way.worktree.over and M.remove(run, way.worktree) -- of a step that failed while it was made
		way.worktree = nil
		plan(block, tree)
		way.worktree = tree
		save(block)
		local ok, e = pcall(add, run, tree)
		way.worktree = not tree.over and tree or nil -- what couldn't be removed is known to the next one
		assert(ok, e)
		tree.ready = true
		block.save()
	end
	local cwd = ("%s/%s"):format(tree.path, tree.sub):gsub("/$", "")
	local root, real = fs.realpath(tree.path), fs.realpath(cwd)
	if tree.fence and root and real and (real .. "/"):find(root .. "/", 1, true) ~= 1 then
		git.refuse(run, ("%s: its folder %s is a link to %s"):format(name_of(block), tree.sub, real), "Make it a folder again")
	end
	local inner = scopes.inner_scope(block.outer, { vars = block.outer.vars, cwd = cwd,
		worktree = { path = tree.path, branch = tree.branch, base = tree.base, into = (tree.into or ""):gsub("^refs/heads/", "") } }, false)
	inner.writable = git.writable(tree)
	getmetatable(inner).__newindex = block.outer -- what its steps leave is there for later ones
	return inner
end

---The block is over.
---@param block runner.workflow.Block
---@param failed boolean
function M.leave(block, failed)
	local run, tree, keep = block.run, block.way.worktree, block.step.worktree.keep
	local _ <close> = merge.turn(tree)
	local commits, changes, ignored = unsaved.what(run, tree)
	local left = not tree.going and unsaved.joined(keep == "failed" and not failed and changes, commits)
	if keep == "always" or failed and keep == "failed" or left then
		events.worktree(run, block.key, ("The worktree of step %s stays: %s%s"):format(block.key, tree.path,
			left and (" (it has %s)"):format(left) or ""))
		return
	end
	if ignored > 0 then
		events.worktree(run, block.key, ("The worktree of step %s goes, and with it what git ignores there (%d)"):format(block.key, ignored))
	end
	tree.going = not failed
	save(block)
	local branch, of = M.remove(run, tree)
	if of then
		events.worktree(run, block.key, ("The branch %s stays: it is another name of %s by now"):format(branch, of))
	end
	tree.over = not failed
	block.save()
end

-- The worktrees that the steps of runs have, or have left, for `workflow worktrees`, and those of runs that no
-- process executes removed. What of one is nowhere else stays, unless the caller wants otherwise.

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
		if M.is_left(row.worktree) then
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
	local branch = M.remove(run, row.tree)
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
		for _, id in ipairs(args.id and { db:find(args.id).id } or M.runs()) do
			local seen = not records.subject() or db:list({ id = id })[1] -- their folders say nothing of whose they are
			for _, row in ipairs(seen and (args.clean and clean_run(db, id, args, dry_run) or of_run(db, id)) or {}) do
				row.tree = nil
				out[#out + 1] = row
			end
		end
		return out
	end)
end

return M
