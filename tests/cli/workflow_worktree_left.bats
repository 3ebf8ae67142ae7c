#!/usr/bin/env bats
# What would be lost with a worktree keeps it: whatever git can have there that is nowhere else, of itself and of its submodules.

load lib/worktree

# left SCRIPT WHAT [KEEP]: after a step that does SCRIPT its worktree stays, and WHAT is said, wherever it is; "": it goes
left() {
	rm -rf state
	git -C repo worktree prune
	git -C repo branch --format='%(refname:short)' --list 'agent/*' | xargs -r git -C repo branch -q -D
	printf '%s\n' "$1" >script
	steps <<-YAML
		  - { worktree: { branch: agent/one, keep: ${3:-failed} }, shell: 'exec sh -e "\${env.SCRIPT}"' }
	YAML
	in_repo
	[ "$status" -eq 0 ] || { cat script >&2; return 1; }
	if [ -z "$2" ]; then
		[ -z "$(find state/runner/worktrees -mindepth 2 -maxdepth 2)" ] || { messages step.worktree >&2; cat script >&2; return 1; }
		return
	fi
	messages step.worktree | grep -qF "stays: " || { echo "gone: $1" >&2; return 1; }
	messages step.worktree | grep -qF "(it has $2)" || { messages step.worktree >&2; cat script >&2; return 1; }
	call workflow worktrees
	printf '%s' "$2" >said
	expect 'e.data.worktrees[0].unsaved.startswith(open("said").read())'
	call workflow worktrees --clean
	expect 'e.data.worktrees[0].outcome.startswith("kept: it has " + open("said").read())'
}

with_submodule() {
	CLEAN_ENV+=(SCRIPT="$PWD/script" GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
		GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=Ada GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2=ada@example.org)
	git clone -q --bare repo inner.git
	git clone -q repo work
	git -C work config user.name Ada
	git -C work config user.email ada@example.org
	git -C work -c protocol.file.allow=always submodule --quiet add "$PWD/inner.git" inner
	git -C work commit -q -m inner
	git -C work commit -q --allow-empty -m dropped
	git -C work tag v1 # on no branch of the remote
	git -C work reset -q --hard HEAD~1
	git clone -q --bare work sub.git
	git -C repo -c protocol.file.allow=always submodule --quiet add "$PWD/sub.git" sub
	git -C repo commit -q -m sub
}

@test "commits of a submodule that nothing else has keep the worktree, wherever they are, and what a remote has doesn't" {
	with_submodule
	local begin='git submodule --quiet update --init --recursive; cd sub; ' one='1 commit of submodules that no remote has'
	left "$begin :" ""
	left "$begin git pull -q origin main; git tag mine" ""
	left "$begin git tag -d v1" ""
	left "$begin git commit -q --allow-empty -m x; git tag mine; git checkout -q origin/main" "$one"
	left "$begin git commit -q --allow-empty -m x; git tag -a -m x mine; git checkout -q origin/main; git branch -D main; git pack-refs --all" "2 commits of submodules that no remote has"
	left "$begin git checkout -q -b mine; git commit -q --allow-empty -m x; git checkout -q origin/main; cd ..; git submodule --quiet deinit -f sub" "$one"
	left "$begin git checkout -q -b mine; git commit -q --allow-empty -m x; cd ..; git rm -q -f sub; git commit -q -m gone" "$one"
	left "$begin git commit -q --allow-empty -m x; cd ..; git commit -q -a -m x" "$one" never
	left "$begin git update-ref refs/notes/x \$(git commit-tree -m x HEAD^{tree})" "$one"
	left "$begin git worktree add -q --detach ../../other; cd ../../other; git commit -q --allow-empty -m x; cd ..; mv other .other" "$one"
	left "$begin cd inner; git commit -q --allow-empty -m x; git tag mine; git checkout -q origin/main" "$one"
	left 'git init -q own; git -C own commit -q --allow-empty -m x; git add own; git commit -q -m own' "$one"
	left 'git init -q own; git -C own init -q in; git -C own/in commit -q --allow-empty -m x; git -C own add in; git -C own commit -q -m x; git add own; git commit -q -m own' "2 commits of submodules that no remote has"
}

@test "stashes, and what git is in the middle of, keep the worktree, in submodules, too" {
	with_submodule
	local begin='git submodule --quiet update --init --recursive; cd sub; ' under='a merge, rebase or bisect under way'
	left "$begin echo x >file; git stash -q; echo y >file; git stash -q" "2 stashes of submodules" never
	left "$begin echo x >file; git stash -q; cd ..; git submodule --quiet deinit -f sub" "1 stash of submodules"
	left "$begin git config -f .gitmodules submodule.inner.ignore all; git commit -q -a -m x; git push -q origin HEAD:refs/heads/x; cd ..; git commit -q -a -m x; echo x >sub/inner/file" "changes that are not committed"
	left "$begin git tag -d v1; git bisect start -q" "$under"
	left 'git bisect start -q' "$under"
	left 'git commit -q --allow-empty -m x; git checkout -q --detach HEAD~1; git commit -q --allow-empty -m y; git checkout -q agent/one' ""
	left 'git commit -q --allow-empty -m x; git branch other; git reset -q --hard HEAD~1; git commit -q --allow-empty -m y; git merge -q -s ours --no-commit other' "$under"
	left 'git branch -q -D other; echo a >a; git add a; git commit -q -m a; git cherry-pick HEAD || :' "$under"
	left 'echo a >a; git add a; git commit -q -m a; echo b >b; git add b; GIT_SEQUENCE_EDITOR="sed -i 1ibreak" git rebase -q -i --autostash HEAD~1' "$under, 2 commits on no branch"
	left 'git update-ref refs/worktree/mine $(git commit-tree -m x HEAD^{tree})' "1 commit on no branch"
}

@test "what all worktrees of a repository share isn't lost with one: stashes, tags, notes" {
	CLEAN_ENV+=(SCRIPT="$PWD/script")
	left 'git checkout -q --detach; git commit -q --allow-empty -m x; git tag mine; git notes add -m note; echo x >file; git stash -q' ""
	[ "$(git -C repo log -1 --format=%s refs/tags/mine)" = x ]
	[ "$(git -C repo notes show refs/tags/mine)" = note ]
	[[ "$(git -C repo stash list)" == "stash@{0}: WIP on "*" x" ]]
	[ "$(git -C repo show refs/stash:file)" = x ]
}
