#!/usr/bin/env bats
# discovery_flags: what a command says of itself in JSON (--schema, --output-schema, help as
# JSON, `runner` alone), and whether its results keep to what it says.

load lib/helper

prepare() {
	known
	command_file report <<'LUA'
return {
	description = "Count things", danger_level = "safe",
	args = {
		{ "what", "string", positional = true, required = true, description = "What to count" },
		{ "depth", "integer", min = 1, max = 9, default = 3, description = "How deep" },
	},
	examples = { { description = "Count files", command = "runner report files" } },
	introduced_in = "1.2.0",
	output_schema = { type = "object", required = { "count", "items" }, additionalProperties = false, properties = {
		count = { type = "integer", minimum = 0 }, items = { type = "array", items = { type = "string" } } } },
	run = function(args)
		io.open("ran", "w"):close()
		if args.what == "wrong" then
			return { count = "many", items = { 1 }, extra = true }
		end
		return { count = args.depth, items = {} }
	end,
}
LUA
	command_file plain <<'LUA'
return { description = "Says nothing of its result", danger_level = "mutating",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() return { a = 1 } end }
LUA
}

# size FILE…: their bytes, were this test's folder in /tmp
size() {
	cat "$@" | sed "s|$PWD|/tmp/bats-run-123456/test/10|g" | wc -c
}

@test "REQ-O-013 --output-schema prints the JSON Schema of the result and runs nothing" {
	call report --output-schema
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["properties"]["count"] == {"type": "integer", "minimum": 0}'
	[ ! -e ran ]
	call plain --output-schema
	assert_envelope
	expect 'e.data == {}'
}

@test "REQ-C-015 --schema has parameters, exit codes, the result's schema and whatever else is declared" {
	call report --schema --nonsense
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["parameters"]["depth"]["default"] == 3 and e.data["positionals"][0]["name"] == "what"'
	expect 'e.data["exit_codes"]["2"]["name"] == "ARG_ERROR" and e.data["introduced_in"] == "1.2.0"'
	expect 'e.data["output_schema"]["required"] == ["count", "items"]'
	[ ! -e ran ]
	sed -i 's/{ "depth"/{ "width", "integer" }, { "depth"/' commands/report.lua
	call report --schema
	expect 'e.data["parameters"]["width"] == {"type": "integer", "required": False, "description": ""}'
}

@test "REQ-O-013 runner --schema, or --print-schema, is the manifest, and the same each time" {
	call --schema
	assert_envelope
	expect '"report" in e.data["commands"] and "help" in e.data["commands"]'
	expect 'e.data["commands"]["report"]["output_schema"]["type"] == "object"'
	local etag
	etag=$(field 'e.data["etag"]')
	call --print-schema
	expect 'e.data["etag"] == "'"$etag"'"'
	call manifest
	expect 'e.data["etag"] == "'"$etag"'"'
	call report --print-schema
	expect 'e.data["command"] == "report" and "parameters" in e.data'
}

@test "an argument may be named schema: --runner-schema is the flag then" {
	command_file own <<'LUA'
return { description = "x", danger_level = "safe", args = { { "schema", "string" } },
	run = function(args) return args end }
LUA
	call own --schema mine
	expect 'e.data == {"schema": "mine"}'
	call own --runner-schema
	expect '"schema" in e.data["parameters"]'
}

@test "REQ-C-015 a result that breaks output_schema comes with a warning, and is an error on request" {
	call report files
	assert_envelope
	expect 'e.warnings == [] and e.data["count"] == 3'
	call report wrong
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["OUTPUT_SCHEMA_MISMATCH"] and e.warnings[0]["context"]["count"] == 3'
	expect 'e.data["extra"] is True'
	call report wrong --warnings-as-errors
	[ "$status" -eq 1 ]
	expect 'e.error["code"] == "WARNINGS_AS_ERRORS"'
}

@test "REQ-F-074 an empty table is an empty list where output_schema says so" {
	call report files
	expect 'e.data["items"] == []'
	call plain
	expect 'e.data == {"a": 1}'
}

