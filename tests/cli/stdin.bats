#!/usr/bin/env bats
# What a command reads before it runs: a declared stdin, with a type and a cap.

load lib/helper
load lib/input

prepare() {
	command_file count <<'LUA'
return { description = "x", danger_level = "safe", stdin = { type = "json", schema = { type = "array" } },
	args = { { "n", "integer", default = 1 } },
	run = function(args, ctx)
		io.open("touched", "w"):close()
		return { items = #ctx.input, rest = io.read "a" }
	end }
LUA
	body size 'stdin = { type = "bytes", required = false },' <<<'io.open("touched", "w"):close() return { bytes = ctx.input and #ctx.input }'
	body text 'stdin = {},' <<<'io.open("touched", "w"):close() return { text = ctx.input }'
}

# fed ARGS…: call, with stdin as it is
fed() {
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" "$@" >out.txt 2>err.txt || status=$?
}

# fed_soon ARGS…: as fed, once something is to be read: what was not asked for is waited for only for a moment
fed_soon() {
	until_true read -r -t 0
	fed "$@"
}

# with_bytes N ARGS…: with so many bytes from a pipe
with_bytes() {
	local n=$1
	shift
	head -c "$n" /dev/zero | tr '\0' x >bytes
	fed_soon "$@" < <(cat bytes)
}

@test "REQ-F-054 a declared stdin is read, checked and handed to run, from a pipe and from a file" {
	fed_soon count --n 2 < <(echo '[1,2,3]')
	succeeded
	expect 'e.data == {"items": 3, "rest": ""}'
	echo '[1,2]' >two
	fed count <two
	expect 'e.data["items"] == 2'
	call count --input-file two
	expect 'e.data["items"] == 2'
	fed_soon text < <(printf 'é\n')
	expect 'e.data["text"] == "é\n"'
}

@test "REQ-F-054 what is not of the declared type is refused, with what is wrong" {
	fed_soon count < <(echo '[1,2')
	refused 2 INVALID_JSON
	fed_soon count < <(echo '{}')
	refused 2 INVALID_ARGUMENT
	fed_soon count < <(printf '["\xff"]')
	assert_envelope
	[ "$status" -eq 2 ]
	fed_soon text < <(printf 'a\xff')
	refused 2 INVALID_ARGUMENT
	fed size --input-file - < <(printf 'a\xff\0')
	succeeded
	expect 'e.data["bytes"] == 3'
	rm touched
	fed_soon count --n x < <(echo '[')
	refused 2 INVALID_ARGUMENT
	expect 'len(e.error.errors) == 1'
}

@test "REQ-F-054 at most 65536 bytes of stdin, or what the command or the variable says" {
	with_bytes 65536 text
	succeeded
	rm touched
	with_bytes 65537 text
	refused 2 STDIN_TOO_LARGE
	expect 'e.error.context == {"limit_bytes": 65536, "received_bytes": 65537} and "--input-file" in e.error.fix_required'
	with_bytes 65537 text --input-file -
	refused 2 STDIN_TOO_LARGE
	body small 'stdin = { max_bytes = 10 },' <<<'io.open("touched", "w"):close() return { n = #ctx.input }'
	with_bytes 11 small
	refused 2 STDIN_TOO_LARGE
	with_bytes 10 small
	succeeded
	CLEAN_ENV+=(RUNNER_MAX_STDIN_BYTES=1MiB)
	with_bytes 1048576 small
	succeeded
	rm touched
	with_bytes 1048577 small
	refused 2 STDIN_TOO_LARGE
	CLEAN_ENV+=(RUNNER_MAX_STDIN_BYTES=lots)
	with_bytes 5 small
	refused 2 INVALID_ARGUMENT
	expect '"RUNNER_MAX_STDIN_BYTES" in e.error.message'
}

@test "REQ-F-054 a stdin that never ends, and a line of 10 MB, get one answer" {
	fed_soon text < <(yes)
	refused 2 STDIN_TOO_LARGE
	fed_soon text < <(head -c 10000000 /dev/zero)
	refused 2 STDIN_TOO_LARGE
	fed_soon count < <(head -c 60000 /dev/zero | tr '\0' '[')
	refused 2 INVALID_JSON
	[ "$(wc -c <out.txt)" -lt 3000 ]
}

@test "REQ-F-054 without data the call ends at once with STDIN_REQUIRED, whatever stdin is" {
	call count # an empty one
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "STDIN_REQUIRED" and e.error.phase == "validation" and "--input-file -" in e.error.suggestion'
	[ ! -e touched ]
	mkfifo silent
	exec 8<>silent
	fed count <silent
	exec 8>&-
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "STDIN_REQUIRED" and e.meta["duration_ms"] < 20000'
	fed count <&-
	[ "$status" -eq 4 ]
	call count --input-file /dev/null
	[ "$status" -eq 4 ]
	[ ! -e touched ]
}

@test "REQ-F-054 --input-file - waits for data that come late" {
	mkfifo late
	(
		exec 8>late
		until_true [ -e go ]
		sleep 1
		echo '[1]' >&8
	) 3>&- &
	local writer=$!
	touch go
	fed count --input-file - <late
	wait "$writer"
	succeeded
	expect 'e.data["items"] == 1'
}

@test "REQ-F-054 stdin that is not required is read only where the call asks for it" {
	mkfifo silent
	exec 8<>silent
	fed size <silent
	exec 8>&-
	succeeded
	expect 'e.data == {}'
	fed size --input-file - </dev/null
	expect 'e.data["bytes"] == 0'
	call size --input-file - --timeout 60s
	expect 'e.data["bytes"] == 0'
}

@test "REQ-F-054 the time limit of the command holds while data is awaited" {
	mkfifo silent
	exec 8<>silent
	fed count --input-file - --timeout 300ms <silent
	exec 8>&-
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.code == "TIMEOUT" and e.error.context["limit"] == "timeout"'
	[ ! -e touched ]
}

@test "REQ-F-054 help, plan, schema and a wrong argument wait for no data" {
	mkfifo silent
	exec 8<>silent
	local words
	for words in --help --schema "--input-file - --help" "--input-file - --schema" "--input-file - --version"; do
		# shellcheck disable=SC2086
		fed count $words <silent
		[ "$status" -eq 0 ]
	done
	fed count --n x --input-file - <silent
	[ "$status" -eq 2 ]
	exec 8>&-
}

@test "REQ-F-054 a run that has read a pipe is not retried, one that has read a file is" {
	body flaky 'stdin = {}, retry = { retries = 2, delay = "1ms" },' <<'LUA'
if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "not yet") end
return { text = ctx.input, attempt = ctx.attempt }
LUA
	fed_soon flaky < <(echo hello)
	assert_envelope
	expect 'e.error.code == "UNAVAILABLE" and [w["code"] for w in e.warnings] == ["STDIN_CONSUMED"]'
	echo hello >hello
	fed flaky <hello
	succeeded
	expect 'e.data == {"text": "hello\n", "attempt": 3}'
	call flaky --input-file hello
	expect 'e.data == {"text": "hello\n", "attempt": 3}'
}

