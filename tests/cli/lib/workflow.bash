# shellcheck shell=bash disable=SC2034 # what finish sets is for the tests
# workflow.bash: what the suites about workflows share: a state directory of the test's
# own, a stand-in for claude, runs in the background, and looks at what they left.
#
#   workflow NAME <<'YAML'      writes NAME.yaml
#   turns [-p PROMPT] LINE…     what the stand-in does, call by call (claude_standin)
#   messages EVENT              what the JSON lines on stderr say: "" or retry.failed …
#   begin ARGS… ; finish        a run in the background: $pid; then as after call

# shellcheck source=tests/cli/lib/helper.bash
load "$(dirname "${BASH_SOURCE[0]}")/helper"

# what a stand-in does that meets a server in trouble
SERVER_ERROR='complain "API Error: 500 Internal Server Error"; exit 1'

# python3 itself, not the front of a version manager, which takes longer than a run.
setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
}

# NEEDS names a library that all tests of a file need.
prepare() {
	[ -z "${NEEDS:-}" ] || needs_library "$NEEDS"
	mkdir -p bin claude/turns claude/calls
	ln -s "$ROOT/tests/cli/lib/claude_standin" bin/claude
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH" XDG_STATE_HOME="$PWD/state")
	turns 'echo done'
}

# Whatever a failed test left behind.
clean_up() {
	kill_all
}

workflow() {
	cat >"$1.yaml"
}

turns() {
	local name=default
	if [ "$1" = -p ]; then
		name=${2//[^A-Za-z0-9]/}
		shift 2
	fi
	printf '%s\n' "$@" >"claude/turns/$name"
}

# How often the stand-in was called.
calls() {
	find claude/calls -mindepth 1 -maxdepth 1 | wc -l
}

# waited N: ms from the end of call N to the beginning of the next one
waited() {
	local from to
	from=$(<"claude/calls/$1/ended") to=$(<"claude/calls/$(($1 + 1))/began")
	echo $(((to - from) / 1000000))
}

messages() {
	python3 "$ROOT/tests/cli/lib/workflow_lines.py" "$1" err.txt
}

# attempted: "claude" lines only, which Spec 185 words (AC6, docs/design.md#workflow-logs)
attempted() {
	messages '' | grep -E '^(Claude command|Retrying in)' || true
}

# envelope STATUS: it is valid and of this status, else it is shown
envelope() {
	assert_envelope
	[ "$status" -eq "$1" ] || { cat out.txt err.txt >&2; return 1; }
}

# on_pty ARGS…: as call, on a terminal; what it shows is in `screen`
on_pty() {
	status=0
	env -i "${CLEAN_ENV[@]}" TERM=xterm NO_COLOR=1 python3 -c '
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$RUNNER" "$@" </dev/null | tr -d '\r' >screen || status=$?
	skip_without_library "$(tr -s '\n ' ' ' <screen)"
}

# --- in the background ------------------------------------------------------------------

begin() {
	env -i --default-signal=INT,QUIT "${CLEAN_ENV[@]}" "$RUNNER" "$@" >out.txt 2>err.txt </dev/null 3>&- &
	pid=$!
}

finish() {
	status=0
	wait "$pid" || status=$?
	stdout=$(<out.txt)
	stderr=$(<err.txt)
	[ "$status" -eq 0 ] || skip_without_library "$stdout$stderr"
}

# The run that err.txt names, now or soon: a step can be faster than its log line. What was killed
# before it wrote that line has its run in the store.
run_id() {
	until_true run_is_known || return
	grep -o 'run_[0-9A-HJKMNP-TV-Z]\{26\}' err.txt | head -n 1 | grep . ||
		sql 'select id from runs order by created_ms desc limit 1'
}

run_is_known() {
	grep -q 'run_[0-9A-HJKMNP-TV-Z]\{26\}' err.txt || { [ -n "${pid:-}" ] && ! kill -0 "$pid"; }
}

# Everything of this test, by KILL, until nothing is left.
kill_all() {
	local path try
	for try in {1..1000}; do
		path=$(processes_left)
		[ -n "$path" ] || return 0
		for path in $path; do
			path=${path%/environ}
			kill -KILL "${path#/proc/}" 2>/dev/null || true
		done
		[ "$try" -lt 50 ] || sleep 0.02 # to die takes a turn of the processor
	done
	assert_no_process_left
}

# no_owner RUN: its runner was killed, and nothing of it holds the run any more
no_owner() {
	call workflow show "$1"
	expect 'e.data.state == "interrupted"'
}

# children PID
children() {
	cat "/proc/$1/task/$1/children" 2>/dev/null || true
}

# The worker of the run that begin started, while it runs a step: the guard beside it has no children.
worker_of_run() {
	local below
	for below in $(children "$pid"); do
		[ -z "$(children "$below")" ] || echo "$below"
	done
}

# shepherd_of ID: of the step with this id, in the run that begin started: the process below
# the worker whose program has the label of the step in its arguments
shepherd_of() {
	local below shepherd program text
	text=$(sql "select label from steps where id = '$1' order by rowid desc limit 1")
	for below in $(children "$pid"); do # the worker, and the guard
		for shepherd in $(children "$below"); do
			for program in $(children "$shepherd"); do
				if tr '\0' ' ' <"/proc/$program/cmdline" | grep -qF -- "${text:0:12}"; then
					echo "$shepherd"
				fi
			done
		done
	done
}

# --- the store ---------------------------------------------------------------------------

# sql STATEMENT [DATABASE]: its rows, a line each, columns divided by "|". It makes no database: a runner makes its own.
sql() {
	python3 -c '
import pathlib, sqlite3, sys
with sqlite3.connect(pathlib.Path(sys.argv[2]).absolute().as_uri() + "?mode=rw", uri=True, timeout=60) as db:
    for row in db.execute(sys.argv[1]):
        print("|".join("" if v is None else str(v) for v in row))' "$1" "${2:-state/runner/runs.db}"
}

# --- workflows that several suites use ---------------------------------------------------

# ran ARGS…: a workflow file whose steps stand on stdin, run to its end
ran() {
	{
		printf 'name: small\ncommands:\n'
		cat
	} >small.yaml
	call workflow run small.yaml "$@"
}

# quick [KEYS]: one claude step, 20, 40, 80 … ms without jitter
quick() {
	workflow quick <<YAML
name: quick
commands:
  - claude: "/process-data"
    retry: { initial_delay: 20ms, jitter: 0${1:+, $1} }
YAML
}

# three [KEYS]: a step before, one in the middle that stays until `go` is there, one after;
# each writes its name to effects
three() {
	workflow three <<-YAML
		name: three
		commands:
		  - shell: echo one >>effects
		  - shell: echo two >>effects; touch began; until [ -e go ]; do sleep 0.02; done
		    id: two
		    ${1:-grace: 5s}
		  - shell: echo three >>effects
	YAML
}

# effects NAME…: what the steps wrote, in this order
effects() {
	[ "$(tr '\n' ' ' <effects)" = "$* " ]
}

# written N: effects has as many lines or more
written() {
	[ "$(wc -l <effects)" -ge "$1" ]
}

# recorded QUERY: it gives a row
recorded() {
	[ -n "$(sql "$1")" ]
}

# killed [FILE]: the run of it, by default of three.yaml, everything killed once a step of it has made `began`
killed() {
	begin workflow run "${1:-three.yaml}"
	until_true [ -e began ]
	kill_all
	finish
	id=$(run_id)
}