@test "REQ-C-015 a schema with a mistake is refused when the file is loaded, with the place" {
	local schema
	for schema in '{ type = "objekt" }' '{ properties = { a = { typ = "string" } } }' '{ required = "a" }' '{ pattern = "(" }' '"text"'; do
		command_file broken <<LUA
return { description = "x", danger_level = "safe", output_schema = $schema, run = print }
LUA
		call broken
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error["code"] == "COMMAND_INVALID" and e.error["errors"][0]["field"] == "output_schema"'
	done
	command_file broken <<'LUA'
return { description = "x", danger_level = "safe", output_schema = { properties = { a = { typ = "string" } } }, run = print }
LUA
	call broken
	expect '"properties/a/typ is no keyword" in e.error["message"]'
}

@test "help COMMAND --format json has usage, arguments, examples and codes, and stderr is empty" {
	call help report --format json
	assert_envelope
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	expect 'e.data["usage"] == "runner report [options] <what>" and e.data["danger_level"] == "safe"'
	expect 'e.data["arguments"][0] == {"name": "what", "type": "string", "required": True, "description": "What to count"}'
	expect 'e.data["arguments"][1]["name"] == "--depth" and e.data["arguments"][1]["default"] == 3'
	expect 'e.data["examples"] == ["runner report files"] and e.data["exit_codes"]["2"] == "ARG_ERROR"'
}

@test "REQ-F-048 help names in meta.schema_ref where its data is" {
	call report --help
	assert_envelope
	[ -z "$stderr" ]
	expect 'e.data["usage"] == "runner report [options] <what>" and e.meta.help is True and e.meta.schema_ref == "report --schema"'
	call
	expect 'e.meta.schema_ref == "--schema"'
}

@test "runner alone, off a terminal, is one short JSON and no text" {
	call
	assert_envelope
	[ -z "$stderr" ]
	expect 'e.data["commands"] == {"report": "Count things", "plain": "Says nothing of its result"}'
	expect '"manifest" in e.data["builtin"].split() and "destructive" not in e.data'
	sed -i 's/"mutating"/"destructive"/' commands/plain.lua
	call
	expect 'e.data["destructive"] == ["plain"]'
}

