#!/usr/bin/env bats
# Flags, sessions and usage of claude steps: what the program is called with, and what the
# run keeps of what it reports.

load lib/workflow

# A stand-in's JSON result: result TEXT COST [SESSION]
RESULT='result() { printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"%s\",\"session_id\":\"%s\",\"num_turns\":2,\"total_cost_usd\":%s,\"modelUsage\":{\"opus\":{\"inputTokens\":100,\"outputTokens\":10,\"costUSD\":%s}}}\n" "$1" "${3:-s-$call}" "$2" "$2"; }'

# argv N: the words of call N on one line
argv() {
	tr '\n' ' ' <"claude/calls/$1/argv"
}

# The session that call N was given.
session() {
	grep -A 1 -x -e --session-id -e --resume "claude/calls/$1/argv" | tail -n 1
}

@test "keys of a step become flags, with the values of the run" {
	workflow flags <<-'YAML'
		name: flags
		vars: { model: opus }
		claude: { allowed_tools: [Read], args: [--effort, high] }
		commands:
		  - claude: hello
		    model: ${model}
		    max_turns: 3
		    allowed_tools: ["Bash(git *)", Edit]
	YAML
	call workflow run flags.yaml
	envelope 0
	[ "$(argv 1)" = '--effort high --model opus --allowedTools Bash(git *) Edit --max-turns 3 --print hello ' ]
	call workflow plan flags.yaml
	expect 'e.data.steps[0].argv == ["claude", "--effort", "high", "--model", "${model}", "--allowedTools", "Bash(git *)", "Edit", "--max-turns", "3", "--print", "hello"]'
}

@test "without keys the program is called with --print and the prompt alone" {
	quick
	call workflow run quick.yaml
	envelope 0
	[ "$(argv 1)" = '--print /process-data ' ]
	call workflow show "$(field e.data.id)"
	expect '"usage" not in e.data.steps[0] and "cost_usd" not in e.data'
}

@test "a step goes on in the session of another, also when the run was resumed in between" {
	workflow chain <<-'YAML'
		name: chain
		commands:
		  - { claude: first, id: first }
		  - shell: "[ -e go ]"
		  - { claude: second, session: first }
		  - shell: echo "${steps.first.session_id}" >seen
	YAML
	call workflow run chain.yaml
	envelope 1
	touch go
	call workflow resume "$(field e.data.id)"
	envelope 0
	[ "$(calls)" -eq 2 ]
	[[ $(argv 1) == '--session-id '*' --print first ' ]]
	[ "$(argv 2)" = "--resume $(session 1) --print second " ]
	[ "$(cat seen)" = "$(session 1)" ]
	expect "e.data.steps[0].usage.session_id == '$(session 1)'"
}

@test "the session that the program reports counts" {
	workflow chain <<-'YAML'
		name: chain
		claude: { output: json }
		commands:
		  - { claude: first, id: first }
		  - { claude: second, session: first }
	YAML
	turns "$RESULT; result hi 0.1 reported"
	call workflow run chain.yaml
	envelope 0
	[ "$(session 2)" = reported ]
}

@test "a retry is the identical call but for a new session; with resume_session it goes on in the session" {
	workflow again <<-'YAML'
		name: again
		claude: { resume_session: true }
		commands:
		  - { claude: one, retry: { initial_delay: 10ms } }
		  - { claude: two, id: two, resume_session: false, retry: { initial_delay: 10ms } }
		  - { claude: three, session: two, resume_session: false, retry: { initial_delay: 10ms } }
	YAML
	turns "$SERVER_ERROR" 'echo done'
	turns -p one "$SERVER_ERROR" 'echo done'
	turns -p two "$SERVER_ERROR" 'echo done'
	turns -p three "$SERVER_ERROR" 'echo done'
	call workflow run again.yaml
	envelope 0
	[ "$(calls)" -eq 6 ]
	[ "$(argv 2)" = "--resume $(session 1) --print one " ]
	[[ $(argv 4) == '--session-id '*' --print two ' ]]
	[ "$(session 4)" != "$(session 3)" ]
	[ "$(argv 5)" = "--resume $(session 4) --print three " ]
	[ "$(argv 6)" = "$(argv 5)" ]
}

@test "a run that was killed goes on in the session of the step that was cut off" {
	workflow cut <<-'YAML'
		name: cut
		commands: [ { claude: long, resume_session: true, idempotent: true } ]
	YAML
	turns -p long 'touch began; sleep 30' 'echo done'
	killed cut.yaml
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(argv 2)" = "--resume $(session 1) --print long " ]
}

@test "a step that is marked as done leaves the session of its last attempt, in this process and in later ones" {
	workflow marked <<-'YAML'
		commands:
		  - { claude: first, id: first, retry: false }
		  - { claude: second, session: first }
		  - shell: echo "${steps.first.session_id}"; [ -e go ]
	YAML
	turns -p first 'exit 1'
	call workflow run marked.yaml
	envelope 1
	call workflow resume "$(field e.data.id)" --mark-done first
	envelope 1
	expect 'e.error.context.step_key == "3"'
	[ "$(session 2)" = "$(session 1)" ]
	touch go
	call workflow resume "$(field e.data.id)"
	envelope 0
	expect "e.data.steps[2].output == '$(session 1)'"
}

@test "a session that was never stored is not asked for twice" {
	workflow lost <<-'YAML'
		name: lost
		commands: [ { claude: x, resume_session: true, retry: { initial_delay: 10ms } } ]
	YAML
	turns "$SERVER_ERROR" 'complain "No conversation found with session ID: $2"; exit 1' 'echo done'
	call workflow run lost.yaml
	envelope 0
	[ "$(calls)" -eq 3 ]
	[[ $(argv 3) == '--session-id '* ]]
	[ "$(session 3)" != "$(session 1)" ]
}

@test "what the attempts used is stored, summed in show and shown to people" {
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		commands:
		  - { claude: x, id: x, retry: { initial_delay: 10ms } }
		  - { shell: echo free }
	YAML
	turns "$RESULT; result 'API Error: 529 overloaded' 0.1 | sed 's/false/true/'; exit 1" "$RESULT; result hi 0.2"
	call workflow run paid.yaml
	envelope 0
	expect 'e.data.steps[0].usage == {"cost_usd": 0.3, "input_tokens": 200, "model": "opus", "output_tokens": 20, "session_id": "s-2", "turns": 4, "cache_read_tokens": 0, "cache_write_tokens": 0}'
	expect 'e.data.cost_usd == 0.3 and "usage" not in e.data.steps[1]'
	[ "$(sql 'SELECT number, cost_micros, turns FROM usage')" = $'1|100000|2\n2|200000|2' ]
	on_pty workflow show "$(field e.data.id)"
	grep -qx 'cost:     $0.30' screen
	grep -qx '    $0.30, 4 turns, 200 tokens in, 20 out, opus' screen
}

@test "a claude step that prints nothing at all is a success with a warning that names it" {
	workflow mute <<<'{ name: mute, commands: [ { claude: one, retry: false }, { claude: two } ] }'
	turns -p one ':'
	turns -p two echo
	call workflow run mute.yaml
	envelope 0
	expect '[(w.code, w.context.step) for w in e.warnings] == [("EMPTY_ANSWER", "1")] and "printed nothing" in e.warnings[0].message'
}
