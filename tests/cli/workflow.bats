#!/usr/bin/env bats
# Workflows as a user meets them: the commands, what they answer, and what they say of a
# file or of arguments that are wrong.

load lib/workflow

three_steps() {
	workflow three <<-'YAML'
		name: three
		vars: { who: world, release: }
		commands:
		  - shell: echo "hello ${who}"
		    id: greet
		  - claude: "Review ${release}: ${steps.greet.output}"
		    id: review
		  - shell: printf '%s' "$CLAUDE_SAID"
		    env: { CLAUDE_SAID: "${claude.output}" }
	YAML
}

# --- the commands ---------------------------------------------------------------------

@test "run gives the whole run as data; list, show and logs find it again by its id or how it begins" {
	three_steps
	turns 'echo looks good'
	call workflow run three.yaml --var release=1.4.0
	envelope 0
	expect 'e.data.state == "completed" and [s.key for s in e.data.steps] == ["greet", "review", "3"]'
	expect '[s.output.strip() for s in e.data.steps] == ["hello world", "looks good", "looks good"]'
	expect 'e.data.variables == {"who": "world", "release": "1.4.0"} and e.meta.command == "workflow.run"'
	diff claude/calls/1/argv <(printf '%s\n' --print 'Review 1.4.0: hello world')
	local id
	id=$(run_id)
	call workflow list
	envelope 0
	expect "[r.id for r in e.data] == ['$id'] and e.data[0].state == 'completed' and e.data[0].steps"
	call workflow show "${id:0:12}"
	envelope 0
	expect "e.data.id == '$id' and len(e.data.steps) == 3"
	call workflow logs "$id" review
	envelope 0
	expect 'len(e.data) == 1 and e.data[0].stdout == "looks good\n" and e.data[0].attempt == 1'
	on_pty workflow logs "$id"
	[[ $(<screen) == *"== greet, attempt 1: ok"*"hello world"*"== review, attempt 1: ok"*"looks good"* ]]
}

@test "results come as a table, as plain text and as lines of JSON" {
	ran <<<'  - shell: "true"'
	envelope 0
	local id
	id=$(run_id)
	call workflow list --format table
	[ "$status" -eq 0 ]
	[[ $stdout == *workflow*state* ]]
	[[ $stdout == *"$id"*small*completed* ]]
	call workflow list --format plain
	[ "$status" -eq 0 ]
	[[ $stdout == *"$id"* ]]
	call workflow list --format jsonl
	[ "$status" -eq 0 ]
	[ "$(wc -l <out.txt)" -eq 1 ]
	python3 -c 'import json, sys; assert json.loads(sys.stdin.read())["state"] == "completed"' <out.txt
	call workflow show "$id" --format plain
	[ "$status" -eq 0 ]
	[[ $stdout == *completed* ]]
	on_pty workflow plan small.yaml --seed 1
	[[ $(<screen) == "small (small.yaml), seed 1"*"1  shell: true"*"no retries"* ]]
	call workflow stats --format table
	[ "$status" -eq 0 ]
	[[ $stdout == *attempts* ]]
}

@test "list is filtered by state, workflow and number, newest first; stats count by code and step" {
	ran <<<'  - shell: "true"'
	ran <<<'  - { shell: "exit 3", retry: { max_attempts: 2, delays: [1ms, 2ms] } }'
	sed -i 's/^name: small/name: other/' small.yaml
	call workflow run small.yaml
	call workflow list
	expect '[r.workflow for r in e.data] == ["other", "small", "small"] and [r.state for r in e.data] == ["failed", "failed", "completed"]'
	call workflow list --state failed --workflow small
	expect 'len(e.data) == 1 and e.data[0].code == "SUBPROCESS_FAILED" and e.data[0].failed_step == "1"'
	call workflow list --limit 1
	expect 'len(e.data) == 1 and e.meta.pagination.has_more and e.meta.pagination.total is None'
	call workflow list --limit 1 --cursor "$(field 'e.meta.pagination.next_cursor')"
	expect '[r.state for r in e.data] == ["failed"] and e.meta.pagination.has_more'
	call workflow list --limit 2 --sort workflow
	expect '[r.workflow for r in e.data] == ["other", "small"] and e.meta.pagination.total == 3'
	call workflow list --limit 3
	expect 'e.meta.pagination == {"total": 3, "returned": 3, "truncated": False, "has_more": False, "next_cursor": None}'
	call workflow stats --workflow small --since 1h
	envelope 0
	expect 'e.data.runs == 2 and e.data.attempts == 4 and e.data.retries == 2 and e.data.total_wait_ms == 3'
	expect 'e.data.by_state["failed"] == 1 and [(c.code, c.attempts) for c in e.data.by_code if c.code] == [("SUBPROCESS_FAILED", 3)]'
	call workflow stats --workflow nothing
	expect 'e.data.runs == 0 and e.data.attempts == 0 and e.data.by_code == [] and e.data.by_step == [] and e.data.by_state == {}'
}

