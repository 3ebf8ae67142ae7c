#!/usr/bin/env bats
# help: text where a person reads it, an envelope where a program does, and nothing
# that a broken file could spoil.

load lib/helper

prepare() {
	command_file deploy <<'LUA'
return {
	description = "Deploy a release",
	danger_level = "mutating",
	args = { { "target", "enum", values = { "prod", "dev" }, required = true, description = "Where to" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	timeout = "5m", retry = { retries = 3 },
	run = function() io.open("ran", "w"):close() end,
}
LUA
	command_file db/migrate <<'LUA'
return { description = "Change tables", danger_level = "safe", run = function() return { ran = true } end }
LUA
	command_file db/dump <<'LUA'
return { description = "Write a dump", danger_level = "safe", run = function() return {} end }
LUA
}

# on_terminal NAME=value ARGS…: both outputs are one terminal; what it showed is $stdout.
on_terminal() {
	local words
	printf -v words '%q ' env -i "${CLEAN_ENV[@]}" TERM=dumb "$1" "$RUNNER" "${@:2}"
	status=0
	stdout=$(script -qefc "$words" /dev/null </dev/null | tr -d '\r') || status=$?
}

@test "REQ-F-048: off a terminal the text goes to stderr and an envelope to stdout" {
	call help deploy
	assert_envelope
	expect 'e.ok and e.data is None and e.meta.help is True'
	[[ $stderr == *"runner deploy --target <enum>"* ]]
}

@test "--help of a command is its help, whatever else is wrong with the call" {
	local args
	for args in "deploy --help" "deploy -h" "--help deploy" "deploy --target nowhere --help" "deploy --nonsense -h"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.meta.command == "help" and e.meta.max_attempts == 1'
		[[ $stderr == *"runner deploy --target <enum>"* ]]
	done
	[ ! -e ran ]
}

@test "help shows the command's own limits and retries, not those of the run of help" {
	call deploy --help
	[[ $stderr == *"timeout  5m, from this command"* ]]
	[[ $stderr == *"Up to 3 retries"* ]]
	call RUNNER_TIMEOUT=9s help deploy
	[[ $stderr == *"timeout  9s, from the environment"* ]]
}

@test "on a terminal the text is on stdout, and there is no envelope" {
	on_terminal COLUMNS=80 help deploy
	[ "$status" -eq 0 ]
	[[ $stdout == "Deploy a release"* ]]
	[[ $stdout != *'"ok"'* ]]
}

@test "on a terminal the text is as wide as COLUMNS says, within reason" {
	on_terminal COLUMNS=50
	[ -z "$(printf '%s\n' "$stdout" | LC_ALL=C.UTF-8 awk 'length > 50')" ]
	on_terminal COLUMNS=nonsense
	[ "$status" -eq 0 ]
	[ -z "$(printf '%s\n' "$stdout" | LC_ALL=C.UTF-8 awk 'length > 80')" ]
}

@test "runner alone lists every command with one line each, as text and as data" {
	call
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'list(e.data["commands"].items())[0] == ("db dump", "Write a dump")'
	expect '"mutating" not in e.data and "lint" in e.data["builtin"]'
	expect 'e.meta.help is True'
	[ -z "$stderr" ]
	call --help
	[[ $stderr == *"  deploy      Deploy a release"* ]]
	[[ $stderr == *"--timeout <duration>"* && $stderr == *"RUNNER_PATH"* && $stderr == *"UNAVAILABLE"* ]]
}

@test "the list is for other programs with --format plain, and then stderr is empty" {
	call --format plain
	[ "$status" -eq 0 ]
	[ "$(head -n1 out.txt)" = $'db dump\tsafe\tWrite a dump' ]
	[ -z "$stderr" ]
}

@test "--quiet leaves the text out" {
	call help deploy --quiet
	assert_envelope
	[ -z "$stderr" ]
}

@test "broken files are named in the list and spoil nothing" {
	echo 'return {' | command_file syntax
	echo 'error "boom"' | command_file raises
	echo 'os.exit(3)' | command_file exits
	echo 'while true do end' | command_file endless
	echo 'return 7' | command_file number
	head -c 1000 /dev/urandom | command_file binary
	ln -s nowhere commands/dangling.lua
	mkfifo commands/fifo.lua
	mkdir -p commands/loop
	ln -s .. commands/loop/loop
	call
	assert_envelope
	[ "$status" -eq 0 ]
	[ "$elapsed_ms" -lt 25000 ]
	local name
	for name in syntax raises exits endless number binary; do
		expect "'$name' in e.data['broken']"
	done
	expect 'e.data["commands"]["deploy"] == "Deploy a release"'
	call --help
	[[ $stderr == *"(broken: run 'runner lint raises')"* ]]
}

@test "hidden commands are not listed and still have help" {
	echo 'return { description = "Secret", danger_level = "safe", hidden = true, run = print }' | command_file secret
	call
	expect '"secret" not in e.data["commands"]'
	call help secret
	[ "$status" -eq 0 ]
	[[ $stderr == *"Secret"* ]]
}

@test "help of a group lists its commands, in every way to ask" {
	local args
	for args in "help db" "db --help" "db -h"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 0 ]
		[[ $stderr == *"db migrate  Change tables"* && $stderr != *"Deploy a release"* ]]
	done
}

@test "the commands for workflows are a group like any other" {
	call workflow --help
	[ "$status" -eq 0 ]
	local name
	for name in run resume cancel check plan list show logs stats; do
		[[ $stderr == *"workflow $name  "* ]]
	done
	call workflow run --help
	[[ $stderr == *"runner workflow run [options] <file>"* && $stderr == *"STEP_IN_DOUBT"* ]]
}

@test "help of a nested command takes its words apart or with dots" {
	call help db migrate
	[[ $stderr == *"runner db migrate"* ]]
	call help db.migrate
	[ "$status" -eq 0 ]
	[[ $stderr == *"runner db migrate"* ]]
}

@test "help of an unknown command is COMMAND_NOT_FOUND with what was probably meant" {
	local args
	for args in "help deplyo" "deplyo --help"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 2 ]
		expect 'e.error.code == "COMMAND_NOT_FOUND" and e.error.suggestion == "Did you mean '"'deploy'"'?"'
		expect 'e.error.phase == "validation"'
	done
	call help deploy nothing
	[ "$status" -eq 2 ]
	expect "e.error.message == \"Unknown command 'deploy nothing'\""
}

@test "REQ-F-068: help works where runner.lua is broken, and says so" {
	echo 'return { nonsense = 1 }' >runner.lua
	call
	assert_envelope
	[ "$status" -eq 0 ]
	expect '"nonsense" in e.data["problem"]'
	call --help
	[[ $stderr == *"runner.lua is invalid"* && $stderr == *"Deploy a release"* ]]
	call deploy --help
	[ "$status" -eq 0 ]
	call deploy --target prod
	[ "$status" -eq 4 ]
	expect 'e.error.code == "COMMAND_INVALID"'
}

@test "help of a broken command says what is broken" {
	echo 'return { description = 1 }' | command_file broken
	call help broken
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "COMMAND_INVALID" and "broken.lua" in e.error.message'
}

@test "help writes no control sequences, whatever a description holds" {
	printf 'return { description = "a\\27[31mred\\7", danger_level = "safe", run = print }' | command_file red
	call help red
	[ "$status" -eq 0 ]
	[ "$(grep -c $'[\033\007]' err.txt)" -eq 0 ]
}
