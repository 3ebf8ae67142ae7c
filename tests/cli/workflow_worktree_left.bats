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
	left "$begin :" "$one" # v1: whether a tag came with the clone, or is its own, nobody can tell
	begin="$begin git tag -d v1; " # the tag that is on no branch
	left "$begin :" ""
	left "$begin git pull -q origin main; git tag mine" ""
	left "$begin git commit -q --allow-empty -m x; git tag mine; git checkout -q origin/main" "$one"
	left "$begin git commit -q --allow-empty -m x; git tag -a -m x mine; git checkout -q origin/main; git branch -D main; git pack-refs --all" "$one"
	left "$begin git commit -q --allow-empty -m x; git tag mine; git checkout -q origin/main; git pack-refs --all; git remote set-head origin main" "$one"
	left "$begin git checkout -q -b mine; git commit -q --allow-empty -m x; git checkout -q origin/main; cd ..; git submodule --quiet deinit -f sub" "$one"
	left "$begin git checkout -q -b mine; git commit -q --allow-empty -m x; cd ..; git rm -q -f sub; git commit -q -m gone" "$one"
	left "$begin git commit -q --allow-empty -m x; cd ..; git commit -q -a -m x" "$one" never
	left "$begin git update-ref refs/notes/x \$(git commit-tree -m x HEAD^{tree})" "$one"
	left "$begin git worktree add -q --detach ../../other; cd ../../other; git commit -q --allow-empty -m x; cd ..; mv other .other" "$one"
	left "$begin cd inner; git commit -q --allow-empty -m x; git tag mine; git checkout -q origin/main" "$one"
	left 'git init -q own; git -C own commit -q --allow-empty -m x; git add own; git commit -q -m own' "$one"
	left 'git init -q own; git -C own init -q in; git -C own/in commit -q --allow-empty -m x; git -C own add in; git -C own commit -q -m x; git add own; git commit -q -m own' "2 commits of submodules that no remote has"
	left 'o=$(printf "o\"w\tn\n."); git init -q "$o"; git -C "$o" commit -q --allow-empty -m x; git add "$o"; git commit -q -m own' "$one"
}

@test "stashes, and what git is in the middle of, keep the worktree, in submodules, too" {
	with_submodule
	local begin='git submodule --quiet update --init --recursive; cd sub; git tag -d v1 >/dev/null; ' under='a merge, rebase or bisect under way'
	left "$begin echo x >file; git stash -q; echo y >file; git stash -q" "2 stashes of submodules" never
	left "$begin echo x >file; git stash -q; cd ..; git submodule --quiet deinit -f sub" "1 stash of submodules"
	left "$begin git config -f .gitmodules submodule.inner.ignore all; git commit -q -a -m x; git push -q origin HEAD:refs/heads/x; cd ..; git commit -q -a -m x; echo x >sub/inner/file" "changes that are not committed"
	left "$begin git config status.showUntrackedFiles no; echo x >new" "changes that are not committed"
	left "$begin git bisect start -q" "$under"
	left 'git bisect start -q' "$under"
	left 'git commit -q --allow-empty -m x; git checkout -q --detach HEAD~1; git commit -q --allow-empty -m y; git checkout -q agent/one' ""
	left 'git commit -q --allow-empty -m x; git branch other; git reset -q --hard HEAD~1; git commit -q --allow-empty -m y; git merge -q -s ours --no-commit other' "$under"
	left 'git branch -q -D other; for x in a b; do echo $x >$x; git add $x; git commit -q -m $x; done; git reset -q --hard agent/one~2; echo c >a; git add a; git commit -q -m c; git cherry-pick agent/one@{2}~1 agent/one@{2} || :; git checkout -q HEAD a; git commit -q --allow-empty -m mended' "$under"
	left 'echo a >a; git add a; git commit -q -m a; git cherry-pick HEAD || :' "$under"
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

@test "a step that removes .git of its worktree loses nothing: it is put back; where git has forgotten all, the files stay" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: 'if [ ! -e work ]; then echo work >work; rm .git; [ -z "$PRUNE" ] || git --git-dir="$REPO/.git" worktree prune; exit 1; fi; git status --porcelain' }
	YAML
	CLEAN_ENV+=(REPO="$PWD/repo" PRUNE=)
	in_repo
	envelope 1
	call --cwd repo workflow resume @last
	envelope 0
	expect '[s.output for s in e.data.steps if s.key.endswith("do")] == ["?? work"]'
	[ "$(cat state/runner/worktrees/*/*/work)" = work ]
	rm -rf state
	git -C repo worktree prune
	git -C repo branch -q -D agent/one
	CLEAN_ENV+=(PRUNE=1)
	in_repo
	envelope 1
	call --cwd repo workflow resume @last
	envelope 4
	expect '"git knows nothing" in e.error.message'
	[ "$(cat state/runner/worktrees/*/*/work)" = work ]
}

@test "what somebody did in a worktree where a merge was cut off is kept, and said; on its branch it is merged" {
	local tree
	by_hand() { # in the worktree of a merge that a kill has cut off
		rm -rf state began
		git -C repo worktree prune
		git -C repo reset -q --hard start
		git -C repo branch --format='%(refname:short)' --list 'agent/*' | xargs -r git -C repo branch -q -D
		steps <<-'YAML'
			  - shell: echo other >other; git add other; git commit -q -m other
			  - { worktree: { base: start, branch: agent/one, merge: true }, shell: 'echo own >>file; git commit -q -a -m own' }
		YAML
		dying_git merge :
		killed_in_git
		tree=$(echo "$PWD"/state/runner/worktrees/*/*)
		(cd "$tree" && eval "$1")
		call --cwd repo workflow resume @last
	}
	by_hand 'echo mine >by.hand'
	envelope 4
	expect '"has not made: by.hand" in e.error.message'
	[ "$(cat "$tree/by.hand")" = mine ]
	by_hand 'echo mine >>file'
	envelope 4
	[ "$(tail -n 1 "$tree/file")" = mine ]
	by_hand ': >empty'
	envelope 4
	[ -e "$tree/empty" ]
	by_hand 'git commit -q --allow-empty -m hand'
	envelope 4
	expect '"has not made: commits" in e.error.message'
	[ "$(git -C "$tree" log -1 --format=%s)" = hand ]
	git -C "$tree" checkout -q agent/one
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(cat repo/other repo/file)" = "other
first
own" ]
	by_hand 'git merge -q --no-edit agent/one' # as the merge would have
	envelope 0
	by_hand 'echo own >>file; printf oth >other'
	envelope 0
	[ "$(cat repo/other)" = other ]
}

@test "a branch that became another name of the user's is kept, and said; so is one that only a replaced commit merges" {
	CLEAN_ENV+=(SCRIPT="$PWD/script")
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: 'git checkout -q --detach; git symbolic-ref refs/heads/agent/one refs/heads/main' }
		  - { worktree: { branch: agent/two }, shell: 'git commit -q --allow-empty -m two; git replace --graft main agent/two' }
	YAML
	in_repo
	envelope 0
	messages step.worktree | grep -qF "The branch agent/one stays: it is another name of refs/heads/main by now"
	[ "$(GIT_NO_REPLACE_OBJECTS=1 git -C repo log --format=%s main)" = start ]
	[ "$(git -C repo symbolic-ref refs/heads/agent/one)" = refs/heads/main ]
	git -C repo rev-parse -q --verify agent/two
}