@test "each command has a help text with an example, and refuses flags it does not know" {
	local name
	for name in run list show resume cancel logs check plan stats; do
		call workflow $name --help --format plain
		[ "$status" -eq 0 ]
		[[ $stdout == *"runner workflow $name"* ]]
		[[ $stdout == *xamples* ]]
		call workflow $name --frobnicate
		envelope 2
	done
	for name in show logs cancel resume; do
		call workflow $name --help --format plain
		[[ $stdout == *'5  NOT_FOUND '*'No run with this ID'*'6  CONFLICT '* ]]
	done
	call workflow run --help --format plain
	[[ $stdout == *'12  UNAVAILABLE '*'A step failed: a service'*'81  STEP_IN_DOUBT'* ]]
	# a wait is said of GROUP_TAKEN alone: the others are for what a step reports
	[ "$(grep -c 'retry after' <<<"$stdout")" -eq 1 ]
	[[ $stdout == *'86  GROUP_TAKEN '*'(retry after 1s,'* ]]
	call workflow plan x.yaml --sead 7
	envelope 2
	expect "'--seed' in e.error.suggestion"
	call workflow rnu
	expect "e.error.message == \"Unknown command 'workflow rnu'\""
	call workflow rnu x.yaml
	envelope 2
	expect "e.error.message == \"Unknown command 'workflow rnu'\" and e.error.suggestion == \"Did you mean 'workflow run'?\""
	call workflow
	envelope 0
	expect '"workflow run" in e.data.commands and "workflow stats" in e.data.commands'
}

@test "a look at the runs makes no database" {
	call workflow list
	envelope 0
	expect 'e.data == []'
	call workflow stats
	envelope 0
	[ ! -e state ]
	call workflow show run_01
	envelope 5
	expect 'e.error.code == "NOT_FOUND" and e.error.suggestion == "runner workflow list"'
}

@test "an id that no run has, or several, is an error that says how to find the right one" {
	ran <<<'  - shell: "true"'
	ran <<<'  - shell: "true"'
	local verb
	for verb in show resume cancel logs; do
		call workflow $verb run_zz
		envelope 5
		expect 'e.error.code == "NOT_FOUND" and "runner workflow list" in e.error.suggestion'
		call workflow $verb run_
		envelope 6
		expect 'e.error.code == "CONFLICT"'
	done
	local id near
	id=$(sql 'select max(id) from runs')
	for near in "${id:4:24}~~" "run_$(tr "[:upper:]" "[:lower:]" <<<"${id:4:24}")~~" "${id:0:28}~~"; do
		call workflow show "$near"
		envelope 5
		expect "e.error.suggestion == \"Did you mean '$id'?\""
	done
	call workflow logs "$(sql 'select min(id) from runs')" nothing
	envelope 5
	expect "\"step 'nothing'\" in e.error.message"
}

@test "no workflow file, a directory, an empty file: exit 2 and what to do" {
	: >empty.yaml
	local verb file
	for verb in run check plan; do
		for file in nothing.yaml commands empty.yaml; do
			call workflow $verb $file
			envelope 2
			expect "'$file' in e.error.message and e.error.fix_required"
			[ $file != nothing.yaml ] || expect 'e.error.fix_required == "Give the path of a readable workflow file"'
		done
		call workflow $verb
		envelope 2
	done
	[ ! -e state/runner/runs.db ]
}

@test "variables: unknown, missing and malformed ones are all reported together, and nothing runs" {
	three_steps
	call workflow run three.yaml --var wo=x --var =y
	envelope 2
	expect 'sorted(p.code for p in e.error.errors) == ["INVALID_ARGUMENT", "MISSING_VARIABLE", "UNKNOWN_VARIABLE"]'
	expect "any(\"Did you mean 'who'?\" == p.suggestion for p in e.error.errors) and any(\"'release'\" in p.message for p in e.error.errors)"
	[ "$(calls)" -eq 0 ]
	[ ! -e state/runner/runs.db ]
	call workflow plan three.yaml
	envelope 2
	expect 'e.error.code == "MISSING_VARIABLE"'
}

