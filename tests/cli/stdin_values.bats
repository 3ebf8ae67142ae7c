#!/usr/bin/env bats
# `-` as the value of an argument: the lines of stdin.

load lib/helper
load lib/input

# piped TEXT ARGS…: call, with this on stdin
piped() {
	printf '%b' "$1" >in.txt
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" "${@:2}" >out.txt 2>err.txt < <(cat in.txt) || status=$?
}

pipe_commands() {
	body one "args = { { 'id', 'integer', pipe_compatible = true, env = 'ID' }, { 'name', 'string' } }," <<<'io.open("ran", "w"):close() return args'
	body many "args = { { 'id', 'integer', variadic = true, pipe_compatible = true }, { 'to', 'string', pipe_compatible = true } }," <<<'return args'
}

@test "REQ-O-006 - as a value is what stdin has: the same call as with the value itself" {
	pipe_commands
	piped '42\n' one --id -
	succeeded
	expect 'e.data == {"id": 42}'
	printf 7 >seven
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" one --id=- >out.txt <seven || status=$?
	expect 'e.data == {"id": 7}'
	piped '1\r\n\n2\n3' many - --to x
	expect 'e.data == {"id": [1, 2, 3], "to": "x"}'
	piped '-\n' many 5 --to -
	expect 'e.data == {"id": [5], "to": "-"}'
	piped '42\n' one --name -
	expect 'e.data == {"name": "-"}'
}

@test "REQ-O-006 a stdin that has no value, too many, or a wrong one is refused before the run" {
	pipe_commands
	local text
	for text in '' '\n\n'; do
		piped "$text" one --id -
		refused 2 EMPTY_STDIN
		expect 'e.error.phase == "validation" and not e.error.retryable'
	done
	piped '1\n2\n' one --id -
	refused 2 VALIDATION_ERROR
	piped 'x\n' one --id -
	refused 2 INVALID_ARGUMENT
	piped 'a\xff' many --to -
	refused 2 INVALID_ARGUMENT
	head -c 70000 /dev/zero | tr '\0' 1 >large
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" one --id - >out.txt <large || status=$?
	refused 2 STDIN_TOO_LARGE
	[ ! -e ran ]
}

@test "REQ-O-006 one value comes from stdin, and only where nothing else is wrong" {
	pipe_commands
	piped '1\n' many - --to -
	refused 2 CONFLICTING_VALUES
	piped '1\n' many - -
	refused 2 CONFLICTING_VALUES
	echo '{"name":"n"}' >args.json
	piped '1\n' one --id - --input-file args.json
	refused 2 CONFLICTING_VALUES
	piped '1\n' one --id - --detach
	refused 2 CONFLICTING_VALUES
	mkfifo silent
	local call
	for call in '--nam x' --plan --schema --show-config --help; do
		status=0
		# shellcheck disable=SC2086 # words
		env -i "${CLEAN_ENV[@]}" timeout 60 "$RUNNER" one --id - $call >out.txt 2>err.txt <>silent || status=$?
		[ "$status" -lt 3 ]
	done
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" one --id - >out.txt 2>err.txt <&- || status=$?
	[ "$status" -eq 2 ]
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" one --id - >out.txt 2>err.txt <. || status=$?
	refused 2 INVALID_ARGUMENT
	expect 'e.error.message.startswith("--id -: can'"'t"' read stdin")'
	call ID=- one
	refused 2 INVALID_ARGUMENT
}

@test "REQ-O-006 a declaration that would read stdin twice, or a secret from it, is refused" {
	body twice "stdin = {}, args = { { 'id', 'string', pipe_compatible = true } }," <<<'return {}'
	call twice
	assert_envelope
	expect 'e.error.code == "COMMAND_INVALID" and "pipe_compatible" in e.error.message'
	body hidden "args = { { 'id', 'string', secret = true, pipe_compatible = true } }," <<<'return {}'
	call hidden
	expect 'e.error.code == "COMMAND_INVALID" and "secret" in e.error.message'
	body flagged "args = { { 'id', 'boolean', pipe_compatible = true } }," <<<'return {}'
	call flagged
	expect 'e.error.code == "COMMAND_INVALID" and "boolean" in e.error.message'
}
