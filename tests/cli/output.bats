#!/usr/bin/env bats
# Flags about the output: --format, --output, --quiet, --verbose, --warnings-as-errors.

load lib/helper
load lib/input

rows_command() {
	command_file rows <<'LUA'
return { description = "x", danger_level = "safe", rows = true,
	run = function(_, ctx)
		ctx:log("debug", "detail")
		ctx:log("a line")
		ctx:warn("SLOW_DISK", "slow")
		return { { n = 1, s = "a" }, { n = 2, s = "b" } }
	end }
LUA
}

@test "REQ-O-001 --format: each gives its own form of a success" {
	rows_command
	call rows --format json
	succeeded
	call rows --format jsonl
	[ "$stdout" = '{"n":1,"s":"a"}'$'\n''{"n":2,"s":"b"}' ]
	call rows --format tsv
	[ "$stdout" = $'n\ts\n1\ta\n2\tb' ]
	call rows --format plain
	[ "$stdout" = $'1\ta\n2\tb' ]
	call rows --format table
	[ "$stdout" = $'n  s\n1  a\n2  b' ]
	call RUNNER_FORMAT=tsv rows
	[ "$stdout" = $'n\ts\n1\ta\n2\tb' ]
	call RUNNER_FORMAT=tsv rows --format json
	succeeded
	call rows --format xml
	refused 2 INVALID_ARGUMENT
}

ids_command() {
	body ids 'primary_id_field = "id",' "args = { { 'result', 'json', positional = true } }," <<<'return args.result'
}

@test "REQ-O-005 --format id prints bare ids: of an object, or one a line of a list" {
	ids_command
	call ids '{"id":42,"tags":[1,2]}' --format id
	[ "$status" -eq 0 ]
	printf '42\n' | cmp - out.txt
	sed 's/primary_id_field/rows = "items", &/' commands/ids.lua >commands/items.lua
	call items '{"items":[{"id":"a b"},{"id":9007199254740993},{"id":"é","x":1}],"id":3}' --format id
	printf 'a b\n9007199254740993\né\n' | cmp - out.txt
	sed 's/primary_id_field/rows = true, &/' commands/ids.lua >commands/all.lua
	call RUNNER_FORMAT=id all '[]'
	[ "$status" -eq 0 ]
	[ ! -s out.txt ]
	answers 0 all '[{"id":1},{"id":2}]' --format id --output ids.txt
	[ "$(<ids.txt)" = $'1\n2' ]
	body stream 'primary_id_field = "id", streams = true,' <<<'ctx:emit{ id = 1 } ctx:emit{ id = 2 }'
	call stream --format id
	[ "$stdout" = $'1\n2' ]
}

