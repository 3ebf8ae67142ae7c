#!/usr/bin/env bats
# Arguments as JSON: --raw-payload, --input-file, values of the type json, --validate-only.

load lib/helper
load lib/input

prepare() {
	command_file all <<'LUA'
return { description = "x", danger_level = "safe",
	args = {
		{ "target", "enum", values = { "prod", "staging", "dev" }, required = true, code = "BAD_TARGET" },
		{ "keep", "integer", min = 1, max = 50, default = 5 }, { "ratio", "number" }, { "wait_for", "duration" },
		{ "force", "boolean" }, { "region", "string", env = "REGION", default = "eu" },
		{ "id", "string", pattern = "uuid" }, { "tags", "array", items = "string", max_length = 2 },
		{ "sizes", "array", items = "integer" }, { "pin", "string", secret = true },
		{ "filter", "json", schema = { type = "object" } }, { "any", "json" }, { "files", "path", variadic = true },
	},
	run = function(args) local f = io.open("touched", "w") f:close() return args end }
LUA
}

succeeded() {
	assert_envelope
	[ "$status" -eq 0 ]
	rm -f touched
}

# payload JSON: all of the arguments
payload() {
	call all --raw-payload "$1"
}

@test "REQ-O-032 --raw-payload gives what flags give, in every type" {
	call all --target prod --keep 7 --ratio 0.5 --wait-for 1500ms --force --id 123e4567-e89b-12d3-a456-426614174000 \
		--tags a --tags b --sizes 1 --filter '{"a":[1,{}]}' f1 f2
	succeeded
	field 'e.data' >flags
	payload '{"target":"prod","keep":7,"ratio":0.5,"wait_for":"1500ms","force":true,"id":"123e4567-e89b-12d3-a456-426614174000",
		"tags":["a","b"],"sizes":[1],"filter":{"a":[1,{}]},"files":["f1","f2"]}'
	succeeded
	[ "$(field 'e.data')" = "$(<flags)" ]
	payload '{"target":"prod","wait-for":1.5}' # the spelling of a flag, a number of seconds
	succeeded
	expect 'e.data["wait_for"] == 1.5 and e.data["keep"] == 5 and e.data["tags"] == [] and e.data["force"] is False'
}

@test "REQ-O-032 what the object leaves out comes from the variable and the default" {
	call REGION=us all --raw-payload '{"target":"dev"}'
	expect 'e.data["region"] == "us"'
	call REGION=us all --raw-payload '{"target":"dev","region":"ap"}'
	expect 'e.data["region"] == "ap"'
}

@test "REQ-O-032 every value keeps the rules of its argument, and all problems are reported at once" {
	payload '{"target":"prodd","keep":51,"ratio":"0.5","wait_for":true,"force":"yes","id":"7","tags":["a","b","c"],"sizes":[1,"2"],
		"filter":[1],"files":"f1","kep":1}'
	assert_envelope
	[ "$status" -eq 2 ]
	[ ! -e touched ]
	expect 'sorted(p["field"] for p in e.error.errors) == ["files", "filter", "force", "id", "keep", "kep", "ratio", "sizes", "tags", "target", "wait_for"]'
	expect '{p["field"]: p["code"] for p in e.error.errors}["target"] == "BAD_TARGET"'
	expect '{p["field"]: p.get("suggestion") for p in e.error.errors}["kep"] == "Did you mean '"'keep'"'?"'
	expect '{p["field"]: p.get("value") for p in e.error.errors}["sizes"] == "2"'
	expect 'all(p["fix_required"] for p in e.error.errors)'
	payload '{"keep":1}'
	refused 2 MISSING_ARGUMENT
	payload '{"target":null}'
	expect 'e.error.code == "BAD_TARGET"'
}

