#!/usr/bin/env bats
# A claude program that was denied a permission, or gave no structured output, says that it succeeded.
# Each of these × each door: what the step comes to, and what the answer says.

load lib/workflow
load lib/exec
load lib/mcp

# said MORE: the result of a program that says it succeeded
said() {
	printf 'echo %q' '{"type":"result","subtype":"success","is_error":false,"result":"All is written.","num_turns":2'"$1"'}'
}

DENIED=',"permission_denials":[{"tool_name":"Write","tool_input":{"file_path":"/x/note.txt"}}]'

# asks KEYS: a workflow of one claude step
asks() {
	workflow ask <<-YAML
		name: ask
		claude: { output: json }
		commands: [ { id: ask, claude: x${1:+, $1} }, { shell: "echo \${steps.ask.output}" } ]
	YAML
}

# fails CODE EXIT: every door says so
fails() {
	call workflow run ask.yaml
	envelope "$2"
	expect "e.error.code == '$1' and e.error.retryable is False and e.data.steps_total == 1"
	expect "e.data.steps[0].state == 'failed' and e.data.steps[0].output == 'All is written.' and e.data.steps[0].attempts == 1"
	local message
	message=$(field e.error.message)
	call workflow wait @last
	envelope "$2"
	expect "e.error.code == '$1' and e.error.message == '$message' and '$message'.startswith('Step ask: ')"
	call workflow show @last
	envelope 0
	expect "e.data.state == 'failed' and e.data.code == e.data.steps[0].code == '$1'"
	batch --allow 'workflow run' <<<'{"_cmd":"workflow.run","file":"ask.yaml"}'
	each "a[0]['error']['code'] == '$1'"
	session XDG_STATE_HOME="$PWD/state" <<-PY
		with Server("--builtin") as s:
		    given = s.call("workflow_wait", {"id": "@last"})
		    assert given["isError"] and given["structuredContent"]["error"]["code"] == "$1", given
	PY
	call workflow resume @last
	envelope "$2"
	expect "e.error.code == '$1' and e.data.steps[0].attempts == 2"
	turns "$(said ',"structured_output":{}')"
	call workflow resume @last
	envelope 0
	expect 'e.data.steps[1].output == "All is written."'
}

@test "a denied permission is a permanent failure, through every door" {
	turns "$(said "$DENIED")"
	asks
	fails PERMISSION_DENIED 7
	asks 'on_denied: fail, disallowed_tools: [Read, "Write(/y/*)"]'
	turns "$(said "$DENIED")"
	fails PERMISSION_DENIED 7
}

@test "what was denied stands in the error, with how to allow it, and a retry rule doesn't hide it" {
	turns "$(said "$DENIED")"
	asks 'retry: { initial_delay: 1ms }'
	call workflow run ask.yaml
	expect 'e.error.message == "Step ask: Permission denied: Write /x/note.txt" and e.error.context.denied == ["Write /x/note.txt"]'
	expect '"allowed_tools" in e.error.fix_required and "on_denied: warn" in e.error.fix_required'
	[ "$(calls)" -eq 1 ]
}

@test "structured output that was asked for and never came is a failure of its own code, through every door" {
	turns "$(said ',"permission_denials":[]')"
	asks 'args: [--json-schema, "{}"]'
	fails SCHEMA_NOT_MET 1
	turns "$(said ',"structured_output":null')"
	asks 'args: ["--json-schema={}"]'
	fails SCHEMA_NOT_MET 1
}

@test "on_denied: warn, of the step or of the file, and what disallowed_tools names make it a warning" {
	local keys
	turns "$(said "$DENIED")"
	for keys in 'on_denied: warn' 'disallowed_tools: Write' 'disallowed_tools: [Read, "Edit(/x/**)"]' 'args: [--disallowed-tools, Write]'; do
		asks "$keys"
		call workflow run ask.yaml
		envelope 0
		expect '[(w.code, w.context.step) for w in e.warnings] == [("PERMISSION_DENIED", "ask")] and "Write /x/note.txt" in e.warnings[0].message'
	done
	asks
	sed -i 's/output: json/output: json, on_denied: warn/' ask.yaml
	call workflow run ask.yaml
	envelope 0
	asks 'on_denied: fail'
	sed -i 's/output: json/output: json, on_denied: warn/' ask.yaml
	call workflow run ask.yaml
	envelope 7
}

@test "what only a person can grant is a warning, and never hides what was not foreseen" {
	local tool
	for tool in AskUserQuestion EnterPlanMode ExitPlanMode; do
		turns "$(said ',"permission_denials":[{"tool_name":"'$tool'","tool_input":{}}]')"
		asks
		call workflow run ask.yaml
		envelope 0
		expect "[w.code for w in e.warnings] == ['PERMISSION_DENIED'] and '$tool' in e.warnings[0].message"
	done
	turns "$(said ',"permission_denials":[{"tool_name":"ExitPlanMode"},{"tool_name":"WebSearch","tool_input":{"query":"q"}},{"tool_name":"Write","tool_input":{"file_path":"/x"}}]')"
	asks 'disallowed_tools: WebSearch'
	call workflow run ask.yaml
	envelope 7
	expect 'e.error.message == "Step ask: Permission denied: Write /x and 2 more" and len(e.error.context.denied) == 3'
}

@test "a warning of a denial says what else is strange about the answer" {
	turns "$(said "$DENIED")"
	asks 'on_denied: warn, answer: json'
	call workflow run ask.yaml
	expect 'e.warnings[0].code == "PERMISSION_DENIED" and "Write /x/note.txt; ANSWER_NOT_JSON: its answer is no JSON" in e.warnings[0].message'
	expect 'len(e.warnings) == 1'
}

@test "the way out of a denial is one: with the file as it was fixed the run goes on" {
	turns "$(said "$DENIED")" "$(said '')"
	asks
	call workflow run ask.yaml
	envelope 7
	expect 'e.error.suggestion == "runner workflow resume " + e.data.id + " --force"'
	local id
	id=$(run_id)
	asks 'allowed_tools: Write'
	call workflow resume "$id" --force
	envelope 0
}

@test "check says where denials can't be seen" {
	asks 'on_denied: fail'
	sed -i 's/output: json/output: text, on_denied: warn/' ask.yaml
	call workflow check ask.yaml
	expect '[w.code for w in e.warnings] == ["DENIALS_UNKNOWN", "DENIALS_UNKNOWN"]'
	asks 'on_denied: warn'
	call workflow check ask.yaml
	expect 'e.warnings == []'
}
