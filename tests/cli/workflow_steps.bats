#!/usr/bin/env bats
# What a step may be and what follows it: loops, steps side by side, failures, retries,
# hooks, limits, and processes that are gone when it is over.

load lib/workflow

# --- loops and sides ------------------------------------------------------------------

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
		      - shell: echo ${item} >>at-once; for n in $(seq 2000); do [ "$(wc -l <at-once)" -ge 2 ] && exit 0; sleep 0.02; done; exit 1
	YAML
	envelope 0
	diff order <(printf '1:a\n2:b b\n3:c"c\n')
	[ "$(sort at-once | tr '\n' ' ')" = 'x y ' ]
	expect '[d.output.strip() for d in e.data.steps[0].data] == ["got a", "got b b", "got c\"c"]'
	expect '"loop[2].body" in [s.key for s in e.data.steps]'
}

@test "a loop that goes on after failures has succeeded, for conditions too, and for a resumed run" {
	ran <<-'YAML'
		  - { id: loop, foreach: [a, b], continue_on_error: true, do: { shell: "[ ${item} = a ]" } }
		  - { shell: "echo ${steps.loop.ok} ${steps.loop.data.1.ok}", when: "${steps.loop.ok}" }
		  - shell: "[ -e go ]"
		  - shell: echo "${steps.loop.ok}"
	YAML
	envelope 1
	expect '[s.output for s in e.data.steps if s.key == "2"] == ["true false"]'
	touch go
	call workflow resume "$(run_id)"
	expect 'e.data.steps[-1].output == "true"'
}

@test "parallel steps run side by side, no more of them at once than limit" {
	# each waits for the other: one after the other, they would fail
	ran <<-'YAML'
		  - parallel:
		      - shell: touch a; for n in $(seq 2000); do [ -e b ] && exit 0; sleep 0.02; done; exit 1
		      - shell: touch b; for n in $(seq 2000); do [ -e a ] && exit 0; sleep 0.02; done; exit 1
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
		      - shell: until grep -q '"event":"step.failed"' err.txt; do sleep 0.02; done
		      - shell: touch third
		    limit: 2
		  - shell: touch after
	YAML
	envelope 1
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.step_key == "1.1"'
	[ ! -e after ]
	[ ! -e third ]
	ran <<-'YAML'
		  - parallel:
		      - shell: exit 3
		      - shell: touch second
		    limit: 1
		    continue_on_error: true
		  - shell: touch after
	YAML
	envelope 0
	[ -e second ]
	[ -e after ]
}

# --- failures and what follows them ---------------------------------------------------

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
	messages step.warning | grep -q 'Step 1 failed; the run continues'
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

@test "retry of a shell step waits and tries again; on_retry gets each failure" {
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
			[(1, 5, "SUBPROCESS_FAILED", 20), (2, 5, "SUBPROCESS_FAILED", 40)], events
	PYTHON
	messages retry.succeeded | grep -qx 'Shell command succeeded on attempt 3'
}

@test "a failure's own wait is waited where it is longer, bounded by max_delay" {
	turns 'complain "429 rate_limit_error, Retry-After: 1"; exit 1' \
		'complain "Claude usage limit reached, try again in 40 minutes"; exit 1' 'echo fine'
	ran <<<'  - { claude: /a, retry: { initial_delay: 1ms, max_delay: 1200ms, jitter: 0 } }'
	envelope 0
	expect '[(h.code, h.delay_before_next) for h in e.data.steps[0].retry.error_history] == [("RATE_LIMITED", 1), ("RATE_LIMITED", 1.2)]'
	[ "$(waited 1)" -ge 1000 ]
	[ "$(waited 2)" -ge 1200 ]
}

@test "retry_budget ends a sequence of retries before its attempts do" {
	ran <<<'  - { shell: "exit 1", retry: { strategy: constant, initial_delay: 600ms, max_attempts: 50, jitter: 0, retry_budget: 2700ms } }'
	envelope 1
	expect '2 <= e.data.steps[0].attempts <= 5 and [w.code for w in e.warnings] == ["RETRY_BUDGET"] and e.data.retryable is True'
}