@test "REQ-O-032 a flag beside the object, and a name twice in it, are conflicts" {
	call all --raw-payload '{"target":"dev"}' --keep 3
	refused 2 CONFLICTING_VALUES
	call all --raw-payload '{"target":"dev"}' file
	refused 2 CONFLICTING_VALUES
	payload '{"target":"dev","wait_for":1,"wait-for":1}'
	refused 2 CONFLICTING_VALUES
	call all --raw-payload '{"target":"dev","timeout":1}'
	refused 2 UNKNOWN_FLAG
	expect '"--timeout" in e.error.suggestion'
	call all --raw-payload '{"target":"dev"}' --timeout 9s
	succeeded
	expect 'e.meta["timeout_ms"] == 9000'
}

@test "REQ-O-032 numbers are exact: 64 bits, fractions, and no guess beyond them" {
	payload '{"target":"dev","any":[9223372036854775807,-9223372036854775808,0.1,1e3],"keep":5.0}'
	succeeded
	grep -q '"any":\[9223372036854775807,-9223372036854775808,0.1,1000' out.txt
	expect 'e.data["keep"] == 5'
	payload '{"target":"dev","keep":5.5}'
	refused 2 INVALID_ARGUMENT
	payload '{"target":"dev","any":9223372036854775808}'
	refused 2 INVALID_JSON
	payload '{"target":"dev","ratio":1e999}'
	refused 2 INVALID_JSON
	expect '"corrected_input" not in e.error'
}

@test "REQ-O-032 what is no object of JSON gets one clear answer" {
	local text
	for text in '' '{' '[]' '1' 'null' '"x"' '{"target":"dev"' '{"target":"dev"}}' '{"target":"dev","target":"dev"}' '{target:"dev",target:"dev"}' \
		'{"target":"\u0000"}' '{"target":"\ud800"}' $'{"target":"\xff"}' $'{"target":"a\nb"}' "$(printf '[%.0s' $(seq 5000))" "$(printf '{"a":%.0s' $(seq 5000))"; do
		payload "$text"
		assert_envelope
		[ "$status" -eq 2 ]
		[ ! -e touched ]
	done
	payload "{\"target\":\"dev\",\"any\":$(printf '[%.0s' $(seq 101))$(printf ']%.0s' $(seq 101))}"
	refused 2 INVALID_JSON
	payload "{\"target\":\"dev\",\"any\":$(printf '[%.0s' $(seq 90))$(printf ']%.0s' $(seq 90))}"
	succeeded
	payload "{\"target\":\"dev\",\"files\":[\"a\\u0001b\"],\"tags\":[$(printf '"x",%.0s' $(seq 999))\"x\"]}"
	refused 2 INVALID_ARGUMENT
}

@test "REQ-O-032 no message, and no answer, repeats a secret of the object" {
	payload '{"target":"dev","pin":"hunter22"}'
	[ "$status" -eq 2 ]
	expect 'e.error["errors"][0]["code"] == "SECRET_ON_COMMAND_LINE" and "--input-file" in e.error["errors"][0]["fix_required"]'
	[ "$(grep -c hunter22 out.txt err.txt | grep -c ':0$')" -eq 2 ]
	echo '{"target":"dev","pin":"hunter22"}' >args.json
	call all --input-file args.json
	succeeded
	expect 'e.data["pin"] == "***" and e.warnings == []'
	payload '{"target":"dev","pin":"hunter22","keep":99}'
	[ "$status" -eq 2 ]
	payload '{"target":"dev","pin":"hunter22"'
	refused 2 INVALID_JSON
	payload '{target:"dev",pin:hunter22}'
	refused 2 INVALID_JSON
	payload '{"target":"dev","pin":["hunter22"]}'
	[ "$status" -eq 2 ]
	call all --raw-payload '{"pin":"hunter22"}' --raw-payload '{"pin":"hunter23"}'
	[ "$status" -eq 2 ]
	call all --raw-payload '{"pin":"hunter22"}' --raw-payload '{}' --help
	[ "$status" -eq 0 ]
	call all --raw-payload '{"target":"dev","pin":"hunter22"}' --pin-from-env HOME
	refused 2 CONFLICTING_VALUES
	[ "$(cat out.txt err.txt | grep -c hunter2)" -eq 0 ]
}

