#!/usr/bin/env bats
# Git that runner runs where a confined step could write is as confined as that step: whatever the step has named for git to
# run, wherever runner's git meets it, nothing outside of the fence is written.

load lib/worktree

setup() {
	load lib/helper
	cd "$BATS_TEST_TMPDIR" || return 1
	set +T
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
	prepare
	mkdir out # where the canary would be: no step may write here
	# evil: what git is to run. It says that runner's git ran it, in what the step may write, and tries what that may not.
	cat >evil <<-SH
		#!/bin/sh
		[ "\$GIT_TERMINAL_PROMPT" != 0 ] || for f in "\${GIT_DIR:-.git}" "\${GIT_COMMON_DIR:-.git}/objects"; do
			echo "\$0 \$*" >>"\$f/evil.ran"
		done 2>/dev/null
		for f in "$PWD/out/canary" "$PWD/repo/canary" "$PWD/repo/.git/hooks/canary" "$PWD/repo/.git/canary"; do true >"\$f"; done 2>/dev/null
		exit 0
	SH
	chmod +x evil
	CLEAN_ENV+=(EVIL="$PWD/evil" OTHER="$PWD/other" REPO="$PWD/repo" KEYS="$KEYS" PLANT="$PLANT" GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
		GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org)
}

# What git runs, by the setting that names it.
KEYS='core.fsmonitor core.pager pager.status core.sshCommand core.editor sequence.editor core.askPass core.alternateRefsCommand
diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.smudge filter.y.process merge.x.driver gpg.program credential.helper
alias.status uploadpack.packObjectsHook remote.origin.uploadpack interactive.diffFilter submodule.sub.update trailer.x.command'

# shellcheck disable=SC2016 # it is for the step's shell
# The step that sets them in its worktree's own settings, in a submodule of its own making, and in the files that choose drivers.
PLANT='set_all() {
	for key in $KEYS; do git config "$@" "$key" "$EVIL"; done
	git config "$@" core.hooksPath "$PWD/.hooks"; git config "$@" commit.gpgSign true
	git config "$@" submodule.sub.update "!$EVIL"; git config "$@" include.path "$PWD/.more"
	git config "$@" extensions.partialClone origin; git config "$@" remote.origin.url "ext::$EVIL"; git config "$@" remote.origin.promisor true
	git config "$@" protocol.ext.allow always
}
mkdir -p .hooks; for hook in post-checkout pre-merge-commit post-merge commit-msg prepare-commit-msg reference-transaction post-index-change; do
	cp "$EVIL" .hooks/$hook; done
printf "* diff=x merge=x\n*.f filter=x\n*.g filter=y\n" >.gitattributes
echo f >a.f; echo g >a.g; git add -A; git commit -q -m plant
'

# clean_of_canaries WHEN [FOLDER]
clean_of_canaries() {
	local found
	found=$(find "${2:-$PWD}" -name canary)
	[ -z "$found" ] || { echo "$1: $found" >&2; find . -name evil.ran -exec cat {} + >&2; return 1; }
}

confined() {
	printf 'confine: { write: [.] }\n'
	cat
}

@test "settings of the worktree itself" {
	git -C repo config extensions.worktreeConfig true
	confined <<-YAML | steps
		commands:
		  - id: work
		    worktree: { branch: agent/one, merge: true }
		    on_failure: continue
		    shell: |
		      eval "\$PLANT"
		      set_all --worktree
		    check: [{ commit: true }]
		  - id: second
		    worktree: { branch: agent/two }
		    on_failure: continue
		    shell: |
		      eval "\$PLANT"
		      set_all --worktree; git update-index --assume-unchanged a.f; echo more >b.f; exit 1
	YAML
	echo other >repo/other
	git -C repo add other
	git -C repo commit -q -m other
	in_repo
	clean_of_canaries run
	[ -n "$(find . -name evil.ran)" ] # it has been tried
	call workflow worktrees
	clean_of_canaries list
	call --cwd repo workflow resume @last --failed
	clean_of_canaries resume
	call workflow worktrees --clean --force
	clean_of_canaries clean
	envelope 0
}