@test "an agent finds one of 30 commands, reads its help and calls it for 1,000 tokens of 4 bytes" {
	local i bytes
	rm commands/*.lua
	for i in {1..30}; do
		command_file "service-$i" <<LUA
return { description = "Restart the service number $i of the cluster", danger_level = "mutating", args = {
	{ "host", "string", required = true, description = "Name of the host" },
	{ "wait", "duration", default = "30s", description = "How long it may take" },
	{ "force", "boolean", description = "Even when it is busy" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "On one host", command = "runner service-$i --host web-1" } },
	run = function(args) return { effect = "updated", restarted = args.host } end }
LUA
	done
	call
	bytes=$(size out.txt err.txt)
	call help service-17 --format json
	bytes=$((bytes + $(size out.txt err.txt)))
	call service-17 --host web-1
	expect 'e.data == {"effect": "updated", "restarted": "web-1"}'
	bytes=$((bytes + $(size out.txt err.txt)))
	echo "bytes: $bytes"
	[ "$bytes" -le 4000 ]
}

# project_of COUNT [GROUPS]: that many commands, in so many groups.
project_of() {
	local i folder
	rm -r commands
	for ((i = 1; i <= $1; i++)); do
		folder=${2:+area-$((i % $2))/}
		command_file "${folder:-}service-$i" <<LUA
return { description = "Restart the service number $i of the cluster", danger_level = "mutating", args = {
	{ "host", "string", required = true, description = "Name of the host" },
	{ "wait", "duration", default = "30s", description = "How long it may take" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "On one host", command = "runner service-$i --host web-1" } },
	run = function(args) return { effect = "updated", restarted = args.host } end }
LUA
	done
}

# adds: the bytes of the last answer to `bytes`.
adds() {
	[ "$status" -eq 0 ]
	bytes=$((bytes + $(size out.txt err.txt)))
}

@test "an agent finds one of 300 commands by a search, reads its help and calls it for 5,000 bytes" {
	local bytes=0
	project_of 300
	call
	adds
	expect 'e.data["count"] == 300 and len(e.data["commands"]) == 20 and "--search" in e.data["next"]'
	expect 'e.data["more"].startswith("service-117 service-118 ") and e.data["more"].endswith("%d more" % (280 - e.data["more"].count("service")))'
	call help --search "SERVICE 217" --format json
	adds
	expect '[c["name"] for c in e.data["commands"]] == ["service-217"] and e.data["matches"] == 1'
	call help service-217 --format json
	adds
	call service-217 --host web-1
	adds
	echo "bytes: $bytes"
	[ "$bytes" -le 5000 ]
}

@test "an agent finds one of 300 commands in 20 groups, group by group, for 6,000 bytes" {
	local bytes=0
	project_of 300 20
	call
	adds
	expect 'e.data["commands"] == {} and len(e.data["groups"]) == 20 and e.data["groups"]["area-7"] == 15'
	expect 'e.data["groups"]["area-0"] == " ".join(sorted("service-%d" % i for i in range(20, 301, 20)))'
	call help area-17 --format json
	adds
	expect 'len(e.data["commands"]) == 15 and "area-17 service-217" in e.data["commands"]'
	call help area-17 service-217 --format json
	adds
	call area-17 service-217 --host web-1
	adds
	echo "bytes: $bytes"
	[ "$bytes" -le 6000 ]
}

@test "what it costs to know a project of 30 and of 307 commands has not grown, on any way" {
	case $RUNNER in */sanitize/*) skip "a sanitizer's cost is not ours" ;; esac
	python3 "$ROOT/tests/bench/known.py" "$RUNNER"
}

# page ARGS…: it answers once, in at most 2,500 bytes, and says nothing on stderr.
page() {
	call "$@"
	assert_envelope
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	echo "$*: $(size out.txt)"
	[ "$(size out.txt)" -le 2500 ]
}

@test "a list is one page of 2,500 bytes: --help, a group, however many commands there are and whatever they say" {
	local i long
	long=$(printf 'ä word %.0s' {1..40})
	rm -r commands
	lua5.4 "$ROOT/tests/search/commands.lua" . 30
	page --help
	expect 'len(e.data["commands"]) == 30 and e.data["commands"]["alert silence"] == "Mute an alert for some time"'
	expect 'all(p in e.data["next"] for p in ("--search", "COMMAND", "environment", "exit-codes", "flags", "output"))'
	expect 'e.data["destructive"] == ["alert rule-delete", "backup delete", "backup prune", "backup restore"]'
	page alert --help
	page alert silence --help
	lua5.4 "$ROOT/tests/search/commands.lua" .
	page --help
	expect 'e.data["count"] == 307 and e.data["groups"]["service"] == 15 and len(e.data["groups"]) == 42'
	expect 'e.data["groups"]["cache"] == "flush get purge set stats warm"'
	for i in {1..25}; do
		command_file "alone-$i" <<<"return { description = '$long', danger_level = 'safe', run = print }"
		command_file "wide/w$i" <<<"return { description = '$long', danger_level = 'safe', run = print }"
	done
	page --help
	page help wide
	expect 'len(e.data["commands"]) == 25 and all(d.endswith("…") and len(d) > 20 for d in e.data["commands"].values())'
	for i in {1..200}; do
		mkdir -p "commands/a-group-with-number-$i"
		cp commands/vpn/{peers,connect}.lua "commands/a-group-with-number-$i"
	done
	page --help
	expect 'e.data["groups"]["wide"] == 25 and e.data["more_groups"] > 100'
	rm -r commands
	mkdir commands
	page --help
	expect 'e.data["commands"] == {}'
}

@test "where there is no room for descriptions the names are there, tasks in the order of their file, and all that has none is counted" {
	local i
	rm -r commands
	{
		echo 'return { tasks = {'
		for i in {60..1}; do
			echo "[\"task-$i\"] = { description = 'Do what is to be done for the task number $i', shell = 'true' },"
		done
		echo '} }'
	} >tasks.lua
	answers 0 task-1
	page
	expect 'len(e.data["commands"]) == 20 and "task-41" in e.data["commands"] and "task-40" not in e.data["commands"]'
	expect 'e.data["more"] == " ".join("task-%d" % i for i in range(40, 0, -1))'
	rm tasks.lua
	for i in {1..9} {a..z} other; do
		command_file "$i/x" <<<"return { description = 'Some words that say what this command is there for', danger_level = 'safe', run = print }"
		cp "commands/$i/x.lua" "commands/$i/y.lua"
	done
	call
	[ "$status" -eq 0 ]
	page
	expect 'all(names == "x y" for names in e.data["groups"].values())'
	for i in {1..400}; do
		cp commands/other/x.lua "commands/other/one-of-many-$i.lua"
	done
	page
	expect 'e.data["groups"]["other"].endswith("%d more" % (402 - e.data["groups"]["other"].count("one-of-many")))'
}

@test "a search has no more than 10 answers, the best first, and where nothing fits the groups" {
	project_of 70 1
	call help --search "service" --format json
	expect 'len(e.data["commands"]) == 10 and e.data["matches"] >= 70'
	call help area-0 --format json
	expect 'e.data["count"] == 70 and len(e.data["commands"]) == 20 and len(e.data["more"].split()) == 50 and e.data["more"].startswith("service-28 ")'
	call help --search "qqqq zzzz" --format json
	assert_envelope
	expect 'e.data["commands"] == [] and e.data["matches"] == 0 and e.data["groups"]["area-0"] == 70'
	call help --search "service-7" --format plain
	[[ $stdout == *service-7* ]]
	answers 2 help --search ""
}

@test "a question in plain words finds the same over the command line and over MCP, keywords of declarations too" {
	rm -r commands
	lua5.4 "$ROOT/tests/search/commands.lua" .
	sed -i 's/^return {/return { keywords = { "zeppelin" },/' commands/vpn/connect.lua
	local question
	for question in "deploy service 7 to staging" "remove a bucket for good" "fly the zeppelin"; do
		call help --search "$question" --format json
		assert_envelope
		[ "$status" -eq 0 ]
		field '"\n".join(c["name"] for c in e.data["commands"])' >"found $question"
	done
	[ "$(head -n1 "found deploy service 7 to staging")" = "service deploy" ]
	[ "$(head -n1 "found remove a bucket for good")" = "bucket delete" ]
	[ "$(cat "found fly the zeppelin")" = "vpn connect" ]
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" python3 - <<'PY'
import json
from mcp import Server
with Server("--progressive", "--allow", "bucket delete") as s:
    for question in ("deploy service 7 to staging", "fly the zeppelin"):
        data = json.loads(s.call("search", {"query": question})["content"][0]["text"])["data"]
        names = [tool["name"].replace("_", " ") for tool in data["tools"]]
        assert names[:1] == open("found " + question).read().splitlines()[:1], names
    data = json.loads(s.call("search", {})["content"][0]["text"])["data"]
    assert data["tools"] == [] and data["groups"]["service"] == 14, data
PY
}

@test "REQ-F-075 a deprecated command works, warns in its answer and in one line of JSON on stderr" {
	command_file old <<'LUA'
return { description = "x", danger_level = "safe", deprecated_in = "1.4.0", replacement = "report", removed_in = "2.0.0",
	run = function() return { ok = true } end }
LUA
	call old
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["DEPRECATED"] and e.warnings[0]["context"]["replacement"] == "report"'
	[ "$(grep -c DEPRECATED err.txt)" -eq 1 ]
	python3 -c 'import json, sys; line = json.loads(open("err.txt").readline())
assert (line["level"], line["code"], line["replacement"], line["removed_in"]) == ("warn", "DEPRECATED", "report", "2.0.0")'
	call old --schema
	expect 'e.data["deprecated_in"] == "1.4.0" and e.data["replacement"] == "report"'
	sed -i 's/deprecated_in = "1.4.0", //' commands/old.lua
	call old
	[ "$status" -eq 4 ]
	expect 'e.error["code"] == "COMMAND_INVALID"'
}

@test "--help describes a command that would be a job, or has a key or an older form, and makes no call" {
	prepare
	command_file later <<'LUA'
return { description = "Goes on alone", danger_level = "mutating", async = true, schema_version = "2.0",
	older_versions = { ["1.0"] = function(data) return { old = data.a.b } end },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() io.open("ran", "w"):close() return { a = { b = 1 }, effect = "noop" } end }
LUA
	local flags words
	for flags in "" --detach "--idempotency-key k" "--schema-version 1" "--dry-run" "--no-detach --idempotency-key k"; do
		read -ra words <<<"$flags"
		call later --help --format json "${words[@]}"
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.meta["command"] == "help" and e.meta["schema_ref"] == "later --schema" and e.data["usage"] == "runner later"'
		expect 'not any("job" in w["code"].lower() or w["code"] == "SCHEMA_DEPRECATED" for w in e.warnings)'
	done
	call job list
	expect 'e.data == []'
	[ ! -e ran ]
	call later --no-detach --idempotency-key k
	expect 'e.ok and e.data["effect"] == "noop"'
	[ -e ran ]
}
