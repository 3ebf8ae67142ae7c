# shellcheck shell=bash
# worktree.bash: what the suites about worktrees share: a repository of a user, and what of it a run may not change.

# shellcheck source=tests/cli/lib/workflow.bash
load "$(dirname "${BASH_SOURCE[0]}")/workflow"

eval "plain_$(declare -f prepare)"

prepare() {
	plain_prepare
	repository repo
}

# repository NAME: with a commit, a user's file that isn't committed, a branch and a worktree of his
repository() {
	git init -q -b main "$1"
	git -C "$1" config user.name Ada
	git -C "$1" config user.email ada@example.org
	echo first >"$1/file"
	mkdir "$1/folder"
	echo second >"$1/folder/file"
	git -C "$1" add -A
	git -C "$1" commit -q -m start
	git -C "$1" tag start
	git -C "$1" worktree add -q -b theirs "$PWD/$1.theirs"
	echo changed >"$1.theirs/file"
	echo mine >"$1/mine"
}

# small_file: a workflow of the steps that `steps` has read
small_file() {
	{
		printf 'name: small\n'
		grep -q '^commands:' small.part || echo 'commands:'
		cat small.part
	} >small.yaml
}

# in_repo: it runs in the repository
in_repo() {
	small_file
	call --cwd "${FOLDER:-repo}" workflow run "$PWD/small.yaml"
}

steps() {
	cat >small.part
}

# Nothing of ours is there, and what is the user's is as it was.
untouched() {
	[ "$(git -C repo branch --format='%(refname:short)' | tr '\n' ' ')" = "main theirs " ] || { git -C repo branch >&2; return 1; }
	[ "$(ls repo/.git/worktrees)" = repo.theirs ]
	[ "$(cat repo.theirs/file)" = changed ]
	[ "$(cat repo/mine)" = mine ]
	[ "$(git -C repo status --porcelain)" = "?? mine" ] || { git -C repo status >&2; return 1; }
	[ -z "$(find repo/.git -name '*.lock' -o -name '*runner*')" ]
	[ -z "$(find state/runner/worktrees -mindepth 1)" ]
}

subjects() {
	git -C repo log --format=%s "${1:-main}" | tr '\n' ,
}

# dying_git VERB COMMAND…: a git that does COMMAND where it is asked for VERB, once, and stays there until it is killed
dying_git() {
	local verb=$1
	shift
	CLEAN_ENV+=(BASH_ENV=)
	cat >bin/git <<-SH
		#!/bin/sh
		if [ "\$1" = $verb ] && [ -e "$PWD/die" ]; then
			rm "$PWD/die"
			$*
			touch "$PWD/began"
			exec sleep 60
		fi
		PATH=\${PATH#*:} exec git "\$@"
	SH
	chmod +x bin/git
	touch die
}

# killed_in_git: all of it, in the middle of that git
killed_in_git() {
	small_file
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	kill_all
	finish
}
