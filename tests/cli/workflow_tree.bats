#!/usr/bin/env bats
# A person watches a workflow: its steps as a tree that lives, under tmux at three widths, with a
# failing step, a countdown, Ctrl+C, Ctrl+Z and a resize.

load lib/workflow
load lib/tmux

export NEEDS=libsqlite3.so.0

clean_up() {
	end_shell
	kill_all
}

# Three steps side by side: one fails until `mended` is there, one goes on until `go` is there,
# one prints what would spoil a screen. Then a loop.
checks() {
	workflow checks <<-'YAML'
		name: checks
		commands:
		  - { shell: "echo ready", id: prepare }
		  - id: checks
		    parallel:
		      - id: lint
		        shell: "echo looking; until [ -e fail ]; do sleep 0.02; done; echo no good >&2; exit 3"
		        retry: { strategy: custom, delays: [3600s], jitter: 0 }
		      - id: test
		        shell: "echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 test; until [ -e go ]; do sleep 0.02; done; exit 4"
		      - id: evil
		        shell: "printf 'up\\033[5A\\033[2J\\033]0;title\\007\\rdone\\n'; until [ -e go ]; do sleep 0.02; done"
		  - id: each
		    foreach: [a, b, c]
		    do: [ { shell: "true" } ]
	YAML
}

# The screen as it is, without what scrolled away, has these lines, one below the other.
now_on_screen() {
	until_true below_each_other "$@" && return
	mux capture-pane -p >&2
	return 1
}

below_each_other() {
	mux capture-pane -p | python3 -c '
import re, sys
lines = sys.stdin.read().rstrip("\n").split("\n")
n = len(sys.argv) - 1
sys.exit(not any(all(re.search(p, l) for p, l in zip(sys.argv[1:], lines[i:i + n]))
                 for i in range(len(lines) - n + 1)))' "$@"
}

# How many lines of the screen match.
count_on_screen() {
	mux capture-pane -p | grep -cE -- "$1" || true
}

runs_at() {
	checks
	start_shell "$1" 30
	type_line 'clear; $R workflow run checks.yaml; echo status=$?'
	now_on_screen '^✓ prepare +[0-9.]+s' "$2" '^  ▸ lint +[0-9]+s +looking$' "$3" '^  ▸ evil +[0-9]+s +done$' "$4"
}

@test "every step is a line with its state, its time and what it printed last: 80 columns" {
	runs_at 80 '^▸ checks +[0-9]+s +3 steps in parallel$' '^  ▸ test +[0-9]+s +(漢字){14} test$' '^· each +foreach over 3 items$'
}

@test "40 columns: each line is cut where the terminal ends, wide characters measured" {
	runs_at 40 '^▸ checks +[0-9]+s +3 steps in parallel$' '^  ▸ test +[0-9]+s +(漢字)+漢?…$' '^· each +foreach over 3 items$'
	[ "$(mux capture-pane -p | python3 -c '
import sys, unicodedata
print(max(sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in l.rstrip("\n")) for l in sys.stdin))')" -le 40 ]
}

@test "200 columns: the same, with room" {
	runs_at 200 '^▸ checks +[0-9]+s +3 steps in parallel$' '^  ▸ test +[0-9]+s +(漢字){14} test$' '^· each +foreach over 3 items$'
}

@test "a step that waits shows a countdown beside those that run; what failed is named in the end, and stays" {
	runs_at 80 'checks' 'test' 'each'
	touch fail
	now_on_screen '^Step checks.lint: Shell command failed \(attempt 1/1\): exited with status 3: no g$' '^ood$' \
		'^Step checks.lint: Retrying in 3600\.0 seconds' \
		'✓ prepare' '▸ checks' '^  ↻ lint +in (1h 00m|59m [0-9]+s) +retry 1/1 · exited with status 3: no good$' '▸ test' '▸ evil' '· each'
	press C-c
	now_on_screen 'Cancelled by SIGINT' 'CANCELLED' 'hint: runner workflow resume' 'status=130'
	[ "$(count_on_screen '↻|▸|·')" -eq 0 ]
	sed -i 's/delays: .3600s./delays: [10ms]/' checks.yaml
	touch go
	type_line 'clear; $R workflow run checks.yaml; echo status=$?'
	on_screen 'status=1$'
	now_on_screen '✓ prepare' '^✗ checks' '^  ✗ (lint|test)' '^  ✗ (lint|test)' '^· each'
	on_screen '^workflow run: error: Step checks\.(lint|test): Shell command exited with status [34]'
	on_screen '^checks.lint: no good$'
	[ "$(count_on_screen '▸|↻')" -eq 0 ]
}

