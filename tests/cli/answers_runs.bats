#!/usr/bin/env bats
# What a run does to its machine and its readers, as an agent relies on it: one test for each
# requirement of the CLI Agent Spec that no other file proves. tests/fault has the hostile cases.

load lib/helper

# All processes below one, as the kernel lists them.
descendants() {
	local child
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		echo "$child" "$(descendants "$child")"
	done | tr '\n' ' '
}

@test "REQ-F-014 a reader that leaves after the first row: status 0, nothing on stderr" {
	body rows 'rows = true,' <<-'LUA'
		local out = {}
		for i = 1, 20000 do out[i] = { n = i, text = ("x"):rep(100) } end
		return out
	LUA
	env -i "${CLEAN_ENV[@]}" bash -c '"$0" rows --format jsonl 2>err.txt | head -1 >first.txt; echo "${PIPESTATUS[0]}"' "$RUNNER" >codes.txt
	[ "$(<codes.txt)" = 0 ]
	[ ! -s err.txt ]
	[ "$(wc -l <first.txt)" -eq 1 ]
	[ "$(wc -c <first.txt)" -lt 1000 ]
}

@test "REQ-F-014 a program that runner starts dies of SIGPIPE as it would anywhere" {
	body pipe <<<'return ctx:run{ "sh", "-c", "grep SigIgn /proc/self/status" }.stdout'
	answers 0 pipe
	expect 'int(e.data["value"].split()[1], 16) & 1 << 12 == 0'
}

@test "REQ-F-016 bytes that are no UTF-8 become U+FFFD, with one warning" {
	body bytes <<<'return { name = "caf\xe9", nul = "a\0b", fine = "é" }'
	answers 0 bytes
	expect 'e.data.name == "caf\ufffd" and e.data.fine == "é" and "\0" not in e.data.nul'
	expect '[w.code for w in e.warnings] == ["STRING_REPAIRED"]'
}

@test "REQ-F-030 the kernel's list of children has every program while it runs, TERM reaches them, and none is left" {
	body tree <<-'LUA'
		ctx:spawn{ "sh", "-c", "trap 'echo term >>log.1; exit' TERM; echo $$ >pid.1; while :; do sleep 0.05; done" }
		ctx:run{ "sh", "-c", "trap 'echo term >>log.2; exit' TERM; echo $$ >pid.2; touch marker; while :; do sleep 0.05; done" }
	LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" tree >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$! listed
	until_true [ -e marker ]
	until_true [ -s pid.1 ]
	listed=" $(descendants "$pid") "
	[[ $listed == *" $(<pid.1) "* ]]
	[[ $listed == *" $(<pid.2) "* ]]
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 143 ]
	[ -s log.1 ]
	[ -s log.2 ]
	[ ! -e "/proc/$(<pid.1)" ]
	[ ! -e "/proc/$(<pid.2)" ]
	stdout=$(<out.txt)
	assert_envelope
	expect '"session_pid_file" not in e.meta'
}

@test "REQ-F-031 a program gets TERM first, KILL after the grace, and the answer comes last" {
	body stubborn <<-'LUA'
		ctx:run{ "sh", "-c", "trap 'echo term >>log' TERM; touch marker; while :; do sleep 0.05; done" }
	LUA
	cancel TERM stubborn --grace 300ms
	[ "$status" -eq 143 ]
	stdout=$(<out.txt)
	assert_envelope
	grep -q term log
	assert_no_process_left
}

@test "REQ-F-049 what a command leaves behind is ended before the answer, and named" {
	body leaves <<<'os.execute("sleep 300 & ")'
	answers 0 leaves
	expect '[w.code for w in e.warnings] == ["PROCESS_LEFT"]'
	assert_no_process_left
}

@test "REQ-F-033 a held lock says who holds it, since when, and when to try again" {
	body hold <<<'ctx:lock("db") io.open("marker", "w"):close() ctx:sleep(30)'
	body take <<<'ctx:lock("db", { wait = "50ms" })'
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD" "$RUNNER" hold >/dev/null 2>&1 </dev/null 3>&- &
	local holder=$!
	until_true [ -e marker ]
	answers 4 XDG_STATE_HOME="$PWD" take
	assert_at_once 50
	expect 'e.error.code == "LOCK_HELD" and e.error.retryable is True and e.error.retry_after_ms > 0'
	expect 'e.error.context.holder_pid > 1 and e.error.context.holder_age_ms >= 0 and e.error.context.lock_file'
	kill "$holder"
	wait "$holder" || true
	answers 0 XDG_STATE_HOME="$PWD" take
}

