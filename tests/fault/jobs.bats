#!/usr/bin/env bats
# Jobs under attack: killed at any moment, without room, without a terminal, by strangers. No job
# is believed running that isn't, none done that isn't, and none leaves a process behind.

load ../cli/lib/helper

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME" RUNNER_UNDER_TEST="$RUNNER")
	JOBS=$XDG_STATE_HOME/runner/jobs
	echo 'return {}' >runner.lua
	mkfifo gate
	body quick 'timeout = "5m",' <<'LUA'
		ctx:step "one"
		local f = io.open("runs/" .. ctx.request_id:sub(5), "w") f:close()
		return { done = true }
LUA
	body slow 'timeout = "5m",' <<'LUA'
		io.open("marker", "w"):close()
		io.open("gate"):close()
		return { answer = 42 }
LUA
	mkdir runs
}

clean_up() {
	local control
	rm -f gate
	for control in "$JOBS"/*/control; do
		[ ! -p "$control" ] || printf T 1<>"$control"
	done
	until_true no_process_left
	[ -z "${FULL:-}" ] || umount -l "$FULL"
}

no_process_left() {
	[ -z "$(processes_left)" ]
}

start() {
	answers 0 "$@" --detach
	id=$(field e.data.job_id)
}

# The supervisor of a job: it alone has the FIFO open.
supervisor_of() {
	find /proc/[0-9]*/fd -lname "$JOBS/$1/control" 2>/dev/null | sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p'
}

needs_tracing() {
	needs_strace
	[[ $RUNNER != *sanitize* ]] || skip "a leak checker can't be traced"
}

# Every job says what is true: it has ended, and only what ran to its end is complete.
every_job_is_honest() {
	local each
	until_true no_process_left
	answers 0 job list --limit 0
	expect 'all(j.status in ("complete", "lost") for j in e.data)'
	for each in $(field '" ".join(j.job_id for j in e.data if j.status == "complete")'); do
		[ -e "runs/${each#job_}" ]
		answers 0 job wait "$each"
		expect 'e.data == { "done": True }'
	done
}

@test "a job whose supervisor is killed is lost, and nothing of it runs on" {
	body tree 'timeout = "5m",' <<'LUA'
		ctx:log("last words")
		ctx:spawn{ "sh", "-c", "setsid sleep 1000 & sleep 1000" }
		io.open("marker", "w"):close()
		ctx:sleep("5m")
LUA
	start tree
	until_true [ -e marker ]
	kill -9 "$(supervisor_of "$id")"
	answers 1 job wait "$id"
	expect 'e.error.code == "JOB_LOST" and "last words" in e.error.detail and e.error.retryable is True and e.data.status == "lost"'
	assert_no_process_left
	answers 1 job status "$id"
	answers 0 job cancel "$id"
	expect 'e.data.status == "lost" and e.data.effect == "noop"'
}

@test "a lost job that may have changed something is not retryable" {
	command_file change <<'LUA'
return { description = "x", danger_level = "mutating", timeout = "none", run = function(_, ctx)
	io.open("marker", "w"):close() ctx:sleep("5m") end }
LUA
	start change
	until_true [ -e marker ]
	kill -9 "$(supervisor_of "$id")"
	answers 1 job wait "$id"
	expect 'e.error.code == "JOB_LOST" and e.error.retryable is False and e.error.side_effects == "partial"'
}

@test "the caller may be killed at any moment of the start" {
	local ms pid
	for ms in 0 5 10 15 20 25 30 35 40 50 60 80; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" quick --detach >/dev/null 2>&1 </dev/null 3>&- &
		pid=$!
		sleep "0.0$((ms / 10))$((ms % 10))"
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	every_job_is_honest
}

@test "whoever is killed at a call that makes, starts or ends a job leaves a true picture" {
	needs_tracing
	local call n
	for call in fsync rename flock pwrite64 ftruncate execve unlink mkdir; do
		for n in 1 2 3 4 5 6; do
			env -i "${CLEAN_ENV[@]}" strace -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:signal=SIGKILL:when=$n" \
				"$RUNNER" quick --detach >/dev/null 2>&1 </dev/null 3>&- || true
		done
	done
	every_job_is_honest
}

