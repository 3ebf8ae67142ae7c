#!/usr/bin/env bats
# Steps that work in a worktree of git: where they run, how their branch is merged, what stays, and that nothing of the
# user's is touched: his files, his branches, his worktrees.

load lib/worktree

@test "a step works in a worktree on a branch of its own, which is merged and gone when it is over" {
	steps <<-'YAML'
		  - id: work
		    worktree: { branch: agent/one, merge: true }
		    shell: echo "${worktree.branch} ${worktree.path} ${worktree.base}"; pwd; git symbolic-ref HEAD; echo new >new; git add new; git commit -q -m new
		    check: [{ commit: true }]
		  - shell: cat new; pwd; echo "${shell.output}" >>../seen
	YAML
	in_repo
	envelope 0
	expect 'e.data.steps[1].output.split("\n")[2] == "refs/heads/agent/one"'
	expect 'e.data.steps[1].output.split("\n")[1] == e.data.steps[1].output.split()[1]'
	expect '"/state/runner/worktrees/" + e.data.id + "/" in e.data.steps[1].output'
	expect 'e.data.steps[-1].output.split("\n")[0] == "new" and e.data.steps[-1].output.endswith("/repo")'
	[ "$(subjects)" = new,start, ]
	grep -q ^agent/one seen
	untouched
}

@test "each item of a loop has its own, side by side; each branch is merged once" {
	steps <<-'YAML'
		  - id: map
		    foreach: [a, b, c, d]
		    parallel: 4
		    worktree: { branch: "agent/${item}", merge: true }
		    do:
		      - { id: commit, shell: "echo ${item} >of.${item}; git add -A; git commit -q -m ${item}; echo ${item}" }
		      - shell: echo "then ${steps.commit.output}"
		  - shell: echo "${steps.map.output}"
	YAML
	in_repo
	envelope 0
	expect '[s.output for s in e.data.steps if s.key == "2"] == ["then a\nthen b\nthen c\nthen d"]'
	for item in a b c d; do
		[ "$(cat "repo/of.$item")" = $item ]
		[ "$(git -C repo log --format=%s main | grep -cx $item)" = 1 ]
		[ "$(git -C repo log --format=%s main | grep -cx "Merge branch 'agent/$item' into main")" -le 1 ]
	done
	untouched
}

@test "a whole run works in one; its folder is the one in which the run began" {
	steps <<-'YAML'
		worktree: { merge: true }
		commands:
		  - id: a
		    shell: basename "$PWD"; cat file; echo more >more; git add more; git commit -q -m more
		  - shell: git symbolic-ref HEAD; cat "${worktree.path}/folder/more"
	YAML
	FOLDER=repo/folder in_repo
	envelope 0
	expect '[s for s in e.data.steps if s.id == "a"][0].output == "folder\nsecond"'
	expect '[s for s in e.data.steps if s.key == "worktree.2"][0].output.startswith("refs/heads/runner/")'
	[ "$(cat repo/folder/more)" = more ]
	untouched
}

@test "what conflicts is MERGE_CONFLICT: the repository stays as it was, the worktree is kept, and a resume merges what was mended" {
	steps <<-'YAML'
		  - shell: echo other >file; git commit -q -a -m other
		  - id: work
		    worktree: { base: start, branch: agent/one, merge: true }
		    shell: echo own >file; git commit -q -a -m own
	YAML
	in_repo
	envelope 85
	expect 'e.error.code == "MERGE_CONFLICT" and e.error.context.files == "file" and e.data.failed_step == "work"'
	[ "$(cat repo/file)" = other ]
	[ "$(subjects)" = other,start, ]
	[ "$(git -C repo status --porcelain)" = "?? mine" ]
	tree=$(find "$PWD/state/runner/worktrees" -mindepth 2 -maxdepth 2 -type d)
	call --cwd repo workflow show @last
	expect "[(s.worktree.branch, s.worktree.path) for s in e.data.steps if s.get('worktree')] == [('agent/one', '$tree')]"
	[ "$(git -C "$tree" status --porcelain)" = "" ]
	[ "$(git -C "$tree" symbolic-ref HEAD)" = refs/heads/agent/one ]
	git -C "$tree" merge -q main || echo both >"$tree/file"
	git -C "$tree" commit -q -a -m both
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(cat repo/file)" = both ]
	[ "$(git -C repo log --format=%s | grep -cx own)" = 1 ]
	untouched
}