@test "a submodule of its own making" {
	confined <<-YAML | steps
		commands:
		  - worktree: { branch: agent/one, merge: true }
		    on_failure: continue
		    shell: |
		      eval "\$PLANT"
		      git init -q sub; cd sub
		      eval "\$PLANT"
		      set_all; cd ..; git add sub; git commit -q -m sub; echo m >sub/a.f
		  - worktree: { branch: agent/two }
		    shell: |
		      modules=\$(git rev-parse --git-dir)/modules; mkdir -p "\$modules"; git init -q --separate-git-dir "\$modules/sub" sub; cd sub
		      eval "\$PLANT"
		      set_all; git config core.worktree "\$PWD"; rm -r "\$modules/sub/objects/"??; cd ..
	YAML
	in_repo
	clean_of_canaries run
	[ -n "$(find . -name evil.ran)" ]
	call workflow worktrees
	clean_of_canaries list
	call workflow worktrees --clean --force
	clean_of_canaries clean
}

@test "relative paths of the user's settings, which lead into what the step has written" {
	git -C repo config core.hooksPath .hooks
	git -C repo config filter.x.clean ./.hooks/commit-msg
	git -C repo config filter.x.smudge ./.hooks/commit-msg
	git -C repo config merge.x.driver './.hooks/commit-msg %A'
	confined <<-YAML | steps
		commands:
		  - worktree: { branch: agent/one, merge: true }
		    on_failure: continue
		    shell: |
		      eval "\$PLANT"
		  - worktree: { branch: agent/two, merge: true }
		    on_failure: continue
		    steps:
		      - worktree: { branch: agent/three, merge: true }
		        shell: echo x >c.f; git add -A; git commit -q -m c
	YAML
	in_repo
	clean_of_canaries run out # a filter that is in the merged tree is the user's own from then on: see the page
	[ -n "$(find . -name evil.ran)" ]
}

@test "hooks that a step has merged, where the user's settings look for hooks" {
	git -C repo config core.hooksPath .hooks
	confined <<-YAML | steps
		commands:
		  - worktree: { branch: agent/one, merge: true }
		    shell: eval "\$PLANT"
		  - worktree: { branch: agent/two, merge: true }
		    shell: echo x >c; git add -A; git commit -q -m c
	YAML
	in_repo
	envelope 0
	[ "$(subjects)" = c,plant,start, ]
	clean_of_canaries run
}

@test "a step leads nobody's git to another repository, nor through links out of its fence" {
	git init -q -b main other
	git -C other -c user.name=Ada -c user.email=ada@example.org commit -q --allow-empty -m other
	git -C other worktree add -q -b linked ../linked
	echo precious >precious
	touch -d '1 minute ago' out/one.lock
	outer() {
		confined <<-YAML | steps
			commands:
			  - worktree: { branch: agent/outer }
			    on_failure: continue
			    steps:
			      - shell: |
			          $1
			      - worktree: { branch: agent/one, merge: true }
			        shell: git commit -q --allow-empty -m x; for f in "\$OTHER"/.git/objects/canary "\$OTHER"/.git/refs/canary canary; do true >"\$f"; done || true
		YAML
		in_repo
		envelope 0 # the file is one
		rm -f state/runner/worktrees/*/*/canary
		clean_of_canaries "$1"
		[ -e out/one.lock ]
		call workflow worktrees --clean --force
		git -C repo branch --format='%(refname:short)' --list 'agent/*' | xargs -r git -C repo branch -q -D
	}
	outer 'rm .git; echo "gitdir: $OTHER/.git" >.git'
	outer 'rm .git; ln -s "$OTHER/.git" .git'
	outer 'rm .git; echo "gitdir: $OTHER/.git/worktrees/linked" >.git'
	outer 'echo "$OTHER/.git" >"$(git rev-parse --git-dir)/commondir"'
	outer 'rm .git; git init -q; rm -r .git/objects; ln -s "$OTHER/.git/objects" .git/objects'
	outer 'cd "$REPO/.git/refs/heads"; rm -r agent; ln -s '"$PWD/out"' agent'
	rm repo/.git/refs/heads/agent
	export FOLDER=repo/folder
	outer 'cd ..; rm -r folder; ln -s '"$PWD/out"' folder; git add -A; git commit -q -m link'
}

