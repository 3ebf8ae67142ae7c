#!/usr/bin/env bats
# What a run passes over is said: each way to pass over a failure × each door to its answer.

load lib/workflow
load lib/exec
load lib/mcp

# said EXPR: it holds of w, the one warning, at every door; `again` is a file that ends the run.
every_door() {
	needs_library libsqlite3.so.0
	local id
	batch --allow 'workflow run' <<<'{"_cmd":"workflow.run","file":"flow.yaml"}'
	python3 - "$1" <<-'PY'
		import json, sys, types
		w, = json.loads(open("out.txt").readline(), object_hook=lambda d: types.SimpleNamespace(**d)).warnings
		assert eval(sys.argv[1]), w
	PY
	call workflow run flow.yaml
	one_warning "$1"
	expect 'e.ok and e.data.state == "completed"'
	id=$(run_id)
	call workflow wait "$id"
	one_warning "$1"
	call workflow show "$id"
	one_warning "$1"
	call workflow resume "$id"
	one_warning "$1"
	session XDG_STATE_HOME="$PWD/state" <<-PY
		import types
		with Server("--builtin") as s:
		    for name in ("workflow_wait", "workflow_show"):
		        given = s.call(name, {"id": "$id"})["structuredContent"]["warnings"]
		        w, = json.loads(json.dumps(given), object_hook=lambda d: types.SimpleNamespace(**d))
		        assert $1, w
	PY
	# of a run that fails later, in its own answer, and in that of the process that resumes it
	printf '  - shell: test -e go\n' >>flow.yaml
	call workflow run flow.yaml
	one_warning "$1"
	id=$(run_id)
	touch go
	call workflow resume "$id"
	one_warning "$1"
	expect 'e.ok'
	rm go
}

one_warning() {
	envelope "$status"
	expect "len(e.warnings) == 1 and (lambda w: $1)(e.warnings[0])"
}

flow() {
	workflow flow <<-YAML
		name: flow
		commands:
		  - $1
	YAML
}

@test "all items of a loop" {
	flow '{ id: each, foreach: [a, b, c], parallel: 3, continue_on_error: true, do: { shell: "echo no ${item} >&2; exit 3" } }'
	every_door 'w.code == "PASSED_OVER" and w.context.step == "each" and w.context.failed == w.context.total == 3 and w.context.first.item == "a" and w.context.first.code == "SUBPROCESS_FAILED" and "3 of 3 items failed; the first, item 1 (a): Shell command exited with status 3: no a" in w.message'
	call workflow show @last
	expect '[(d.ok, d.item, d.error.code, d.error.message[-4:]) for d in e.data.steps[0].data] == [(False, x, "SUBPROCESS_FAILED", "no " + x) for x in "abc"]'
}

@test "some items of a loop over the lines of a file" {
	printf 'a\nb\nc\n' >lines
	flow '{ id: each, foreach: { file: lines }, continue_on_error: true, do: { shell: "test ${item} != b" } }'
	every_door 'w.context.failed == 1 and w.context.total == 3 and w.context.first.item == "b" and w.context.first.index == 2'
	call workflow show @last
	expect '[(d.ok, d.item) for d in e.data.steps[0].data] == [(True, "a"), (False, "b"), (True, "c")]'
}

@test "parallel steps" {
	flow '{ id: sides, parallel: [ { id: left, shell: exit 3 }, { id: right, shell: echo } ], continue_on_error: true }'
	every_door 'w.context.step == "sides" and (w.context.failed, w.context.total) == (1, 2) and w.context.first.step == "sides.left"'
	call workflow show @last
	expect 'e.data.steps[0].data[0].step == "sides.left" and e.data.steps[0].data[0].error.code == "SUBPROCESS_FAILED"'
}

@test "a step with on_failure: continue, bare, after steps, and around a loop" {
	flow '{ id: one, shell: exit 3, on_failure: continue }'
	every_door 'w.context.step == "one" and w.context.first.code == "SUBPROCESS_FAILED" and "on_failure: continue" in w.message'
	flow '{ id: one, shell: exit 3, on_failure: { steps: [ { shell: echo } ], then: continue } }'
	every_door 'w.context.step == "one"'
	flow '{ id: each, foreach: [a], do: { shell: exit 3 }, on_failure: continue }'
	every_door 'w.context.step == "each"'
}

