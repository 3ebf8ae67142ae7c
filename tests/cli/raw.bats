#!/usr/bin/env bats
# Commands whose stdout is not runner's answer: those that pass their arguments on to another
# program, and those that serve a protocol.

load lib/helper

# The last line of stderr is the envelope.
answered_on_stderr() {
	tail -n 1 err.txt >last.txt
	cp out.txt raw.txt
	mv last.txt out.txt
	assert_envelope
}

other_program() {
	cat >other <<'SH'
#!/bin/sh
for word; do printf '<%s>' "$word"; done
[ "$1" != read ] || cat
[ "$1" != exit ] || exit "$2"
[ "$1" != die ] || kill -KILL $$
echo noise >&2
SH
	chmod +x other
}

prepare() {
	other_program
	body other 'arguments = "passthrough", help_argv = { "help", "all" },' <<'LUA'
		return ctx:delegate { "./other", table.unpack(args.argv) }
LUA
	body absent 'arguments = "passthrough",' <<'LUA'
		return ctx:delegate { "./there-is-none" }
LUA
	command_file echo <<'LUA'
return { description = "x", danger_level = "safe", stdout = "protocol", protocol = "line-echo", timeout = "20s",
	args = { { "prefix", "string", default = "" }, { "fatal", "boolean" } },
	validate = function(args) print "from validate" if args.prefix == "no" then return "not that" end end,
	run = function(args, ctx)
		if args.fatal then ctx:fail("VALIDATION_ERROR", "it broke") end
		io.open("marker", "w"):close()
		for line in io.lines() do print(args.prefix .. line) end
	end }
LUA
}

@test "REQ-C-031 every word after the command's name goes to the other program, and its stdout is the only one" {
	call other -- --help --format text '' 'a b' --timeout=1 -h --no-such
	[ "$status" -eq 0 ]
	[ "$stdout" = '<--><--help><--format><text><><a b><--timeout=1><-h><--no-such>' ]
	answered_on_stderr
	expect 'e.ok and e.data == {"exit_code": 0} and e.meta.exit_code == 0'
	grep -qx noise err.txt
}

@test "REQ-C-031 the words of a lone --help are those that the command declares" {
	for word in --help -h; do
		call other "$word"
		[ "$stdout" = '<help><all>' ]
	done
	call other --help me
	[ "$stdout" = '<--help><me>' ]
}

@test "REQ-C-031 the other program's status is runner's, and is not tried again" {
	for code in 1 2 77 255; do
		call --retries 3 other exit $code
		[ "$status" -eq "$code" ]
		[ "$stdout" = "<exit><$code>" ]
		answered_on_stderr
		expect "e.error.code == 'DELEGATED_EXIT' and e.error.retryable is False and e.data == {'exit_code': $code}"
		expect 'e.meta.max_attempts == 1'
	done
	call other die
	[ "$status" -eq 137 ]
	answered_on_stderr
	expect '"SIGKILL" in e.error.message'
}

@test "REQ-C-031 the other program reads the caller's stdin, and its bytes are not changed" {
	printf 'a\0\377b' >bytes
	env -i "${CLEAN_ENV[@]}" "$RUNNER" other read <bytes >out.txt 2>err.txt
	[ "$(od -An -c out.txt)" = "$(printf '<read>a\0\377b' | od -An -c)" ]
}

@test "REQ-C-031 a wrong flag in front of the name, and a program that is absent, start nothing" {
	answers 2 --timeout soon other exit 0
	expect 'e.error.phase == "validation"'
	answers 2 --detach other exit 0
	expect 'e.error.errors[0]["field"] == "detach"'
	call absent
	[ "$status" -eq 1 ]
	[ -z "$stdout" ]
	answered_on_stderr
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context["errno"] == "ENOENT"'
}

# As reaching of the helper, with the flag where it is runner's.
reaching_in_front() {
	local limit
	for limit in 300 2000 10000; do
		rm -f marker
		call --timeout "${limit}ms" slow
		[ ! -e marker ] || return 0
	done
	return 1
}

@test "REQ-C-031 a time limit and a signal end the other program, with the envelope on stderr" {
	body slow 'arguments = "passthrough",' <<<'return ctx:delegate { "sh", "-c", "echo begun; touch marker; exec sleep 60" }'
	reaching_in_front
	[ "$status" -eq 10 ]
	[ "$stdout" = begun ]
	answered_on_stderr
	expect 'e.error.code == "TIMEOUT"'
	rm marker
	cancel TERM slow
	[ "$status" -eq 143 ]
	[ "$(<out.txt)" = begun ]
	answered_on_stderr
	expect 'e.error.code == "CANCELLED"'
}

@test "REQ-C-031 a repeated call with an idempotency key starts nothing again" {
	command_file once <<'LUA'
return { description = "x", danger_level = "mutating", arguments = "passthrough",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(args, ctx) return ctx:delegate { "sh", "-c", "echo x >>runs" } end }
LUA
	call XDG_STATE_HOME="$PWD/state" --idempotency-key k once
	[ "$status" -eq 0 ]
	answered_on_stderr
	expect 'e.warnings == []'
	call XDG_STATE_HOME="$PWD/state" --idempotency-key k once
	[ "$status" -eq 0 ]
	[ -z "$stdout" ]
	answered_on_stderr
	expect 'e.data == {"exit_code": 0, "effect": "noop"}'
	[ "$(<runs)" = x ]
}