@test "a resize draws the tree for the new width, and leaves nothing of the old one" {
	runs_at 120 'checks' 'test' 'each'
	mux resize-window -x 40 -y 20
	now_on_screen '^✓ prepare' '^▸ checks' '^  ▸ lint' '^  ▸ test +[0-9]+s +(漢字)+漢?…$' '^  ▸ evil' '^· each'
	[ "$(count_on_screen 'prepare|test|evil')" -eq 3 ]
	mux resize-window -x 100 -y 5
	now_on_screen '▸ lint' '^… [0-9] more$'
	mux resize-window -x 100 -y 30
	now_on_screen '^✓ prepare' '^▸ checks' '^  ▸ lint' '^  ▸ test +[0-9]+s +(漢字){14} test$' '^  ▸ evil' '^· each'
	[ "$(count_on_screen 'evil')" -eq 1 ]
}

@test "Ctrl+Z takes the tree away, fg brings it back; in the background it stays away" {
	runs_at 80 'checks' 'test' 'each'
	press C-z
	now_on_screen 'Stopped' 'status=' '^ready> *$'
	wait_for_states T
	[ "$(count_on_screen '▸')" -eq 0 ]
	type_line 'fg; echo status=$?'
	now_on_screen '✓ prepare' '▸ checks' '▸ lint' '▸ test' '▸ evil' '· each'
	press C-z
	wait_for_states T
	type_line 'clear; bg'
	wait_for_states S
	type_line 'echo the shell is $((1 + 1)) be read'
	now_on_screen 'the shell is 2 be read'
	touch fail
	on_screen '^Step checks\.lint: Retrying in 3600\.0 seconds'
	[ "$(count_on_screen '▸|↻')" -eq 0 ]
	type_line 'fg; echo status=$?'
	now_on_screen '▸ checks' '↻ lint' '▸ test'
	press C-c
	on_screen 'status=130'
}

@test "a loop of thousands is a counter, with what runs and what has failed" {
	seq 3000 >items
	workflow many <<-'YAML'
		name: many
		commands:
		  - id: each
		    foreach: { file: items }
		    parallel: 2
		    continue_on_error: true
		    do:
		      - id: one
		        shell: "[ ${item} -lt 4 ] && exit 1; [ ${item} -lt 20 ] || until [ -e go ]; do sleep 0.02; done"
	YAML
	start_shell 80 30
	type_line 'clear; $R workflow run many.yaml; echo status=$?'
	now_on_screen '^▸ each +[0-9]+s +19 done, 3 failed · ' '^  ✗ \[1\].one' '^  ✗ \[2\].one' '^  ✗ \[3\].one' '^  ▸ \[20\].one' '^  ▸ \[21\].one'
	[ "$(count_on_screen '^ *▸')" -eq 3 ]
	press C-c
	on_screen 'status=130'
}

@test "the cost of each row stands beside its time, and the last line has that of all; items have their values" {
	workflow agents <<-'YAML'
		name: agents
		max_cost: 3
		claude: { output: json, max_attempt_cost: 0.25 }
		commands:
		  - { id: first, claude: first }
		  - id: review
		    foreach: [src/a.c, src/b.c, src/c.c]
		    continue_on_error: true
		    do: [ { id: ask, claude: "${item}", retry: false } ]
		  - { id: last, shell: "true" }
	YAML
	local paid='echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.02}"'
	turns "$paid"
	turns -p src/b.c 'complain "API Error: no"; exit 1'
	turns -p src/c.c "touch began; until [ -e go ]; do sleep 0.02; done; $paid"
	start_shell 80 30
	type_line 'clear; $R workflow run agents.yaml; echo status=$?'
	now_on_screen '^✓ first +[0-9.]+s +\$0\.02 *$' '^▸ review +[0-9]+s +\$0\.27 · 2 of 3, 1 failed · ' '^  ✗ \[src/b.c\]\.ask +[0-9.]+s +\$0\.25 · ' \
		'^  ▸ \[src/c.c\]\.ask +[0-9]+s ' '^· last ' '^= total +[0-9]+s +\$0\.29 of \$3\.00, 1 of 3 steps$'
	touch go
	on_screen 'status=0'
	rm go began
	begin workflow run agents.yaml
	until_true [ -e began ]
	type_line 'clear; $R workflow show @last --watch; echo status=$?'
	now_on_screen '^✓ first +[0-9.]+s +\$0\.02 *$' '^▸ review +[0-9]+s +\$0\.27 · 2 done, 1 failed · ' '^  ✗ \[src/b.c\]\.ask ' \
		'^  ▸ \[src/c.c\]\.ask ' '^= total +[0-9]+s +\$0\.29 of \$3\.00, 1 step is over$'
	touch go
	finish
}

@test "a resumed run shows what is done already" {
	checks
	sed -i 's/delays: .3600s./delays: [10ms]/' checks.yaml
	touch fail go
	call workflow run checks.yaml
	sed -i 's/exit [34]/true/' checks.yaml
	rm go
	start_shell 80 30
	type_line "clear; \$R workflow resume $(sql 'SELECT id FROM runs') --force; echo status=\$?"
	now_on_screen '^✓ prepare +[0-9.]+s$' '▸ checks' '▸ lint|✓ lint' '▸ test'
	touch go
	on_screen 'status=0'
}