@test "links among refs and logs lead nobody's git to hooks or settings: runner writes no ref there, and says which" {
	echo precious >repo/.git/hooks/evil
	local settings before
	settings=$(cat repo/.git/config)
	through() {
		confined <<-YAML | steps
			commands:
			  - { worktree: { branch: agent/one, merge: true }, shell: 'echo x >c; git add c; git commit -q -m c; cd "\$REPO/.git"; $1' }
		YAML
		before=$(git -C repo rev-parse main)
		in_repo
		envelope 4
		expect "'$2 is a link' in e.error.message"
		[ "$(cat repo/.git/config)" = "$settings" ]
		[ "$(cat repo/.git/hooks/evil)" = precious ]
		[ "$(git -C repo rev-parse main)" = "$before" ]
		rm -f "repo/.git/$2"
		call workflow worktrees --clean --force
		git -C repo branch -q -D agent/one
	}
	through 'mkdir -p logs/refs/heads; rm -f logs/refs/heads/main; ln -s ../../../config logs/refs/heads/main' logs/refs/heads/main
	through 'ln -s ../../../hooks logs/refs/heads/evil' logs/refs/heads/evil
	through 'ln -s ../../hooks refs/heads/evil' refs/heads/evil
}

@test "a merge that a step pretends was cut off removes nothing outside of its fence" {
	steps <<<'  - { worktree: { merge: true }, shell: "echo own >own; git add own; git commit -q -m own" }'
	dying_git read-tree :
	killed_in_git
	CLEAN_ENV+=(OURS="$(readlink repo/.git/index.lock | cut -d : -f 2)" OUT="$PWD/out")
	call --cwd repo workflow resume @last
	envelope 0
	echo known >out/victim
	confined <<-'YAML' | steps
		commands:
		  - worktree: true
		    shell: |
		      [ ! -e link ] || exit 0
		      old=$(git rev-parse HEAD)
		      tree=$(printf '100644 blob %s\tvictim\n' "$(echo known | git hash-object -w --stdin)" | git mktree)
		      tree=$(printf '040000 tree %s\tlink\n' "$tree" | git mktree)
		      ln -s "$OUT" link
		      ln -s "runner:$OURS:${run.id}:$old:$(git commit-tree -m x -p "$old" "$tree")" "$(git rev-parse --git-dir)/index.lock"
		      exit 1
	YAML
	in_repo
	envelope 1
	call --cwd repo workflow resume @last
	envelope 0
	[ ! -L "$(echo repo/.git/worktrees/*/index.lock)" ] # it was taken for one
	[ "$(cat out/victim)" = known ]
}

@test "each setting that names a program, by itself, in a worktree and in a submodule of it" {
	local keys
	keys=$(tr -s ' \n' , <<<"core.hooksPath $KEYS")
	echo .hooks >repo/.git/info/exclude
	git -C repo config extensions.worktreeConfig true
	confined <<-YAML | steps
		commands:
		  - foreach: [${keys%,}]
		    parallel: 4
		    max_failures: 99
		    worktree: { branch: "agent/\${item}", merge: true }
		    do:
		      - shell: |
		          key="\${item}" value=\$EVIL
		          [ "\$key" != core.hooksPath ] || { mkdir .hooks; cp "\$EVIL" .hooks/post-checkout; cp "\$EVIL" .hooks/reference-transaction; value=\$PWD/.hooks; }
		          printf '* diff=x merge=x\n*.f filter=x\n*.g filter=y\n' >.gitattributes
		          echo f >"\$key.f"; echo g >"\$key.g"; git init -q sub
		          cp .gitattributes sub; echo f >sub/a.f; echo g >sub/a.g; git -C sub add .
		          GIT_AUTHOR_DATE="@1000000000 +0000" GIT_COMMITTER_DATE="@1000000000 +0000" git -C sub commit -q -m sub; git add . 2>/dev/null; git commit -q -m "\$key"
		          git config --worktree "\$key" "\$value"; git -C sub config "\$key" "\$value"
	YAML
	in_repo
	clean_of_canaries run
	[ -e repo/.git/objects/evil.ran ]
	[ "$(git -C repo log --format=%s --no-merges | wc -l)" -gt 10 ] # most are merged
	call workflow worktrees
	clean_of_canaries list
	call workflow worktrees --clean --force
	clean_of_canaries clean
	envelope 0
}
