#!/usr/bin/env bats
# Workflows as a user meets them: the commands, what a file may say, and what becomes of
# values, secrets, processes and failures.

load workflow

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

# ran NAME…: a workflow file whose steps stand on stdin, run to its end
ran() {
	{
		printf 'name: small\ncommands:\n'
		cat
	} >small.yaml
	call workflow run small.yaml "$@"
}

# --- the commands -------------------------------------------------------------------------

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
	[ "$status" -eq 0 ] && [[ $stdout == *workflow*state* ]] && [[ $stdout == *"$id"*small*completed* ]]
	call workflow list --format plain
	[ "$status" -eq 0 ] && [[ $stdout == *"$id"* ]]
	call workflow list --format jsonl
	[ "$status" -eq 0 ] && [ "$(wc -l <out.txt)" -eq 1 ]
	python3 -c 'import json, sys; assert json.loads(sys.stdin.read())["state"] == "completed"' <out.txt
	call workflow show "$id" --format plain
	[ "$status" -eq 0 ] && [[ $stdout == *completed* ]]
	on_pty workflow plan small.yaml --seed 1
	[[ $(<screen) == "small (small.yaml), seed 1"*"1  shell: true"*"no retries"* ]]
	call workflow stats --format table
	[ "$status" -eq 0 ] && [[ $stdout == *attempts* ]]
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
	expect 'len(e.data) == 1'
	call workflow stats --workflow small --since 1h
	envelope 0
	expect 'e.data.runs == 2 and e.data.attempts == 4 and e.data.retries == 2 and e.data.total_wait_ms == 3'
	expect 'e.data.by_state["failed"] == 1 and [(c.code, c.attempts) for c in e.data.by_code if c.code] == [("SUBPROCESS_FAILED", 3)]'
	call workflow stats --workflow nothing
	expect 'e.data.runs == 0 and e.data.attempts == 0'
}

@test "each command has a help text with an example, and refuses flags it does not know" {
	local name
	for name in run list show resume cancel logs check plan stats; do
		call workflow $name --help
		[ "$status" -eq 0 ] && [[ $stdout$stderr == *"runner workflow $name"* ]] && [[ $stdout$stderr == *xamples* ]]
		call workflow $name --frobnicate
		envelope 2
	done
	call workflow plan x.yaml --sead 7
	envelope 2
	expect "'--seed' in e.error.suggestion"
	call workflow rnu x.yaml
	envelope 2
	expect "e.error.message == \"Unknown command 'workflow rnu'\" and e.error.suggestion == \"Did you mean 'workflow run'?\""
	call workflow
	envelope 2
	expect '"workflow run" in e.error.suggestion and "workflow stats" in e.error.suggestion'
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
			[ $file != nothing.yaml ] || expect 'e.error.fix_required == "Name a workflow file that can be read"'
		done
		call workflow $verb
		envelope 2
	done
	[ ! -e state/runner/runs.db ]
}

@test "variables: unknown, missing and malformed ones are told all at once, and nothing runs" {
	three_steps
	call workflow run three.yaml --var wo=x --var =y
	envelope 2
	expect 'sorted(p.code for p in e.error.errors) == ["INVALID_ARGUMENT", "MISSING_VARIABLE", "UNKNOWN_VARIABLE"]'
	expect "any(\"Did you mean 'who'?\" == p.suggestion for p in e.error.errors) and any(\"'release'\" in p.message for p in e.error.errors)"
	[ "$(calls)" -eq 0 ] && [ ! -e state/runner/runs.db ]
	call workflow plan three.yaml
	envelope 2
	expect 'e.error.code == "MISSING_VARIABLE"'
}

