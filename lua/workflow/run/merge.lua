-- merge: the branch of a worktree into the branch of its repository, once. The merge is made in the worktree; the repository
-- then only goes forward to it: files, branch and index, in this order, while a lock of git's own keeps others from its index.
-- The lock says what is under way, so that the process that finds it after a crash takes it back, or finishes it. What was committed
-- is asked of git, never remembered.

local doubt = require "runner.workflow.run.doubt"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local fs = require "runner.fs"
local git = require "runner.workflow.run.git"
local host = require "runner.host"
local paths = require "runner.core.paths"
local scheduler = require "runner.task.scheduler"

local M = {}

local LOOK_MS = 50
local INDEX_MS = 60000 -- how long another git may hold the index
local MOST_TRIES = 5 -- another process commits at the same moment
local CONFLICTS = 20 -- files that are named

---@param run table
---@param tree runner.workflow.Worktree
---@param tip string
---@param of string
---@return boolean
function M.is_ancestor(run, tree, tip, of)
	return git.run(run, git.outside(tree), { "merge-base", "--is-ancestor", tip, of }).ok
end

---Wait until no other step, of any run, merges in the repository.
---@param tree runner.workflow.Worktree
---@return any turn to be closed
function M.turn(tree)
	local path = ("%s/worktrees/%s.lock"):format(paths.state(), host.digest(tree.common))
	fs.mkdirs(path:match "^(.*)/", 448)
	local handle = fs.lock(path)
	while not handle do
		scheduler.sleep(LOOK_MS)
		handle = fs.lock(path)
	end
	return setmetatable({}, { __close = function()
		fs.unlink(path)
		handle:release()
	end })
end

-- --- in the worktree ---------------------------------------------------------------------------

local function marker(tree)
	return tree.admin .. "/runner-merging"
end

-- Was this file written by a checkout of `commit` that was cut off? Then it is its beginning, or isn't there.
local BEGINNING = [=[
beginning() {
	if [ -L "$2" ]; then [ "$(git cat-file blob "$1:$2")" = "$(readlink "$2")" ]; else
		[ ! -e "$2" ] || { [ -f "$2" ] && git cat-file -e "$1:$2" && git cat-file --filters "$1:$2" | head -c "$(wc -c <"$2")" | cmp -s - "$2"; }
	fi 2>/dev/null
}
]=]

-- What is there that a merge of two commits has not made, whenever it was cut off: HEAD is one of them, or what merges them, and
-- each file is as in one of these. A file that git ignores in all of them stays where it is.
local FOREIGN = BEGINNING .. [=[
old=$1 tip=$2 n=0 own=$GIT_DIR/runner-look
head=$(git rev-parse --verify HEAD) || exit
[ "$head" = "$old" ] && name=HEAD || name=$old # as git has it where the two conflict
merged=$(git merge-tree --write-tree "$name" "$tip" 2>/dev/null | head -n 1)
case $head in "$old" | "$tip" | "$(git rev-parse -q --verify "refs/heads/$3")") ;; *)
	[ "$(git log -1 --format='%P %T')" = "$old $tip $merged" ] || echo "commits (HEAD is $head)"
esac
rm -rf "$own"; mkdir "$own" || exit
trap 'rm -rf "$own"' EXIT
export GIT_INDEX_FILE="$own/index" LC_ALL=C
lines() { tr '\n\0' '\1\n'; }
in_all() { sort "$1" | uniq -c | sed -n "s/^ *$n //p"; }
for tree in "$old" "$tip" $merged; do
	n=$((n + 1))
	git read-tree "$tree" || exit
	git update-index -q --refresh >/dev/null
	{ git diff-files --name-only -z && git ls-files --others -z; } >"$own/found" || exit
	lines <"$own/found" | sort -u >>"$own/differ"
	git ls-files --others --ignored --exclude-standard -z | lines >>"$own/ignored"
done
in_all "$own/ignored" >"$own/stay"
in_all "$own/differ" | comm -23 - "$own/stay" | while IFS= read -r path; do
	path=$(printf '%s.' "$path" | tr '\1' '\n') path=${path%.}
	for tree in "$old" "$tip" $merged; do ! beginning "$tree" "$path" || continue 2; done
	printf '%s\n' "$path"
done]=]