@test "check reports every problem with its line and column, in order" {
	workflow bad <<-'YAML'
		name: bad
		comands: []
		commands:
		  - shel: echo
		  - shell: echo ${steps.nowhere.output}
		    timout: 3
		  - claude: /a
		    retry: { max_atempts: 3, strategy: quadratic }
		    id: twice
		  - shell: "true"
		    id: twice
		    when: "a =="
	YAML
	call workflow check bad.yaml
	envelope 2
	expect 'all(p.code == "WORKFLOW_INVALID" and p.fix_required for p in e.error.errors) and len(e.error.errors) == 8'
	expect '(e.error.message, e.error.fix_required) == ("8 problems in bad.yaml", "Fix bad.yaml")'
	expect '(e.error.errors[0].line, e.error.errors[0].column) == (2, 1)'
	expect '[(p.line, p.column) for p in e.error.errors][:2] == [(2, 1), (4, 5)]'
	field '"\n".join(p.message for p in e.error.errors)' >problems
	grep -q "^bad.yaml:2:1: .*'comands'" problems
	grep -q "^bad.yaml:4:5: .*'shel'" problems
	grep -qE '^bad.yaml:5:[0-9]+: .*nowhere' problems
	grep -q "^bad.yaml:6:5: .*'timout'" problems
	grep -qE "^bad.yaml:8:14: .*'max_atempts'" problems
	grep -qE '^bad.yaml:8:[0-9]+: .*quadratic' problems
	grep -qE '^bad.yaml:11:[0-9]+: .*twice' problems
	grep -qE '^bad.yaml:12:[0-9]+: ' problems
	sort -s -t: -k2,2n problems | diff problems -
	expect '[p.suggestion for p in e.error.errors if "timout" in p.message and "timeout" in p.suggestion]'
	expect '[p.suggestion for p in e.error.errors if "max_atempts" in p.message and "max_attempts" in p.suggestion]'
	[ ! -e state ]
}

@test "check reports where the YAML itself is broken" {
	printf 'name: x\ncommands:\n  - shell: "open\n' >bad.yaml
	call workflow check bad.yaml
	envelope 2
	expect 'e.error.message.startswith("bad.yaml:") and e.error.message.split(":")[1].isdigit()'
}

@test "plan says on a terminal when a step runs, how many at once, and what bounds its waits" {
	workflow bounds <<-'YAML'
		name: bounds
		vars: { n: 1 }
		commands:
		  - claude: /a
		    when: n == 1
		    total_timeout: 1h
		    retry: { delays: [1s], jitter: 0, retry_budget: 30s }
		  - foreach: [a, b]
		    parallel: 3
		    do: { shell: make }
		  - { claude: /b, retry: { delays: [1s], jitter: 0, limit_wait: 90m } }
		  - { claude: /c, retry: { delays: [1s], jitter: 0, limit_wait: 0 } }
	YAML
	on_pty workflow plan bounds.yaml --seed 1
	diff screen - <<-'TEXT'
		bounds (bounds.yaml), seed 1
		--var n: default 1
		1  claude: /a
		    when n == 1
		    timeout 10m, total 1h, 1 retry after 1.0s (1.0s in total; all within 30s)
		2  foreach: foreach over 2 items
		    3 at a time
		  2[*].1  shell: make
		      timeout none, no retries
		3  claude: /b
		    timeout 10m, 1 retry after 1.0s (1.0s in total; up to 90m more for usage limits)
		4  claude: /c
		    timeout 10m, 1 retry after 1.0s (1.0s in total)
	TEXT
	call workflow plan bounds.yaml
	expect 'e.data.steps[2].worst_case_ms - e.data.steps[3].worst_case_ms == 0 and e.data.steps[2].retry.limit_wait_ms == 5400000'
}

@test "an unknown strategy is refused by check, while run warns and takes exponential" {
	workflow odd <<-'YAML'
		name: odd
		commands:
		  - claude: /a
		    retry: { strategy: x, initial_delay: 10ms, max_attempts: 2, jitter: 0 }
	YAML
	call workflow check odd.yaml
	envelope 2
	[[ $(field 'e.error.message') == odd.yaml:4:* ]]
	call workflow plan odd.yaml
	envelope 0
	expect "[w.message for w in e.warnings] == [\"Unknown retry strategy 'x', using exponential\"]"
	turns 'complain "500 Internal Server Error"; exit 1'
	call workflow run odd.yaml
	envelope 12
	expect "\"Unknown retry strategy 'x', using exponential\" in [w.message for w in e.warnings]"
	messages '' | grep -qFx "Unknown retry strategy 'x', using exponential"
	expect '[h.delay_before_next for h in e.error.context.error_history] == [0.01, 0.02, None]'
}
