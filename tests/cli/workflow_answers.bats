#!/usr/bin/env bats
# What later steps find as the data of a claude step, and how its log reads.

load lib/workflow
load lib/tmux

clean_up() {
	end_shell
	kill_all
}

# said RESULT [MORE]: the stand-in prints events, and a result with this text, as JSON has it
said() {
	cat >said <<-JSON
		{"type":"system","subtype":"init"}
		{"type":"assistant","message":{"content":[{"type":"text","text":"I read it."}]}}
		{"type":"result","subtype":"success","is_error":false,"num_turns":3,"result":"$1"${2:-}}
	JSON
	turns "cat '$PWD/said'"
}

# asked OUTPUT KEYS FIELD…: a claude step, and steps that print these fields of its data, live, after
# resume, and of a loop
asked() {
	local output=$1 keys=$2 field
	shift 2
	rm -f effects go
	{
		echo "{ name: asked, claude: { output: $output }, commands: ["
		echo "{ id: ask, claude: x$keys }, { id: loop, foreach: [1], do: [{ claude: x$keys }] },"
		for field; do echo "{ shell: 'echo \"\${steps.ask.data$field} \${claude.data$field}\" >>effects' },"; done
		echo "{ shell: '[ -e go ]' },"
		for field; do echo "{ shell: 'echo \"\${steps.ask.data$field} \${steps.loop.data.0.data$field}\" >>effects' },"; done
		echo "] }"
	} >asked.yaml
	call workflow run asked.yaml
	envelope 1
	touch go
	call workflow resume @last
	envelope 0
}

@test "structured output is the data of its step, live, resumed and in a loop; its old name still resolves" {
	local output
	said 'see there' ',"structured_output":{"verdict":"good","list":[4,5]}'
	for output in json stream-json; do
		asked "$output" '' .verdict .list.1 .structured_output.verdict .structured_output.list.0
		[ "$(tr '\n' ' ' <effects)" = 'good good 5 5 good good 4 4 good good 5 5 good good 4 4 ' ]
	done
	call workflow check asked.yaml
	envelope 0
	expect '{w.code for w in e.warnings} == {"NAME_DEPRECATED"} and "Write ${steps.ask.data.verdict}" in e.warnings[0].message'
}

@test "the old name is no name for data that are not structured output" {
	said 'see there'
	workflow plain <<<'{ name: plain, claude: { output: json }, commands: [ { id: a, claude: x }, { shell: "echo ${steps.a.data.structured_output}" } ] }'
	call workflow run plain.yaml
	envelope 4
	workflow plain <<-'YAML'
		name: plain
		commands: [ { id: a, shell: "echo '{\"b\":1}'" }, { shell: "echo ${steps.a.data.structured_output}" } ]
	YAML
	call workflow run plain.yaml
	envelope 4
	call workflow check plain.yaml
	expect 'e.warnings == []'
}

@test "with answer: json an answer that is JSON is the data, as of a shell step; else it is what the program reports" {
	local output
	said '{\"a\":{\"b\":7}}'
	for output in json stream-json; do
		asked "$output" ', answer: json' .a.b
		[ "$(tr '\n' ' ' <effects)" = '7 7 7 7 ' ]
		asked "$output" '' .num_turns
		[ "$(tr '\n' ' ' <effects)" = '3 3 3 3 ' ]
	done
	workflow whole <<-'YAML'
		name: whole
		claude: { output: json, answer: json }
		commands:
		  - { id: a, claude: x }
		  - { id: b, claude: x, answer: text }
		  - shell: echo ${steps.a.data.a.b} ${steps.b.data.num_turns} >>effects
	YAML
	rm effects
	call workflow run whole.yaml
	envelope 0
	effects 7 3
	expect 'e.warnings == []'
	said 'not {} JSON'
	workflow none <<<'{ name: none, claude: { output: json }, commands: [ { id: a, claude: x, answer: json } ] }'
	call workflow run none.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["ANSWER_NOT_JSON"] and "data" not in e.data.steps[0]'
}