---Back to its branch, if a merge has left it.
---@param run table
---@param tree runner.workflow.Worktree
---@param sure? boolean that merge has just ended: all that is there is of it
function M.back(run, tree, sure)
	if not fs.lstat(marker(tree)) then
		return
	end
	local inside = git.inside(tree)
	local on = git.line(run, inside, { "symbolic-ref", "-q", "HEAD" })
	if on ~= "refs/heads/" .. tree.branch or M.changes(run, tree) ~= "" then
		local old, tip = (fs.read(marker(tree)) or ""):match "^(%x+) (%x+)$"
		local result = not sure and git.run(run, inside, { "sh", "-c", FOREIGN, "sh", old or "-", tip or "-", tree.branch }, { program = true })
		if result and (not result.ok or result.stdout ~= "") then
			git.refuse(run, ("In the worktree %s a merge was cut off, and it has what that has not made: %s"):format(tree.path,
				result.ok and host.clean(result.stdout:gsub("\n$", ""):gsub("\n", ", ")):sub(1, 300) or git.said(result)),
				("Commit there what is to stay (git switch %s; git merge --abort before it gives a merge up), remove the rest, and resume"):format(
					tree.branch))
		end
		for _, args in ipairs { { "reset", "-q", "--hard" }, { "checkout", "-q", "-f", tree.branch }, { "clean", "-q", "-f", "-d" } } do
			result = git.run(run, inside, args)
			if not result.ok then
				git.refuse(run, ("The worktree %s can't be led back to its branch: %s"):format(tree.path, git.said(result)), "Mend what git reports")
			end
		end
	end
	fs.unlink(marker(tree))
end

---What is not committed in the worktree, as git lists it.
---@param run table
---@param tree runner.workflow.Worktree
---@return string
---@return integer ignored files and folders that it ignores
function M.changes(run, tree)
	local text, result = git.line(run, git.inside(tree), { "status", "--porcelain", "--untracked-files=normal", "--ignored",
		"--ignore-submodules=none" })
	local left, ignored = ("\n" .. (text or git.said(result))):gsub("\n!! [^\n]*", "")
	return left:sub(2), ignored
end

-- The commit to merge. What is in the worktree and not in it would not be merged.
local function tip_of(run, tree)
	local inside = git.inside(tree)
	local on = git.line(run, inside, { "symbolic-ref", "-q", "HEAD" })
	local tip, result = git.line(run, inside, { "rev-parse", "--verify", "refs/heads/" .. tree.branch })
	local left = M.changes(run, tree)
	if not tip then
		git.refuse(run, ("The branch %s can't be merged: %s"):format(tree.branch, git.said(result)), "See " .. tree.path)
	elseif on ~= "refs/heads/" .. tree.branch then
		git.refuse(run, ("The worktree %s is on %s, not on its branch %s"):format(tree.path, on or "no branch", tree.branch),
			"Check out its branch there")
	elseif left ~= "" then
		git.refuse(run, ("The worktree of branch %s has changes that are not committed: %s"):format(tree.branch,
			host.clean(left):sub(1, 300)), "Have its steps commit them; check: [{ commit: true }] wants that")
	end
	return tip
end

local function plain(name)
	return (name:gsub("^refs/heads/", ""))
end