@test "a repair mends a conflict in the worktree, then the check and the merge follow; the step doesn't run again" {
	steps <<-'YAML'
		  - shell: echo other >file; git commit -q -a -m other
		  - worktree: { base: start, branch: agent/one, merge: true }
		    shell: echo step >>"${env.EFFECTS}"; echo own >file; git commit -q -a -m own
		    check: { shell: 'echo check >>"${env.EFFECTS}"' }
		    repair:
		      again: step
		      steps: [{ shell: 'echo "${attempt.code} ${attempt.error}" >>"${env.EFFECTS}"; git merge -q main || { echo both >file; git commit -q -a -m both; }' }]
	YAML
	CLEAN_ENV+=(EFFECTS="$PWD/effects")
	in_repo
	envelope 0
	[ "$(cat effects)" = "step
check
MERGE_CONFLICT The branch agent/one conflicts with main: file
check" ]
	[ "$(cat repo/file)" = both ]
	untouched
}

@test "uncommitted changes of the user refuse the merge, and stay; after a commit a resume merges" {
	steps <<-'YAML'
		  - id: work
		    worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own
	YAML
	echo edited >>repo/file
	in_repo
	envelope 4
	expect '"has changes that are not committed: M file" in e.error.message.replace(" M", "M") and e.error.fix_required.startswith("Commit them")'
	[ "$(cat repo/file)" = "first
edited" ]
	[ ! -e repo/new ]
	git -C repo commit -q -a -m user
	call --cwd repo workflow resume @last
	envelope 0
	expect '[s.attempts for s in e.data.steps if s.key == "work.do"] == [1]'
	[ "$(cat repo/file repo/new)" = "first
edited
own" ]
	untouched
}

@test "a file of the user that git doesn't know, or ignores, is never overwritten by a merge" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >mine; echo own >ignored; git add -f mine ignored; git commit -q -m own
	YAML
	in_repo
	envelope 4
	expect '"it has a file mine" in e.error.message'
	[ "$(cat repo/mine)" = mine ]
	mv repo/mine aside
	echo ignored >repo/.git/info/exclude
	echo precious >repo/ignored
	call --cwd repo workflow resume @last
	envelope 4
	[ "$(cat repo/ignored)" = precious ]
	[ "$(subjects)" = start, ]
	rm repo/ignored
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(cat repo/mine)" = own ]
}

@test "a merge waits for no branch but that of the beginning: on another one it is refused, and so it is in the middle of a merge" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own; git -C "${env.REPO}" checkout -q -b elsewhere
	YAML
	CLEAN_ENV+=(REPO="$PWD/repo")
	in_repo
	envelope 4
	expect '"is on elsewhere by now, not on main" in e.error.message'
	git -C repo checkout -q main
	git -C repo rev-parse HEAD >repo/.git/MERGE_HEAD
	call --cwd repo workflow resume @last
	envelope 4
	expect '"in the middle of another merge" in e.error.message'
	rm repo/.git/MERGE_HEAD
	for name in rebase-apply sequencer BISECT_LOG; do # git am, a cherry-pick that goes on
		mkdir "repo/.git/$name"
		call --cwd repo workflow resume @last
		envelope 4
		expect "'rebase or bisect ($name)' in e.error.message"
		rmdir "repo/.git/$name"
	done
	call --cwd repo workflow resume @last
	envelope 0
	git -C repo branch -q -d elsewhere
	untouched
}

@test "a branch that exists is refused before its step runs, and so is the second of two items with one branch" {
	git -C repo branch agent/one
	steps <<-'YAML'
		  - worktree: { branch: agent/one }
		    shell: touch "${env.RAN}"
	YAML
	CLEAN_ENV+=(RAN="$PWD/ran")
	in_repo
	envelope 4
	expect '"the branch agent/one exists already" in e.error.message and "git branch -d agent/one" in e.error.fix_required'
	[ ! -e ran ]
	[ "$(subjects agent/one)" = start, ]
	steps <<-'YAML'
		  - foreach: [x, y]
		    worktree: { branch: agent/two, keep: never }
		    do: [{ shell: "echo ${item} >new; git add new; git commit -q -m ${item}" }]
	YAML
	in_repo
	envelope 4
	expect '"the branch agent/two exists already" in e.error.message'
	[ "$(subjects agent/two)" = x,start, ]
}

@test "no name of a branch, no such commit, no repository, no commit, no branch: each is said" {
	refused() {
		steps
		in_repo
		envelope 4
		expect "'''$1''' in e.error.message"
	}
	refused "'a b' is no name of a branch" <<<'  - { worktree: { branch: "a b" }, shell: "true" }'
	refused "'-x' is no name of a branch" <<<'  - { worktree: { branch: "-x" }, shell: "true" }'
	refused "'HEAD' is no name of a branch" <<<'  - { worktree: { branch: HEAD }, shell: "true" }'
	refused "'refs/heads/main' is no name of a branch" <<<'  - { worktree: { branch: refs/heads/main }, shell: "true" }'
	refused "'@{-1}' is no name of a branch" <<<'  - { worktree: { branch: "@{-1}" }, shell: "true" }'
	refused "there can't be a branch main/sub beside the branch main" <<<'  - { worktree: { branch: main/sub }, shell: "true" }'
	git -C repo branch deep/er
	refused "there can't be a branch deep beside the branch deep/er" <<<'  - { worktree: { branch: deep }, shell: "true" }'
	git -C repo branch -q -d deep/er
	refused "there is no commit nowhere" <<<'  - { worktree: { base: nowhere }, shell: "true" }'
	refused "there is no commit --all" <<<'  - { worktree: { base: --all }, shell: "true" }'
	git -C repo checkout -q --detach
	refused "can't be merged: HEAD of $PWD/repo is detached" <<<'  - { worktree: { merge: true }, shell: "true" }'
	git -C repo checkout -q main
	mkdir none
	FOLDER=none refused "needs a repository of git with a working tree" <<<'  - { worktree: true, shell: "true" }'
	git init -q --bare bare
	FOLDER=bare refused "needs a repository of git with a working tree" <<<'  - { worktree: true, shell: "true" }'
	git init -q unborn
	FOLDER=unborn refused "there is no commit yet" <<<'  - { worktree: true, shell: "true" }'
	untouched
}

@test "without merge the branch stays with what was committed; one without a commit goes" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: "echo new >new; git add new; git commit -q -m new" }
		  - { worktree: { branch: agent/two }, shell: "true" }
	YAML
	in_repo
	envelope 0
	[ "$(subjects)" = start, ]
	[ "$(subjects agent/one)" = new,start, ]
	git -C repo branch -q -D agent/one
	untouched
}

