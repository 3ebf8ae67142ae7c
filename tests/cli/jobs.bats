#!/usr/bin/env bats
# Jobs: --detach makes a call go on without its caller, and runner job looks after it.

load lib/helper

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	JOBS=$XDG_STATE_HOME/runner/jobs
	echo 'return {}' >runner.lua
	mkfifo gate
}

# What a failed test left running waits at the gate: open it, so that everything ends.
clean_up() {
	rm -f gate
	local control
	for control in "$JOBS"/*/control; do
		[ ! -p "$control" ] || printf T 1<>"$control"
	done
	until_true no_process_left
}

no_process_left() {
	[ -z "$(processes_left)" ]
}

# gated NAME [KEYS…]: it says that it has begun, and goes on when something is written to the gate
gated() {
	local name=$1
	shift
	body "$name" 'timeout = "5m",' "$@" <<'LUA'
		ctx:log("begun")
		ctx:progress{ done = 1, total = 2 }
		io.open("marker", "w"):close()
		io.open("gate"):close()
		ctx:progress{ done = 2, total = 2 }
		return { answer = 42 }
LUA
}

# start ARGS…: a job; its id in $id
start() {
	answers 0 "$@" --detach
	id=$(field e.data.job_id)
}

# the job that was started last, for a call that printed no envelope
newest() {
	answers 0 job list --limit 1
	id=$(field 'e.data[0].job_id')
}

open_gate() {
	: >gate # whoever waits there opens it, and reads nothing
}

@test "REQ-F-081 a detached call answers at once with its job, whose answer is kept" {
	gated slow
	start slow
	expect 'e.data.status == "running" and e.data.terminal is False and e.data.timeout_ms == 300000'
	expect 'e.meta.job_id == e.data.job_id and e.meta.request_id[4:] == e.data.job_id[4:]'
	answers 0 job wait "$id" --until done:1
	until_true [ -e marker ]
	answers 14 job status "$id"
	expect 'e.error.code == "INCOMPLETE" and e.data.state == "running" and e.data.progress == { "done": 1, "total": 2 }'
	expect "e.data.continue_command == 'runner job wait $id'"
	open_gate
	answers 0 job wait "$id"
	expect "e.data == { 'answer': 42 } and e.meta.job.job_id == '$id' and e.meta.job.exit_code == 0"
	answers 0 job status "$id"
	expect 'e.data.status == "complete" and e.data.terminal is True and e.data.exit_code == 0'
	answers 0 job logs "$id"
	expect 'len(e.data["items"]) == 1 and "begun" in e.data["items"][0].line'
}

@test "REQ-C-022 the commands of a descriptor run as they stand" {
	gated slow
	start slow
	local verb command
	until_true [ -e marker ]
	for verb in status cancel wait; do
		command=$(field "e.data.${verb}_command")
		[ "$command" = "runner job $verb $id" ]
	done
	answers 0 job cancel "$id"
	expect 'e.data.status == "cancelled" and e.data.effect == "updated"'
	answers 4 job status "$id"
	expect 'e.error.code == "JOB_FAILED" and e.data.status == "cancelled"'
	answers 143 job wait "$id"
	expect 'e.error.code == "CANCELLED"'
	answers 5 job status job_0000000000
	expect 'e.error.code == "NOT_FOUND"'
	answers 0 job cancel "$id"
	expect 'e.data.effect == "noop"'
}

@test "the files of a job are its user's alone, and a job leaves neither arguments nor input behind" {
	body secret 'args = { { "token", "string", secret = true } }, timeout = "5m",' <<'LUA'
		ctx:log("token is " .. args.token)
		io.open("marker", "w"):close()
		io.open("gate"):close()
		error("no " .. args.token)
LUA
	printf s3cretvalue >secret.txt
	start secret --token-from-file secret.txt
	until_true [ -e marker ]
	[ -z "$(find "$JOBS" -perm /077)" ]
	[ ! -e "$JOBS/$id/input" ]
	[ -n "$(processes_left)" ]
	[ -z "$(processes_left | sed 's/environ$/cmdline/' | xargs grep -la s3cretvalue)" ]
	open_gate
	answers 1 job wait "$id"
	expect '"s3cretvalue" not in str(e) and e.error.code == "INTERNAL_ERROR"'
	run grep -rq s3cretvalue "$JOBS"
	[ "$status" -eq 1 ]
}

@test "what is wrong with a call is said by the call, and there is no job" {
	gated slow 'args = { { "n", "integer" } },'
	answers 2 slow --detach --n many
	answers 2 nothing --detach
	[ ! -e "$JOBS" ] || [ -z "$(ls "$JOBS")" ]
}

@test "a destructive job needs its confirmation first, and a dry run is no job" {
	command_file wipe <<'LUA'
return { description = "x", danger_level = "destructive", dry_run = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx)
		if not ctx.dry_run then io.open("ran", "w"):close() end
		return { effect = "deleted" }
	end }
LUA
	answers 2 wipe --detach
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	answers 0 wipe --detach --dry-run
	expect 'e.meta.dry_run is True and "job_id" not in e.meta'
	[ ! -e ran ]
	start wipe --confirm-destructive
	answers 0 job wait "$id"
	expect 'e.data.effect == "deleted" and e.meta.job.confirmed is True'
	[ -e ran ]
}

@test "a job reads the data and the arguments that its caller gave on stdin, secrets too" {
	body count 'stdin = { type = "json" }, args = { { "n", "integer" }, { "token", "string", secret = true } },' \
		<<<'return { n = args.n or false, input = ctx.input or false, known = args.token == "s3cretvalue" }'
	given() {
		local input=$1
		shift
		env -i "${CLEAN_ENV[@]}" "$RUNNER" "$@" --format json --detach >out.txt 2>err.txt <<<"$input"
		stdout=$(<out.txt)
		id=$(field e.data.job_id)
		status=0
		call job wait "$id"
		[ "$status" -eq 0 ]
	}
	given '[7]' count --input-file -
	expect 'e.data == { "n": False, "input": [7], "known": False }'
	given '[8]' count
	expect 'e.data["input"] == [8]'
	body count 'args = { { "n", "integer" }, { "token", "string", secret = true } },' <<<'return { n = args.n, known = args.token == "s3cretvalue" }'
	given '{ "n": 3, "token": "s3cretvalue" }' count --input-file -
	expect 'e.data == { "n": 3, "known": True }'
	run grep -rq s3cretvalue "$JOBS"
	[ "$status" -eq 1 ]
}

@test "a job reads the stdin that its caller gave it, and its caller's pipe is free" {
	body count 'stdin = true,' <<<'local n = 0 for _ in io.lines() do n = n + 1 end return { lines = n }'
	seq 100000 | env -i "${CLEAN_ENV[@]}" "$RUNNER" count --detach >out.txt
	status=0
	id=$(field e.data.job_id)
	answers 0 job wait "$id"
	expect 'e.data.lines == 100000'
}

@test "nobody waits for the stdin of somebody else's job" {
	body count 'timeout = "5m", stdin = true, interruption = { detach = true },' <<<'return { text = io.read("a") }'
	body other 'timeout = "5m", interruption = { detach = true },' <<<'return { other = true }'
	mkfifo input
	env -i "${CLEAN_ENV[@]}" "$RUNNER" count --budget 1m >count.txt 2>&1 <input 3>&- &
	local pid=$!
	exec 5>input
	until_true compgen -G "$JOBS/*/input" >/dev/null
	answers 0 other --budget 1m
	expect 'e.data.other'
	kill -0 "$pid"
	exec 5>&-
	wait "$pid" || true
}