@test "REQ-O-005 a failure under --format id leaves stdout empty; stderr has its envelope" {
	ids_command
	sed 's/primary_id_field/rows = true, &/' commands/ids.lua >commands/all.lua
	local result command
	for result in '{"n":1}' '[{"id":1},{}]' '[1]' '{"id":""}' '{"id":"a\nb"}' '{"id":[1]}' '{"id":true}' '{"id":"\u001b[1m"}'; do
		[[ $result == \[* ]] && command=all || command=ids
		call "$command" "$result" --format id
		[ "$status" -ne 0 ]
		[ ! -s out.txt ]
		tail -n 1 err.txt >out.txt # behind a warning
		assert_envelope
		expect 'e.error.code == "INVALID_RESULT" and e.error.side_effects == "none" and not e.error.retryable'
	done
	call missing --format id
	[ "$status" -ne 0 ]
	[ ! -s out.txt ]
	mv err.txt out.txt
	assert_envelope
}

@test "REQ-O-005 --format id is refused before the run where there will be no ids" {
	ids_command
	body plain <<<'io.open("ran", "w"):close() return { id = 1 }'
	call plain --format id
	[ "$status" -eq 2 ]
	[ ! -s out.txt ]
	[ ! -e ran ]
	grep -q '"message":"--format id: the results of .plain. have no ids"' err.txt
	call ids '{"id":1}' --format id --fields n
	[ "$status" -eq 2 ]
	grep -q CONFLICTING_VALUES err.txt
	call ids '{"id":1}' --format id --detach
	[ "$status" -eq 2 ]
	grep -q CONFLICTING_VALUES err.txt
	answers 0 ids '{"id":1}' --format id --validate-only
	expect 'e.data is None and e.meta.validation_only is True'
	local flag
	for flag in --plan --schema --version --show-config; do
		call ids --format id $flag
		[ "$status" -eq 0 ]
		[ -s out.txt ]
	done
}

@test "REQ-O-001 --output writes the result to a file; a format there is refused" {
	rows_command
	call rows --output out.json
	succeeded
	expect 'e.data["path"] == "out.json" and e.data["bytes"] == 34'
	[ "$(<out.json)" = '[{"n":1,"s":"a"},{"n":2,"s":"b"}]' ]
	local format
	for format in tsv plain table jsonl; do
		answers 0 rows --format $format --output "out.$format"
		expect "e.data == { 'path': 'out.$format', 'bytes': $(wc -c <"out.$format") } and e.warnings[0].code == 'SLOW_DISK'"
		call rows --format $format
		cmp out.txt "out.$format"
	done
	[ "$(<out.tsv)" = $'n\ts\n1\ta\n2\tb' ]
	for format in json jsonl tsv plain table text; do
		call touch --target prod --output $format
		refused 2 INVALID_ARGUMENT
		expect "e.error.suggestion == 'Use --format $format' or '$format' == 'text'"
		[ ! -e $format ]
	done
	call rows --output missing/out.json
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED" and e.error.side_effects == "complete" and "missing/out.json" in e.error.message'
}

@test "--output goes through a link and into a pipe: neither is replaced" {
	rows_command
	echo old >file
	ln -s file link
	call rows --output link
	succeeded
	[ -L link ]
	[ "$(<file)" = '[{"n":1,"s":"a"},{"n":2,"s":"b"}]' ]
	mkfifo pipe
	timeout 120 cat pipe >got &
	until_true eval 'call rows --output pipe && [ "$status" -eq 0 ]'
	wait $!
	[ -p pipe ]
	[ "$(<got)" = '[{"n":1,"s":"a"},{"n":2,"s":"b"}]' ]
	call rows --output pipe
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED"'
}

@test "--output makes what a dangling link leads to, and refuses links that go round" {
	rows_command
	mkdir -p deep/er
	ln -s ../made deep/link
	ln -s deep/link dangling
	call rows --output dangling
	succeeded
	[ -L dangling ]
	[ -L deep/link ]
	[ "$(<made)" = '[{"n":1,"s":"a"},{"n":2,"s":"b"}]' ]
	ln -s round about
	ln -s about round
	call rows --output round
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED"'
	[ -L round ]
	[ -L about ]
}

@test "--output leaves the file that root replaces to its owner" {
	[ "$(id -u)" -eq 0 ] || skip "needs root for chown"
	rows_command
	echo old >file
	chown 12345:23456 file
	chmod 640 file
	call rows --output file
	succeeded
	[ "$(stat -c '%u:%g %a' file)" = "12345:23456 640" ]
}

@test "--output shows a terminal its path without control characters, and a program as it is" {
	rows_command
	local name=$'a\e]0;title\a\xe2\x80\xaeb'
	answers 0 rows --format tsv --output "$name"
	expect 'e.data["path"] == "a\u202eb"'
	[ -s "$name" ]
	# shellcheck disable=SC2016 # the inner shell's
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" NAME="$name" \
		script -qec '"$RUNNER" rows --format tsv --output "$NAME" 2>/dev/null' /dev/null >shown.txt </dev/null
	[ "$(tr -d '\r' <shown.txt)" = ab ]
}

@test "--warnings-as-errors turns a success with warnings into a failure, and no other" {
	rows_command
	call rows --warnings-as-errors
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "WARNINGS_AS_ERRORS" and e.error.side_effects == "none"' # it is safe
	expect '[w["code"] for w in e.warnings] == ["SLOW_DISK"]'
	call touch --target prod --warnings-as-errors
	succeeded
	command_file change <<-'LUA'
		return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
			run = function(_, ctx) ctx:warn("SLOW_DISK", "x") end }
	LUA
	answers 1 change --warnings-as-errors
	expect 'e.error.code == "WARNINGS_AS_ERRORS" and e.error.side_effects == "complete"'
}

@test "--quiet says nothing on stderr, --verbose more" {
	rows_command
	call RUNNER_LOG_KEPT=1 rows
	[[ "$stderr" == *'"a line"'* && "$stderr" != *'"detail"'* ]]
	call rows --verbose
	[[ "$stderr" == *'"a line"'* && "$stderr" == *'"detail"'* ]]
	call rows --quiet
	[ -z "$stderr" ]
	call rows --quiet --verbose
	[ -z "$stderr" ]
}

@test "a warning of a success reaches stderr where no envelope carries it" {
	command_file warns <<'LUA'
return { description = "x", danger_level = "safe", run = function(_, ctx) ctx:warn("SLOW_DISK", "the disk is slow") return { n = 1 } end }
LUA
	local format
	for format in jsonl tsv plain table; do
		call warns --format $format
		[ "$status" -eq 0 ]
		[ "$(grep -c '"event":"warning".*"code":"SLOW_DISK".*"the disk is slow"' err.txt)" -eq 1 ]
		call warns --format $format --quiet
		[ ! -s err.txt ]
	done
	call warns
	expect '[w["code"] for w in e.warnings] == ["SLOW_DISK"]'
	[ ! -s err.txt ]
}

@test "a list that was not given stays a list where the command hands it back" {
	command_file lists <<-'L'
		return {
			description = "x", danger_level = "safe",
			args = {
				{ "a", "array", items = "string", description = "x" },
				{ "b", "array", items = "string", default = {}, description = "x" },
			},
			run = function(args) return args end,
		}
	L
	call lists
	expect 'e.data == {"a": [], "b": []}'
	call lists --a one
	expect 'e.data == {"a": ["one"], "b": []}'
}