@test "check tells every problem with its line and column, in order" {
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

@test "check tells where YAML itself is broken" {
	printf 'name: x\ncommands:\n  - shell: "open\n' >bad.yaml
	call workflow check bad.yaml
	envelope 2
	expect 'e.error.message.startswith("bad.yaml:") and e.error.message.split(":")[1].isdigit()'
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
	turns 'complain "500 Internal Server Error"; exit 1'
	call workflow run odd.yaml
	envelope 12
	expect "\"Unknown retry strategy 'x', using exponential\" in [w.message for w in e.warnings]"
	messages '' | grep -qFx "Unknown retry strategy 'x', using exponential"
	expect '[h.delay_before_next for h in e.error.context.error_history] == [0.01, 0.02, None]'
}

# --- values and secrets ----------------------------------------------------------------------

@test "no value can run as shell text: substitutions, quotes, newlines, wherever it stands" {
	workflow quoting <<-'YAML'
		name: quoting
		vars: { v: }
		commands:
		  - { shell: "cat tricky", id: said }
		  - shell: |
		      printf '%s' ${v} >bare
		      printf '%s' "${v}" >double
		      printf '%s' '${v}' >single
		      printf '%s' "$(printf '%s' "${v}")" >nested
		      cat >here <<END
		      ${v}
		      END
		      printf '%s' x${v}y >glued
		      printf '%s' ${steps.said.output} >output
		  - foreach: ["$(touch ran)"]
		    do: [ { shell: "printf '%s' ${item} >item" } ]
	YAML
	local value
	# shellcheck disable=SC2016 # that is the point
	for value in '$(touch ran)' '`touch ran`' '"; touch ran; "' "'; touch ran; '" $'x\ntouch ran\n' '; touch ran #' '$HOME *' \
		'\"$(touch ran)' $'\'"\n$(touch ran)' '} $(touch ran) {' $'\nEND\ntouch ran' '&& touch ran' '| touch ran'; do
		printf '%s' "$value" >tricky
		call workflow run quoting.yaml --var "v=$value"
		envelope 0
		[ ! -e ran ]
		local file
		for file in bare double; do
			cmp "$file" tricky
		done
		[ "$(<output)" = "$(<tricky)" ]
		[ "$(<single)" = "$value" ] || cmp single tricky
		[ "$(<nested)" = "$(<tricky)" ]
		[ "$(<glued)" = "x${value}y" ]
		diff here <(printf '%s\n' "$value")
		[ "$(<item)" = '$(touch ran)' ]
	done
}

@test "secrets are masked in the envelope, on stderr, in logs, in show and in the database file" {
	printf 'file-s3cret-value\n' >token.txt
	workflow secret <<-'YAML'
		name: secret
		secrets: { TOKEN_A: { env: TOKEN_A }, TOKEN_B: { file: token.txt }, TOKEN_C: literal-s3cret-value }
		commands:
		  - shell: echo "$TOKEN_A and $TOKEN_B and $TOKEN_C"; echo "again $TOKEN_A" >&2; printf %s "$TOKEN_A" | base64
		    id: leak
		  - claude: "use ${steps.leak.output} and ${env.TOKEN_A} and more"
		    retry: false
	YAML
	turns 'complain "500 Internal Server Error: $TOKEN_B"; echo "{\"t\":\"$TOKEN_A\"}"; exit 1'
	call TOKEN_A=env-s3cret-value workflow run secret.yaml
	envelope 12
	local id
	id=$(run_id)
	grep -q 'TOKEN_A=env-s3cret-value' claude/calls/1/env # the program itself gets it
	grep -q 'and env-s3cret-value and' claude/calls/1/argv
	[[ $stdout == *'***'* ]] && [[ $stderr == *'***'* ]]
	cp out.txt run.txt && cp err.txt run.err
	call workflow show "$id" --full && cp out.txt show.txt
	call workflow logs "$id" && cp out.txt logs.txt
	local encoded
	encoded=$(printf env-s3cret-value | base64)
	if grep -rlaE "s3cret-value|${encoded:0:16}" run.txt run.err show.txt logs.txt state; then
		return 1
	fi
	call workflow resume "$id"
	envelope 4 # TOKEN_A is not set now
	expect '"TOKEN_A" in e.error.message and e.data is None'
}

@test "a variable that held a secret is not kept: a resumed run is refused, not given ***" {
	workflow held <<<'{ name: held, vars: { v: }, secrets: [T], commands: [ { shell: "exit 3" } ] }'
	call T=env-s3cret-value workflow run held.yaml --var v=x-env-s3cret-value
	envelope 1
	expect 'e.data.variables == {"v": "x-***"}'
	[ -z "$(grep -rla s3cret-value state out.txt err.txt)" ]
	call T=env-s3cret-value workflow resume "$(run_id)"
	envelope 4
	expect "\"'v'\" in e.error.message and \"--var v=VALUE\" in e.error.suggestion and e.error.side_effects == \"none\""
}

@test "a text that holds a secret is not kept: without its file such a run can't go on, and says so" {
	workflow literal <<<'{ name: literal, secrets: { T: literal-s3cret-value }, commands: [ { shell: "exit 3" } ] }'
	call workflow run literal.yaml
	envelope 1
	rm literal.yaml
	call workflow resume "$(run_id)" --force
	envelope 5
	expect '"holds a secret" in e.error.message and e.error.fix_required == "Bring the file back"'
}

@test "env, env_files and secrets reach steps: the later of them wins, and a step's own env above all" {
	printf '# comment\nexport A=file\nB="from file"\nC=file\n' >.env
	workflow env <<-'YAML'
		name: env
		env_files: [.env]
		env: { B: workflow, D: "${run.name}", E: workflow }
		secrets: { C: hidden-value }
		commands:
		  - shell: echo "$A|$B|$D|$E|$RUNNER_AUTOMATION"; [ "$C" = hidden-value ] || exit 9
		    env: { E: step }
	YAML
	call workflow run env.yaml
	envelope 0
	expect 'e.data.steps[0].output.strip() == "file|workflow|env|step|true"'
	expect 'e.data.env_names == ["A", "B", "C", "D", "E"]'
	rm .env
	call workflow run env.yaml
	envelope 4
	expect '".env" in e.error.message'
}

@test "working_dir, output_file and capture_output place and keep what a step prints" {
	mkdir sub
	ran <<-'YAML'
		  - { shell: "pwd; echo x >&2", working_dir: sub, output_file: out.log, id: one }
		  - { shell: "echo kept", capture_output: word }
		  - { shell: "echo gone", capture_output: false, id: quiet }
		  - { shell: "echo ${word}; pwd" }
	YAML
	envelope 0
	[ "$(<sub/out.log)" = "$PWD/sub" ]
	expect 'e.data.steps[3].output.split("\n")[0] == "kept" and not e.data.steps[2].output'
	[ "$(field 'e.data.steps[3].output.split("\n")[1]')" = "$PWD" ]
	messages step.stderr | grep -qx x
	ran <<<'  - { shell: "echo x", working_dir: nowhere }'
	[ "$status" -ne 0 ]
	assert_envelope
	[[ $(field 'e.error.message') == *nowhere* ]]
	ran <<<'  - { shell: "echo x", output_file: nowhere/at/all }'
	envelope 1
	expect 'e.error.code == "OUTPUT_FAILED" and "nowhere/at/all" in e.error.message and "output_file" in e.error.fix_required'
}

@test "when decides with variables and outputs; what is skipped is told" {
	ran <<-'YAML'
		  - { shell: "echo 7", id: n }
		  - { shell: "echo yes >ran-big", when: "${steps.n.output} > 5 and not false" }
		  - { shell: "echo yes >ran-small", when: "steps.n.output < 5", id: small }
	YAML
	envelope 0
	[ -e ran-big ] && [ ! -e ran-small ]
	expect 'e.data.steps[2].state == "skipped"'
	messages step.skipped | grep -qx 'Step small skipped: when: steps.n.output < 5'
}

# --- loops and sides ---------------------------------------------------------------------------

@test "foreach runs its steps for each item, in order, with item and item_index; parallel: N at once" {
	ran <<-'YAML'
		  - foreach: [a, b b, "c\"c"]
		    id: loop
		    do:
		      - { shell: "echo ${item_index}:${item} >>order; echo got ${item}", id: body }
		  - { shell: "printf 'x\ny\nz\n'", id: names }
		  - foreach: "${steps.names.output}"
		    parallel: 3
		    max_items: 2
		    do:
		      - shell: echo ${item} >>at-once; for n in $(seq 200); do [ "$(wc -l <at-once)" -ge 2 ] && exit 0; sleep 0.02; done; exit 1
	YAML
	envelope 0
	diff order <(printf '1:a\n2:b b\n3:c"c\n')
	[ "$(sort at-once | tr '\n' ' ')" = 'x y ' ]
	expect '[d.output.strip() for d in e.data.steps[0].data] == ["got a", "got b b", "got c\"c"]'
	expect '"loop[2].body" in [s.key for s in e.data.steps]'
}

@test "parallel steps run side by side, no more of them at once than limit" {
	# each waits for the other: one after the other, they would fail
	ran <<-'YAML'
		  - parallel:
		      - shell: touch a; for n in $(seq 200); do [ -e b ] && exit 0; sleep 0.02; done; exit 1
		      - shell: touch b; for n in $(seq 200); do [ -e a ] && exit 0; sleep 0.02; done; exit 1
	YAML
	envelope 0
	ran <<-'YAML'
		  - parallel:
		      - &step { shell: "mkdir lock && sleep 0.05 && rmdir lock" }
		      - *step
		      - *step
		    limit: 1
	YAML
	envelope 0
	expect 'sorted(s.key for s in e.data.steps) == ["1", "1.1", "1.2", "1.3"]'
}

@test "a failure of one of parallel steps ends the run after the others; no new ones are started" {
	ran <<-'YAML'
		  - parallel:
		      - shell: exit 3
		      - shell: sleep 0.3; touch finished
		      - shell: touch third
		    limit: 2
		  - shell: touch after
	YAML
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.step_key == "1.1"'
	[ ! -e after ] && [ ! -e third ]
	ran <<-'YAML'
		  - parallel:
		      - shell: exit 3
		      - shell: touch second
		    limit: 1
		    continue_on_error: true
		  - shell: touch after
	YAML
	envelope 0
	[ -e second ] && [ -e after ]
}

# --- failures and what follows them ----------------------------------------------------------------

@test "on_failure runs its steps, then fails or goes on; on_success follows a success" {
	ran <<-'YAML'
		  - shell: exit 3
		    id: bad
		    on_failure: { steps: [ { shell: "echo repaired >>hooks" } ], then: continue }
		  - shell: "true"
		    on_success: { shell: "echo fine >>hooks" }
		  - shell: exit 4
		    on_failure: [ { shell: "echo last words >>hooks" } ]
		  - shell: echo never >>hooks
	YAML
	envelope 1
	diff hooks <(printf 'repaired\nfine\nlast words\n')
	expect 'e.error.context.step_key == "3" and e.data.failed_step == "3"'
	expect '[s.state for s in e.data.steps if s.key == "bad"] == ["failed"]'
	ran <<-'YAML'
		  - { shell: "exit 3", on_failure: continue }
		  - { shell: "exit 4", on_failure: fail }
	YAML
	envelope 1
	expect 'e.error.context.step_key == "2"'
	messages step.warning | grep -q 'Step 1 failed; the run goes on'
}

@test "a hook of success that fails is a failure of its own, and resume goes on at the hook" {
	ran <<-'YAML'
		  - { shell: "echo main >>effects", on_success: { shell: "echo hook >>effects; [ -e fixed ]" } }
		  - { shell: "echo end >>effects" }
	YAML
	envelope 1
	expect 'e.data.failed_step == "1.on_success.1"'
	touch fixed
	call workflow resume "$(run_id)"
	envelope 0
	diff <(printf 'main\nhook\nhook\nend\n') effects
}

@test "a shell step that fails says its status and the end of its stderr, and is not retried undeclared" {
	ran <<<'  - { shell: "echo run >>runs; echo why not >&2; exit 3" }'
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and "why not" in e.error.message and e.data.steps[0].status == 3'
	[ "$(wc -l <runs)" -eq 1 ]
}

@test "retry_on says what is transient for a step: exit, stderr, pattern and code" {
	cat >steps <<-'YAML'
		  - { shell: "echo run >>NAME; echo connection lost >&2; exit 75", id: NAME, on_failure: continue, retry: { max_attempts: 1, initial_delay: 1ms, retry_on: RULE } }
	YAML
	: >all
	local row
	for row in 'exit|{ exit: 75 }|2' 'exits|{ exit: [1, 75] }|2' 'other|{ exit: 1 }|1' 'stderr|{ stderr: connection }|2' \
		'pattern|{ pattern: "connection l.st$" }|2' 'nopattern|{ pattern: "^lost" }|1' \
		'list|[ { exit: 1 }, { stderr: lost } ]|2' 'both|{ exit: 75, stderr: found }|1' 'names|[SUBPROCESS_FAILED]|2' 'nonames|[UNAVAILABLE]|1'; do
		IFS='|' read -r name rule times <<<"$row"
		sed "s/NAME/$name/g; s/RULE/$rule/" steps >>all
		echo "$name $times" >>wanted
	done
	ran <all
	envelope 0
	field '"\n".join("%s %d" % (s.key, s.attempts) for s in e.data.steps)' | diff wanted -
}

@test "retry of a shell step waits and tries again; on_retry is told of each failure" {
	ran <<-'YAML'
		  - shell: echo run >>runs; [ "$(wc -l <runs)" -ge 3 ] || { echo not yet >&2; exit 1; }
		    retry: { strategy: linear, initial_delay: 20ms, max_attempts: 4, jitter: 0 }
		    on_retry: printf '%s\n' "$RUNNER_RETRY_EVENT" >>events; cat >>stdin; echo >>stdin
	YAML
	envelope 0
	python3 - <<-'PYTHON'
		import json
		events = [json.loads(line) for line in open("events")]
		assert events == [json.loads(line) for line in open("stdin")]
		assert all(sorted(e) == ["attempt", "code", "elapsed_ms", "max_attempts", "message", "next_delay_ms"] for e in events), events
		assert [(e["attempt"], e["max_attempts"], e["code"], e["next_delay_ms"]) for e in events] == \
			[(1, 4, "SUBPROCESS_FAILED", 20), (2, 4, "SUBPROCESS_FAILED", 40)], events
	PYTHON
	messages retry.succeeded | grep -qx 'Shell command succeeded on attempt 3'
}

@test "a failure's own wait is waited where it is longer, bounded by max_delay" {
	turns 'complain "429 rate_limit_error, Retry-After: 1"; exit 1' \
		'complain "Claude usage limit reached, try again in 40 minutes"; exit 1' 'echo fine'
	ran <<<'  - { claude: /a, retry: { initial_delay: 1ms, max_delay: 1200ms, jitter: 0 } }'
	envelope 0
	expect '[(h.code, h.delay_before_next) for h in e.data.steps[0].retry.error_history] == [("RATE_LIMITED", 1), ("RATE_LIMITED", 1.2)]'
	[ "$(waited 1)" -ge 1000 ] && [ "$(waited 2)" -ge 1200 ]
}

@test "retry_budget ends a sequence of retries before its attempts do" {
	ran <<<'  - { shell: "exit 1", retry: { strategy: constant, initial_delay: 100ms, max_attempts: 50, jitter: 0, retry_budget: 450ms } }'
	envelope 1
	expect '2 <= e.data.steps[0].attempts <= 5 and [w.code for w in e.warnings] == ["RETRY_BUDGET"] and e.data.retryable is True'
}

@test "an on_retry hook that fails is a warning" {
	ran <<-'YAML'
		  - shell: echo run >>runs; [ "$(wc -l <runs)" -ge 2 ]
		    retry: { initial_delay: 1ms }
		    on_retry: echo broken >&2; exit 3
	YAML
	envelope 0
	expect '[w.code for w in e.warnings] == ["HOOK_FAILED"] and e.warnings[0].context.status == 3'
}

@test "runner steps call Lua commands with their arguments and get their data" {
	command_file build <<-'LUA'
		return { description = "x", danger_level = "safe",
			args = { { "target", "string", positional = true }, { "keep", "integer" }, { "tags", "array", items = "string" } },
			run = function(args) return { target = args.target, keep = args.keep, tags = args.tags, url = "http://x/" .. args.target } end }
	LUA
	body broken <<<'ctx:fail("RATE_LIMITED", "slow down", { retry_after_ms = 5 })'
	ran <<-'YAML'
		  - { runner: build, args: [ "$(prod)", --keep, 3 ], id: made }
		  - { runner: build, args: { target: b, keep: "${steps.made.data.keep}" }, id: again }
		  - { shell: "echo ${steps.made.data.url} ${steps.again.data.keep}" }
		  - { runner: broken, retry: { max_attempts: 1, initial_delay: 1ms, jitter: 0 } }
	YAML
	envelope 11
	expect 'e.data.steps[2].output.strip() == "http://x/$(prod) 3"'
	expect 'e.data.steps[0].data == {"target": "$(prod)", "keep": 3, "url": "http://x/$(prod)", "tags": []}'
	expect 'e.error.code == "RATE_LIMITED" and "slow down" in e.error.message and e.data.steps[3].attempts == 2'
	messages retry.failed | grep -q '^Runner command failed (attempt 1/1): '
}

@test "a workflow can run another one, and use what it gave" {
	workflow inner <<<'{ name: inner, vars: { v: }, commands: [ { shell: "echo got ${v}", id: x } ] }'
	ran <<-'YAML'
		  - { runner: workflow run, args: [inner.yaml, --var, "v=a b"], id: in }
		  - { shell: "echo ${steps.in.data.steps.0.output}, ${steps.in.data.state}" }
	YAML
	envelope 0
	expect 'e.data.steps[1].output == "got a b, completed"'
	call workflow list
	expect '[r.workflow for r in e.data] == ["inner", "small"]'
}

# --- limits and processes --------------------------------------------------------------------------

@test "timeout_secs bounds an attempt with its whole tree, daemons and the deaf included" {
	ran <<-'YAML'
		  - shell: |
		      trap '' TERM
		      (setsid sh -c "trap '' TERM HUP; (sleep 61 &) ; sleep 62; exit" &)
		      sleep 63 & sleep 64; sleep 65
		    timeout_secs: 0.3
		    grace: 200ms
	YAML
	envelope 10
	[ "$elapsed_ms" -lt 5000 ]
	expect 'e.error.code == "TIMEOUT" and e.error.context.step_key == "1"'
	messages step.timeout | grep -q '^Shell command timed out after 0.3s: '
	assert_no_process_left
}

@test "total_timeout_secs bounds a step with its waits: a wait that does not fit is not begun" {
	ran <<-'YAML'
		  - shell: exit 1
		    retry: { strategy: constant, initial_delay: 30s, max_attempts: 3, jitter: 0 }
		    total_timeout_secs: 2
	YAML
	envelope 1
	[ "$elapsed_ms" -lt 1500 ]
	expect '[w.code for w in e.warnings] == ["RETRY_BUDGET"] and e.data.steps[0].attempts == 1'
	ran <<-'YAML'
		  - shell: sleep 60
		    retry: { strategy: constant, initial_delay: 10ms, max_attempts: 50, jitter: 0 }
		    timeout_secs: 0.2
		    total_timeout_secs: 0.5
	YAML
	envelope 10
	[ "$elapsed_ms" -lt 4000 ]
	expect '2 <= e.data.steps[0].attempts <= 3'
	assert_no_process_left
}

@test "what a step leaves in the background is gone when the step is over" {
	turns 'daemon 60; sleep 61 & echo done'
	ran <<-'YAML'
		  - shell: (setsid sh -c 'echo $$ >daemon; sleep 60; exit' &) ; sleep 61 & until [ -s daemon ]; do sleep 0.01; done; echo started
		  - shell: kill -0 "$(cat daemon)" 2>/dev/null && exit 9; echo gone
		  - claude: /leave
		  - shell: kill -0 "$(cat claude/calls/1/daemon)" 2>/dev/null && exit 9; echo gone too
	YAML
	envelope 0
	expect '[s.output.strip() for s in e.data.steps] == ["started", "gone", "done", "gone too"]'
	[ "$elapsed_ms" -lt 15000 ]
	assert_no_process_left
}

@test "a program that is not there is a failure of its step, with its name" {
	workflow missing <<-'YAML'
		name: missing
		claude: { program: no-such-claude }
		commands: [ { claude: /a, retry: { max_attempts: 1, initial_delay: 1ms } } ]
	YAML
	call workflow run missing.yaml
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and "no-such-claude" in e.error.message and e.data.steps[0].attempts == 2'
	expect 'e.error.message.startswith("Process failed: ")'
}

@test "the program, its arguments and its output mode are the file's to choose" {
	workflow mode <<-'YAML'
		name: mode
		claude: { program: claude, args: [--model, opus], output: json }
		commands:
		  - { claude: /a, id: a }
		  - shell: echo ${steps.a.output} ${claude.output}
	YAML
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"the text\",\"num_turns\":3}"'
	call workflow run mode.yaml
	envelope 0
	diff claude/calls/1/argv <(printf '%s\n' --model opus --print --output-format json /a)
	expect 'e.data.steps[1].output == "the text the text" and e.data.steps[0].data.num_turns == 3'
	sed -i 's/output: json/output: stream-json/' mode.yaml
	turns 'echo "{\"type\":\"assistant\",\"message\":{}}"; echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"streamed\"}"'
	call workflow run mode.yaml
	envelope 0
	expect 'e.data.steps[1].output == "streamed streamed"'
	# is_error with exit 0 is a failure
	turns 'echo "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,\"num_turns\":9}"'
	call workflow run mode.yaml
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and "error_max_turns" in e.error.message and e.data.steps[0].attempts == 1'
}

@test "an output is kept up to a megabyte, head and tail, and shown up to four kilobytes" {
	ran <<<'  - { shell: "seq 300000", id: flood }'
	envelope 0
	[ "$(sql "select length(output) < 1049000 and output like '1%' and output like '%bytes omitted%300000' from steps")" = 1 ]
	expect 'len(e.data.steps[0].output) <= 4096 and e.data.steps[0].output_bytes > 4096'
	call workflow show "$(run_id)" --full
	expect 'len(e.data.steps[0].output) > 100000'
}

@test "whatever bytes a step prints: the envelope, stderr, show and logs stay valid and clean" {
	ran <<-'YAML'
		  - { shell: "printf 'a\\377b\\000c\\033[31mred\\033[0m\\n'; printf 'e\\377\\000\\033[1mx\\n' >&2", id: odd }
		  - { shell: "head -c 300000 /dev/zero | tr '\\0' x >&2" }
	YAML
	envelope 0
	messages step.stderr | head -n 1 | grep -q '^e.*x$'
	local id
	id=$(run_id)
	call workflow show "$id" --full
	envelope 0
	expect 'e.data.steps[0].output.startswith("a") and e.data.steps[0].output.endswith("red")'
	call workflow logs "$id"
	envelope 0
	expect '"x" * 1000 in e.data[1].stderr'
}

@test "--retries 0 switches every retry off, and --quiet every notice" {
	turns 'complain "500 Internal Server Error"; exit 1'
	ran --retries 0 --quiet <<<'  - { claude: /a, retry: { initial_delay: 1ms } }'
	envelope 12
	[ "$(calls)" -eq 1 ] && [ -z "$stderr" ]
}