@test "REQ-F-054 the data is a part of an idempotent call" {
	command_file put <<'LUA'
return { description = "x", danger_level = "mutating", stdin = {},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx) return { effect = "created", text = ctx.input } end }
LUA
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	fed_soon put --idempotency-key k < <(echo one)
	expect 'e.data["effect"] == "created"'
	fed_soon put --idempotency-key k < <(echo one)
	expect 'e.data["effect"] == "noop"'
	fed_soon put --idempotency-key k < <(echo two)
	expect 'e.error.code == "CONFLICT"'
}

@test "REQ-O-039 a file of data has no cap of stdin's" {
	head -c 10000000 /dev/zero >big
	call size --input-file big
	succeeded
	expect 'e.data["bytes"] == 10000000'
	call size --input-file nope
	[ "$status" -eq 2 ]
	call size --input-file .
	[ "$status" -eq 2 ]
}

@test "REQ-O-039 a command that reads the stream itself gets the file as its stdin" {
	body raw 'stdin = true,' <<<'return { all = io.read "a" }'
	echo data >data
	call raw --input-file data
	succeeded
	expect 'e.data["all"] == "data\n"'
	fed_soon raw < <(echo piped)
	expect 'e.data["all"] == "piped\n"'
	fed raw --input-file - < <(echo piped)
	expect 'e.data["all"] == "piped\n"'
	call raw --input-file nope
	[ "$status" -eq 2 ]
}

@test "REQ-F-054 the manifest and the schema say what is read" {
	call manifest count
	expect 'e.data["commands"]["count"]["stdin"] == {"mode": "buffered", "max_bytes": 65536} and "input-file" in e.data["commands"]["count"]["flags"]'
	call count --schema
	expect 'e.data["stdin"] == {"mode": "buffered", "max_bytes": 65536, "type": "json", "required": True, "schema": {"type": "array"}}'
	echo 'return { description = "x", danger_level = "safe", run = print }' >commands/none.lua
	call manifest none
	expect '"input-file" not in e.data["commands"]["none"]["flags"]'
}

