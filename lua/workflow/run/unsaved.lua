-- unsaved: what of a worktree is nowhere else, and would be lost with it: what isn't committed, commits that no branch has, and
-- what its submodules have, which are clones of its own. It asks git, and changes nothing. What git can't tell is there.

local fs = require "runner.fs"
local git = require "runner.workflow.run.git"
local merge = require "runner.workflow.run.merge"

local M = {}

---@param run table
---@param tree runner.workflow.Worktree
---@param name? string full, of a branch; default: its own
---@return string? tip
---@return runner.Result result its status is 1 where there is none
function M.tip_of(run, tree, name)
	return git.line(run, git.outside(tree), { "rev-parse", "-q", "--verify", name or "refs/heads/" .. tree.branch })
end

---Is all that its branch has in the branch that it was made for, or in its base?
---@param run table
---@param tree runner.workflow.Worktree
---@param tip string
---@return boolean
function M.is_merged(run, tree, tip)
	return tip == tree.base or tree.into ~= nil and merge.is_ancestor(run, tree, tip, tree.into)
end

-- Of itself, and of its submodules: those that it has, and those that it had. Its own refs are those of git bisect, and
-- refs/worktree.
local SCRIPT = "begun() { for name in " .. table.concat(git.BEGUN, " ") .. [=[; do [ ! -e "$1/$name" ] || echo begun; done; }
aside() { # commits that only this has
	for name in rebase-merge/autostash rebase-apply/autostash rebase-merge/orig-head rebase-apply/orig-head MERGE_AUTOSTASH; do
		[ ! -f "$1/$name" ] || sed -n '1s/^\([0-9a-f]\{40,\}\)$/\1/p' "$1/$name"
	done
}
say() { [ "${2:-some}" = 0 ] || echo "$1 ${2:-some}"; }
begun "$GIT_DIR"
say commits "$({ echo HEAD; aside "$GIT_DIR"; git for-each-ref --format='%(objectname)' refs/worktree refs/bisect refs/rewritten; } |
	git rev-list --count --stdin --not --branches --tags --remotes)"
top=$GIT_DIR tree=$GIT_WORK_TREE
unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE
bare() { git --git-dir=. --work-tree=. "$@"; } # its files may be gone
one() { # its folder of git, its files
	begun "$1"
	say theirs "$(cd "$1" && aside . |
		bare rev-list --count --stdin --exclude=refs/remotes/\* --exclude=refs/stash --all --not --remotes)"
	if (cd "$1" && bare rev-parse -q --verify refs/stash >/dev/null); then
		say stashes "$(wc -l 2>/dev/null <"$1/logs/refs/stash" || echo 1)"
	fi
	if [ -n "$2" ] && [ -e "$2/.git" ]; then
		[ -z "$(git --git-dir="$1" --work-tree="$2" status --porcelain --untracked-files=normal --ignore-submodules=none 2>&1 |
			head -c 1)" ] || echo changed
	fi
	[ -z "$2" ] || within "$1" "$2"
}
within() { # those whose folder of git is among its files
	git --git-dir="$1" --work-tree="$2" ls-files -s -z | tr '\n\0' '\1\n' | sed -n 's/^160000 [^\t]*\t//p' | while IFS= read -r path; do
		path=$(printf '%s.' "$path" | tr '\1' '\n') path=${path%.}
		[ ! -d "$2/$path/.git" ] || { one "$2/$path/.git" "$2/$path"; kept "$2/$path/.git"; }
	done
}
kept() { # and those that it keeps itself
	[ ! -d "$1/modules" ] || find "$1/modules" -name HEAD | while IFS= read -r head; do
		dir=${head%/HEAD}
		[ -d "$dir/objects" ] && [ -d "$dir/refs" ] || continue
		one "$dir" "$(cd "$dir" && cd -- "$(bare config core.worktree || echo /proc/none)" 2>/dev/null && pwd)"
	done
}
within "$top" "$tree"
kept "$top"
]=]

-- How often each word is there; what git can't count is more than any number.
local function look(run, tree)
	local result = git.run(run, git.beside(tree), { "sh", "-c", SCRIPT }, { program = true })
	local out = {}
	for word, n in (result.stdout or ""):gmatch "(%l+) ?([^\n]*)\n" do
		out[word] = (out[word] or 0) + (n == "" and 1 or tonumber(n) or math.huge)
	end
	if not result.ok then
		out.commits = math.huge
	end
	return out
end

local function said(n, noun, plural, more)
	return n and ("%s %s%s"):format(n == math.huge and "some" or ("%d"):format(n), n == 1 and noun or plural, more)
end

---What is there of these.
---@param ... string?
---@return string?
function M.joined(...)
	local all = {}
	for i = 1, select("#", ...) do
		all[#all + 1] = (select(i, ...)) or nil
	end
	return all[1] and table.concat(all, ", ")
end

---What goes with a worktree; nothing of one that isn't made yet.
---@param run table
---@param tree runner.workflow.Worktree
---@return string? commits of its own or of its submodules: "1 commit on no branch"
---@return string? changes what isn't committed
---@return integer ignored files and folders that git ignores: they keep no worktree
function M.what(run, tree)
	if not (tree.ready and fs.lstat(tree.admin)) then
		return nil, tree.ready and (fs.list(tree.path) or {})[1] and "files of which git knows nothing any more" or nil, 0
	end
	local found, left, ignored = look(run, tree), "", 0
	if fs.lstat(tree.path) then
		left, ignored = merge.changes(run, tree)
	end
	return M.joined(said(found.commits, "commit", "commits", " on no branch"),
		said(found.theirs, "commit", "commits", " of submodules that no remote has"), said(found.stashes, "stash", "stashes", " of submodules")),
		M.joined((left ~= "" or found.changed) and "changes that are not committed", found.begun and "a merge, rebase or bisect under way"),
		ignored
end

-- What its branch has that the branch that it was made for lacks.
local function ahead(run, tree)
	local tip = M.tip_of(run, tree)
	if tip and not M.is_merged(run, tree, tip) then
		local known = tree.into and M.tip_of(run, tree, tree.into) and tree.into or tree.base
		local n = git.line(run, git.outside(tree), { "rev-list", "--count", tip, "^" .. known })
		return said(tonumber(n) or math.huge, "commit", "commits", (" that %s lacks"):format((known:gsub("^refs/heads/", ""))))
	end
end

---What of a worktree is nowhere else.
---@param run table
---@param tree runner.workflow.Worktree
---@return string? text "changes that are not committed, 1 commit on no branch, 2 commits that main lacks"
---@return integer ignored
function M.all(run, tree)
	local commits, changes, ignored = M.what(run, tree)
	return M.joined(changes, commits, ahead(run, tree)), ignored
end

return M
