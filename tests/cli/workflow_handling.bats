#!/usr/bin/env bats
# Runs by their names, waiting for one, and following its logs.

load lib/workflow

# named NAME: a run of a workflow of this name, in $id
named() {
	printf 'name: "%s"\ncommands: [ { id: say, shell: "echo %s" } ]\n' "$1" "$1" >named.yaml
	call workflow run named.yaml
	envelope 0
	id=$(field e.data.id)
}

# shows TEXT ID: show finds the run
shows() {
	call workflow show "$1"
	envelope 0
	[ "$(field e.data.id)" = "$2" ]
}

@test "a run is named by @last, its workflow, the beginning or the end of its ID, in any case" {
	local first second
	named deploy
	first=$id
	named "night build v1.2"
	second=$id
	shows @last "$second"
	shows deploy "$first"
	shows 'night build v1.2' "$second"
	shows "$first" "$first"
	shows "${first,,}" "$first"
	shows "${first: -8}" "$first"
	shows "${second: -4}" "$second"
	shows "${first#run_}" "$first"
	[ "$(field e.data.short)" = "${first: -8}" ]
	named deploy
	shows deploy "$id"
	call workflow logs @last say
	envelope 0
	expect 'e.data[0].stdout == "deploy\n"'
	call workflow cancel @last
	envelope 6
	call workflow resume deploy
	envelope 0
	expect "e.data.id == '$id' and e.data.state == 'completed' and e.data.effect == 'noop'"
}

@test "on a terminal list has short IDs that name their runs, ages and durations; elsewhere whole IDs" {
	local first
	named deploy
	first=$id
	call workflow run nothing.yaml
	printf 'name: "odd\\e[31m %s"\ncommands: [ { id: say, shell: "exit 3" } ]\n' "$(printf 'x%.0s' {1..60})" >odd.yaml
	call workflow run odd.yaml
	sqlite "UPDATE runs SET created_ms = created_ms - 7300000, ended_ms = created_ms - 7300000 + 125999 WHERE id = '$first'"
	on_pty workflow list
	grep -qE '^run +workflow +state +began +took +why$' screen
	grep -qE "^${first: -6}  deploy +completed  2h ago +2m 5s +-\$" screen
	grep -qE '^[0-9A-Z]{6}  odd.* x+… +failed +(now|[0-9]+s ago) .*say \(SUBPROCESS_FAILED\)$' screen
	shows "${first: -6}" "$first"
	on_pty workflow list --fields id
	grep -q "$first" screen
	call workflow list --format table
	grep -q "$first" out.txt
	call workflow list
	expect "e.data[1].id == '$first'"
	rm -r state
	on_pty workflow list
	[ "$(<screen)" = "no runs" ]
}

# sqlite STATEMENT: in the run database
sqlite() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect("state/runner/runs.db") as db: db.execute(sys.argv[1])' "$1"
}

@test "an ID that several runs have in part is an error that names them, with their workflows" {
	named one
	local first=$id
	named two
	call workflow show run_
	envelope 6
	expect "e.error.code == 'CONFLICT' and sorted(e.error.context.runs) == sorted(['$first', '$id'])"
	expect "'$first (one, completed)' in e.error.message and '$id (two, completed)' in e.error.message"
	call workflow show tow
	envelope 5
	call workflow show runx
	envelope 5
}

@test "a name that is meant is suggested, and what can be no name is refused" {
	named nightly
	call workflow show nigthly
	envelope 5
	expect "e.error.suggestion == \"Did you mean 'nightly'?\""
	local text
	for text in ../x .x a/b 'a?b' 'a#b' '%2e' $'a\nb' ' x'; do
		call workflow show "$text"
		envelope 2
	done
	for text in "' OR 1" 'a\b' '@first' "$(printf '%.0sx' {1..5000})"; do
		call workflow show "$text"
		envelope 5
	done
	rm -r state
	call workflow show @last
	envelope 5
	expect 'e.error.message == "There is no run yet in this project"'
}

@test "jobs are named by @last and the end of an ID, and several by none" {
	body quick <<<'return {}'
	local id
	call quick --detach
	id=$(field e.data.job_id)
	call job wait @last
	envelope 0
	call job status "${id: -8}"
	[ "$(field e.data.job_id)" = "$id" ]
	call quick --detach
	call job wait "$(field e.data.job_id)"
	call job status job_
	envelope 6
	expect "'$id' in e.error.message and len(e.error.context.jobs) == 2"
}

