-- plain_git: what runner has git say about a directory that a step may have written to. Git runs none of the programs that the
-- repository names there (fsmonitor, filters, textconv, hooks, what its submodules have): its configuration isn't read, nor its
-- attributes outside of the tree. What the user has for all repositories holds, but for what
-- has git run in a submodule.

local M = {}

-- `plain ARGS…` is git with a folder of its own. Of the repository it has the objects, the commit that is checked out, and what is ignored.
local PRELUDE = [[
unset $(git rev-parse --local-env-vars)
cd -P . || exit
while ! [ -e .git ] && [ "$PWD" != / ]; do cd .. || exit; done
repo() { GIT_DIR="$PWD/.git" git --no-pager "$@"; }
head=$(repo rev-parse --verify HEAD) || exit
own=$(mktemp -d) || exit
trap 'rm -rf "$own"' EXIT; trap 'exit 1' HUP INT TERM
plain() {
	GIT_DIR="$own/git" GIT_WORK_TREE="$PWD" GIT_OPTIONAL_LOCKS=0 git --no-pager -c core.hooksPath=/dev/null -c core.fsmonitor=false \
		-c diff.submodule=short -c status.submoduleSummary=false -c submodule.recurse=false "$@"
}
at() { realpath -- "$(repo rev-parse --git-path "$1")"; }
git init -q --bare --template= --object-format="$(repo rev-parse --show-object-format)" "$own/git" || exit
export GIT_OBJECT_DIRECTORY="$(at objects)"
echo "$head" >"$own/git/HEAD"
mkdir "$own/git/info" && cp "$(at info/exclude)" "$own/git/info/" 2>/dev/null || true
cp "$(at shallow)" "$own/git/" 2>/dev/null || true
]]

---What isn't committed. Its index is made anew: that of the repository can say that a file is as it was.
M.DIFF = PRELUDE .. [[
plain read-tree HEAD && plain status --porcelain --untracked-files=all --ignore-submodules=dirty &&
	plain diff --no-color --no-ext-diff --no-textconv --full-index --submodule=short --ignore-submodules=dirty HEAD
]]

---`$(uncommitted)` says what isn't committed, as git status does: with the index and the settings of files that the repository has.
M.UNCOMMITTED = PRELUDE .. [[
uncommitted() {
	for name in core.fileMode core.autocrlf core.eol core.symlinks core.ignoreCase core.checkStat core.trustctime core.sparseCheckout; do
		value=$(repo config --get $name) && plain config $name "$value"
	done
	cp "$(at .)"/sharedindex.* "$own/git/" 2>/dev/null || true
	GIT_INDEX_FILE="$(at index)" plain status --porcelain --untracked-files=normal --ignore-submodules=dirty
}
]]

return M