@test "a job works where it was called, with --cwd once, and with its caller's environment" {
	mkdir -p sub/commands
	echo 'return {}' >sub/runner.lua
	cp commands/*.lua sub/commands/ 2>/dev/null || true
	cat >sub/commands/where.lua <<'LUA'
return { description = "x", danger_level = "safe", run = function()
	return { cwd = io.popen("pwd"):read(), own = os.getenv "OWN", job = os.getenv "RUNNER_JOB", deadline = os.getenv "RUNNER_OUTER_RETRIES" }
end }
LUA
	answers 0 OWN=mine --cwd sub where --detach
	id=$(field e.data.job_id)
	answers 0 job wait "$id"
	expect "e.data == { 'cwd': '$PWD/sub', 'own': 'mine' }"
}

@test "job wait repeats the whole answer of a failure: code, exit status, hints, data, warnings" {
	body fails 'exit_codes = { NO_FUEL = { code = 93, retryable = true, side_effects = "none", description = "x" } },' <<'LUA'
		ctx:warn("LOW", "low on fuel", { left = 1 })
		ctx:fail("NO_FUEL", "none left", { retry_after_ms = 1500, context = { tank = 2 }, suggestion = "refuel", data = { km = 7 } })
LUA
	start fails
	answers 93 job wait "$id"
	expect 'e.error.code == "NO_FUEL" and e.error.retryable is True and e.error.retry_after_ms == 1500'
	expect 'e.error.context == { "tank": 2 } and e.error.suggestion == "refuel" and e.data.km == 7'
	expect 'e.warnings == [{ "code": "LOW", "message": "low on fuel", "context": { "left": 1 } }]'
	answers 4 job status "$id"
	expect 'e.data.status == "failed" and e.data.exit_code == 93'
}

@test "job wait --for gives up after that time, and --until when its condition holds" {
	body steps 'timeout = "5m", steps = { "one", "two" },' <<'LUA'
		ctx:step "one"
		ctx:step "two"
		ctx:progress{ done = 5 }
		io.open("marker", "w"):close()
		io.open("gate"):close()
		return { fine = true }
LUA
	start steps
	answers 0 job wait "$id" --until started
	answers 0 job wait "$id" --until step:one
	expect 'e.data.status == "running" and e.data.completed_steps == ["one"]'
	answers 0 job wait "$id" --until done:5
	answers 14 job wait "$id" --for 50ms
	expect "e.error.code == 'INCOMPLETE' and e.error.retryable is True and e.data.continue_command == 'runner job wait $id --for 50ms'"
	answers 14 AGENT_CALL_BUDGET_MS=50 job wait "$id"
	answers 14 job wait "$id" --until done:6 --for 50ms
	answers 2 job wait "$id" --until noon
	open_gate
	answers 4 job wait "$id" --until done:6
	expect 'e.error.code == "JOB_FAILED" and e.data.status == "complete"'
	answers 0 job wait "$id" --until ended
	expect 'e.data == { "fine": True }'
}

@test "REQ-F-081 a job whose progress stands still ends as STALLED, whatever else it says" {
	# (long enough for it to have begun, where the machine stands still for a moment)
	body still 'interruption = { detach = true, idle_timeout_ms = 4000 },' \
		<<<'while true do ctx:log("busy") ctx:progress{ done = 1 } ctx:sleep "50ms" end'
	answers 10 still --budget 1m
	expect 'e.error.code == "STALLED" and e.error.context.limit == "stall" and e.error.message == "Command exceeded limit for progress of 4000ms"'
	expect 'e.data.progress == {"done": 1} and e.meta.job.exit_code == 10'
	body moves 'interruption = { detach = true, idle_timeout_ms = 3000 },' \
		<<<'for i = 1, 35 do ctx:progress{ done = i } ctx:sleep "100ms" end return { done = true }'
	tries 4 answers 0 moves --budget 1m
}

@test "job wait sleeps until the kernel wakes it: it looks neither while nothing happens nor late" {
	command -v strace >/dev/null || skip "no strace"
	gated slow
	start slow
	until_true [ -e marker ]
	strace -f -qq -e trace=flock -o looks.txt env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 "$RUNNER" job wait "$id" --until done:2 >out.txt 2>err.txt </dev/null 3>&- &
	helper_pid=$!
	until_true grep -q LOCK_SH looks.txt
	local before=$SECONDS
	sleep 1
	[ "$(grep -c LOCK_SH looks.txt)" -le $((5 + 2 * (SECONDS - before))) ]
	open_gate
	wait "$helper_pid"
	helper_pid=
	answers 0 job wait "$id"
}

@test "job logs --follow passes lines on while the job runs, and ends with it" {
	gated slow
	start slow
	until_true [ -e marker ]
	env -i "${CLEAN_ENV[@]}" "$RUNNER" job logs "$id" --follow --stream >lines.txt 2>/dev/null 3>&- &
	until_true grep -q begun lines.txt
	open_gate
	wait $!
	tail -n 1 lines.txt | grep -q '"status":"complete"'
}

@test "job list is a list: newest first, by status, in pages; a unique prefix names a job" {
	gated slow
	body quick <<<'return {}'
	start quick
	local first=$id
	answers 0 job wait "$first"
	start slow
	answers 0 job list
	expect "[j.job_id for j in e.data] == ['$id', '$first'] and e.data[0].status == 'running'"
	answers 0 job list --status complete --fields job_id
	expect "e.data == [{ 'job_id': '$first' }]"
	answers 0 job list --limit 1
	expect 'len(e.data) == 1 and e.meta.pagination.has_more is True'
	answers 6 job status job_0
	expect 'e.error.code == "CONFLICT"'
	answers 0 job status "${first:4:26}"
	open_gate
	answers 0 job wait "$id"
}

@test "a project's own job command goes first; the descriptor then names runner's" {
	gated slow
	mkdir commands/job
	body job/wait <<<'return { mine = true }'
	start slow
	expect "e.data.wait_command == 'runner self job wait $id' and e.data.status_command == 'runner job status $id'"
	open_gate
	answers 0 self job wait "$id"
	expect 'e.data.answer == 42'
	answers 0 job wait
	expect 'e.data == { "mine": True }'
}

@test "an argument of a command may be named detach" {
	body own 'args = { { "detach", "string" } },' <<<'return { detach = args.detach }'
	answers 0 own --detach yes
	expect 'e.data == { "detach": "yes" }'
	answers 0 own --runner-detach --detach x
	id=$(field e.data.job_id)
	answers 0 job wait "$id"
	expect 'e.data == { "detach": "x" }'
}

@test "a job takes over retries and limits: the call that starts it has neither" {
	command_of flaky "retry = { retries = 3, delay = '1ms' }," <<<'if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "not yet") end return { attempt = ctx.attempt }'
	start flaky
	answers 0 job wait "$id"
	expect 'e.data.attempt == 3 and e.meta.job.retries == 2'
	[ "$(<runs)" = "1 2 3 " ]
	body hangs 'timeout = "200ms", grace = "100ms",' <<<'while true do end'
	start hangs
	answers 10 job wait "$id"
	expect 'e.error.code == "TIMEOUT"'
}

@test "a call that only starts a job has time for it, however short the job's limit is and however slow the machine" {
	command_of slow 'timeout = "50ms", grace = "100ms",' <<<'while true do end'
	sed -i '1i local over = os.clock() + 0.1 while os.clock() < over do end' commands/slow.lua
	CLEAN_ENV+=(RUNNER_LOAD_TIMEOUT=2m)
	start slow
	expect 'e.data.job_id'
	answers 10 job wait "$id"
	expect 'e.error.code == "TIMEOUT"'
}

@test "what the call says of its answer is for the job's: --output, --fields, --format, --stream" {
	body rows 'streams = true, columns = { "n" },' <<<'for n = 1, 3 do ctx:emit{ n = n, m = 2 * n } end return { last = 3 }'
	call rows --stream --detach
	newest
	answers 0 job wait "$id"
	expect 'e.data == { "items": [{ "n": 1, "m": 2 }, { "n": 2, "m": 4 }, { "n": 3, "m": 6 }], "last": 3 }'
	body table 'columns = { "n" }, rows = true,' <<<'return { { n = 1 }, { n = 2 } }'
	call table --output out.tsv --format tsv --detach
	newest
	answers 0 job wait "$id"
	[ "$(<out.tsv)" = $'n\n1\n2' ]
	call table --fields n --format plain --detach
	newest
	answers 0 job wait "$id"
	expect 'e.data == [{ "n": 1 }, { "n": 2 }]'
}

@test "a job takes its idempotency key, and a later call gets the job's data" {
	command_file add <<'LUA'
return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() return { effect = "created", id = 7 } end }
LUA
	start add --idempotency-key k1
	answers 0 job wait "$id"
	expect 'e.data.effect == "created"'
	answers 0 add --idempotency-key k1
	expect 'e.data == { "effect": "noop", "id": 7 } and e.meta.idempotency_hit is True'
}

@test "REQ-F-081 TERM ends the wait for a budget and not the work: the call answers as at its end" {
	gated slow 'interruption = { detach = true },'
	cancel TERM slow --budget 4m
	[ "$status" -eq 14 ]
	assert_envelope
	id=$(field e.meta.job_id)
	expect "e.error.code == 'INCOMPLETE' and e.error.retryable is True and e.error.suggestion == 'The job goes on: runner job wait $id'"
	expect "e.data.state == 'running' and e.data.continue_command == 'runner job wait $id --for 4m' and 'cancel_command' in e.data"
	# it waits for the same job; a signal that comes before it has a worker may be before its handler, too
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" slow --budget 4m >out.txt 2>err.txt </dev/null 3>&- &
	local waits=$!
	until_true grep -q . "/proc/$waits/task/$waits/children"
	kill -INT "$waits"
	status=0
	wait "$waits" || status=$?
	[ "$status" -eq 130 ]
	answers 14 job status "$id"
	open_gate
	answers 0 job wait "$id"
}

@test "of two calls with a budget at once one starts the job, and both wait for it" {
	gated slow 'interruption = { detach = true },'
	local n pids=()
	for n in 1 2 3 4; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" slow --budget 2s >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	[ "$(grep -ho '"job_id":"job_[0-9A-Z]*"' out.? | sort -u | wc -l)" -eq 1 ]
	answers 0 job list
	expect 'len(e.data) == 1'
	id=$(field 'e.data[0].job_id')
	open_gate
	answers 0 job wait "$id"
}

@test "a job goes on when its caller is killed while it waits" {
	gated slow 'interruption = { detach = true },'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow --budget 4m >/dev/null 2>&1 </dev/null 3>&- &
	until_true [ -e marker ]
	kill -9 $!
	wait $! || true
	newest
	answers 14 job status "$id"
	open_gate
	answers 0 job wait "$id"
	expect 'e.data.answer == 42'
}

@test "ctx:call starts a job with arguments that no command line shows" {
	body inner 'args = { { "token", "string", secret = true } },' <<'LUA'
		io.open("marker", "w"):close()
		io.open("gate"):close()
		return { length = #args.token }
LUA
	body outer <<<'return { id = ctx:call("inner", { token = "s3cretvalue", detach = true }).job_id }'
	answers 0 outer
	id=$(field e.data.id)
	until_true [ -e marker ]
	[ -z "$(processes_left | sed 's/environ$/cmdline/' | xargs grep -la s3cretvalue)" ]
	open_gate
	answers 0 job wait "$id"
	expect 'e.data.length == 11'
}

@test "a yes at the terminal is the job's, and a person has a budget only by asking for one" {
	local each
	for each in a_job_is_confirmed_before_it_starts a_person_has_a_budget_only_by_asking_for_it; do
		RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" "$each"
	done
}

@test "completion knows the commands of jobs and their IDs" {
	body quick <<<'return {}'
	start quick
	answers 0 job wait "$id"
	call completion bash --format plain -- job wai
	[[ $stdout == wait* ]]
	call completion bash --format plain -- job wait job_
	[[ $stdout == "$id"* ]]
	call completion bash --format plain -- quick --det
	[[ $stdout == --detach* ]]
}

@test "workflow run --detach names the run, which has the id that it says" {
	printf 'name: w\nsteps:\n  - id: one\n    shell: echo done\n' >w.yaml
	answers 0 workflow run w.yaml --detach
	id=$(field e.data.job_id)
	local run
	run=$(field e.data.run)
	[ "${run#run_}" = "${id#job_}" ]
	answers 0 job wait "$id"
	expect "e.data.state == 'completed' and e.data.id == '$run'"
	answers 0 workflow show "$run"
}

job_has_begun() {
	[ -s "$(find "$JOBS" -name progress)" ]
}

@test "workflow run --detach answers when its run can be asked for, and not before" {
	printf 'name: w\nsteps:\n  - id: one\n    shell: echo done\n' >w.yaml
	answers 0 workflow run w.yaml
	python3 - "$(find state -name '*.db')" <<-'PY' 3>&- &
		import os, sqlite3, sys, time
		db = sqlite3.connect(sys.argv[1], isolation_level=None)
		db.execute("begin immediate")
		open("held", "w").close()
		while not os.path.exists("go"):
		    time.sleep(0.01)
		db.execute("rollback")
	PY
	helper_pid=$!
	until_true [ -e held ]
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow run w.yaml --detach >out.txt 2>err.txt </dev/null 3>&- &
	local front=$!
	until_true job_has_begun
	sleep 0.3
	[ ! -s out.txt ]
	touch go
	wait "$front" "$helper_pid"
	helper_pid=
	status=0
	stdout=$(<out.txt)
	assert_envelope
	answers 0 workflow show "$(field e.data.run)"
	answers 0 job wait "$(basename "$JOBS"/job_*)"
}

@test "jobs of yesterday are removed when the next one starts; what runs is not" {
	gated slow
	body quick <<<'return {}'
	start quick
	local old=$id
	answers 0 job wait "$old"
	start slow
	until_true [ -e marker ] # it writes no file while it waits
	touch -d '2 days ago' "$JOBS"/*/* "$JOBS"/*
	start quick
	[ ! -e "$JOBS/$old" ]
	answers 0 job wait "$id"
	answers 0 job list --status running
	expect 'len(e.data) == 1'
	open_gate
}

@test "REQ-F-080 a call answers within its budget, and the job goes on" {
	gated slow 'interruption = { detach = true },'
	answers 14 slow --budget 300ms
	expect 'e.error.code == "INCOMPLETE" and e.error.retryable is True and e.error.side_effects == "none" and e.meta.budget_ms == 300'
	expect 'e.data.state == "running" and e.data.continue_command.endswith(" --for 300ms")'
	[ "$elapsed_ms" -ge 300 ]
	assert_at_once 300
	id=$(field e.data.job_id)
	answers 14 AGENT_CALL_BUDGET_MS=200 slow
	expect "e.meta.budget_ms == 200 and e.data.job_id == '$id'"
	assert_at_once 200
	open_gate
	answers 0 job wait "$id"
	expect 'e.data == { "answer": 42 }'
}

@test "REQ-F-080 a budget is for commands that declare it, of the flag before the variable; 0 waits" {
	body plain <<<'return { at = 1 }'
	body deep 'interruption = { detach = true },' <<<'ctx:sleep("300ms") return { at = 2 }'
	answers 2 plain --budget 1s
	answers 0 AGENT_CALL_BUDGET_MS=1 plain
	expect '"budget_ms" not in e.meta'
	answers 0 AGENT_CALL_BUDGET_MS=1 deep --budget 0
	expect 'e.meta.budget_ms == 0 and e.data.at == 2 and "job_id" not in e.meta'
	answers 0 AGENT_CALL_BUDGET_MS=1 deep --budget 60s
	expect 'e.meta.budget_ms == 60000 and e.data.at == 2 and e.meta.timeout_ms == 3600000'
	answers 0 deep --no-detach
	expect '"job_id" not in e.meta'
}

@test "a job whose answer is there has ended, though its last process has not" {
	body work 'interruption = { detach = true },' <<<'ctx:fail("UNAVAILABLE", "gone")'
	start work
	answers 12 job wait "$id"
	exec 7<"$JOBS/$id/lock"
	flock -x 7 # as its supervisor holds it until it is gone
	answers 12 job wait "$id" --for 50ms
	expect 'e.error.code == "UNAVAILABLE"'
	answers 4 job status "$id"
	expect 'e.data.status == "failed" and e.data.terminal'
	exec 7<&-
}

@test "REQ-F-082 repeating continue_command ends in what the call would have answered" {
	body work 'timeout = "5m", interruption = { detach = true }, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' <<'LUA'
		while not io.open "go" do ctx:sleep "20ms" end
		for i = 1, 6 do ctx:progress{ done = i, total = 6 } ctx:sleep("500ms") end
		ctx:fail("UNAVAILABLE", "gone", { data = { got = 6 } })
LUA
	sed -i 's/"safe"/"mutating"/' commands/work.lua
	answers 14 work --budget 100ms
	touch go
	expect 'e.error.retryable is False and e.error.side_effects == "partial"'
	local before=0 now
	while [ "$status" -eq 14 ]; do
		now=$(field 'e.data.get("progress", {}).get("done", 0)')
		[ "$now" -ge "$before" ]
		before=$now
		# shellcheck disable=SC2046 # it is a command line
		call $(field 'e.data.continue_command[7:]')
	done
	[ "$status" -eq 12 ]
	expect 'e.error.code == "UNAVAILABLE" and e.data.got == 6'
}

@test "REQ-C-022 every call of an async command is a job, and the manifest has its schema" {
	gated far 'async = true,'
	answers 0 far
	id=$(field e.data.job_id)
	expect 'e.data.status == "running"'
	open_gate
	answers 0 job wait "$id"
	expect 'e.data == { "answer": 42 }'
	answers 0 manifest far
	expect 'e.data.commands.far["async"] is True and "job_id" in e.data.commands.far.job_descriptor_schema.required'
}

@test "REQ-C-033 interruption is checked when a file loads, and the manifest shows it" {
	local keys
	for keys in 'interruption = {}' 'interruption = { detach = false }' 'interruption = { detach = true, resume = 0 }' \
		'interruption = { detach = true }, async = true' 'interruption = { detach = true }, streams = true' \
		'interruption = { detach = true, idle_timeout_ms = 0 }' 'interruption = { detach = true }, interactive = true'; do
		body wrong "$keys," <<<'return {}'
		answers 4 wrong
		expect 'e.error.code == "COMMAND_INVALID"'
	done
	rm commands/wrong.lua
	body right 'interruption = { detach = true },' <<<'return {}'
	answers 0 manifest right
	expect 'e.data.commands.right.interruption.detach is True and e.data.commands.right.exit_codes["14"].retryable is True'
	expect '"budget" in e.data.commands.right.flags'
}

@test "a HOME that isn't there is not made: what needs a place for state says so" {
	body work <<<'return { done = true }'
	printf 'steps:\n  - shell: touch ran\n' >w.yaml
	local row
	for row in 'work --detach' 'workflow run w.yaml' 'job list'; do
		# shellcheck disable=SC2086 # words
		answers 4 XDG_STATE_HOME= HOME="$PWD/home" $row
		expect 'e.error.code == "PRECONDITION" and "HOME is no directory" in e.error.message and e.error.suggestion'
	done
	answers 0 XDG_STATE_HOME= HOME="$PWD/home" work
	[ ! -e home ]
	[ ! -e ran ]
	mkdir home
	answers 0 XDG_STATE_HOME= HOME="$PWD/home" workflow run w.yaml
	[ -e home/.local/state/runner/runs.db ]
}