# --- wait -----------------------------------------------------------------------------------

@test "wait answers when the run ends, as the run did" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local run=$pid waits
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow wait @last >wait.txt 2>/dev/null </dev/null 3>&- &
	waits=$!
	call workflow wait @last --for 50ms
	envelope 14
	expect 'e.error.code == "INCOMPLETE" and e.error.retryable and e.data.state == "running"'
	expect 'e.data.continue_command == "runner workflow wait " + e.data.id + " --for 50ms"'
	kill -0 "$waits"
	touch go
	wait "$run"
	wait "$waits"
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.ok and e.data.state == "completed" and len(e.data.steps) == 3' wait.txt
	[ -z "$(ls state/runner/runs)" ]
	call workflow wait @last
	envelope 0
}

@test "wait answers a failure with its code, and an end from outside with RUN_STOPPED" {
	workflow fails <<<'{ name: fails, commands: [ { id: test, shell: "echo no >&2; exit 3" } ] }'
	call workflow run fails.yaml
	local code
	code=$(field e.error.code)
	call workflow wait fails
	envelope 1
	expect "e.error.code == '$code' and e.error.context.step_key == 'test' and 'exited with status 3' in e.error.message"
	expect 'e.data.failed_step == "test" and e.error.suggestion == "runner workflow resume " + e.data.id'
	three
	killed
	call workflow wait three
	envelope 83
	expect 'e.error.code == "RUN_STOPPED" and e.data.state == "interrupted"'
	call workflow cancel three
	envelope 0
	call workflow wait three
	envelope 83
	expect 'e.data.state == "cancelled" and e.error.suggestion.endswith(" --force")'
}

@test "wait has no time limit of its own, ends at Ctrl+C, and keeps nobody from resuming" {
	three
	killed
	call workflow wait three --plan
	expect 'e.data.limits.timeout.ms == 0'
	touch go
	call workflow resume three --retry-in-doubt
	envelope 0
	rm go began
	begin workflow run three.yaml
	until_true [ -e began ]
	local run=$pid waits
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" workflow wait @last >wait.txt 2>/dev/null </dev/null 3>&- &
	waits=$!
	until_true grep -q . "/proc/$waits/task/$waits/children"
	kill -INT "$waits"
	status=0
	wait "$waits" || status=$?
	[ "$status" -eq 130 ]
	touch go
	wait "$run"
}

# long_sleeps VERB: how often the traced process has gone to sleep for a second, should nothing wake it
long_sleeps() {
	grep -cE 'ppoll\(.*, 2, \{tv_sec=(1|0, tv_nsec=9)' "$1.txt"
}

# traced VERB FLAG…
traced() {
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e trace=flock,ppoll -o "$1.txt" "$RUNNER" \
		workflow "$1" @last "${@:2}" >/dev/null 2>&1 </dev/null 3>&-
}

sleeps_long() {
	[ "$(long_sleeps "$1")" -ge 2 ]
}

@test "wait and logs --follow sleep until something happens" {
	command -v strace >/dev/null || skip "needs strace"
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local verb watchers=()
	traced wait --for 1h &
	watchers+=($!)
	traced logs --follow &
	watchers+=($!)
	for verb in wait logs; do
		until_true sleeps_long "$verb" # who looks every few ms never does
		[ "$(grep -c flock "$verb.txt")" -le $((5 + 30 * $(long_sleeps "$verb"))) ]
	done
	touch go
	wait "${watchers[@]}" || true
}

@test "where the state may only be read, wait waits all the same" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to call as another user"
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	chmod -R a+rX state
	local run=$pid
	call_as 65534 workflow wait @last --for 300ms
	envelope 14
	touch go
	wait "$run"
	chmod -R a+rX state
	call_as 65534 workflow wait @last
	envelope 0
}

# --- logs ------------------------------------------------------------------------------------

nested() {
	ran <<-'YAML'
		  - id: checks
		    foreach: [a, b]
		    do: [ { id: lint, shell: "echo lint ${item}" } ]
		  - id: all
		    parallel:
		      - { id: test, shell: "echo tested" }
		      - { id: style, shell: "echo styled" }
	YAML
}