@test "what isn't committed is not lost: a merge is refused, and without one the worktree stays" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/one, merge: true }, shell: "echo new >new", on_failure: continue }
		  - { worktree: { branch: agent/two }, shell: "echo new >new" }
	YAML
	in_repo
	envelope 0
	expect 'any("has changes that are not committed: ?? new" in s.get("message", "") for s in e.data.steps)'
	[ "$(find state/runner/worktrees -name new | wc -l)" = 2 ]
	[ "$(messages step.worktree | grep -c 'stays: .*has changes that are not committed')" = 1 ]
}

@test "files that git ignores keep no worktree, and are counted when they go" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: "mkdir logs; touch logs/a logs/b one.log" }
		  - { worktree: { branch: agent/two }, shell: "touch one.log new" }
	YAML
	printf 'logs/\n*.log\n' >repo/.git/info/exclude
	in_repo
	envelope 0
	[ "$(messages step.worktree | grep -c 'step 1 goes, and with it what git ignores there (2)$')" = 1 ]
	call workflow worktrees
	expect '[(w.step, w.unsaved, w.ignored) for w in e.data.worktrees] == [("2", "changes that are not committed", 1)]'
	call workflow worktrees --clean --force
	envelope 0
	untouched
}

@test "commits on no branch keep the worktree, whatever keep says, until --force" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: "git checkout -q --detach; echo new >new; git add new; git commit -q -m new" }
		  - { worktree: { branch: agent/two, merge: true, keep: never }, shell: "git checkout -q --detach; git commit -q --allow-empty -m two", on_failure: continue }
		  - { worktree: { branch: agent/three }, shell: "git commit -q --allow-empty -m three; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1 && git commit -q --allow-empty -m four" }
		  - { worktree: { branch: agent/four }, shell: "git checkout -q -b their/own; git commit -q --allow-empty -m own" }
	YAML
	in_repo
	envelope 0
	[ "$(messages step.worktree | grep -c 'stays: .*(it has .*1 commit on no branch)')" = 3 ]
	rm -r "$(messages step.worktree | sed -n 's/.*step 1 stays: \(.*\) (.*/\1/p')"
	call workflow worktrees
	expect '[w.unsaved for w in e.data.worktrees] == ["1 commit on no branch"] * 2 + ["a merge, rebase or bisect under way, 1 commit on no branch, 1 commit that main lacks"]'
	call workflow worktrees --clean
	expect '[w.outcome[:4] for w in e.data.worktrees] == ["kept"] * 3'
	[ "$(git -C repo log --format=%s their/own)" = "own
start" ]
	git -C repo branch -q -D their/own
	call workflow worktrees --clean --force
	envelope 0
	git -C repo branch -q -D agent/three
	untouched
}