@test "REQ-F-054 a wrong declaration is refused with what to write" {
	local value
	for value in '{ type = "xml" }' '{ max_bytes = 0 }' '{ cap = 1 }' '"yes"' '{ type = "text", schema = {} }' '{ type = "json", schema = { type = "list" } }'; do
		body bad "stdin = $value," <<<'return {}'
		call bad
		refused 4 COMMAND_INVALID
	done
}

# ignored N: the last call said that it left N bytes on stdin; 0: that it left none
ignored() {
	[ "$status" -eq 0 ]
	assert_envelope
	expect "[w['context']['bytes'] for w in e.warnings if w['code'] == 'STDIN_IGNORED'] == [$1][:$1]"
}

# given FILE COMMAND…: it, in the environment of a call, with a stdin that we don't have ourselves
given() {
	local file=$1
	shift
	status=0
	env -i "${CLEAN_ENV[@]}" "$@" >out.txt 2>err.txt <"$file" || status=$?
}

@test "data on stdin that nothing reads is a warning: a pipe, a file, a socket, what a program hands over" {
	body deaf <<<'return { got = ctx:run({ "cat" }).stdout }'
	body asked 'stdin = { type = "text", required = false },' <<<'return {}'
	body late <<<'while not io.open("given") do ctx:sleep(0.01) end return {}'
	printf 12345 >data
	mkfifo pipe
	exec 8<>pipe
	cat data >&8
	given pipe "$RUNNER" deaf
	exec 8>&-
	ignored 5
	expect 'e.data.got == ""'
	given data "$RUNNER" deaf
	ignored 5
	given data "$RUNNER" asked
	ignored 5
	given data "$RUNNER" asked --input-file -
	ignored 0
	given /dev/null python3 -c 'import subprocess, sys
with subprocess.Popen([sys.argv[1], "late"], stdin=subprocess.PIPE) as p:
    p.stdin.write(b"12345")
    p.stdin.close()
    open("given", "w").close()
    sys.exit(p.wait())' "$RUNNER"
	ignored 5
	given /dev/null python3 -c 'import socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.send(b"12345")
subprocess.run([sys.argv[1], "deaf"], stdin=theirs, check=True)' "$RUNNER"
	ignored 5
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deaf --warnings-as-errors <data >out.txt 2>err.txt || status=$?
	[ "$status" -ne 0 ]
	expect 'e.error.code == "WARNINGS_AS_ERRORS"'
}

@test "no stdin that is empty, open, read, or somebody else's to read is a warning" {
	body deaf <<<'return {}'
	body reads 'stdin = true,' <<<'return { first = io.read(1) }'
	body takes 'args = { { "n", "array", items = "string", pipe_compatible = true } },' <<<'return args'
	body outer 'args = { { "x", "string" } },' <<<'return { ctx:call("takes", { n = { "a" } }), ctx:call("deaf") }'
	printf '1\n2\n3\n' >data
	mkfifo pipe
	exec 8<>pipe # open, and nobody writes
	given pipe "$RUNNER" deaf
	exec 8>&-
	ignored 0
	given /dev/null "$RUNNER" deaf
	ignored 0
	given /dev/zero "$RUNNER" deaf
	ignored 0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deaf >out.txt <&-
	ignored 0
	: >empty
	given empty "$RUNNER" deaf
	ignored 0
	given data "$RUNNER" reads
	ignored 0
	given <(cat data) "$RUNNER" reads
	ignored 0
	given data "$RUNNER" takes --n -
	ignored 0
	given /dev/null "$RUNNER" outer --x 1
	ignored 0
	# shellcheck disable=SC2016 # the shell's own
	for loop in 'while read -r x; do "$0" deaf; done <data' 'cat data | while read -r x; do "$0" deaf; done' \
		'{ read -r x; "$0" deaf; cat; } <data' 'exec 3>&1; printf "%s deaf\n" "$0" "$0" | sh'; do
		env -i "${CLEAN_ENV[@]}" bash -c "$loop" "$RUNNER" </dev/null >out.txt 2>err.txt
		grep -q '"ok":true' out.txt
		! grep -q STDIN_IGNORED out.txt err.txt || false
	done
	# one that can only be written to
	cp data log
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deaf 0>>log >out.txt 2>err.txt
	! grep -q STDIN_IGNORED out.txt err.txt || false
	printf '{"_cmd":"deaf"}\n{"_cmd":"takes","n":["a"]}\n' >requests
	given requests "$RUNNER" exec
	! grep -q STDIN_IGNORED out.txt err.txt || false
	call XDG_STATE_HOME="$PWD/state" takes --n a --detach
	answers 0 XDG_STATE_HOME="$PWD/state" job wait "$(field e.data.job_id)"
	ignored 0
}