@test "a job that is asked to end while it starts hears it" {
	needs_tracing
	env -i "${CLEAN_ENV[@]}" strace -f -qq -o /dev/null -e trace=mknod,mknodat -e inject=mknod,mknodat:delay_exit=700000 \
		"$RUNNER" slow --detach >/dev/null 2>&1 </dev/null 3>&- &
	until_true compgen -G "$JOBS/*/control*" >/dev/null
	answers 0 job cancel @last
	expect 'e.data.status == "cancelled" and e.data.effect == "updated"'
	wait $!
}

# ended_at SIGNAL CALL WHEN FILE: a start is sent SIGNAL once a job has FILE, and comes back from the WHENth CALL after that
ended_at() {
	needs_tracing
	env -i --default-signal=INT "${CLEAN_ENV[@]}" strace -f -qq -o /dev/null -e "trace=$2" -e "inject=$2:delay_exit=1200000:when=$3" \
		"$RUNNER" slow --detach >out.txt 2>err.txt </dev/null 3>&- &
	local tracer=$!
	until_true compgen -G "$JOBS/*/$4" >/dev/null
	kill -"$1" "$(head -c 20 "/proc/$tracer/task/$tracer/children" | cut -d' ' -f1)"
	echo go >gate &
	wait "$tracer" && status=0 || status=$?
	# shellcheck disable=SC2034 # assert_envelope reads it
	stdout=$(<out.txt)
}

@test "a call that is ended while it starts its job names the job, which goes on" {
	local signal
	for signal in TERM INT; do
		ended_at "$signal" unlink,unlinkat 1 control
		assert_envelope
		expect "e.error.code == { 'TERM': 'INCOMPLETE', 'INT': 'CANCELLED' }['$signal'] and e.error.phase == 'execution'"
		id=$(field e.meta.job_id)
		answers 0 job wait "$id"
		expect 'e.data.answer == 42'
		rm -rf "$JOBS"
	done
}

@test "a call that is ended before it starts its job leaves none" {
	ended_at TERM rename 5 record.json
	expect 'e.error.code == "CANCELLED" and e.error.side_effects == "none" and "job_id" not in e.meta'
	answers 0 job list
	expect 'e.data == []'
	[ -z "$(ls -A "$JOBS")" ]
	: <gate # nobody else reads it
}

@test "fifty jobs at once each have their own answer" {
	local n pids=()
	for n in $(seq 50); do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" quick --detach >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	until_true no_process_left
	answers 0 job list --limit 0
	expect 'len(e.data) == 50 and all(j.status == "complete" for j in e.data)'
	[ "$(find runs -type f | wc -l)" -eq 50 ]
}

@test "a job survives the terminal, and who called it" {
	python3 - "$RUNNER" "${CLEAN_ENV[@]}" <<'PY'
import os, pty, signal, sys
pid, master = pty.fork()
if pid == 0:
    os.execve(sys.argv[1], [sys.argv[1], "slow", "--detach"], dict(v.split("=", 1) for v in sys.argv[2:]))
seen = b""
while b"wait_command" not in seen:
    seen += os.read(master, 65536)
os.close(master)
os.waitpid(pid, 0)
PY
	until_true [ -e marker ]
	answers 0 job list
	expect 'e.data[0].status == "running"'
	local inner
	inner=$(field 'e.data[0].job_id')
	: >gate
	answers 0 job wait "$inner"
	expect 'e.data.answer == 42'
}

@test "a deaf job is cancelled within its grace, with all that it started" {
	body deaf 'timeout = "5m", grace = "300ms",' <<'LUA'
		ctx:spawn{ "sh", "-c", "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; touch marker; sleep 1000' & while :; do sleep 1; done" }
		while true do pcall(ctx.sleep, ctx, "1s") end
LUA
	start deaf
	until_true [ -e marker ]
	answers 0 job cancel "$id"
	expect 'e.data.status == "cancelled"'
	assert_no_process_left
}