# How often the traced call has gone to sleep for a second, should nothing wake it.
long_sleeps() {
	grep -cE 'ppoll\(.*, 2, \{tv_sec=(1|0, tv_nsec=9[0-9]{8})' trace.txt
}

sleeps_long() {
	[ "$(long_sleeps)" -ge 2 ]
}

# (a limit that the start alone takes leaves no time to wait)
told_before_the_limit() {
	answers 4 take --timeout "$((300 * 8 ** (nth - 1)))ms"
}

@test "who waits for a lock sleeps until it is free; a limit and Ctrl+C end the wait" {
	command -v strace >/dev/null || skip "needs strace"
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD")
	body hold <<<'ctx:lock("db") io.open("held", "w"):close() while not io.open "go" do ctx:sleep("20ms") end'
	body take <<<'io.open("waits", "w"):close() ctx:lock("db", { wait = "1h" }) return { has = true }'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" hold --timeout 0 >/dev/null 2>&1 </dev/null 3>&- &
	local holder=$! waiter
	until_true [ -e held ]
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e trace=flock,ppoll -o trace.txt "$RUNNER" take --timeout 0 \
		>traced.txt 2>&1 </dev/null 3>&- &
	waiter=$!
	until_true sleeps_long # who looks every few ms never does
	[ "$(grep -c flock trace.txt)" -le $((30 + 3 * $(long_sleeps))) ]
	tries 3 told_before_the_limit
	expect 'e.error.code == "LOCK_HELD"'
	rm -f waits
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" take --timeout 0 >out.txt 2>err.txt </dev/null 3>&- &
	until_true [ -e waits ]
	kill -INT $!
	status=0
	wait $! || status=$?
	[ "$status" -eq 130 ]
	touch go
	wait "$waiter"
	grep -q '"has":true' traced.txt
	wait "$holder"
}

@test "REQ-F-041 a command can't change its directory; a program has one of its own" {
	mkdir elsewhere
	body here <<-'LUA'
		local before = ctx:run{ "pwd" }.stdout
		local there = ctx:run{ "pwd", cwd = "elsewhere" }.stdout
		return { same = ctx:run{ "pwd" }.stdout == before, there = there, os = os.chdir == nil, fs = (require "fs").chdir == nil }
	LUA
	answers 0 here
	expect 'e.data.same and e.data.os and e.data.fs'
	expect "e.data.there.strip() == '$PWD/elsewhere' and e.meta.cwd == '$PWD'"
	body tries <<<'ctx.fs.chdir("elsewhere")'
	answers 1 tries
}

@test "REQ-F-071 a program inherits 0, 1 and 2, and nothing else" {
	body fds <<<'return ctx:run{ "sh", "-c", "echo /proc/self/fd/*" }.stdout'
	exec 7<"$BATS_TEST_FILENAME"
	answers 0 fds
	exec 7<&-
	expect '[p.split("/")[-1] for p in e.data["value"].split()] in (["0", "1", "2"], ["0", "1", "2", "3"])'
}

@test "REQ-F-072 lines end in LF on both streams" {
	body ends <<<'ctx:log("warn", "one\r\ntwo\r") return { text = "a\r\nb\r" }'
	local args
	for args in ends "ends --format plain" "ends --help" "ends --bogus" --help; do
		# shellcheck disable=SC2086
		call $args
		[ "$(cat out.txt err.txt | grep -c $'\r' || true)" -eq 0 ]
	done
}