@test "logs find a step by the last part of its key, and name the candidates where there are several" {
	nested
	envelope 0
	call workflow logs @last test
	envelope 0
	expect 'len(e.data) == 1 and e.data[0].stdout == "tested\n"'
	call workflow logs @last lint
	envelope 6
	expect 'e.error.context.steps == ["checks[1].lint", "checks[2].lint"] and "checks[2].lint" in e.error.message'
	call workflow logs @last 'checks[2].lint'
	expect 'e.data[0].stdout == "lint b\n"'
	call workflow logs @last lnt
	envelope 5
	call workflow logs @last est
	envelope 5
}

@test "logs --follow have each attempt as it ends, until the run does" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local run=$pid follows
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow logs @last -f --stream >follow.txt 2>/dev/null </dev/null 3>&- &
	follows=$!
	until_true grep -q '"step":"1"' follow.txt
	! grep -q '"step":"two"' follow.txt || false
	touch go
	wait "$run"
	wait "$follows"
	[ "$(grep -o '"step":"[^"]*"' follow.txt | tr '\n' ' ')" = '"step":"1" "step":"two" "step":"3" ' ]
	tail -n 1 follow.txt | grep -q '"state":"completed"'
}

@test "logs --follow go on over retries, of one step where that is asked for, and end with a run that was killed" {
	workflow retry <<-'YAML'
		name: retry
		commands:
		  - { id: first, shell: "echo one" }
		  - { id: again, shell: "echo x >>began; [ $(wc -l <began) -ge 3 ] || { echo no; exit 7; }; until [ -e go ]; do sleep 0.02; done", retry: { delays: [10ms, 10ms], retry_on: [{ exit: 7 }] } }
	YAML
	begin workflow run retry.yaml
	until_true [ -e began ]
	local run=$pid follows
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow logs retry again -f >follow.txt 2>/dev/null </dev/null 3>&- &
	follows=$!
	until_true recorded "select 1 from attempts where key = 'again' and number = 2"
	touch go
	wait "$run"
	wait "$follows"
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.data.state == "completed" and all(r.step == "again" for r in e.data["items"])' follow.txt
	python3 "$ROOT/tests/cli/lib/envelope.py" expect '[r.attempt for r in e.data["items"]] == [1, 2, 3]' follow.txt
	rm began go
	three
	killed
	call workflow logs three -f
	envelope 0
	expect 'e.data.state == "interrupted" and e.data["items"][0].step == "1"'
	call workflow logs three -f --limit 3
	envelope 2
	call workflow logs three nowhere -f
	envelope 5
	on_pty workflow logs retry again -f
	grep -q '^== again, attempt 1: ' screen
	grep -q '^== again, attempt [0-9]*: ok' screen
}

# --- what a step prints while it runs ------------------------------------------------------------

# talking [LINE…]: a run whose step has printed "first", runs on until `go` is there, and prints "last"
talking() {
	cat >talk.yaml <<-'YAML'
		name: talk
		secrets: { WORD: { env: WORD } }
		commands:
		  - { id: short, shell: "echo soon over" }
		  - id: talk
		    shell: |
		      echo first; echo warned >&2; printf "it is s3cr"; sleep 0.4; echo "3t-v4lue, or not"; touch began
		      until [ -e go ]; do sleep 0.02; done
		      echo last
	YAML
	CLEAN_ENV+=(WORD=s3cr3t-v4lue)
	begin workflow run talk.yaml
	until_true [ -e began ]
}

# seen_live ARGS…: on a terminal; what it shows is in `live` at once
seen_live() {
	env -i "${CLEAN_ENV[@]}" TERM=xterm python3 -c '
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$RUNNER" "$@" </dev/null >live 3>&-
}

partial_logs() {
	find state/runner/logs -name '*.part*' 2>/dev/null
}

@test "logs --follow have each line while its step runs, without its secrets, and the whole attempt at its end" {
	talking
	local run=$pid follows
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow logs @last -f --stream >follow.txt 2>/dev/null </dev/null 3>&- &
	follows=$!
	until_true grep -q 'or not' follow.txt
	until_true grep -q 'warned' follow.txt
	[ "$(grep -c '"step":"talk".*"status"' follow.txt)" -eq 0 ]
	grep -q '"stream":"stderr","text":"warned\\n"' follow.txt
	grep -q '"it is \*\*\*, or not\\n"\|it is \*\*\*, or not\\n"' follow.txt
	call workflow logs @last talk
	expect 'e.data[0].partial is True and e.data[0].stdout == "first\nit is ***, or not\n" and e.data[0].stderr == "warned\n"'
	touch go
	wait "$run"
	wait "$follows"
	python3 - <<-'PYTHON'
		import json
		rows = [json.loads(line) for line in open("follow.txt")]
		pieces = [r for r in rows if r.get("step") == "talk" and "stream" in r]
		whole = [r for r in rows if r.get("step") == "talk" and "stream" not in r]
		assert len(whole) == 1 and rows.index(whole[0]) > rows.index(pieces[-1]), rows
		for stream in "stdout", "stderr":
		    assert "".join(r["text"] for r in pieces if r["stream"] == stream) == whole[0][stream], rows
		assert "partial" not in whole[0] and whole[0]["stdout"].endswith("last\n"), whole
		assert "s3cr" not in json.dumps(rows), rows
	PYTHON
	[ -z "$(partial_logs)" ]
}

@test "on a terminal logs --follow show each line once, with its step, and how the attempt ended" {
	talking
	local run=$pid follows
	seen_live workflow logs @last -f &
	follows=$!
	until_true grep -q '^talk: it is \*\*\*, or not' live
	touch go
	wait "$run"
	wait "$follows"
	tr -d '\r' <live >screen
	[ "$(grep -E '^(== )?talk' screen | sort)" = "$(printf '%s\n' '== talk, attempt 1: ok' 'talk: first' 'talk: it is ***, or not' 'talk: last' \
		'talk: warned' | sort)" ]
	[ "$(grep -n '^== talk' screen | cut -d: -f1)" -gt "$(grep -n '^talk: last' screen | cut -d: -f1)" ]
}

@test "what a step had printed is its log after kill -9, and after Ctrl+C" {
	talking
	until_true partially_logged 'or not'
	kill_all
	call workflow logs @last talk
	expect 'e.data[0].partial is True and e.data[0].stdout == "first\nit is ***, or not\n" and e.data[0].stderr == "warned\n"'
	[ "$(stat -c %a "$(partial_logs)")" = 600 ]
	rm began
	talking
	kill -INT "$pid"
	finish
	call workflow logs @last talk
	expect 'e.data[0].partial is True and "first\n" in e.data[0].stdout'
	! grep -rq s3cr state/runner/logs || false
	! grep -rq s3cr3t state || false
	call workflow rm @last --confirm-destructive --force
	envelope 0
	[ "$(partial_logs | wc -l)" -eq 1 ] # of the other run
}

partially_logged() {
	grep -qs "$1" state/runner/logs/*/*.part
}

@test "a partial log that can't be written costs nothing else" {
	mkdir -p state/runner
	: >state/runner/logs
	cat >talk.yaml <<-'YAML'
		name: talk
		commands: [ { id: talk, shell: "echo first; sleep 0.6; echo last" } ]
	YAML
	call workflow run talk.yaml
	envelope 0
	expect 'e.data.steps[0].output == "first\nlast" and [w.code for w in e.warnings] == ["LOG_FAILED"]'
}

@test "show --watch has the line that a step of another process printed last" {
	talking
	local run=$pid
	seen_live workflow show @last --watch &
	local watches=$!
	until_true grep -q 'talk.*or not' live
	touch go
	wait "$run"
	wait "$watches"
	! grep -q s3cr3t live || false
}

# --- completion -------------------------------------------------------------------------------

offers() {
	call completion bash --format plain -- workflow "$@"
	cut -f1 out.txt | tr '\n' ' '
}

@test "completion knows runs by workflow and by the end of an ID, and the steps of a run" {
	nested
	local id
	id=$(field e.data.id)
	[ "$(offers show "")" = "@last ${id: -8} small " ]
	[ "$(offers wait sm)" = "small " ]
	[ "$(offers show run_)" = "$id " ]
	[ "$(offers logs @last "")" = "checks all all.test all.style " ]
	[ "$(offers resume @last --mark-done che)" = "checks " ]
	[ -z "$(offers logs nothing "")" ]
	[ -z "$(offers run sm)" ] # files: the shell's
}
