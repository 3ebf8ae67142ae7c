#!/usr/bin/env bats
# Traces: what a collector, a file and the programs of steps get, and that none of it changes
# how a run ends, whatever the collector does.

load lib/workflow

prepare() {
	mkdir -p bin claude/turns claude/calls
	ln -s "$ROOT/tests/cli/lib/claude_standin" bin/claude
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH" XDG_STATE_HOME="$PWD/state")
	echo 'return { telemetry = true }' >runner.lua
	# its stdin is a pipe that this shell holds: when the test ends, it ends
	mkfifo hold
	python3 "$ROOT/tests/cli/lib/collector.py" serve got <hold >port 2>/dev/null 3>&- &
	exec {held}>hold
	until_true [ -s port ]
	base=http://127.0.0.1:$(<port)
}

clean_up() {
	exec {held}>&-
	kill_all
}

# exported BEHAVIOUR ARGS…: a call that has a collector which behaves so
exported() {
	needs_library libcurl.so.4
	local behaviour=$1
	shift
	call OTEL_EXPORTER_OTLP_ENDPOINT="$base/$behaviour" "$@"
}

# spans EXPR: it holds for `s`, the spans by name (the last of each), and `all`, a list of them
spans() {
	python3 "$ROOT/tests/cli/lib/collector.py" check "${2:-/dev/null}" got/*.json >spans.txt || return 1
	python3 -c 'import json, sys
all_spans = [json.loads(line) for line in open("spans.txt", encoding="utf-8")]
s = {x["name"]: x for x in all_spans}
def all_parents(spans, name): return {x["parentSpanId"] for x in spans if x["name"] == name}
assert eval(sys.argv[1], {"s": s, "all": all_spans, "all_parents": all_parents, "len": len, "set": set, "sorted": sorted, "str": str}), json.dumps(all_spans, indent=1)' "$1"
}

checks() {
	workflow checks <<-'YAML'
		name: checks
		commands:
		  - id: all
		    parallel:
		      - { id: test, shell: "echo private $TRACEPARENT" }
		      - { id: lint, shell: "test -e go || { touch go; exit 3; }", retry: { delays: [10ms], retry_on: [{ exit: 3 }] } }
	YAML
}

@test "a collector gets a run as a trace of its steps and attempts, in the shape of OTLP" {
	checks
	exported ok workflow run checks.yaml
	envelope 0
	spans 'len(all) == 7 and len({x["traceId"] for x in all}) == 1'
	spans 's["all"]["parentSpanId"] == s["checks"]["spanId"] and "parentSpanId" not in s["checks"]'
	spans 's["all.test"]["parentSpanId"] == s["all"]["spanId"] and s["all.test attempt"]["parentSpanId"] == s["all.test"]["spanId"]'
	spans 's["checks"]["attributes"]["cicd.pipeline.result"] == "success" and s["checks"]["status"] == {"code": 0}'
	spans "s['checks']['attributes']['cicd.pipeline.run.id'] == '$(field e.data.id)'"
	spans 's["all.lint"]["events"][0]["name"] == "retry.wait" and s["all.lint"]["events"][0]["attributes"]["runner.delay_ms"] >= 1'
	spans 'sorted(x["attributes"]["process.exit.code"] for x in all if x["name"] == "all.lint attempt") == [0, 3]'
	spans '[x["status"] for x in all if x["attributes"].get("process.exit.code") == 3] == [{"code": 2, "message": "SUBPROCESS_FAILED"}]'
	spans 's["checks"]["resource"]["service.name"] == "runner"'
	expect 'e.meta.telemetry.spans == 7 and "problem" not in e.meta.telemetry and e.warnings == []'
	[ "$(find got -type f | wc -l)" -eq 1 ]
	grep -q '"path": "/ok/v1/traces"' got/*.json
	# the program's parent is its attempt
	local parent
	parent=$(field '[s for s in e.data.steps if s.key == "all.test"][0].output.split()[1]')
	spans "'$parent' == '00-%s-%s-01' % (s['all.test attempt']['traceId'], s['all.test attempt']['spanId'])"
}

@test "prompts, scripts, messages and outputs stay at home unless the project says otherwise" {
	workflow secretive <<-'YAML'
		name: secretive
		commands:
		  - { id: one, shell: "echo PRIVATE-OUTPUT" }
		  - { id: two, claude: "PRIVATE-PROMPT" }
		  - { id: three, shell: "echo PRIVATE-STDERR >&2; exit 4" }
	YAML
	exported ok workflow run secretive.yaml
	envelope 1
	! grep -q PRIVATE got/*.json || false
	spans 's["secretive"]["attributes"]["cicd.pipeline.result"] == "failure" and s["secretive"]["attributes"]["runner.run.failed_step"] == "three"'
	spans 's["three"]["attributes"]["error.type"] == "SUBPROCESS_FAILED" and s["two"]["attributes"]["runner.step.kind"] == "claude"'
	rm got/*
	echo 'return { telemetry = { content = true, service_name = "mine" } }' >runner.lua
	exported ok workflow run secretive.yaml
	spans '"PRIVATE-OUTPUT" in s["one"]["attributes"]["runner.step.output"] and "PRIVATE-PROMPT" in s["two"]["attributes"]["runner.step.label"]'
	spans '"PRIVATE-STDERR" in s["three"]["status"]["message"] and s["one"]["resource"]["service.name"] == "mine"'
}

@test "the headers of the environment are sent, and nobody sees them" {
	workflow leak <<<'{ name: leak, commands: [ { shell: "echo $OTEL_EXPORTER_OTLP_HEADERS; echo tok-12345 >&2" } ] }'
	exported ok OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20tok-12345,x-team=ops-team-1' OTEL_SERVICE_NAME=deploys \
		OTEL_RESOURCE_ATTRIBUTES='host.name=ci%201,service.name=other' workflow run leak.yaml
	envelope 0
	grep -qi '"authorization": "Bearer tok-12345"' got/*.json
	spans 's["leak"]["resource"] | {"telemetry.sdk.version": 0} == {"service.name": "deploys", "host.name": "ci 1", "telemetry.sdk.name": "runner", "telemetry.sdk.language": "lua", "telemetry.sdk.version": 0}'
	! grep -q 'Bearer tok-12345' out.txt err.txt || false
	! grep -rq 'Bearer tok-12345' state || false
	exported refuse OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20tok-12345' workflow run leak.yaml
	! grep -q 'Bearer tok-12345' out.txt err.txt || false
}

@test "TRACEPARENT is inherited: its trace, its span as the parent, and its choice not to sample" {
	local trace=0af7651916cd43dd8448eb211c80319c parent=b7ad6b7169203331 wrong
	checks
	exported ok TRACEPARENT=00-$trace-$parent-01 workflow run checks.yaml
	envelope 0
	spans "{x['traceId'] for x in all} == {'$trace'} and s['checks']['parentSpanId'] == '$parent'"
	expect "e.meta.telemetry.trace_id == '$trace'"
	rm got/* go
	exported ok TRACEPARENT=00-$trace-$parent-00 workflow run checks.yaml
	[ -z "$(ls got)" ]
	expect "any(s.output.endswith('-00') and '$trace' in s.output for s in e.data.steps if s.key == 'all.test')"
	for wrong in nonsense "00-$trace-0000000000000000-01" "ff-$trace-$parent-01" "00-${trace^^}-$parent-01" "00-$trace-$parent-01-x"; do
		rm -f got/* go
		exported ok TRACEPARENT="$wrong" workflow run checks.yaml
		envelope 0
		spans "s['checks']['traceId'] != '$trace' and 'parentSpanId' not in s['checks']"
	done
}

@test "whatever a collector does, the run ends as it would, without a warning, and says what happened" {
	local behaviour
	checks
	for behaviour in slow nonsense; do
		exported $behaviour workflow run checks.yaml --warnings-as-errors
		envelope 0
		expect 'e.meta.telemetry.spans > 0 and "problem" not in e.meta.telemetry'
	done
	for behaviour in refuse broken partial moved; do
		exported $behaviour workflow run checks.yaml --warnings-as-errors
		envelope 0
		expect 'e.meta.telemetry.spans == 0 and e.meta.telemetry.problem and e.data.state == "completed"'
		grep -q '"event":"telemetry.failed"' err.txt
	done
	exported refuse workflow run checks.yaml
	expect '"403" in e.meta.telemetry.problem'
	exported hang workflow run checks.yaml --warnings-as-errors
	envelope 0
	expect '"problem" in e.meta.telemetry'
	[ "$elapsed_ms" -lt 30000 ] # it hangs for 60 s
	call OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 workflow run checks.yaml --warnings-as-errors
	envelope 0
	expect 'e.meta.telemetry.problem'
	call OTEL_EXPORTER_OTLP_ENDPOINT='no url' workflow run checks.yaml --warnings-as-errors
	envelope 0
	call OTEL_EXPORTER_OTLP_ENDPOINT="$base/ok" OTEL_EXPORTER_OTLP_PROTOCOL=grpc workflow run checks.yaml --warnings-as-errors
	envelope 0
	expect '"grpc" in e.meta.telemetry.problem'
	workflow fails <<<'{ name: fails, commands: [ { shell: "exit 3" } ] }'
	exported hang workflow run fails.yaml
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED"'
}

@test "nothing leaves where the project doesn't ask for it, or the environment forbids it" {
	checks
	local off
	for off in OTEL_SDK_DISABLED=true OTEL_TRACES_EXPORTER=none; do
		exported ok "$off" workflow run checks.yaml
		envelope 0
	done
	echo 'return { telemetry = false }' >runner.lua
	exported ok TRACEPARENT=mine workflow run checks.yaml
	expect '"telemetry" not in e.meta and any("mine" in s.output for s in e.data.steps if s.key == "all.test")'
	rm runner.lua
	exported ok workflow run checks.yaml
	envelope 0
	[ -z "$(ls got)" ]
	echo 'return { telemetry = { contents = true } }' >runner.lua
	call lint
	grep -q telemetry out.txt
}

@test "a resumed run has a second root in the same trace, with what it has done itself" {
	workflow twice <<-'YAML'
		name: twice
		commands:
		  - { id: one, shell: "echo one" }
		  - { id: two, shell: "test -e go" }
	YAML
	exported ok workflow run twice.yaml
	envelope 1
	touch go
	exported ok workflow resume @last
	envelope 0
	spans 'len(all) == 8 and len({x["traceId"] for x in all}) == 1 and len({x["spanId"] for x in all}) == 8'
	spans 'sorted(x["attributes"]["runner.run.resumes"] for x in all if x["name"] == "twice") == [0, 1]'
	spans '[x["attributes"]["runner.attempt.number"] for x in all if x["name"] == "two attempt"] == [1, 2]'
}

@test "a run that is ended from outside exports what it has done" {
	three
	CLEAN_ENV+=(OTEL_EXPORTER_OTLP_ENDPOINT="$base/ok")
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -TERM "$pid"
	finish
	[ "$status" -eq 143 ]
	spans 's["three"]["attributes"]["cicd.pipeline.result"] == "cancellation" and s["two"]["attributes"]["error.type"] == "CANCELLED"'
	spans '{"1", "two"} <= set(s) and "3" not in s'
}

@test "a file gets the spans of all runs, whole lines of them, and a full disk changes nothing" {
	needs_library libsqlite3.so.0
	echo 'return { telemetry = { file = "out/traces.jsonl" } }' >runner.lua
	workflow one <<<'{ name: one, commands: [ { shell: "true" } ] }'
	local n pids=()
	for n in 1 2 3; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow run one.yaml >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(cat out.? | grep -c '"ok":true')" -eq 3 ]
	python3 "$ROOT/tests/cli/lib/collector.py" check out/traces.jsonl >spans.txt
	[ "$(wc -l <spans.txt)" -eq 9 ]
	[ "$(stat -c %a out/traces.jsonl)" = 600 ]
	echo 'return { telemetry = { file = "/dev/full" } }' >runner.lua
	call workflow run one.yaml --warnings-as-errors
	envelope 0
	expect 'e.meta.telemetry.problem'
	echo 'return { telemetry = { file = "one.yaml/x" } }' >runner.lua
	call workflow run one.yaml --warnings-as-errors
	envelope 0
}

@test "a claude attempt says in the terms of gen_ai which model it had, and what it used" {
	turns "echo '"'{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"claude-x":{"inputTokens":10,"outputTokens":5}}}'"'"
	workflow ask <<<'{ name: ask, claude: { output: json }, commands: [ { id: ask, claude: "hello" } ] }'
	exported ok workflow run ask.yaml
	envelope 0
	spans 's["ask attempt"]["attributes"]["gen_ai.usage.input_tokens"] == 10 and s["ask attempt"]["attributes"]["gen_ai.conversation.id"] == "s-1"'
	spans 's["ask attempt"]["attributes"]["gen_ai.provider.name"] == "anthropic" and s["ask attempt"]["attributes"]["runner.attempt.cost_usd"] == 0.25'
}

# --- plain commands ------------------------------------------------------------------------------

# goes N: a command that needs N attempts and runs two programs in each
goes() {
	body go 'retry = { strategy = "constant", delay = 0, retries = 2, jitter = "none" },
		exit_codes = { NOT_YET = { code = 80, retryable = true, side_effects = "none" }, NO = { code = 81, retryable = false, side_effects = "none" } },' <<-LUA
		local own = ctx:run{ "sh", "-c", "echo private >&2; echo \$TRACEPARENT" }
		ctx:run{ "sh", "-c", "exit 3", check = false, env = { TRACEPARENT = "mine" } }
		if ctx.attempt < $1 then ctx:fail("NOT_YET", "private") end
		if $1 < 0 then ctx:fail("NO", "private") end
		return { own = own.stdout, ours = os.getenv "TRACEPARENT" }
	LUA
}

@test "a call of a command is a trace: the call, its attempts, and the programs that they run" {
	goes 2
	exported ok go
	envelope 0
	spans 'len(all) == 7 and len({x["traceId"] for x in all}) == 1 and len({x["spanId"] for x in all}) == 7'
	spans 'sorted(x["name"] for x in all) == ["go", "go attempt", "go attempt", "sh", "sh", "sh", "sh"]'
	spans '"parentSpanId" not in s["go"] and all_parents(all, "go attempt") == {s["go"]["spanId"]}'
	spans 'all_parents(all, "sh") == {x["spanId"] for x in all if x["name"] == "go attempt"}'
	spans 's["go"]["status"] == {"code": 0} and s["go"]["attributes"]["runner.attempts"] == 2'
	spans 'sorted(x["attributes"].get("error.type", "") for x in all if x["name"] == "go attempt") == ["", "NOT_YET"]'
	spans 'sorted(x["attributes"]["process.exit.code"] for x in all if x["name"] == "sh") == [0, 0, 3, 3]'
	spans "s['go']['attributes']['runner.request_id'] == '$(field e.meta.request_id)'"
	! grep -q private got/*.json || false
	# what a program has is its own span, and what the script has that of the attempt
	spans "'$(field 'e.data.own.strip()')' in ['00-%s-%s-01' % (x['traceId'], x['spanId']) for x in all if x['name'] == 'sh']"
	spans "'$(field e.data.ours)' in ['00-%s-%s-01' % (x['traceId'], x['spanId']) for x in all if x['name'] == 'go attempt']"
	expect 'e.warnings == [] and "problem" not in e.meta.telemetry'
}

@test "the call itself is exported once, however it ends: out of retries, refused, or from outside" {
	local n
	for n in 9 -1; do
		rm -f got/*
		goes "$n"
		exported ok go
		[ "$status" -ne 0 ]
		spans 'len([x for x in all if x["name"] == "go"]) == 1 and s["go"]["status"]["code"] == 2'
		spans "s['go']['attributes']['error.type'] == '$(field e.error.code)'"
	done
	rm -f got/*
	body hang <<<'io.open("began", "w"):close() ctx:sleep "1h"'
	env -i --default-signal=INT "${CLEAN_ENV[@]}" OTEL_EXPORTER_OTLP_ENDPOINT="$base/ok" "$RUNNER" hang >out.txt 2>err.txt </dev/null 3>&- &
	pid=$!
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	[ "$status" -eq 130 ]
	spans 's["hang"]["attributes"]["error.type"] == "CANCELLED" and s["hang attempt"]["parentSpanId"] == s["hang"]["spanId"]'
}

@test "whatever a collector does, a command answers as it would; its headers are secrets" {
	local behaviour
	body go <<<'return { h = os.getenv "OTEL_EXPORTER_OTLP_HEADERS" }'
	for behaviour in ok refuse hang; do
		exported "$behaviour" OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20tok-12345' go --warnings-as-errors
		envelope 0
		expect 'e.data.h.startswith("authorization=") and e.warnings == []'
		! grep -q 'Bearer tok-12345' out.txt err.txt || false
	done
	[ "$elapsed_ms" -lt 30000 ] # it hangs for 60 s
	grep -q '"event":"telemetry.failed"' err.txt
	expect 'e.meta.telemetry.problem and e.meta.telemetry.spans == 0'
}

@test "a caller's trace goes on in a command and in what it calls; without telemetry nothing is exported" {
	local trace=0af7651916cd43dd8448eb211c80319c parent=b7ad6b7169203331
	body inner <<<'return { tp = os.getenv "TRACEPARENT" }'
	body outer <<<'return ctx:call("inner")'
	exported ok TRACEPARENT=00-$trace-$parent-01 outer
	envelope 0
	spans "{x['traceId'] for x in all} == {'$trace'} and s['outer']['parentSpanId'] == '$parent'"
	spans 's["inner"]["parentSpanId"] == s["runner"]["spanId"] and s["runner"]["parentSpanId"] == s["outer attempt"]["spanId"]'
	rm got/*
	exported ok TRACEPARENT=00-$trace-$parent-00 outer
	envelope 0
	[ -z "$(ls got)" ]
	expect "e.data.tp.startswith('00-$trace-') and e.data.tp.endswith('-00')"
	rm runner.lua
	exported ok outer
	envelope 0
	[ -z "$(ls got)" ]
	expect '"telemetry" not in e.meta'
	exported ok help
	echo 'return { telemetry = true }' >runner.lua
	exported ok help
	exported ok manifest
	[ -z "$(ls got)" ]
}