@test "REQ-O-032 --schema publishes the object's JSON Schema" {
	call all --schema
	succeeded
	expect 'e.data["raw_payload_schema"]["required"] == ["target"] and e.data["raw_payload_schema"]["additionalProperties"] is False'
	expect 'e.data["raw_payload_schema"]["properties"]["keep"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 5}'
	expect 'e.data["raw_payload_schema"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}, "maxItems": 2}'
	expect 'e.data["raw_payload_schema"]["properties"]["filter"] == {"type": "object"}'
}

@test "REQ-O-032 an author's own argument may have the names; --runner-NAME is runner's then" {
	command_file own <<'LUA'
return { description = "x", danger_level = "safe", args = { { "raw_payload", "string" }, { "input_file", "string" },
	{ "validate_only", "boolean" } }, run = function(args) return args end }
LUA
	call own --raw-payload a --input-file b --validate-only
	succeeded
	expect 'e.data == {"raw_payload": "a", "input_file": "b", "validate_only": True}'
	call own --runner-raw-payload '{"input_file":"c"}'
	expect 'e.data["input_file"] == "c"'
}

@test "REQ-O-039 --input-file reads the object from a file, or from stdin" {
	echo '{"target":"dev","pin":"hunter22"}' >args.json
	call all --input-file args.json
	succeeded
	expect 'e.data["target"] == "dev"'
	status=0
	"$RUNNER" all --input-file - <args.json >out.txt || status=$?
	succeeded
	expect 'e.data["target"] == "dev"'
	for file in nope . /dev/null; do
		call all --input-file "$file"
		assert_envelope
		[ "$status" -eq 2 ]
	done
	call all --input-file args.json --keep 3
	refused 2 CONFLICTING_VALUES
	call all --input-file args.json --raw-payload '{"target":"dev"}'
	refused 2 CONFLICTING_VALUES
	echo '{"target":"dev","pin":"hunter22"' >args.json
	call all --input-file args.json
	refused 2 INVALID_JSON
	[ "$(cat out.txt err.txt | grep -c hunter2)" -eq 0 ]
}

@test "REQ-O-039 a file of 10 MB is read, and so is one whose one line is that long" {
	python3 -c 'print("{\"target\":\"dev\",\"any\":\"" + "x" * 10**7 + "\"}")' >big.json
	call all --input-file big.json --fields target
	succeeded
	python3 -c 'print("{\"target\":\"dev\",\"any\":[\n" + "1,\n" * 10**6 + "1]}")' >many.json
	call all --input-file many.json --fields target
	succeeded
	python3 -c 'print("[" * 10**7)' >deep.json
	call all --input-file deep.json
	refused 2 INVALID_JSON
	python3 -c 'print("{\"target\":" + "x" * 10**7)' >broken.json
	call all --input-file broken.json
	refused 2 INVALID_JSON
	[ "$(wc -c <out.txt)" -lt 3000 ]
	truncate -s 17M huge.json
	call all --input-file huge.json
	refused 2 FIELD_TOO_LARGE
	[ "$(wc -c <out.txt)" -lt 3000 ]
}

@test "REQ-O-039 arguments on stdin have a cap, and a stdin that never ends is no trouble" {
	status=0
	"$RUNNER" all --input-file - >out.txt < <(yes '{"target":"dev"}') || status=$?
	refused 2 STDIN_TOO_LARGE
	expect 'e.error.context["limit_bytes"] == 65536'
	mkfifo silent
	exec 8<>silent
	status=0
	"$RUNNER" all --input-file - --timeout 300ms <silent >out.txt || status=$?
	exec 8>&-
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.code == "TIMEOUT"'
	[ ! -e touched ]
}

@test "REQ-O-039 with --plan, --input-file is read and nothing runs" {
	echo '{"target":"dev"}' >args.json
	call all --input-file args.json --plan
	succeeded
	expect '"worst_case_ms" in e.data'
	[ ! -e touched ]
	echo '{"target":"devv"}' >args.json
	call all --input-file args.json --plan
	[ "$status" -eq 2 ]
	[ ! -e touched ]
	call all --raw-payload '{"target":"dev"}' --plan
	succeeded
	[ ! -e touched ]
}

