#!/usr/bin/env bats
# help: text where a person reads it, the same as data where a program does, and nothing
# that a broken file could spoil.

load lib/helper

prepare() {
	known
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

# longest: how many characters the longest line of $stdout has
longest() {
	python3 -c 'import sys; print(max(map(len, sys.stdin.read().splitlines())))' <<<"$stdout"
}

@test "REQ-F-048: off a terminal help is data in an envelope, said once" {
	local args
	for args in "help deploy" "deploy --help" "help deploy --quiet" "help db" "db --help" "" "--help" "help flags"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		expect 'e.ok and e.data and e.meta.help is True'
		[ -z "$stderr" ]
	done
	call help deploy
	expect 'e.data["usage"] == "runner deploy --target <enum>"'
	call help deploy --format plain
	[[ $stdout == "Deploy a release"*"runner deploy --target <enum>"* ]]
	[ -z "$stderr" ]
}

@test "--help of a command is its help, whatever else is wrong with the call" {
	local args
	for args in "deploy --help" "deploy -h" "--help deploy" "deploy --target nowhere --help" "deploy --nonsense -h"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.meta.command == "help" and e.meta.max_attempts == 1'
		expect 'e.data["usage"] == "runner deploy --target <enum>"'
	done
	[ ! -e ran ]
}

@test "help shows the command's own limits and retries, not those of the run of help" {
	call deploy --help --format plain
	[[ $stdout == *"timeout  5m, from this command"* ]]
	[[ $stdout == *"Up to 3 retries"* ]]
	call RUNNER_TIMEOUT=9s help deploy --format plain
	[[ $stdout == *"timeout  9s, from the environment"* ]]
}

@test "on a terminal the text is on stdout, and there is no envelope" {
	on_terminal COLUMNS=80 help deploy
	[ "$status" -eq 0 ]
	[[ $stdout == "Deploy a release"* ]]
	[[ $stdout != *'"ok"'* ]]
}

@test "on a terminal the text is as wide as COLUMNS says, within reason" {
	on_terminal COLUMNS=50
	[ "$(longest)" -le 50 ]
	on_terminal COLUMNS=nonsense
	[ "$status" -eq 0 ]
	[ "$(longest)" -le 80 ]
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
	expect 'e.data["commands"]["deploy"] == "Deploy a release" and "--search" in e.data["next"]'
}

@test "runner alone is one short page on a terminal: the project, its commands in groups, where the rest is" {
	echo 'return { name = "shop", version = "2.1.0", description = "Everything that the shop runs" }' >runner.lua
	on_terminal COLUMNS=80
	[ "$status" -eq 0 ]
	[[ $stdout == "shop 2.1.0"$'\n'"Everything that the shop runs"* ]]
	[[ $stdout == *$'Commands:\n  deploy  Deploy a release\n\ndb:\n  db dump     Write a dump\n  db migrate  Change tables\n'*"Built-in commands:"* ]]
	[[ $stdout == *"lint"*"workflow …"*"environment, exit-codes"* ]]
	[[ $stdout != *"RUNNER_PATH"* ]]
	[[ $stdout != *"--timeout"* ]]
	[ "$(wc -l <<<"$stdout")" -le 40 ]
	on_terminal COLUMNS=80 --help
	[[ $stdout == *"--timeout <duration>"*"RUNNER_PATH"*"UNAVAILABLE"* ]]
}

@test "without a name of its own the page has runner's, and its version" {
	on_terminal COLUMNS=80
	[[ $stdout =~ ^runner\ [0-9]+\.[0-9]+\.[0-9]+ ]]
}

@test "with many commands a group is one line of the short page" {
	local i
	mkdir -p commands/table
	for i in {1..50}; do cp commands/db/dump.lua "commands/table/t$i.lua"; done
	on_terminal COLUMNS=80
	[[ $stdout == *$'Groups:\n  db     2 commands\n  table  50 commands\n'* ]]
	[[ $stdout != *"table t7"* ]]
}

@test "help has topics on runner itself, and a command of that name goes before one" {
	local topic
	for topic in environment exit-codes flags output retries built-in; do
		on_terminal COLUMNS=80 help "$topic"
		[ "$status" -eq 0 ]
		[ -n "$stdout" ]
		call help "$topic" --format json
		assert_envelope
		expect "e.data['topic'] == '$topic' and (e.data.get('rows') or e.data.get('text'))"
	done
	call help env
	expect '{"RUNNER_PATH", "COLUMNS"} <= {r["name"] for r in e.data["rows"]}'
	call help exit-codes --format json
	expect '{"name": "TIMEOUT", "number": 10} == {k: r[k] for r in e.data["rows"] if r["name"] == "TIMEOUT" for k in ("name", "number")}'
	echo 'return { description = "Show where we are", danger_level = "safe", run = print }' | command_file environment
	call help environment
	expect 'e.data["description"] == "Show where we are"'
	call help environment more
	[ "$status" -eq 2 ]
}

@test "a group alone is its help: exit 0, and data for a program" {
	call db
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["commands"] == {"db dump": "Write a dump", "db migrate": "Change tables"}'
	on_terminal COLUMNS=80 db
	[ "$status" -eq 0 ]
	[[ $stdout == *$'\n  db dump     Write a dump\n'* ]]
	call db mirgate
	[ "$status" -eq 2 ]
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
	call db --nonsense
	[ "$status" -eq 2 ]
	expect 'e.error.code == "VALIDATION_ERROR"'
}

@test "a command that calls a group gets an error, not help" {
	body asks <<-'LUA'
		return ctx:call("db")
	LUA
	call asks
	[ "$status" -eq 1 ]
	expect 'e.error.code == "COMMAND_NOT_FOUND" and "is a group of commands" in e.error.message'
}

@test "habits of other tools get the right hint" {
	call list
	expect 'e.error.suggestion == "Run '"'runner'"' to list the commands"'
	call create
	expect '"runner new NAME" in e.error.suggestion'
	call run deploy
	expect 'e.error.suggestion == "Write runner deploy"'
	call run deploy --bogus x
	expect 'e.error.suggestion == "Write runner deploy, which takes no --bogus"'
	call run
	expect 'e.error.suggestion.startswith("Write the name of one: runner ")'
	call run nothing-like-it
	expect 'not e.error.suggestion.startswith("Write")'
	call deploy --json
	expect 'e.error["errors"][0]["suggestion"] == "Use --format json"'
	call db dump --dry-run
	expect '"--plan" in e.error["errors"][0]["suggestion"] and len(e.error["errors"]) == 1'
	call deploy --watch
	expect 'e.error["errors"][0]["suggestion"] == "Use runner watch -- COMMAND"'
	call deploy --target prod -y
	expect 'e.error["errors"][0]["fix_required"] == "Use --yes"'
	[ ! -e ran ]
}

@test "a name of the project's own goes before a habit" {
	echo 'return { description = "x", danger_level = "safe", args = { { "jason", "string" } }, run = print }' | command_file lists
	call list
	expect 'e.error.suggestion == "Did you mean '"'lists'"'?"'
	call lists --json x
	expect 'e.error["errors"][0]["suggestion"] == "Did you mean '"'--jason'"'?"'
}

@test "the list is for other programs with --format plain, and then stderr is empty" {
	call --format plain
	[ "$status" -eq 0 ]
	[ "$(head -n1 out.txt)" = $'db dump\tsafe\tWrite a dump' ]
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
	on_terminal COLUMNS=80 --help
	[[ $stdout == *"(broken: run 'runner lint raises')"* ]]
}

@test "hidden commands are not listed and still have help" {
	echo 'return { description = "Secret", danger_level = "safe", hidden = true, run = print }' | command_file secret
	call
	expect '"secret" not in e.data["commands"]'
	call help secret
	[ "$status" -eq 0 ]
	expect 'e.data["description"] == "Secret"'
}

@test "help of a group lists its commands, in every way to ask" {
	local args
	for args in "help db" "db --help" "db -h"; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.data["commands"] == {"db dump": "Write a dump", "db migrate": "Change tables"}'
	done
}

@test "the commands for workflows are a group like any other" {
	call workflow --help
	[ "$status" -eq 0 ]
	local name
	for name in run resume cancel check plan list show logs stats; do
		expect "'workflow $name' in e.data['commands']"
	done
	call workflow run --help
	expect 'e.data["usage"] == "runner workflow run [options] <file>" and "STEP_IN_DOUBT" in e.data["exit_codes"].values()'
}

@test "help of a nested command takes its words apart or with dots" {
	local args
	for args in "help db migrate" "help db.migrate" "db.migrate --help" "self.help db.migrate" "--help db.migrate"; do
		# shellcheck disable=SC2086
		call $args
		[ "$status" -eq 0 ]
		expect 'e.data["usage"] == "runner db migrate"'
	done
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
	expect '"nonsense" in e.data["problem"] and e.data["commands"]["deploy"] == "Deploy a release"'
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
	call help red --format plain
	[ "$status" -eq 0 ]
	[ "$(grep -c $'[\033\007]' out.txt)" -eq 0 ]
}