@test "REQ-F-076 REQ-F-077 the first run is as any other: nothing is initialised, nothing is sent" {
	body plain <<<'return { fine = true }'
	mkdir home
	for _ in 1 2; do
		answers 0 HOME="$PWD/home" XDG_STATE_HOME="$PWD/home/state" plain
		expect 'e.data == {"fine": True} and e.warnings == []'
		[ ! -s err.txt ]
	done
	# that this user has run a command of the project is all that is kept (docs/design.md#known-projects) …
	[[ $(find home -type f) == home/state/runner/projects/* ]]
	[ "$(find home -type f | wc -l)" -eq 1 ]
	# … and where it can't be, nothing is different
	answers 0 HOME=/dev/null XDG_STATE_HOME=/dev/null/state plain
	expect 'e.data == {"fine": True} and e.warnings == []'
}

@test "REQ-C-008 steps are in the answer however the command ends" {
	command_file steps <<'LUA'
return { description = "x", danger_level = "safe", steps = { "fetch", "build", "publish", "notify" }, args = { { "how", "string", default = "fail" } },
	run = function(args, ctx)
		ctx:step "fetch" ctx:skip "notify" ctx:step "build"
		if args.how == "fail" then ctx:fail("PARTIAL_FAILURE", "It stopped half way")
		elseif args.how == "raise" then error "boom"
		elseif args.how == "sleep" then io.open("marker", "w"):close() ctx:sleep(60)
		elseif args.how == "exit" then os.exit(3) end
		if args.how == "all" then ctx:step "publish" end
		return args.how == "list" and { 1 } or nil
	end }
LUA
	local row
	ends_at() {
		if [ "$1" = sleep ]; then reaching marker steps --how sleep; else call steps --how "$1"; fi
		assert_envelope
		[ "$status" -eq "$2" ]
	}
	for row in fail:3 raise:1 exit:1 sleep:10; do
		ends_at "${row%:*}" "${row##*:}"
		expect 'e.data.completed_steps == ["fetch"] and e.data.failed_step == "build" and e.data.skipped_steps == ["notify"]'
		expect '"resume_from" not in e.data and "steps" not in e.meta'
	done
	for row in well list all; do
		answers 0 steps --how $row
		expect "e.meta.steps.completed_steps == ['fetch', 'build'] + ['publish'] * ('$row' == 'all') and e.meta.steps.failed_step is None"
		expect "e.meta.steps.skipped_steps == ['notify'] and e.meta.steps.pending_steps == ['publish'] * ('$row' != 'all')"
		expect "e.data == ([1] if '$row' == 'list' else None)"
	done
	sed -i 's/steps = {/resumable = true, &/' commands/steps.lua
	for row in fail:3 raise:1 exit:1 sleep:10; do
		ends_at "${row%:*}" "${row##*:}"
		expect 'e.data.resume_from == "build"'
	done
	rm -f marker
	cancel TERM steps --how sleep
	assert_envelope
	expect 'e.data.resume_from == "build" and e.data.partial is True'
	call steps --how well --detach
	answers 0 job wait "$(field e.data.job_id)"
	expect 'e.meta.job.steps.completed_steps == ["fetch", "build"]'
	body none <<<'return {}'
	answers 0 none
	expect '"steps" not in e.meta'
	answers 0 steps --validate-only
	expect '"steps" not in e.meta'
}

@test "REQ-F-069 REQ-F-013 a cancellation names its signal in error.context" {
	body waits <<<'io.open("marker", "w"):close() ctx:sleep(60)'
	local name
	for name in INT TERM HUP; do
		rm -f marker
		cancel $name waits
		assert_envelope
		expect "e.error.code == 'CANCELLED' and e.error.context == { 'signal': 'SIG$name' } and e.error.signal == 'SIG$name'"
	done
}

@test "REQ-F-013 REQ-F-069 TERM and INT let cleanup run" {
	body tidy 'cleanup = function() io.open("cleaned", "w"):close() end,' <<<'io.open("marker", "w"):close() ctx:sleep(60)'
	local name
	for name in TERM INT; do
		rm -f marker cleaned
		cancel $name tidy
		assert_envelope
		expect 'e.error.code == "CANCELLED"'
		[ -e cleaned ]
	done
}

@test "REQ-F-069 a second SIGINT ends at once what the first lets clean up" {
	body stubborn <<<'ctx:run{ "sh", "-c", "trap \"touch asked\" INT TERM; touch marker; while :; do sleep 0.05; done" }'
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" stubborn --grace 60s >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$! began=$SECONDS
	until_true [ -e marker ]
	kill -INT "$pid"
	until_true [ -e asked ] # the first is handled
	sleep 0.5 # one press that is delivered twice is no second one
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 130 ]
	[ "$((SECONDS - began))" -lt 40 ] # … of a grace of 60 s
	stdout=$(<out.txt)
	assert_envelope
}

@test "REQ-C-017 cleanup runs once after success, failure and a limit, and frees the lock" {
	command_file clean <<'LUA'
return { description = "x", danger_level = "safe", args = { { "how", "string", default = "well" } },
	run = function(args, ctx)
		ctx:lock "thing"
		if args.how == "raise" then error "boom" elseif args.how == "sleep" then io.open("marker", "w"):close() ctx:sleep(60) end
	end,
	cleanup = function() local f = io.open("cleaned", "a") f:write "x" f:close() end }
LUA
	local row
	at_its_limit() { # which comes after it has begun
		rm -f cleaned marker
		answers 10 XDG_STATE_HOME="$PWD" clean --how sleep --timeout "$((300 * 8 ** (nth - 1)))ms" && [ -e marker ]
	}
	for row in well:0 raise:1 sleep:10 well:0; do
		rm -f cleaned
		if [ $row = sleep:10 ]; then tries 3 at_its_limit; else answers "${row##*:}" XDG_STATE_HOME="$PWD" clean --how "${row%:*}"; fi
		[ "$(<cleaned)" = x ]
	done
}

@test "REQ-O-025 --warnings-as-errors fails a success that warns, and keeps the warnings" {
	body warns <<<'ctx:warn("SLOW_DISK", "The disk is slow")'
	answers 0 warns
	answers 1 warns --warnings-as-errors
	expect 'e.error.code == "WARNINGS_AS_ERRORS" and e.warnings[0].code == "SLOW_DISK"'
	body silent <<<'return {}'
	answers 0 silent --warnings-as-errors
}

@test "REQ-O-042 RUNNER_FORMAT chooses the format; the flag wins; a wrong one is exit 2 both ways" {
	body one <<<'return { n = 1 }'
	call RUNNER_FORMAT=plain one
	[ "$status" -eq 0 ]
	[ "${stdout:0:1}" != "{" ]
	answers 0 RUNNER_FORMAT=plain one --format json
	answers 2 RUNNER_FORMAT=xml one
	local message
	message=$(field 'e.error.errors[0].code')
	answers 2 one --format xml
	expect "e.error.errors[0].code == '$message'"
}

@test "REQ-F-034 REQ-F-051 what is secret by its name is in no log line, at any level, and in the result as it is" {
	body says 'retry = { retries = 1, delay = 0 },' <<-'LUA'
		ctx:log("debug", "GET /x?token=hunter2&page=2")
		ctx:log("info", '{"user":"joe","nested":{"password":"hunter2"}}')
		ctx:log("warn", "Authorization: Bearer hunter2")
		ctx:log("curl --api-token hunter2 --verbose")
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "DB_PASSWORD=hunter2 was refused") end
		return { token = "hunter2" }
	LUA
	local flag
	for flag in "" --verbose; do
		# shellcheck disable=SC2086
		answers 0 RUNNER_LOG_KEPT=1 says $flag
		expect 'e.data.token == "hunter2"'
		[ "$(grep -c hunter2 err.txt || true)" -eq 0 ]
		grep -q 'page=2' err.txt || [ -z "$flag" ]
		grep -qF '"password\":\"[REDACTED]\"' err.txt
		grep -qF 'curl --api-token [REDACTED] --verbose' err.txt
		grep -qF 'DB_PASSWORD=[REDACTED] was refused' err.txt
		python3 -c 'import json, sys; [json.loads(line)["message"] for line in sys.stdin]' <err.txt
	done
}

@test "REQ-O-022 a secret comes from a variable or a file, and is on no command line" {
	body login 'args = { { "token", "string", secret = true, required = true, pattern = "^h.*$", env = "TOKEN_OF_MINE" }, { "n", "integer" } },' \
		<<<'return { length = #args.token, cmdline = ctx:run({ "sh", "-c", "tr \\\\0 . </proc/$PPID/cmdline" }).stdout, n = args.token_from_env == nil }'
	printf 'hunter2\n' >secret.txt
	local arguments
	for arguments in --token-from-env=S "--token-from-env S" "--token-from-file secret.txt"; do
		# shellcheck disable=SC2086
		answers 0 S=hunter2 TOKEN_OF_MINE=wrong login $arguments
		expect 'e.data.length == 7 and e.data.n and "from" in e.data.cmdline'
		[ "$(grep -c hunter2 out.txt err.txt | grep -vc ':0$' || true)" -eq 0 ]
	done
	printf '%070000d' 0 >large.txt
	: >empty.txt
	for arguments in --token-from-env=UNSET --token-from-file=missing.txt --token-from-file=empty.txt --token-from-file=large.txt --token-from-file=.; do
		answers 2 login "$arguments"
		expect "len(e.error.errors) == 1 and e.error.errors[0].field == 'token' and '${arguments#*=}' in e.error.message and e.error.fix_required"
	done
	answers 2 S=xhunter2 login --token-from-env S
	expect 'len(e.error.errors) == 1 and e.error.errors[0].value == "***"'
	answers 2 S=hunter2 login --token hunter2 --token-from-env S
	expect '"CONFLICTING_VALUES" in [p.code for p in e.error.errors]'
	answers 2 S=hunter2 login --token-from-file secret.txt --token-from-env S
	answers 2 login --token-from-evn S
	expect '"--token-from-env" in e.error.errors[0].suggestion'
	call login --help --format plain
	[[ $stdout == *--token-from-file* ]]
	answers 0 manifest login
	grep -q '"token-from-env":' out.txt
	grep -q '"secret_env_vars":\["TOKEN_OF_MINE"\]' out.txt
}

@test "REQ-O-022 an author's own argument of such a name is the author's" {
	body own 'args = { { "token", "string", secret = true }, { "token-from-env", "string" } },' <<<'return { got = args["token-from-env"], token = args.token or "" }'
	answers 0 S=x own --token-from-env S
	expect 'e.data == {"got": "S", "token": ""}'
}

@test "REQ-C-001 the manifest has an entry for each exit code, with the error codes that share it" {
	command_file make <<'LUA'
return { description = "x", danger_level = "safe", run = print, exit_codes = {
	ALREADY_EXISTS = { description = "It is there" }, LOCK_HELD = {}, BUSY = { code = 80, retryable = true, side_effects = "none" } } }
LUA
	answers 0 manifest make
	expect 'e.data["commands"]["make"]["exit_codes"]["4"]["error_codes"] == ["PRECONDITION", "LOCK_HELD"]'
	expect '"error_codes" not in e.data["commands"]["make"]["exit_codes"]["80"]'
	expect '"error_codes" not in e.data["commands"]["make"]["exit_codes"]["6"]'
	expect 'set(e.data["commands"]["make"]["exit_codes"]) >= {"0", "1", "2", "4", "6", "10", "80", "130"}'
	answers 0 manifest --compact
	expect 'e.data["commands"]["make"]["exit_codes"]["4"]["error_codes"] == ["PRECONDITION", "LOCK_HELD"]'
	sed -i 's/LOCK_HELD = {}/CONFLICT = {}/' commands/make.lua
	answers 0 manifest make # the name of a number is the registry's
	expect 'e.data["commands"]["make"]["exit_codes"]["6"]["error_codes"] == ["CONFLICT", "ALREADY_EXISTS"]'
	expect 'e.data["commands"]["make"]["exit_codes"]["6"]["name"] == "CONFLICT"'
}

@test "a run's directory is its user's alone, and goes with it; a killed run's goes with the next" {
	command_file dir <<'LUA'
return { description = "x", danger_level = "safe", args = { { "wait", "boolean" } }, run = function(args, ctx)
	local f = io.open("path", "w") f:write(ctx.tempdir) f:close()
	if args.wait then io.open("marker", "w"):close() ctx:sleep(60) end
	return { mode = ctx:run{ "stat", "-c", "%a", ctx.tempdir }.stdout, dir = ctx.tempdir }
end }
LUA
	mkdir tmp
	(umask 0; exec env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmp" "$RUNNER" dir --wait >/dev/null 2>&1 </dev/null 3>&-) &
	until_true [ -e marker ]
	[ "$(stat -c %a "$(<path)")" = 700 ]
	kill -KILL $!
	wait $! || true
	[ -d "$(<path)" ]
	rm -f marker
	until_true removed_by_next "$(<path)"
	[ -z "$(find tmp -mindepth 1)" ]
}

# removed_by_next PATH: another run with a directory removes it, once no process has its lock
removed_by_next() {
	answers 0 TMPDIR="$PWD/tmp" dir && [ ! -e "$1" ]
}