@test "show --watch shows a run of another process until it is over" {
	checks
	begin workflow run checks.yaml
	until_true recorded "SELECT 1 FROM steps WHERE key = 'checks.evil' AND state = 'running'"
	start_shell 80 30
	type_line 'clear; $R workflow show @last --watch; echo status=$?'
	now_on_screen '^✓ prepare +[0-9.]+s' '^▸ checks +[0-9]+s +3 steps in parallel$' '^  ▸ lint +[0-9]+s +(echo )?looking$' '^  ▸ test' '^  ▸ evil'
	touch fail
	now_on_screen '▸ checks' '^  ↻ lint +in (1h 00m|59m [0-9]+s) +attempt 1 · Shell command exited with status 3: no good' '▸ test'
	kill -INT "$pid"
	finish
	on_screen 'status=0'
	on_screen '^state: +interrupted$'
	[ "$(count_on_screen '▸|↻')" -eq 0 ]
	call workflow show @last --watch
	envelope 0
	expect 'e.data.state == "interrupted"'
}

@test "lines that several steps write to stderr say whose they are, on a terminal" {
	workflow both <<-'YAML'
		name: both
		commands:
		  - shell: "echo alone >&2"
		  - parallel:
		      - { id: left, shell: "echo from the left >&2" }
		      - { id: right, shell: "echo from the right >&2" }
	YAML
	on_pty workflow run both.yaml
	grep -qx 'alone' screen
	grep -qx '2.left: from the left' screen
	grep -qx '2.right: from the right' screen
	call workflow run both.yaml
	messages step.stderr | grep -qx 'from the left'
}

@test "the message of a failure names the step that failed" {
	ran <<-'YAML'
		  - id: checks
		    parallel:
		      - { id: fine, shell: "true" }
		      - { id: lint, shell: "echo no good >&2; exit 3" }
	YAML
	envelope 1
	expect 'e.error.message == "Step checks.lint: Shell command exited with status 3: no good"'
	on_pty workflow show "$(sql 'SELECT id FROM runs')"
	grep -qx 'error:    step checks.lint: SUBPROCESS_FAILED: .*' screen
}

@test "show and the answer say how long a step took that took a second" {
	ran <<-'YAML'
		  - { id: slow, shell: "sleep 1.1" }
	YAML
	envelope 0
	expect '1000 <= e.data.steps[0].duration_ms'
	on_pty workflow show "$(sql 'SELECT id FROM runs')"
	grep -Eqx '  slow  completed  \([0-9]+s\)' screen
	grep -Eq '^ended: .*Z  \([0-9]+s\)' screen
}

# Neither colours nor moves of the cursor were written.
plain() {
	! grep -aqE $'\033\\[[0-9;?]*([ABCDHJKfsu]|[0-9]m)' bytes
}

@test "200 columns with NO_COLOR or TERM=dumb: lines one below the other, no tree, no control sequence" {
	local how
	for how in NO_COLOR=1 TERM=dumb; do
		rm -f fail bytes
		checks
		start_shell 200 30
		type_line "$how \$R workflow run checks.yaml >pipe.txt; echo status=\$?"
		on_screen '^Step checks.evil: '
		mux pipe-pane -o "cat >>$PWD/bytes"
		touch fail
		on_screen '^Step checks\.lint: Retrying in 3600\.0 seconds'
		[ "$(count_on_screen '▸|↻')" -eq 0 ]
		press C-c
		on_screen 'status=130'
		until_true grep -q 'status=130' bytes
		plain
		end_shell
	done
	# with colours there is a tree, which moves the cursor
	rm -f fail bytes
	start_shell 200 30
	mux pipe-pane -o "cat >>$PWD/bytes"
	type_line 'clear; $R workflow run checks.yaml; echo status=$?'
	now_on_screen '^✓ prepare' '^▸ checks' '^  ▸ lint'
	! plain || false
}

@test "200 columns: logs --follow show lines as they come, each with its step; NO_COLOR and TERM=dumb change nothing but colours" {
	checks
	begin workflow run checks.yaml
	until_true recorded "SELECT 1 FROM steps WHERE key = 'checks.evil' AND state = 'running'"
	start_shell 200 40
	mux pipe-pane -o "cat >>$PWD/bytes"
	local how
	for how in NO_COLOR=1 TERM=dumb; do
		type_line "clear; $how \$R workflow logs @last -f; echo status=\$?"
		on_screen '^checks.lint: looking$'
		on_screen '^checks.test: (漢字){14} test$'
		now_on_screen '^checks.evil: done$|^checks.evil: up'
		press C-c
		on_screen 'status=130'
	done
	! grep -aqE $'\033\\[[0-9;]*[0-9]m' bytes || false
	kill -INT "$pid"
	finish
}