@test "REQ-C-031 what can't be combined with passthrough is refused, and --schema shows what is declared" {
	local keys
	for keys in 'args = { { "a", "string" } },' 'retry = { retries = 1 },' 'list = true,' 'streams = true,' 'stdout = "protocol", protocol = "x",'; do
		body bad "arguments = 'passthrough', $keys" <<<'return {}'
		answers 4 bad
		expect 'e.error.code == "COMMAND_INVALID" and "be used with" in e.error.message'
	done
	body bad "help_argv = { 'x' }," <<<'return {}'
	answers 4 bad
	body plain '' <<<'ctx:delegate { "true" }'
	answers 1 plain
	answers 0 --schema other
	expect 'e.data["arguments"] == "passthrough" and e.data["help_argv"] == ["help", "all"]'
	expect '"DELEGATED_EXIT" in e.data["exit_codes"]["1"]["error_codes"]'
}

@test "REQ-C-031 a dry run notes what would be started" {
	command_file dry <<'LUA'
return { description = "x", danger_level = "mutating", arguments = "passthrough", dry_run = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(args, ctx) return ctx:delegate { "touch", args.argv[1] } end }
LUA
	call --dry-run dry marker
	[ "$status" -eq 0 ]
	[ -z "$stdout" ]
	[ ! -e marker ]
	answered_on_stderr
	expect 'e.data["would"] == [{"call": "delegate", "target": "touch marker"}]'
}

@test "REQ-C-032 stdout has the bytes of the protocol and nothing else; the end of stdin is success" {
	printf 'one\ntwo\n' >requests
	env -i "${CLEAN_ENV[@]}" "$RUNNER" echo --prefix '> ' <requests >out.txt 2>err.txt
	[ "$(<out.txt)" = $'> one\n> two' ]
	[ "$(grep -c '"ok"' err.txt)" -eq 0 ]
	grep -qx 'from validate' err.txt
}

@test "REQ-C-032 before it serves, a failure leaves stdout empty and is the last line of stderr" {
	local arguments
	for arguments in --no-such '--prefix no' '--output x' --detach '--stream'; do
		# shellcheck disable=SC2086
		call echo $arguments
		[ "$status" -eq 2 ]
		[ -z "$stdout" ]
		answered_on_stderr
		expect 'e.error.phase == "validation"'
	done
	[ ! -e marker ]
}

@test "REQ-C-032 a failure while it serves is never status 2" {
	call echo --fatal
	[ "$status" -eq 1 ]
	[ -z "$stdout" ]
	answered_on_stderr
	expect 'e.error.code == "VALIDATION_ERROR"'
}

@test "REQ-C-032 the declared limit is that of the start; a silent client may stay, a signal ends it" {
	mkfifo requests
	sed -i 's/timeout = "20s"/timeout = "6s"/' commands/echo.lua
	env -i "${CLEAN_ENV[@]}" "$RUNNER" echo <requests >out.txt 2>err.txt 3>&- &
	local pid=$!
	exec 8>requests
	until_true [ -e marker ]
	sleep 6.5
	echo 'still there' >&8
	until_true grep -qx 'still there' out.txt
	kill "$pid"
	status=0
	wait "$pid" || status=$?
	exec 8>&-
	[ "$status" -eq 143 ]
	[ "$(<out.txt)" = 'still there' ]
	answered_on_stderr
	expect 'e.error.code == "CANCELLED" and e.meta.timeout_ms == 0'
}

@test "REQ-C-032 what a server sees of its time has no end either, nor has what it starts" {
	body patient 'stdout = "protocol", protocol = "x", timeout = "20s",' <<'LUA'
		io.write(tostring(ctx:remaining()), " ", ctx:run({ "sh", "-c", "echo ${RUNNER_DEADLINE_MS-none}" }).stdout)
LUA
	call patient
	[[ $stdout == 'inf 0:'* ]]
	call patient --timeout 100s
	[[ $stdout != *inf* ]]
	[[ $stdout != *' 0:'* ]]
}

@test "REQ-C-032 a limit that the caller sets holds while it serves" {
	mkfifo requests
	exec 8<>requests
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" echo --timeout 1s <&8 >out.txt 2>err.txt 3>&- || status=$?
	exec 8>&-
	[ "$status" -eq 10 ]
	[ ! -s out.txt ]
	answered_on_stderr
}

@test "REQ-C-032 a server that is another program ends with its status, and as a protocol's" {
	body server 'stdout = "protocol", protocol = "lsp",' <<<'return ctx:delegate { "sh", "-c", "cat; exit 2" }'
	call server
	[ "$status" -eq 1 ]
	[ -z "$stdout" ]
}

@test "REQ-C-032 stdout = protocol needs its name and refuses what speaks on stdout" {
	local keys
	for keys in '' 'protocol = "x", interactive = true,' 'protocol = "x", stdin = true,' 'protocol = "x", streams = true,' \
		'protocol = "x", output_schema = { type = "object" },' 'protocol = "A B",' 'protocol = "x", interruption = { detach = true },'; do
		body bad "stdout = 'protocol', $keys" <<<'return {}'
		answers 4 bad
		expect 'e.error.code == "COMMAND_INVALID"'
	done
	body bad 'protocol = "x",' <<<'return {}'
	answers 4 bad
	expect '"stdout" in e.error.message'
	answers 0 echo --schema
	expect 'e.data["stdout"] == "protocol" and e.data["protocol"] == "line-echo"'
}