@test "a worktree that somebody has removed is not made again while it has commits on no branch" {
	steps <<<'  - { worktree: { branch: agent/one }, shell: "git checkout -q --detach; git commit -q --allow-empty -m new; [ -e ${env.GO} ]" }'
	CLEAN_ENV+=(GO="$PWD/go")
	in_repo
	envelope 1
	rm -r state/runner/worktrees/*/*
	touch go
	call --cwd repo workflow resume @last
	envelope 4
	expect '"was removed, and has 1 commit on no branch" in e.error.message'
	expect 'e.error.fix_required.startswith("Give them a branch: git --git-dir=/")'
	git --git-dir="$(echo repo/.git/worktrees/1-*)" branch kept HEAD
	call --cwd repo workflow resume @last
	expect '"was removed" not in str(e)'
	[ "$(subjects kept)" = new,start, ]
}

@test "commits in submodules that no remote has keep the worktree, and submodules without such do not" {
	git clone -q --bare repo sub.git
	steps <<-'YAML'
		  - { worktree: { branch: agent/one }, shell: 'git -c protocol.file.allow=always submodule --quiet add "${env.SUB}" sub; git commit -q -m sub' }
		  - worktree: { branch: agent/two, base: agent/one }
		    shell: |
		      git -c protocol.file.allow=always submodule --quiet update --init
		      git -C sub -c user.name=Ada -c user.email=a@example.org commit -q --allow-empty -m inner
		      git commit -q -a -m outer
	YAML
	CLEAN_ENV+=(SUB="$PWD/sub.git")
	in_repo
	envelope 0
	[ "$(messages step.worktree | grep -c 'step 2 stays: .*(it has 1 commit of submodules that no remote has)')" = 1 ]
	call workflow worktrees --clean
	expect '[(w.step, w.outcome) for w in e.data.worktrees] == [("2", "kept: it has 1 commit of submodules that no remote has, 2 commits that main lacks")]'
	call workflow worktrees --clean --force
	envelope 0
}

@test "keep says which stay: those that failed, all, or none" {
	for keep in failed always never; do
		steps <<-YAML
			  - { worktree: { branch: $keep/good, keep: $keep }, shell: "true" }
			  - { worktree: { branch: $keep/bad, keep: $keep }, shell: "touch left; exit 1", on_failure: continue }
		YAML
		in_repo
		envelope 0
	done
	[ "$(git -C repo branch --format='%(refname:short)' | tr '\n' ' ')" = "always/bad always/good failed/bad main theirs " ]
	[ "$(find state/runner/worktrees -mindepth 2 -maxdepth 2 | wc -l)" = 3 ]
}

@test "a failed step finds its worktree again when it is resumed, with what is in it" {
	steps <<-'YAML'
		  - id: work
		    worktree: { branch: agent/one, merge: true }
		    shell: "[ -e half ] || { touch half; exit 1; }; git add -A; git commit -q -m whole"
	YAML
	in_repo
	envelope 1
	call --cwd repo workflow resume @last
	envelope 0
	[ -e repo/half ]
	untouched
}

@test "a run that Ctrl+C or a limit has ended goes on in its worktree" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: "[ -e half ] || { touch half '${env.BEGAN}'; exec sleep 60; }; git add -A; git commit -q -m whole"
	YAML
	CLEAN_ENV+=(BEGAN="$PWD/began")
	small_file
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	[ "$status" = 130 ]
	call workflow worktrees
	expect '[(w.state, w.branch, w.unsaved) for w in e.data.worktrees] == [("interrupted", "agent/one", "changes that are not committed")]'
	call --cwd repo workflow resume @last
	envelope 0
	untouched
}

@test "merge with steps runs them in the repository; a conflict of theirs is given up and is a MERGE_CONFLICT" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: [{ shell: 'pwd; git merge -q --no-ff -m merged "${worktree.branch}"' }] }
		    shell: echo own >new; git add new; git commit -q -m own
		  - shell: echo other >file; git commit -q -a -m other
		  - worktree: { base: start, branch: agent/two, merge: { shell: 'git merge -q "${worktree.branch}"' } }
		    shell: echo own >file; git commit -q -a -m two
	YAML
	in_repo
	envelope 85
	expect 'e.error.code == "MERGE_CONFLICT"'
	expect '[s.output for s in e.data.steps if s.key == "1.merge.1@1" or s.key == "1.merge.1"][0].endswith("/repo")'
	[ "$(git -C repo log --format=%s main | sort | tr '\n' ,)" = merged,other,own,start, ]
	[ ! -e repo/.git/MERGE_HEAD ]
	[ "$(git -C repo status --porcelain)" = "?? mine" ]
	[ "$(git -C repo branch --list 'agent/*' | tr -d ' +')" = agent/two ]
}

@test "variables of git in the environment lead neither the steps nor the merge elsewhere" {
	repository elsewhere
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own
	YAML
	CLEAN_ENV+=(GIT_DIR="$PWD/elsewhere/.git" GIT_WORK_TREE="$PWD/elsewhere" GIT_INDEX_FILE="$PWD/elsewhere/index" GIT_EDITOR=false)
	in_repo
	envelope 0
	[ "$(subjects)" = own,start, ]
	[ "$(git -C elsewhere log --format=%s)" = start ]
	untouched
}

@test "a merge that the user has begun by hand is neither given up nor taken for one of the steps" {
	steps <<-'YAML'
		  - shell: echo other >file; git commit -q -a -m other
		  - worktree: { base: start, branch: agent/one, merge: { shell: 'git merge -q "${worktree.branch}"' } }
		    shell: echo own >file; git commit -q -a -m own
	YAML
	in_repo
	envelope 85
	run git -C repo merge -q agent/one
	[ "$status" -ne 0 ]
	echo mended >repo/file
	git -C repo add file
	call --cwd repo workflow resume @last
	[ "$status" -ne 0 ]
	[ "$(cat repo/file)" = mended ]
	git -C repo commit -q -m mended
	call --cwd repo workflow resume @last
	envelope 0
	untouched
}

@test "a folder that becomes a file, a file that becomes a folder, and names of any kind are merged" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: git rm -q -r folder file; echo own >folder; mkdir file; echo own >file/in; echo odd >"$(printf 'a \t\n"b')"; git add -A; git commit -q -m own
	YAML
	in_repo
	envelope 0
	[ "$(cat repo/folder repo/file/in)" = "own
own" ]
	untouched
}

@test "the user's hooks see the merge, which opens no editor; one that refuses it fails the step" {
	steps <<-'YAML'
		  - foreach: [a, b]
		    parallel: 2
		    worktree: { branch: "agent/${item}", merge: true }
		    do: [{ shell: "echo ${item} >${item}; git add -A; git commit -q -m ${item}" }]
	YAML
	git -C repo config merge.ff false
	git -C repo config core.editor false
	printf '#!/bin/sh\necho hook >>"%s"\n' "$PWD/hooks" >repo/.git/hooks/pre-merge-commit
	chmod +x repo/.git/hooks/pre-merge-commit
	in_repo
	envelope 0
	[ "$(wc -l <hooks)" = 2 ]
	untouched
	printf '#!/bin/sh\necho not today >&2; exit 1\n' >repo/.git/hooks/pre-merge-commit
	steps <<-'YAML'
		  - worktree: { branch: agent/c, merge: true }
		    shell: echo c >c; git add c; git commit -q -m c
	YAML
	in_repo
	envelope 4
	expect '"not today" in e.error.message'
	[ ! -e repo/c ]
	[ "$(git -C repo status --porcelain)" = "?? mine" ]
}

@test "runs of one repository merge one after the other" {
	git -C repo config merge.ff false
	for name in one two; do
		cat >$name.yaml <<-YAML
			name: $name
			commands:
			  - foreach: [a, b, c]
			    parallel: 3
			    worktree: { branch: "$name/\${item}", merge: true }
			    do: [{ shell: "echo \${item} >$name.\${item}; git add -A; git commit -q -m $name.\${item}" }]
		YAML
	done
	env -i "${CLEAN_ENV[@]}" "$RUNNER" --cwd repo workflow run "$PWD/two.yaml" >two.txt 2>&1 </dev/null &
	other=$!
	call --cwd repo workflow run "$PWD/one.yaml"
	envelope 0
	wait "$other" || { cat two.txt >&2; return 1; }
	[ "$(git -C repo log --format=%s | grep -c '^Merge branch')" = 6 ]
	[ "$(git -C repo log --format=%s | sort | uniq -d)" = "" ]
	untouched
}

@test "another program that holds the index is waited for, and its lock is never removed" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own; touch "${env.BEGAN}"
	YAML
	CLEAN_ENV+=(BEGAN="$PWD/began")
	small_file
	echo theirs >repo/.git/index.lock
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	sleep 0.5
	[ "$(cat repo/.git/index.lock)" = theirs ]
	[ ! -e repo/new ]
	rm repo/.git/index.lock
	finish
	envelope 0
	untouched
}

@test "workflow worktrees lists what is left; --clean removes what is nowhere else only by force, and never what runs" {
	steps <<-'YAML'
		  - { worktree: { branch: agent/empty }, shell: exit 1, on_failure: continue }
		  - { worktree: { branch: agent/dirty }, shell: "touch new; exit 1", on_failure: continue }
		  - { worktree: { branch: agent/own }, shell: "echo own >own; git add own; git commit -q -m own; exit 1", on_failure: continue }
	YAML
	in_repo
	envelope 0
	call workflow worktrees
	expect '[(w.branch, w.get("unsaved")) for w in e.data.worktrees] == [("agent/empty", None), ("agent/dirty", "changes that are not committed"), ("agent/own", "1 commit that main lacks")]'
	call --cwd repo workflow rm @last --confirm-destructive
	expect 'not e.ok and e.error.code == "CONFLICT" and "has worktrees" in e.error.message and "worktrees --clean" in e.error.suggestion'
	call --cwd repo workflow prune --keep 0 --confirm-destructive
	expect 'e.ok and e.data.total == 0'
	call workflow worktrees --clean --dry-run
	expect '[w.outcome[:14] for w in e.data.worktrees] == ["would be remov", "would be kept:", "would be kept:"]'
	[ "$(find state/runner/worktrees -mindepth 2 -maxdepth 2 | wc -l)" = 3 ]
	call workflow worktrees --clean
	expect '[w.outcome for w in e.data.worktrees] == ["removed", "kept: it has changes that are not committed", "kept: it has 1 commit that main lacks"]'
	expect '[w.code for w in e.warnings] == ["WORKTREES_KEPT"]'
	call workflow worktrees --clean --force
	expect '[w.outcome for w in e.data.worktrees] == ["removed", "removed; its branch agent/own stays"]'
	[ "$(subjects agent/own)" = own,start, ]
	git -C repo branch -q -D agent/own
	untouched
	call --cwd repo workflow rm @last --confirm-destructive
	envelope 0
}

@test "check refuses a worktree on an executor, in merge, and a value that means nothing; plan shows it" {
	cat >placed.yaml <<-'YAML'
		name: placed
		executors: { here: { kind: local } }
		commands:
		  - { worktree: true, on: here, shell: "true" }
		  - { worktree: { merge: false }, shell: "true" }
		  - { worktree: { keep: some }, shell: "true" }
		  - { worktree: { merge: [{ shell: "true", worktree: true }] }, shell: "true" }
		  - shell: echo ${worktree.path}
		  - { worktree: true, shell: "echo ${worktree.nothing}" }
		  - { foreach: [a], on: here, worktree: true, do: [{ shell: "true" }] }
		  - { worktree: true, steps: [{ shell: "true", on: here }] }
	YAML
	call workflow check placed.yaml
	expect '[x.line for x in e.error.errors] == [4, 5, 6, 7, 8, 9, 10, 11]'
	cat >good.yaml <<-'YAML'
		name: good
		commands:
		  - foreach: [a]
		    worktree: { branch: "agent/${item}", merge: [{ shell: "git merge ${worktree.branch}" }] }
		    do: [{ shell: "echo ${worktree.path}", working_dir: "${worktree.path}" }]
	YAML
	call workflow check good.yaml
	envelope 0
	call workflow plan good.yaml --graph dot
	[[ $stdout == *"worktree agent/"* ]]
	[[ $stdout == *"merge"* ]]
	call workflow plan good.yaml
	expect 'e.data.steps[0].steps[0].worktree.branch == "agent/${item}" and len(e.data.steps[0].steps[0].worktree.merge) == 1'
}

@test "after kill -9 in the middle of the step its worktree is found again, and the check says whether it is done" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own; touch "${env.BEGAN}"; sleep 60
		    check: [{ commit: true }]
	YAML
	CLEAN_ENV+=(BEGAN="$PWD/began")
	small_file
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	kill_all
	finish
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(subjects)" = own,start, ]
	untouched
}

@test "what a killed merge has left in the repository is taken back, and what the user has changed since is not" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; seq 20000 >long; echo own >>file; echo own >>folder/file; git add -A; git commit -q -m own
	YAML
	dying_git read-tree "echo own >new; seq 9000 >long; printf 'first\nown\n' >file" # in the middle of a checkout
	killed_in_git
	[ -L repo/.git/index.lock ]
	echo "the user's" >>repo/folder/file
	call --cwd repo workflow resume @last
	envelope 4
	expect '"folder/file" in e.error.message'
	[ "$(cat repo/file)" = first ]
	[ ! -e repo/new ]
	[ ! -e repo/long ]
	[ "$(tail -n 1 repo/folder/file)" = "the user's" ]
	[ ! -e repo/.git/index.lock ]
	git -C repo checkout -q folder/file
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(wc -l <repo/long)" = 20000 ]
	[ "$(subjects)" = own,start, ]
	untouched
}

@test "a worktree inside another one is merged into the branch of that, also where a kill has left half of it there" {
	steps <<-'YAML'
		  - worktree: { branch: agent/outer, merge: true }
		    steps:
		      - shell: echo outer >of.outer; git add of.outer; git commit -q -m outer
		      - foreach: [a, b]
		        worktree: { branch: "agent/${item}", merge: true }
		        do:
		          - shell: echo "${worktree.into}"; echo ${item} >of.${item}; git add of.${item}; git commit -q -m ${item}
		      - shell: cat of.*; echo "${worktree.into}"
	YAML
	dying_git read-tree "printf a >of.a"
	killed_in_git
	call --cwd repo workflow resume @last
	envelope 0
	expect '{s.output for s in e.data.steps if s.kind == "shell"} == {"", "agent/outer", "a\nb\nouter\nmain"}'
	[ "$(git -C repo log --format=%s --no-merges main | LC_ALL=C sort | xargs)" = "a b outer start" ]
	untouched
}

@test "Ctrl+C in the middle of a merge leaves the repository as git would" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; echo own >>file; git add -A; git commit -q -m own
	YAML
	dying_git update-ref :
	small_file
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	[ "$status" = 130 ]
	[ ! -L repo/.git/index.lock ]
	[ "$(git -C repo status --porcelain)" = "?? mine" ]
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(subjects)" = own,start, ]
	untouched
}

@test "a confined step commits in its worktree, and writes neither the repository nor its hooks" {
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
	steps <<-'YAML'
		  - id: work
		    confine: { write: [.] }
		    worktree: { branch: agent/one, merge: true }
		    shell: echo own >new; git add new; git commit -q -m own; for f in mine .git/hooks/pre-commit .git/config; do echo bad 2>/dev/null >>"${env.REPO}/$f" || echo refused; done
	YAML
	CLEAN_ENV+=(REPO="$PWD/repo")
	in_repo
	envelope 0
	expect '[s.output for s in e.data.steps if s.key == "work.do"] == ["refused\nrefused\nrefused"]'
	[ "$(subjects)" = own,start, ]
	untouched
}

@test "another file that a step runs works in its worktree; nothing that is in one is begun again unasked" {
	cat >other.yaml <<-'YAML'
		name: other
		vars: { at: }
		commands:
		  - shell: '[ "$PWD" = "${at}" ]; echo own >new; git add new; git commit -q -m own'
	YAML
	steps <<-YAML
		  - workflow: $PWD/other.yaml
		    vars: { at: "\${worktree.path}" }
		    worktree: { branch: agent/one, merge: true }
		  - { id: bad, worktree: { branch: agent/bad }, shell: "touch left; exit 1" }
	YAML
	in_repo
	envelope 1
	[ "$(subjects)" = own,start, ]
	call --cwd repo workflow retry @last --from bad
	expect 'e.error.code == "CONFLICT" and "Step bad has a worktree" in e.error.message and "worktrees --clean" in e.error.suggestion'
	call workflow worktrees --clean --force
	envelope 0
	untouched
}

@test "a worktree that a killed run was making is in nobody's way" {
	cat >bin/git <<-SH
		#!/bin/sh
		if [ "\$1 \$2" = "worktree add" ] && [ -e "$PWD/die" ]; then
			rm "$PWD/die"
			mkdir -p .git/worktrees/"\$(basename "\$6")"
			: >.git/worktrees/"\$(basename "\$6")"/commondir
			echo "\$6/.git" >.git/worktrees/"\$(basename "\$6")"/gitdir
			touch "$PWD/began"
			exec sleep 60
		fi
		PATH=\${PATH#*:} exec git "\$@"
	SH
	chmod +x bin/git
	touch die
	steps <<<'  - { worktree: { merge: true }, shell: "echo own >new; git add new; git commit -q -m own" }'
	small_file
	begin --cwd repo workflow run "$PWD/small.yaml"
	until_true [ -e began ]
	kill_all
	finish
	run git -C repo branch
	[ "$status" -ne 0 ]
	in_repo
	envelope 0
	[ "$(subjects)" = own,start, ]
	untouched
}

@test "the branch of a worktree whose git was killed, also while it was cleared away, is in no resume's way" {
	cat >bin/git <<-SH
		#!/bin/sh
		PATH=\${PATH#*:}
		case "\$1 \$2 \$3" in
		"worktree add --no-track") [ -e "$PWD/added" ] || { : >"$PWD/added"; git branch -q --no-track "\$5" main; kill -9 \$\$; } ;;
		"update-ref --no-deref -d") [ -e "$PWD/removed" ] || { : >"$PWD/removed"; kill -9 \$\$; } ;;
		esac
		exec git "\$@"
	SH
	chmod +x bin/git
	steps <<<'  - { worktree: { branch: agent/one, merge: true }, shell: "echo own >new; git add new; git commit -q -m own" }'
	in_repo
	envelope 4
	[ -e removed ]
	[ "$(git -C repo branch --list agent/one)" = "  agent/one" ]
	call --cwd repo workflow resume @last
	envelope 0
	[ "$(subjects)" = own,start, ]
	[ -z "$(git -C repo branch --list agent/one)" ]
	untouched
}

@test "the locks that a killed git has left are removed by the run that goes on" {
	steps <<-'YAML'
		  - worktree: { branch: agent/one, merge: true }
		    shell: "[ -e half ] || { touch half; exit 1; }; git add -A; git commit -q -m whole"
	YAML
	in_repo
	envelope 1
	tree=$(basename "$(find state/runner/worktrees -mindepth 2 -maxdepth 2)")
	for lock in packed-refs.lock HEAD.lock refs/heads/main.lock refs/heads/agent/one.lock "worktrees/$tree/index.lock" "worktrees/$tree/HEAD.lock"; do
		: >"repo/.git/$lock"
		touch -d '1 minute ago' "repo/.git/$lock"
	done
	call --cwd repo workflow resume @last
	envelope 0
	untouched
}

@test "each item moves a submodule forward, and is merged; what the repository has checked out of it stays" {
	git init -q -b main sub
	git -C sub -c user.name=Ada -c user.email=ada@example.org commit -q --allow-empty -m sub
	CLEAN_ENV+=(GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always GIT_AUTHOR_NAME=Ada
		GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org)
	git -C repo -c protocol.file.allow=always submodule --quiet add "$PWD/sub" sub
	git -C repo commit -q -m sub
	echo mine >repo/sub/mine
	steps <<-'YAML'
		  - foreach: [a, b]
		    worktree: { branch: "agent/${item}", merge: true }
		    do: [{ shell: "git submodule --quiet update --init; cd sub; git commit -q --allow-empty -m ${item}; git push -q origin HEAD:refs/heads/${item}; cd ..; git commit -q -a -m ${item}" }]
	YAML
	in_repo
	envelope 0
	[ "$(git -C repo rev-parse main:sub)" = "$(git -C sub rev-parse b)" ]
	[ "$(cat repo/sub/mine)" = mine ]
	[ "$(git -C repo/sub log --format=%s)" = sub ]
}