@test "the log of a claude step reads as the live tree does, and --raw has its events" {
	said 'the whole\nanswer'
	workflow log <<<'{ name: log, claude: { output: stream-json }, commands: [ { id: a, claude: x }, { id: b, shell: "echo plain" } ] }'
	call workflow run log.yaml
	envelope 0
	call workflow logs @last a
	expect '"\"type\":\"result\"" in e.data[0].stdout' # JSON has all of it
	on_pty workflow logs @last
	diff screen - <<-'TEXT'
		== a, attempt 1: ok
		-- stdout
		I read it.
		the whole
		answer
		== b, attempt 1: ok
		-- stdout
		plain
	TEXT
	on_pty workflow logs @last a --raw
	grep -q '"type":"result"' screen
	said 'I  read\nit.' # the answer that the last line says isn't said again
	call workflow run log.yaml
	on_pty workflow logs @last a
	diff screen <(printf '%s\n' '== a, attempt 1: ok' '-- stdout' 'I read it.')
}

@test "on a terminal with several steps an attempt names its step, and all its lines count retries" {
	turns "$SERVER_ERROR"
	workflow both <<-'YAML'
		name: both
		claude: { output: json }
		commands:
		  - id: both
		    parallel:
		      - { id: one, claude: a, retry: { strategy: custom, delays: [5s, 10ms], jitter: 0 } }
		      - { id: two, claude: b, retry: { strategy: custom, delays: [5s, 10ms], jitter: 0 } }
	YAML
	start_shell 120 40
	type_line 'clear; $R workflow run both.yaml; echo status=$?'
	on_screen 'retry 1/2 · 500'
	on_screen '^status=12'
	mux capture-pane -p -S - >screen
	local id
	for id in one two; do
		grep -qx "Step both.$id: Claude command failed (attempt 1/2): 500 Internal Server Error" screen
		grep -qx "Step both.$id: Retrying in 5.0 seconds..." screen
		grep -q "^Step both.$id: Claude command failed after 3 attempts" screen
	done
	[ "$(grep -cE '(attempt|retry) [0-9]+/3' screen)" -eq 0 ]
	# elsewhere the words are the specification's, and the context has the step
	call workflow run both.yaml
	[ "$(attempted | grep -cx 'Claude command failed (attempt 1/2): 500 Internal Server Error')" -eq 2 ]
	grep -q '"step":"both.two"' err.txt
}

@test "a loop, or parallel steps, that went on without what failed has no green tick, wherever it is drawn" {
	workflow some <<-'YAML'
		name: some
		commands:
		  - { id: fine, foreach: [a], do: [{ shell: "true" }] }
		  - { id: loop, continue_on_error: true, foreach: [a, b], do: [{ shell: "[ ${item} = a ]" }] }
		  - { id: side, continue_on_error: true, parallel: [{ shell: "true" }, { shell: "false" }] }
	YAML
	start_shell 120 40
	type_line 'clear; $R workflow run some.yaml >answer; echo status=$?'
	on_screen '^status=0'
	on_screen '^✓ fine '
	on_screen '^! loop '
	on_screen '^! side '
	call workflow show @last
	call workflow show @last --html page.html
	envelope 0
	[ "$(grep -cE '✓ completed</(b|span)> <code>(loop|side)</code>' page.html)" -eq 0 ]
	[ "$(grep -cE '! completed</(b|span)> <code>(loop|side)</code>' page.html)" -eq 2 ]
}

@test "the limit of a step is no network timeout, and a timeout that the program reports is none of ours" {
	turns 'sleep 60'
	workflow slow <<<'{ name: slow, commands: [ { id: a, claude: x, timeout: 300ms, retry: false } ] }'
	call workflow run slow.yaml
	envelope 10
	expect 'e.error.message == "Step a: Timed out after 0.3s"'
	[ "$(grep -c 'Network' out.txt)" -eq 0 ]
	turns 'complain "API Error: Request timed out."; exit 1'
	sed -i 's/300ms/5m/' slow.yaml
	call workflow run slow.yaml
	envelope 10
	expect 'e.error.message.startswith("Step a: Network timeout after ")'
}