local function raise_conflict(run, tree, files, said)
	local listed = table.concat(files, ", ", 1, math.min(#files, CONFLICTS))
	git.refuse(run, ("The branch %s conflicts with %s: %s"):format(tree.branch, plain(tree.into), files[1] and listed or said),
		("Merge %s into %s in %s, and resume the run; or write a repair that does"):format(plain(tree.into), tree.branch, tree.path),
		"MERGE_CONFLICT", { branch = tree.branch, into = plain(tree.into), files = files[1] and listed or nil, worktree = tree.path })
end

local function split(text)
	local out = {}
	for name in (text or ""):gmatch "%Z+" do
		out[#out + 1] = name
	end
	return out
end

-- The commit that merges the two; made on no branch.
local function commit_of(run, tree, tip, old)
	local inside = git.inside(tree)
	fs.create(marker(tree), old .. " " .. tip)
	local result = git.run(run, inside, { "checkout", "-q", "--detach", old })
	if result.ok then
		local message = ("Merge branch '%s' into %s"):format(tree.branch, plain(tree.into))
		result = git.run(run, inside, { "merge", "-q", "--no-edit", "-m", message, tip })
	end
	local new = result.ok and git.line(run, inside, { "rev-parse", "HEAD" })
	local files = not new and split(git.line(run, inside, { "diff", "--name-only", "--diff-filter=U", "-z" })) or {}
	M.back(run, tree, true)
	if files[1] then
		raise_conflict(run, tree, files)
	end
	return new or git.refuse(run, ("The branch %s can't be merged: %s"):format(tree.branch, git.said(result)), "Mend what git reports")
end

-- --- in the repository -------------------------------------------------------------------------

local function index_lock(tree)
	return tree.dir .. "/index.lock"
end

-- A copy of the index, which becomes the index at the end.
local function own_index(tree)
	return tree.dir .. "/index.runner"
end

local function ours()
	return host.digest(paths.state())
end

-- It is the same process that removes a new one, and the folders that this leaves empty.
local TAKE = BEGINNING .. [=[
beginning "$1" "$2" || exit
[ -z "$3" ] || { rm -f -- "$2" && rmdir -p -- "$(dirname -- "$2")" 2>/dev/null || :; }]=]

local function is_ours(run, tree, commit, path, remove)
	return git.run(run, git.outside(tree), { "sh", "-c", TAKE, "sh", commit, path, remove or "" }, { program = true }).ok
end

-- The files that differ; filter: A: those that are new.
local function changes(run, tree, old, new, filter)
	return split(git.line(run, git.outside(tree), { "diff-tree", "-r", "--name-only", "--no-renames", "-z", "--diff-filter=" .. filter,
		old, new }))
end

-- Take back what a checkout has changed, and nothing else: files that have been changed since stay as they are.
local function take_back(run, tree, old, new)
	local changed, restored = {}, {}
	for _, path in ipairs(changes(run, tree, old, new, "A")) do
		local _ = fs.lstat(("%s/%s"):format(tree.repo, path)) and is_ours(run, tree, new, path, "remove")
	end
	for _, path in ipairs(changes(run, tree, old, new, "DMT")) do
		changed[path] = true
	end
	for _, path in ipairs(split(git.line(run, git.outside(tree), { "diff-files", "--name-only", "-z" }))) do
		restored[#restored + 1] = changed[path] and is_ours(run, tree, new, path) and path .. "\0" or nil
	end
	git.run(run, git.outside(tree), { "checkout-index", "-f", "-z", "--stdin" }, { stdin = table.concat(restored) })
end

-- What a merge that was cut off has left in the repository: finished if the branch has gone forward, else taken back.
local function settle(run, tree, old, new)
	if M.is_ancestor(run, tree, new, "HEAD") then
		fs.rename(own_index(tree), tree.dir .. "/index")
	else
		take_back(run, tree, old, new)
	end
	fs.unlink(own_index(tree))
	fs.unlink(own_index(tree) .. ".lock")
	fs.unlink(index_lock(tree))
end

---After a crash, or for a run that is being ended: leave the repository as git would. Called in a turn.
---@param run table
---@param tree runner.workflow.Worktree
---@return boolean held another program holds the index, or another run that lives
function M.recover(run, tree)
	local said = fs.readlink(index_lock(tree))
	local state, id, old, new = (said or ""):match "^runner:(%w+):([^:]+):(%x+):(%x+)$"
	if not state then
		return fs.lstat(index_lock(tree)) ~= nil
	elseif state ~= ours() or id ~= run.id and run.db:owner(id) then
		return true
	end
	settle(run, tree, old, new)
	return false
end

-- Only we change the index from here on.
local function claim(run, tree, old, new)
	local give_up = host.now() + INDEX_MS
	local text = ("runner:%s:%s:%s:%s"):format(ours(), run.id, old, new)
	run.merging[tree] = true
	while not fs.symlink(text, index_lock(tree)) do
		if M.recover(run, tree) then
			if host.now() > give_up then
				git.refuse(run, ("Another git is at work in %s: %s is there"):format(tree.repo, index_lock(tree)),
					"Wait for it to end; if none runs, remove that file")
			end
			scheduler.sleep(LOOK_MS)
		end
	end
end

-- Where the repository is; it has to be where the run began, and clean. What its submodules have checked out is not touched.
local function position(run, tree)
	local outside = git.outside(tree)
	local on = git.line(run, outside, { "symbolic-ref", "-q", "HEAD" })
	if on ~= tree.into then
		git.refuse(run, ("The branch %s can't be merged: %s is on %s by now, not on %s"):format(tree.branch, tree.repo,
			on and plain(on) or "no branch", plain(tree.into)), "Check out " .. plain(tree.into))
	end
	for _, name in ipairs(git.BEGUN) do
		if fs.lstat(("%s/%s"):format(tree.dir, name)) then
			git.refuse(run, ("The branch %s can't be merged: %s is in the middle of another merge, rebase or bisect (%s)"):format(tree.branch,
				tree.repo, name),
				"Finish it, or give it up")
		end
	end
	local result = git.run(run, outside, { "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all" })
	if not result.ok or result.stdout ~= "" then
		git.refuse(run, ("The branch %s can't be merged: %s has changes that are not committed: %s"):format(tree.branch, tree.repo,
			result.ok and host.clean(result.stdout):sub(1, 300) or git.said(result)), "Commit them, or put them aside (git stash)")
	end
	return (git.line(run, outside, { "rev-parse", "HEAD" }))
end

-- Nothing that git doesn't know may be in the way of a new file: it would be lost, or taken for ours after a crash.
local function check_way(run, tree, old, new)
	for _, path in ipairs(changes(run, tree, old, new, "A")) do
		local stat = fs.lstat(("%s/%s"):format(tree.repo, path))
		if stat and stat.type ~= "directory" then -- git looks into that
			local message = "The branch %s can't be merged into %s: it has a file %s, and one is there that isn't committed"
			git.refuse(run, message:format(tree.branch, tree.repo, host.clean(path)), "Move it away, or commit it")
		end
	end
end

-- Files, branch, index. False, and what git says, where its branch has gone elsewhere in the meantime. Raises what git refuses:
-- then nothing has changed.
local function forward(run, tree, old, new)
	claim(run, tree, old, new)
	local clear, problem = pcall(check_way, run, tree, old, new)
	if not clear then
		fs.unlink(index_lock(tree))
		run.merging[tree] = nil
		error(problem, 0)
	end
	local index, outside = { env = { GIT_INDEX_FILE = own_index(tree) } }, git.outside(tree)
	local copied = git.run(run, outside, { "cp", "-p", tree.dir .. "/index", own_index(tree) }, { program = true })
	git.run(run, outside, { "update-index", "-q", "--refresh" }, index) -- a file that was written again, as it was, is no change
	local files = copied.ok and git.run(run, outside, { "read-tree", "-m", "-u", "--no-recurse-submodules", old, new }, index) or copied
	local moved = files.ok and git.run(run, outside, { "update-ref", "-m", ("merge %s: runner"):format(tree.branch), tree.into, new, old })
	settle(run, tree, old, new)
	run.merging[tree] = nil
	if not files.ok then
		git.refuse(run, ("The branch %s can't be merged into %s: %s"):format(tree.branch, tree.repo, git.said(files)),
			"Move away what is in its way")
	end
	return moved.ok, git.said(moved)
end

-- --- the whole --------------------------------------------------------------------------------------

local function by_git(run, tree)
	local last
	for _ = 1, MOST_TRIES do
		M.recover(run, tree)
		local tip, old = tip_of(run, tree), position(run, tree)
		if M.is_ancestor(run, tree, tip, old) then
			return
		end
		local moved, said = forward(run, tree, old, commit_of(run, tree, tip, old))
		if moved then
			return
		end
		last = said
	end
	git.refuse(run, ("The branch %s can't be merged, %s doesn't go forward: %s"):format(tree.branch, plain(tree.into), last), "Try again")
end

-- sequence: runs them; the error of the one that failed
local function by_steps(block, tree, sequence)
	local run = block.run
	local tip, head = tip_of(run, tree), tree.dir .. "/MERGE_HEAD"
	local before = fs.lstat(head)
	local e = sequence(function()
		return M.is_ancestor(run, tree, tip, "HEAD") and "done" or "repeat", tree.branch .. " isn't merged"
	end)
	if e and not before and (fs.read(head) or ""):find(tip, 1, true) and git.run(run, git.outside(tree), { "merge", "--abort" }).ok then
		raise_conflict(run, tree, {}, e.message)
	end
	return e
end

---Merge the branch of a block's worktree, unless it is merged.
---@param block runner.workflow.Block
---@param sequence fun(verify: function): runner.Error? runs its `merge` steps; verify: was the one done whose end was not seen?
---@return runner.Error? problem
function M.merge(block, sequence)
	local run, tree = block.run, block.way.worktree
	if tree.merged then
		return nil
	end
	local _ <close> = M.turn(tree)
	local ok, raised = pcall(function()
		M.back(run, tree)
		if block.step.worktree.steps then
			return by_steps(block, tree, sequence)
		end
		return by_git(run, tree)
	end)
	doubt.check(run)
	if type(raised) == "userdata" or not ok and raised == run.waits then
		error(raised, 0)
	elseif not ok or raised then
		return errors.normalise(raised)
	end
	tree.merged = true
	local _ = block.step.worktree.steps or events.worktree(run, block.key, ("Branch %s merged into %s"):format(tree.branch, plain(tree.into)))
	block.save()
	scheduler.settled() -- committed, before the branch goes
end

return M