@test "a job that a run, a job or a workflow starts outlives it, and is no process left" {
	body outer 'timeout = "5m",' <<'LUA'
		local r = ctx:run{ os.getenv "RUNNER_UNDER_TEST", "slow", "--detach", "--format", "json" }
		return { id = r.stdout:match("job_%w+") }
LUA
	answers 0 outer
	expect 'e.warnings == []'
	local inner
	inner=$(field e.data.id)
	until_true [ -e marker ]
	answers 14 job status "$inner"
	: >gate
	answers 0 job wait "$inner"
	rm marker
	start outer
	answers 0 job wait "$id"
	inner=$(field e.data.id)
	until_true [ -e marker ]
	answers 14 job status "$inner"
	: >gate
	answers 0 job wait "$inner"
	rm marker
	printf 'name: w\nsteps:\n  - id: one\n    shell: "%s slow --detach --format json"\n' "$RUNNER" >w.yaml
	answers 0 workflow run w.yaml
	until_true [ -e marker ]
	answers 0 job list --status running
	expect 'len(e.data) == 1'
	inner=$(field 'e.data[0].job_id')
	: >gate
	answers 0 job wait "$inner"
}

@test "a full disk: no job starts without room; one that fills it keeps a short answer, and says so of a long one" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, for a small disk"
	mkdir state
	mount -t tmpfs -o size=256k none state 2>/dev/null || skip "can't mount here"
	FULL=$PWD/state
	body fill 'args = { { "bytes", "integer" } },' <<'LUA'
		local f = io.open(os.getenv("XDG_STATE_HOME") .. "/filler", "w")
		f:setvbuf "no"
		while f:write(("x"):rep(1024)) do end
		return { text = ("y"):rep(args.bytes) }
LUA
	start fill --bytes 10
	answers 0 job wait "$id"
	expect 'e.data.text == "y" * 10'
	rm state/filler
	start fill --bytes 200000
	answers 1 job wait "$id"
	expect 'e.error.code == "OUTPUT_FAILED" and "No space" in e.error.message and "exit code 0" in e.error.message'
	answers 12 quick --detach
	expect 'e.error.code == "RESOURCE_EXHAUSTED" and e.error.side_effects == "none"'
	[ "$(find "$JOBS" -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
}

@test "without a state directory, or with one that can't be written, no job starts" {
	answers 4 XDG_STATE_HOME= HOME= quick --detach
	expect 'e.error.code == "PRECONDITION" and "XDG_STATE_HOME" in e.error.suggestion'
	answers 4 XDG_STATE_HOME=/dev/null quick --detach
	[ -z "$(find runs -type f)" ]
}

@test "under tight limits a job starts or says why not" {
	local limit
	for limit in '-f 1' '-n 8' '-n 14' '-n 24' '-u 1' '-s 64' '-v 60000'; do
		status=0
		# shellcheck disable=SC2086 # two words
		(ulimit $limit 2>/dev/null; exec env -i "${CLEAN_ENV[@]}" "$RUNNER" quick --detach) >out.txt 2>err.txt </dev/null 3>&- || status=$?
		[ ! -s out.txt ] || assert_envelope
	done
	until_true no_process_left
	answers 0 job list --limit 0
	expect 'all(j.status != "running" for j in e.data)'
}

@test "RUNNER_JOB without the job's lock means nothing" {
	start quick
	answers 0 job wait "$id"
	answers 0 RUNNER_JOB="$JOBS/$id" quick
	expect 'e.data.done is True and "job_id" not in e.meta'
	answers 0 RUNNER_JOB="$JOBS/$id" quick 3<"$JOBS/$id/record.json"
	answers 0 RUNNER_JOB=/nowhere/job_1 quick
}

@test "another user sees no job of ours, and ends none" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be another user"
	start slow
	until_true [ -e marker ]
	chmod 711 state state/runner
	call_as 65534 job status "$id"
	[ "$status" -ne 14 ]
	[ "$status" -ne 0 ]
	assert_envelope
	call_as 65534 job cancel "$id"
	[ "$status" -ne 0 ]
	answers 14 job status "$id"
	: >gate
	answers 0 job wait "$id"
}

# log_is BYTES: that much of the job's stderr has been kept
log_is() {
	[ "$(stat -c %s "$JOBS/$id/log")" -eq "$1" ]
}

@test "a job that floods stderr keeps 64 MiB of it, and a flood of cancellations is one" {
	body flood 'timeout = "5m",' <<'LUA'
		ctx:run{ "sh", "-c", "head -c 70000000 /dev/zero | tr '\\0' x >&2", capture = false }
		io.open("marker", "w"):close()
		io.open("gate"):close()
LUA
	start flood
	until_true [ -e marker ]
	until_true log_is 67108864
	head -c 5000 /dev/zero 1<>"$JOBS/$id/control"
	answers 143 job wait "$id"
	assert_no_process_left
}