@test "retry_budget bounds when a wait ends: none is refused that ends within it" {
	local wait
	for wait in 400 400 400 1600 6400; do # the first attempt has a quarter of it, which a busy machine may not keep
		ran <<<"  - { shell: 'exit 1', retry: { delays: [${wait}ms], jitter: 0, retry_budget: $((wait * 5 / 4))ms } }"
		[ "$(field 'e.data.steps[0].attempts')" != 2 ] || return 0
	done
	false
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

@test "a failed runner step passes on all that its command's error says" {
	body release <<-'LUA'
		ctx:fail("CONFLICT", "Release 7 exists", { fix_required = "Pick another number", fix_command = "runner release --n=8",
			side_effects = "none", context = { release = 7 }, errors = { { code = "TAKEN", message = "7 is taken", field = "n" } } })
	LUA
	ran <<<'  - { runner: release, retry: false }'
	envelope 6
	expect 'e.error.code == "CONFLICT" and e.error.message == "Step 1: Release 7 exists" and e.error.side_effects == "none"'
	expect 'e.error.fix_required == "Pick another number" and e.error.fix_command == "runner release --n=8"'
	expect 'e.error.errors[0].code == "TAKEN" and e.error.context.error == {"release": 7}'
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

@test "the step that failed the run is named, not one whose failure did not count" {
	workflow count <<-'YAML'
		name: count
		commands:
		  - foreach: [a, b]
		    continue_on_error: true
		    do: [ { id: inner, shell: "exit 3" } ]
		  - { id: handled, shell: "exit 4", on_failure: continue }
		  - { id: last, shell: "exit 5" }
	YAML
	call workflow run count.yaml
	envelope 1
	expect 'e.data.failed_step == "last" and e.error.context.step_key == "last"'
	expect 'e.error.context.error_history[0].attempt_number == 1 and "5" in e.error.message'
}

@test "on_failure of a loop runs again each time that the loop has failed" {
	workflow again <<-'YAML'
		name: again
		commands:
		  - id: loop
		    foreach: [a]
		    do: [ { shell: "exit 3" } ]
		    on_failure: [ { shell: "echo handled >>effects" } ]
	YAML
	call workflow run again.yaml
	envelope 1
	call workflow resume "$(run_id)"
	envelope 1
	call workflow resume "$(run_id)"
	envelope 1
	[ "$(grep -c handled effects)" -eq 3 ]
}

# --- limits and processes -------------------------------------------------------------

@test "timeout_secs bounds an attempt with its whole tree, daemons and the deaf included" {
	tries 3 bounded_tree
	[ "$elapsed_ms" -lt 30000 ]
	messages step.timeout | grep -q '^Shell command timed out after 0.3s: '
	assert_no_process_left
}

# (a shepherd that stands still is killed, which leaves its step in doubt)
bounded_tree() {
	ran <<-'YAML'
		  - shell: |
		      trap '' TERM
		      (setsid sh -c "trap '' TERM HUP; (sleep 61 &) ; sleep 62; exit" &)
		      sleep 63 & sleep 64; sleep 65
		    timeout_secs: 0.3
		    grace: 200ms
	YAML
	envelope 10 && expect 'e.error.code == "TIMEOUT" and e.error.context.step_key == "1"'
}

@test "total_timeout_secs limits a step with its waits: a wait that would overrun it is never started" {
	ran <<-'YAML'
		  - shell: exit 1
		    retry: { strategy: constant, initial_delay: 30s, max_attempts: 3, jitter: 0 }
		    total_timeout_secs: 2
	YAML
	envelope 1
	[ "$elapsed_ms" -lt 20000 ]
	expect '[w.code for w in e.warnings] == ["RETRY_BUDGET"] and e.data.steps[0].attempts == 1'
	ran <<-'YAML'
		  - shell: sleep 60
		    retry: { strategy: constant, initial_delay: 10ms, max_attempts: 50, jitter: 0 }
		    timeout_secs: 0.5
		    total_timeout_secs: 3
	YAML
	envelope 10
	[ "$elapsed_ms" -lt 30000 ]
	expect '2 <= e.data.steps[0].attempts <= 6'
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
	[ "$elapsed_ms" -lt 50000 ]
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
	expect 'e.error.message.startswith("Step 1: Process failed: ")'
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

@test "--retries 0 switches every retry off, and --quiet every notice" {
	turns 'complain "500 Internal Server Error"; exit 1'
	ran --retries 0 --quiet <<<'  - { claude: /a, retry: { initial_delay: 1ms } }'
	envelope 12
	[ "$(calls)" -eq 1 ]
	[ -z "$stderr" ]
}

# --- what keeps a step from beginning -----------------------------------------------------

@test "a loop without a list fails as its own step: it is shown, its on_failure follows, resume asks again" {
	ran <<-'YAML'
		  - { id: made, shell: "cat made.json 2>/dev/null || echo '{\"m\":{\"k\":1}}'" }
		  - { id: map, foreach: "${steps.made.data.m}", do: [{ shell: "echo ${item}" }], on_failure: continue }
		  - { id: gone, foreach: "${steps.made.data.list}", do: [{ shell: "echo ${item}" }] }
	YAML
	envelope 4
	expect '[(s.key, s.state, s.code) for s in e.data.steps[1:]] == [("map", "failed", "PRECONDITION"), ("gone", "failed", "PRECONDITION")]'
	expect 'e.data.steps[1].message == "foreach needs a list, not {\"k\":1}" and e.data.failed_step == "gone"'
	expect 'e.error.context.step_key == "gone" and "${steps.made.data.list}" in e.error.message'
	messages '' | grep -F "Step map can't start: foreach needs a list"
}

@test "a condition that can't be judged names its step, and the step is not run, not by resume either" {
	ran <<-'YAML'
		  - { id: made, shell: "echo '[1]'" }
		  - { id: odd, shell: touch ran, when: "${steps.made.data} < 5" }
	YAML
	envelope 4
	expect 'e.error.message.startswith("Step odd, when: A condition compares") and e.data.failed_step == "odd"'
	call workflow resume "$(run_id)"
	envelope 4
	[ ! -e ran ]
}

@test "paths that hold a NUL byte or nothing are the step's failure before it has begun" {
	ran <<-'YAML'
		  - { id: nul, shell: 'printf "a\000b"' }
		  - { shell: touch one, working_dir: "${steps.nul.output}", on_failure: continue }
		  - { shell: touch two, output_file: "${steps.nul.output}", on_failure: continue }
		  - { shell: touch three, working_dir: "${claude.output}", on_failure: continue }
		  - { shell: "printf ''", id: nothing }
		  - { shell: touch four, working_dir: "${steps.nothing.output}" }
	YAML
	envelope 4
	expect '[s.code for s in e.data.steps if s.state == "failed"] == ["PRECONDITION"] * 4'
	expect 'e.error.message == "working_dir of step 6 is empty once its variables are expanded"'
	[ ! -e one ]
	[ ! -e two ]
	[ ! -e three ]
	[ ! -e four ]
}

@test "output_file gets the whole output or none, however long it is" {
	ran <<-'YAML'
		  - { shell: "head -c 1500000 /dev/zero | tr '\\000' x >&2; echo short", output_file: short }
		  - { shell: "head -c 1500000 /dev/zero | tr '\\000' x", output_file: long }
	YAML
	envelope 0
	[ "$(cat short)" = short ]
	[ "$(tr -d x <long | wc -c)-$(wc -c <long)" = 0-1500000 ]
	ran <<<'  - { shell: "head -c 1500000 /dev/zero", output_file: nowhere/long }'
	envelope 1
	expect 'e.error.code == "OUTPUT_FAILED" and "nowhere/long" in e.error.message and "output_file" in e.error.fix_required'
	[ ! -e nowhere ]
}
