#!/usr/bin/env bats
# What runner exports, read by the official definitions of OTLP (tests/otlp): every kind of span,
# event and attribute, with texts that somebody else wrote.

load lib/workflow

# official: the exported requests are in found.json, as the reader understood them
official() {
	local why
	# the system's python3, whose packages Debian's python3-protobuf is one of
	if ! /usr/bin/python3 "$ROOT/tests/otlp/check.py" "$@" >found.json 2>why.txt; then
		why=$(tail -n 1 why.txt)
		[[ $why != needs\ * ]] || skip "$why"
		cat why.txt >&2
		return 1
	fi
}

# found EXPR: it holds for `f`, what found.json has
found() {
	python3 -c 'import json, sys
f = json.load(open("found.json", encoding="utf-8"))
assert eval(sys.argv[1], {"f": f}), json.dumps(f, indent=1)' "$1"
}

# The attributes that the source names, without those of a call of more than a thousand programs.
named_in_source() {
	grep -ohE '\["(cicd|error|gen_ai|process|runner|service|telemetry)\.[a-z_.]+"\]' "$ROOT"/lua/telemetry/{call,settings}.lua \
		"$ROOT/lua/workflow/report/spans.lua" | sed 's/[]["]//g' | grep -vx runner.programs_left_out | sort -u
}

exports_everything() {
	echo 'return { telemetry = { file = "traces.jsonl", content = true } }' >runner.lua
	CLEAN_ENV+=(OTEL_SERVICE_NAME='naïve "service"' OTEL_RESOURCE_ATTRIBUTES='host.name=ci%201,team=%C3%A9quipe')
	local used='"num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"claude-x":{"inputTokens":10,"outputTokens":5}}'
	turns "$SERVER_ERROR" "echo \"Claude AI usage limit reached|\$((\$(date +%s) + 6))\"; exit 1" \
		"echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"s-1\",$used}'"
	body inner <<<'return ctx:run{ "sh", "-c", "exit 3", check = false }.status'
	workflow every <<-'YAML'
		name: every
		claude: { output: json }
		commands:
		  - id: side
		    parallel:
		      - { id: odd, shell: "printf 'a\\000b\\377\\033[2J\\360\\237\\230'; head -c 5000 /dev/zero | tr '\\000' '\\303'" }
		      - { id: late, shell: "test -e go || { touch go; exit 3; }", retry: { delays: [10ms], retry_on: [{ exit: 3 }] } }
		  - { id: each, foreach: [1, "é"], do: [ { id: say, shell: "echo ${item}" } ] }
		  - { id: left, shell: "true", when: "1 == 2" }
		  - { id: ask, claude: "hello \"you\"", retry: { initial_delay: 20ms, jitter: 0 } }
		  - { id: own, runner: inner }
		  - { id: shot, shell: "test -e again || { touch again; kill -9 $$; }" }
	YAML
	call workflow run every.yaml
	envelope 1
	call workflow resume @last --force
	envelope 0
	body outer <<-'LUA'
		ctx:run{ "sh", "-c", "kill -9 $$", check = false }
		ctx:run{ "printf", ("é"):rep(5000) }
		pcall(function() ctx:run{ "sleep", "60", timeout = "10ms" } end)
		ctx:fail("PRECONDITION", "it said \255\0 " .. ("é"):rep(5000))
	LUA
	call outer
	[ "$status" -ne 0 ]
}

@test "every kind of span, event and attribute is read by the official definitions of OTLP, with nothing lost" {
	exports_everything
	official traces.jsonl
	found '{"every", "side", "side.odd", "side.late attempt", "each", "each.say", "ask attempt", "own attempt", "shot", "inner", "inner attempt", "outer", "outer attempt", "sh", "sleep", "printf"} <= set(f["spans"])'
	found 'set(f["events"]) == {"retry.wait", "limit.wait"} and f["spans"].count("every") == 2 and f["requests"] >= 4'
	found 'set(f["kinds"]) >= {"string_value", "int_value", "double_value"}'
	named_in_source >named
	[ "$(wc -l <named)" -ge 25 ]
	python3 -c 'import json; print(*json.load(open("found.json"))["attributes"], sep="\n")' | sort >exported
	[ -z "$(comm -23 named exported)" ] || { comm -23 named exported >&2; return 1; }
}

@test "the official reader of OTLP notices what is wrong with a request" {
	exports_everything
	official traces.jsonl
	local change
	for change in 's["startTimeUnixNano"] = "soon"' 's["traceId"] = s["traceId"][:-1]' 's["kind"] = "SPAN_KIND_INTERNAL"' 's["nosuch"] = 1' \
		's["attributes"][0]["value"] = {"intValue": "99999999999999999999"}' 's["attributes"] += s["attributes"][:1]' \
		's["status"] = {"code": 2, "message": 5}' 's["endTimeUnixNano"] = "1"' 's["attributes"] = {}' 's["name"] = ""'; do
		python3 -c 'import json, sys
value = json.loads(open("traces.jsonl", encoding="utf-8").readline())
s = value["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
exec(sys.argv[1])
print(json.dumps(value))' "$change" >wrong.jsonl
		! /usr/bin/python3 "$ROOT/tests/otlp/check.py" wrong.jsonl >/dev/null 2>&1 || { echo "accepted: $change" >&2; return 1; }
	done
}
