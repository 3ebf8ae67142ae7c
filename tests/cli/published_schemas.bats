#!/usr/bin/env bats
# The schemas of docs/schema that are not the envelope's hold for what the program prints, and refuse what it would not.

load lib/helper

# of SCHEMA FILE: how many lines of the file are what docs/schema/SCHEMA.json says; all have to be
of() {
	python3 "$ROOT/tests/cli/lib/schema.py" --lines "$1" "$2"
}

refused() {
	echo "$2" >refused.jsonl
	run of "$1" refused.jsonl
	[ "$status" -eq 1 ]
	[[ $output == *refused.jsonl:1:* ]]
}

@test "lines of a stream: rows, signs of life, a summary, or the envelope of a failure" {
	body rows 'streams = true, timeout = "2m", args = { { "fail", "boolean" } }, exit_codes = { CONFLICT = { description = "no" } },' <<-'LUA'
		for i = 1, 3 do ctx:emit { n = i } end
		while not args.fail and not io.open("out.txt"):read("a"):find('"heartbeat":true', 1, true) do ctx:sleep(0.02) end
		if args.fail then ctx:fail("CONFLICT", "no") end
		return { last = 3 }
	LUA
	call rows --format jsonl --heartbeat-ms 50
	grep -q '"heartbeat":true' out.txt
	[ "$(of stream-line out.txt)" -ge 5 ]
	call rows --fail --format jsonl
	[ "$(of stream-line out.txt)" -eq 4 ]
	refused stream-line '{"_summary":true}'
	refused stream-line '{"heartbeat":true}'
	refused stream-line '{"ok":true,"error":null}'
	refused stream-line '[]'
}

@test "requests of exec: what the schema takes is made, and its options are those that are open" {
	body one 'args = { { "n", "integer", default = 1 } },' <<<'return { n = args.n }'
	printf '%s\n' '{"_cmd":"one"}' '{"_cmd":"one","_opts":{"timeout":"5s","retries":0,"meta":"short"},"_id":7,"n":2}' >requests.jsonl
	[ "$(of exec-request requests.jsonl)" -eq 2 ]
	"$RUNNER" exec <requests.jsonl >out.txt
	[ "$(grep -c '"ok":true' out.txt)" -eq 2 ]
	local wrong
	for wrong in '{"n":1}' '{"_cmd":"one","_opts":{"yes":true}}' '{"_cmd":"one","_opts":[]}' '{"_cmd":"one","_id":{}}'; do
		refused exec-request "$wrong"
		call exec <<<"$wrong"
		[ "$status" -eq 2 ]
	done
	python3 - "$ROOT" <<-'PY'
		import json, re, sys
		open_flags = re.search(r"M.open_flags = tables.set \[\[(.*?)\]\]", open(sys.argv[1] + "/lua/calls/request.lua").read(), re.S).group(1)
		schema = json.load(open(sys.argv[1] + "/docs/schema/exec-request.json"))["properties"]["_opts"]["properties"]
		assert set(schema) == set(open_flags.split()) | {"timeout", "dry_run", "live"}, set(schema) ^ set(open_flags.split())
	PY
}

@test "the data of a job, and of its status" {
	body work '' <<<'return { n = 1 }'
	answers 0 work --detach
	python3 -c 'import json; print(json.dumps(json.load(open("out.txt"))["data"]))' >job.jsonl
	[ "$(of job job.jsonl)" -eq 1 ]
	answers 0 job wait "$(field 'e.data["job_id"]')"
	refused job '{"job_id":"x"}'
}

@test "rows of the audit ledger" {
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	body fine '' <<<'return 1'
	body fails 'exit_codes = { CONFLICT = { description = "no" } },' <<<'ctx:fail("CONFLICT", "no")'
	body drop 'danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' <<<'return { effect = "deleted" }'
	call fine
	call fails
	call drop
	call drop --confirm-destructive
	grep -q '"event":"decision"' audit.jsonl
	[ "$(of audit-row audit.jsonl)" -ge 8 ]
	refused audit-row '{"event":"end"}'
}

# manifest_of ARGS…: the manifest, on a line of its own
manifest_of() {
	answers 0 manifest "$@"
	python3 -c 'import json; print(json.dumps(json.load(open("out.txt"))["data"]))'
}

@test "the manifest: whole, compact, of a group and of one command, with what departs from the spec's schema and nothing else" {
	known
	cp -r "$ROOT"/tests/criteria/project/* .
	body db/look 'exit_codes = { UNAVAILABLE = { description = "down", retryable = "maybe", side_effects = "partial" } },' <<<'return 1'
	body db/more 'exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } },' <<<'return 1'
	for args in '' --compact db 'db look'; do
		# shellcheck disable=SC2086
		manifest_of $args
	done >manifests.jsonl
	grep -q '"maybe"' manifests.jsonl
	[ "$(of manifest manifests.jsonl)" -eq 4 ]
	refused manifest '{"commands":{}}'
	refused manifest '{"schema_version":"3.1","framework_version":"1","etag":"x","commands":{"a":{"description":"x"}}}'
	python3 - "$ROOT" <<-'PY'
		import json, sys
		read = lambda path: json.load(open(sys.argv[1] + path))
		ours, spec = read("/docs/schema/manifest.json"), read("/lua/agent_spec/manifest-response.json")
		entry = ours["definitions"].pop("ExitCodeEntry")["properties"]
		assert entry.pop("retryable") == {"enum": [True, False, "maybe"]}
		theirs = read("/lua/agent_spec/exit-code-entry.json")["properties"]
		theirs.pop("retryable")
		assert entry == theirs
		same = lambda schema: json.dumps({key: schema[key] for key in ("required", "properties", "definitions")}).replace("#/definitions/ExitCodeEntry", "exit-code-entry.json")
		assert same(ours) == same(spec)
	PY
}