@test "a step inside of a loop has one warning for all of its items, at any depth" {
	flow '{ id: each, foreach: [a, b, c], do: [ { id: one, shell: "test ${item} = b", on_failure: continue }, { id: two, shell: echo } ] }'
	every_door 'w.code == "PASSED_OVER" and w.context.step == "each[].one" and w.context.failed == 2 and w.context.first.step == "each[1].one" and w.context.first.code == "SUBPROCESS_FAILED" and w.message.startswith("Step each[].one: 2 times, first: Step each[1].one failed")'
	flow '{ id: each, foreach: [a, b], do: [ { id: in, foreach: [c, d], do: [ { id: one, shell: exit 3, on_failure: continue } ] } ] }'
	every_door 'w.context.step == "each[].in[].one" and w.context.failed == 4 and w.context.first.step == "each[1].in[1].one"'
	flow '{ id: each, foreach: [a, b], do: [ { id: one, shell: "test ${item} = a", on_failure: continue } ] }'
	every_door 'w.context.step == "each[2].one" and w.context.failed == w.context.total == 1'
}

@test "a loop with hundreds of warnings hides none of other steps" {
	workflow flow <<-YAML
		name: flow
		commands:
		  - { foreach: [$(seq -s, 200)], do: [ { id: one, shell: exit 3, on_failure: continue }, { id: two, shell: exit 4, on_failure: continue } ] }
		  - { id: last, shell: exit 5, on_failure: continue }
	YAML
	call workflow run flow.yaml
	envelope 0
	expect '[(w.context.step, w.context.failed) for w in e.warnings] == [("last", 1), ("1[].one", 200), ("1[].two", 200)]'
	call workflow wait @last
	expect '[w.context.step for w in e.warnings] == ["last", "1[].one", "1[].two"]'
}

@test "more steps with warnings than are told of: the rest is counted" {
	local i
	{
		echo 'name: flow'
		echo 'commands:'
		echo '  - { foreach: [a, b], do: [ { shell: exit 3, on_failure: continue } ] }'
		for ((i = 1; i <= 55; i++)); do echo "  - { id: s$i, shell: exit 3, on_failure: continue }"; done
	} | workflow flow
	call workflow run flow.yaml
	envelope 0
	call workflow wait @last
	envelope 0
	expect '[w.context.step for w in e.warnings[:50]] == ["s%d" % i for i in range(1, 51)]'
	expect 'len(e.warnings) == 51 and e.warnings[50].code == "WARNINGS_DROPPED" and e.warnings[50].context.dropped == 6'
}

@test "failures below max_failures" {
	flow '{ id: each, foreach: [a, b, c], max_failures: 2, do: { shell: "test ${item} = c" } }'
	every_door 'w.context.failed == 2 and w.context.total == 3'
	flow '{ id: each, foreach: [a, b, c, d], max_failures: "50%", do: { shell: "test ${item} != a" } }'
	every_door 'w.context.failed == 1 and w.context.total == 4'
}

@test "a denied permission that was foreseen" {
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"x\",\"num_turns\":1,\"permission_denials\":[{\"tool_name\":\"Write\"}]}"'
	flow '{ id: ask, claude: x, on_denied: warn }'
	sed -i '1a claude: { output: json }' flow.yaml
	every_door 'w.code == "PERMISSION_DENIED" and w.context.step == "ask"'
}

@test "more failures than max_failures end the loop, and no further item begins; resume runs those that failed" {
	local most
	for most in 1 '"20%"' 0; do
		rm -f ran
		flow "{ id: each, foreach: [a, b, c, d, e], max_failures: $most, do: { shell: \"echo \${item} >>ran; test -e go\" } }"
		call workflow run flow.yaml
		envelope 3
		expect 'e.error.code == "PARTIAL_FAILURE" and "items failed; the first, item 1 (a): " in e.error.message and e.warnings == []'
		expect "e.error.context.step_key == 'each' and e.data.steps[0].state == 'failed'"
		if [ "$most" = 0 ]; then [ "$(tr -d '\n' <ran)" = a ]; else [ "$(tr -d '\n' <ran)" = ab ]; fi
	done
	touch go
	call workflow resume @last
	envelope 0
	expect 'e.warnings == []'
	[ "$(tr -d '\n' <ran)" = aabcde ]
	rm go
	printf 'a\nb\n' >lines
	flow '{ id: each, foreach: { file: lines }, max_failures: "50%", do: { shell: exit 1 } }'
	call workflow run flow.yaml
	envelope 3
}

@test "what nothing failed in, and what nothing passed over, is no warning" {
	flow '{ id: each, foreach: [a, b], continue_on_error: true, do: { shell: "true" }, on_failure: continue }'
	call workflow run flow.yaml
	envelope 0
	expect 'e.warnings == []'
	flow '{ id: one, shell: exit 3, on_failure: { shell: echo } }'
	call workflow run flow.yaml
	envelope 1
	expect 'e.warnings == []'
}