@test "REQ-F-059 JSON as people write it is read; what is only a guess is proposed" {
	local text
	for text in '{"a":1,}' '{a:1}' "{'a':1}" '{"a":1/*x*/} // y' $'// x\n{a:1,\n}'; do
		call all --target dev --filter "$text"
		succeeded
		expect 'e.data["filter"] == {"a": 1}'
	done
	payload "{target: 'dev', filter: {a: 'it\\'s \"x\"',},}"
	succeeded
	expect "e.data['filter'] == {'a': 'it\\'s \"x\"'}"
	call all --target dev --filter '{env prod}'
	refused 2 INVALID_JSON
	expect 'e.error["corrected_input"] == "{\"env\":\"prod\"}" and e.error.errors[0]["corrected_input"] == "{\"env\":\"prod\"}"'
	call all --target dev --filter '['
	refused 2 INVALID_JSON
	call all --target dev --filter '[]'
	refused 2 INVALID_ARGUMENT
	call all --target dev --any 'null'
	succeeded
	expect 'e.data["any"] is None'
}

@test "REQ-O-009 --validate-only says whether the call is valid, with all problems, and runs nothing" {
	call all --target dev --validate-only
	succeeded
	expect 'e.data is None and e.meta["validation_only"] is True'
	[ ! -e touched ]
	call all --keep 0 --nonsense --validate-only
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'len(e.error.errors) == 3 and e.meta["validation_only"] is True'
	call all --raw-payload '{"target":"dev"}' --validate-only
	succeeded
	[ ! -e touched ]
}

@test "REQ-O-009 --validate-only calls validate, checks cursors, and confirms and remembers nothing" {
	command_file wipe <<'LUA'
return { description = "x", danger_level = "destructive", args = { { "n", "integer", default = 1 } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	validate = function(args) return args.n > 5 and { { field = "n", message = "too many" } } or nil end,
	run = function() io.open("touched", "w"):close() return { effect = "deleted" } end }
LUA
	call wipe --validate-only --idempotency-key k
	succeeded
	expect 'e.warnings == []'
	call wipe --validate-only --n 6
	[ "$status" -eq 2 ]
	expect 'e.error.message == "too many"'
	[ ! -e touched ]
	body items 'list = true,' <<<'return {}'
	call items --validate-only --cursor zzz
	refused 2 INVALID_CURSOR
	call items --validate-only
	succeeded
	expect '"pagination" not in e.meta'
}

@test "REQ-F-064 max_bytes refuses a longer text before run" {
	body note 'args = { { "text", "string", max_bytes = 255 }, { "lines", "array", items = "string", max_bytes = "1KiB" } },' <<<'return args'
	call note --text "$(printf 'é%.0s' $(seq 127))"
	succeeded
	call note --text "$(printf 'é%.0s' $(seq 128))"
	refused 2 FIELD_TOO_LARGE
	expect '"256 bytes" in e.error.message'
	call note --lines a --lines "$(printf 'x%.0s' $(seq 1025))"
	refused 2 FIELD_TOO_LARGE
	call note --raw-payload "{\"text\":\"$(printf 'x%.0s' $(seq 500))\"}"
	refused 2 FIELD_TOO_LARGE
}

@test "REQ-F-045 a path may not leave the directory that it declares, however it tries" {
	body show 'args = { { "file", "path", within = "site" } },' <<<'return args'
	mkdir -p site/a outside
	ln -s ../outside site/out
	ln -s nowhere site/dangling
	ln -s a site/in
	local path
	for path in site site/a site/in/x site/new/file ./site/a/../b "$PWD/site/a" site//a; do
		call show --file "$path"
		succeeded
	done
	for path in outside site/.. site/../outside site/out site/out/x site/a/../../outside /etc/passwd sitex site/dangling \
		site/new/../../outside . ..; do
		call show --file "$path"
		refused 2 INVALID_AGENT_INPUT
		expect 'e.error["rejected_pattern"] == "outside_root"'
	done
	cd site || return
	call show --file a
	[ "$status" -eq 2 ]
}
