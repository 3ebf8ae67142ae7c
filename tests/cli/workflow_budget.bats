#!/usr/bin/env bats
# max_cost: what claude steps may cost together, over retries, resumes and parallel steps.

load lib/workflow

# cost TEXT USD: a stand-in's JSON result
COST='cost() { printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"%s\",\"num_turns\":1,\"total_cost_usd\":%s}\n" "$1" "$2"; }'

# The budget that call N was given.
budget() {
	grep -A 1 -x -e --max-budget-usd "claude/calls/$1/argv" | tail -n 1
}

@test "what is left of the run's budget and of the step's is passed on" {
	workflow paid <<-'YAML'
		name: paid
		max_cost: 1
		claude: { output: json }
		commands:
		  - { claude: one, max_cost: 0.3 }
		  - { claude: two }
	YAML
	turns "$COST; cost hi 0.1"
	call workflow run paid.yaml
	envelope 0
	[ "$(budget 1)" = 0.3 ]
	[ "$(budget 2)" = 0.9 ]
	expect 'e.data.cost_usd == 0.2 and e.data.max_cost_usd == 1'
	call workflow plan paid.yaml
	expect 'e.data.max_cost_usd == 1 and e.data.steps[0].max_cost_usd == 0.3'
	expect 'e.data.steps[1].argv[1:3] == ["--max-budget-usd", "1"]'
	on_pty workflow show "$(runner_id)"
	grep -qx 'cost:     $0.20 of $1.00' screen
}

# The newest run.
runner_id() {
	sql 'SELECT id FROM runs ORDER BY created_ms DESC LIMIT 1'
}

@test "a budget holds over retries: ten cents are gone after two attempts, not after six" {
	workflow tries <<-'YAML'
		name: tries
		claude: { output: json }
		commands: [ { claude: x, max_cost: 0.1, retry: { initial_delay: 10ms } } ]
	YAML
	turns "$COST; cost 'API Error: 529 overloaded' 0.06 | sed 's/false/true/'; exit 1"
	call workflow run tries.yaml
	envelope 82
	[ "$(calls)" -eq 2 ]
	[ "$(budget 2)" = 0.04 ]
	expect 'e.error.code == "BUDGET_EXHAUSTED" and e.error.message == "The budget of step 1 is used up: $0.12 of $0.10"'
	expect 'e.error.retryable is False and e.data.retryable is False and e.error.context.step_key == "1"'
	expect 'e.error.suggestion.startswith("Raise max_cost of step 1") and e.data.steps[0].usage.cost_usd == 0.12'
}

@test "a retry that would find nothing left is not waited for: its step fails now, and keeps what it printed" {
	workflow wait <<-'YAML'
		name: wait
		claude: { output: json }
		commands:
		  - claude: x
		    max_cost: 0.1
		    retry: { initial_delay: 5m }
		    on_failure: { shell: "echo ${claude.error.code} ${claude.status} >after" }
	YAML
	turns "$COST; cost 'API Error: 529 overloaded' 0.1 | sed 's/false/true/'; exit 1"
	SECONDS=0
	call workflow run wait.yaml --timeout 60
	[ "$SECONDS" -lt 30 ]
	envelope 82
	expect 'e.error.code == e.data.code == e.data.steps[0].code == "BUDGET_EXHAUSTED" and e.data.steps[0].state == "failed"'
	expect '[(a.code, a.attempt_number) for a in e.error.context.error_history] == [("UNAVAILABLE", 1)]'
	expect '"delay_before_next" not in e.error.context.error_history[0]'
	[ "$(<after)" = 'BUDGET_EXHAUSTED 1' ]
}

@test "a usage limit is not waited for either where the run's budget is used up; shell steps retry all the same" {
	workflow limit <<-'YAML'
		name: limit
		max_cost: 0.1
		claude: { output: json }
		commands:
		  - { claude: one }
		  - { shell: "[ -e made ] || { touch made; exit 3; }", retry: { initial_delay: 1ms } }
		  - { claude: two }
	YAML
	turns -p one "$COST; cost hi 0.05"
	turns -p two "$COST; cost \"You've hit your session limit · resets \$(date -u -d '+2 hours' +%-I%P) (UTC)\" 0.05 | sed 's/false/true/'; exit 1"
	call workflow run limit.yaml --timeout 60
	envelope 82
	expect 'e.error.code == "BUDGET_EXHAUSTED" and e.data.steps[1].attempts == 2 and e.data.steps[2].retry.error_history[0].code == "RATE_LIMITED"'
	expect 'e.error.suggestion.endswith("--max-cost USD")'
}

@test "an exhausted run is resumable with more, and with nothing more it is exhausted again" {
	workflow more <<-'YAML'
		name: more
		max_cost: 0.1
		claude: { output: json }
		commands: [ { claude: one }, { claude: two }, { claude: three } ]
	YAML
	turns "$COST; cost hi 0.1"
	call workflow run more.yaml
	envelope 82
	local id
	id=$(runner_id)
	expect "e.error.suggestion == 'runner workflow resume $id --max-cost USD'"
	call workflow resume "$id"
	envelope 82
	[ "$(calls)" -eq 1 ]
	call workflow resume "$id" --max-cost 0.15
	envelope 82
	[ "$(calls)" -eq 2 ]
	[ "$(budget 2)" = 0.05 ]
	# the flag holds from then on; an edited file doesn't change it
	sed -i 's/max_cost: 0.1/max_cost: 9/' more.yaml
	call workflow resume "$id" --force
	envelope 82
	[ "$(calls)" -eq 2 ]
	call workflow resume "$id" --max-cost 1 --force
	envelope 0
	[ "$(budget 3)" = 0.8 ]
	expect 'e.data.cost_usd == 0.3 and e.data.max_cost_usd == 1'
}

@test "an edited file gives an exhausted step more" {
	workflow edited <<-'YAML'
		name: edited
		claude: { output: json }
		commands: [ { claude: one, max_cost: 0.1, retry: { initial_delay: 10ms } } ]
	YAML
	turns "$COST; cost 'API Error: 529 overloaded' 0.1 | sed 's/false/true/'; exit 1" "$COST; cost hi 0.05"
	call workflow run edited.yaml
	envelope 82
	sed -i 's/max_cost: 0.1/max_cost: 0.5/' edited.yaml
	call workflow resume "$(runner_id)" --force
	envelope 0
	[ "$(budget 2)" = 0.4 ]
}

@test "run takes the flag, too, in place of what the file says" {
	workflow flag <<-'YAML'
		name: flag
		max_cost: 5
		claude: { output: json }
		commands: [ { claude: one } ]
	YAML
	turns "$COST; cost hi 0.1"
	call workflow run flag.yaml --max-cost 0.25
	envelope 0
	[ "$(budget 1)" = 0.25 ]
	call workflow run flag.yaml --max-cost 0
	envelope 2
	call workflow run flag.yaml --max-cost lots
	envelope 2
}

@test "an attempt that reports no cost is charged in full: text output, a kill, a crash of the run" {
	workflow text <<-'YAML'
		name: text
		max_cost: 1
		commands: [ { claude: one, max_cost: 0.4 }, { claude: two } ]
	YAML
	call workflow check text.yaml
	expect '[w.code for w in e.warnings] == ["COST_UNKNOWN", "COST_UNKNOWN"]'
	call workflow run text.yaml
	envelope 0
	[ "$(budget 2)" = 0.6 ]
	expect 'e.data.cost_usd == 1'

	workflow crash <<-'YAML'
		name: crash
		max_cost: 1
		claude: { output: json }
		commands: [ { claude: long, idempotent: true, max_cost: 0.7, retry: { initial_delay: 10ms } }, { claude: last } ]
	YAML
	turns -p long 'kill -KILL $$' 'touch began; sleep 30' "$COST; cost hi 0"
	turns -p last "$COST; cost hi 0.1"
	sed -i 's/max_cost: 0.7/max_cost: 0.2/' crash.yaml
	begin workflow run crash.yaml
	finish
	envelope 82 # the kill was charged 0.2, all of the step's
	sed -i 's/max_cost: 0.2/max_cost: 0.5/' crash.yaml
	begin workflow resume "$(runner_id)" --force
	until_true [ -e began ]
	kill_all
	finish
	call workflow resume "$(runner_id)"
	envelope 82 # the crash was charged 0.3
	sed -i 's/max_cost: 0.5/max_cost: 0.9/' crash.yaml
	call workflow resume "$(runner_id)" --force
	envelope 0
	[ "$(budget 5)" = 0.4 ]
	[ "$(budget 6)" = 0.5 ]
	expect 'e.data.cost_usd == 0.6'
}

@test "a program that can't be started costs nothing" {
	workflow none <<-'YAML'
		name: none
		max_cost: 1
		claude: { program: /no/such/program }
		commands: [ { claude: one, retry: false } ]
	YAML
	call workflow run none.yaml
	[ "$status" -ne 0 ]
	expect 'e.error.code != "BUDGET_EXHAUSTED" and "cost_usd" not in e.data'
}

@test "parallel steps share a budget: each has reserved its own, or waits for what is left" {
	workflow side <<-'YAML'
		name: side
		max_cost: 1
		claude: { output: json }
		commands:
		  - parallel:
		    - { claude: one, max_cost: 0.3 }
		    - { claude: two, max_cost: 0.3 }
		  - foreach: [a, b, c]
		    parallel: 3
		    do: { claude: "${item}" }
	YAML
	turns "$COST; cost hi 0.2"
	turns -p one "touch one; until [ -e two ]; do sleep 0.02; done; $COST; cost hi 0.2"
	turns -p two "touch two; until [ -e one ]; do sleep 0.02; done; $COST; cost hi 0.2"
	call workflow run side.yaml
	envelope 0
	expect 'e.data.cost_usd == 1'
	[ "$(budget 3)" = 0.6 ]
	[ "$(budget 4)" = 0.4 ]
	[ "$(budget 5)" = 0.2 ]
	# one after another, since each had reserved all that was left
	[ "$(<claude/calls/4/began)" -ge "$(<claude/calls/3/ended)" ]
	[ "$(<claude/calls/5/began)" -ge "$(<claude/calls/4/ended)" ]
}

@test "shell and runner steps use nothing of a budget, and run when it is used up" {
	body free <<<'return {}'
	workflow mixed <<-'YAML'
		max_cost: 1
		claude: { output: json }
		commands:
		  - shell: echo a
		  - runner: free
		  - parallel: [{ shell: echo b }, { claude: two }, { shell: echo c }]
		  - shell: echo d
	YAML
	turns "$COST; cost hi 1"
	call workflow run mixed.yaml
	envelope 0
	[ "$(budget 1)" = 1 ]
	expect 'e.data.cost_usd == 1'
	[ "$(sql 'SELECT count(*) FROM usage')" = 1 ]
}

@test "stats has the costs by step, workflow and day" {
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		commands: [ { claude: one }, { claude: two } ]
	YAML
	turns "$COST; cost hi 0.1"
	call workflow run paid.yaml
	call workflow run paid.yaml
	call workflow stats
	envelope 0
	expect 'e.data.cost_usd == 0.4 and [(s.key, s.cost_usd) for s in e.data.by_step] == [("1", 0.2), ("2", 0.2)]'
	expect '[(w.workflow, w.runs, w.cost_usd) for w in e.data.by_workflow] == [("paid", 2, 0.4)]'
	expect 'sum(d.cost_usd for d in e.data.by_day) == 0.4 and len(e.data.by_day[0].day) == 10'
}

@test "a program that ends because its budget is used up is not called again, and says how it gets more" {
	workflow over <<-'YAML'
		name: over
		max_cost: 1
		claude: { output: json }
		commands: [ { claude: one, retry: { initial_delay: 10ms } } ]
	YAML
	local over='{"type":"result","subtype":"error_max_budget_usd","is_error":true,"total_cost_usd":1.05,"errors":["Reached maximum budget ($1)"]}'
	turns "echo '$over'; exit 1"
	call workflow run over.yaml
	envelope 82
	[ "$(calls)" -eq 1 ]
	expect "e.error.code == 'BUDGET_EXHAUSTED' and e.error.suggestion == 'runner workflow resume $(runner_id) --max-cost USD'"
	expect 'e.error.message == "Step 1: Process failed: Reached maximum budget ($1)" and e.data.cost_usd == 1.05'
	sed -i 's/claude: one,/claude: one, max_cost: 0.5,/' over.yaml
	call workflow run over.yaml
	envelope 82
	expect 'e.error.suggestion.startswith("Raise max_cost of step 1 in the file")'
}

@test "resume reads what a step used when it meets the step: 50,000 others take no memory, and count" {
	local path
	turns 'echo done'
	ran <<<'  [ { id: ask, claude: hello, max_cost: 5 }, { id: stop, shell: "test -e go" } ]'
	envelope 1
	cp -r state few
	python3 - <<-'PY'
		import sqlite3
		with sqlite3.connect("state/runner/runs.db") as db:
		    run, = db.execute("SELECT id FROM runs").fetchone()
		    rows = [(run, f"gone[{i}].1", i + 10) for i in range(50000)]
		    db.executemany("INSERT INTO steps (run, key, position, state, kind) VALUES (?, ?, ?, 'completed', 'claude')", rows)
		    db.executemany("INSERT INTO attempts (run, key, number, round, nth, started_ms, ended_ms) VALUES (?, ?, 1, 1, 1, ?, 1)", rows)
		    db.executemany("INSERT INTO usage (run, key, number, session_id, model, cost_micros) VALUES (?, ?, 1, hex(randomblob(16)) || ?, 'm', 10)", rows)
	PY
	touch go
	for path in few/runner state/runner; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/${path%/runner}" python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("out.txt", "w"), stdin=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$RUNNER" workflow resume "$(run_id)" >>kib
	done
	status=0
	envelope 0
	expect 'e.data.cost_usd == 5.5 and e.data.steps_total == 50002'
	echo "KiB: $(tr "\n" " " <kib)"
	[ "$(tail -n 1 kib)" -lt $(($(head -n 1 kib) + 30000)) ]
}

@test "a budget that is used up ends the repairs, and a resume with more goes on with the one that had none" {
	workflow repaired <<-'YAML'
		name: repaired
		max_cost: 1
		claude: { output: json }
		commands:
		  - claude: one
		    check: { shell: echo checked >>checks; test -e fixed }
		    repair: { max: 20, steps: [{ claude: "fix ${attempt.repair}" }] }
	YAML
	turns "$COST; [ ! -e more ] || touch fixed; cost hi 0.6"
	call workflow run repaired.yaml
	assert_envelope
	expect 'e.error.code == "BUDGET_EXHAUSTED" and "--max-cost" in e.error.suggestion'
	[ "$(wc -l <checks)" -eq 2 ]
	[ "$(echo claude/calls/*/argv | wc -w)" -eq 2 ]
	touch more
	call workflow resume "$(runner_id)" --max-cost 5
	envelope 0
	[ "$(wc -l <checks)" -eq 3 ]
	[ "$(tail -n 1 claude/calls/3/argv)" = 'fix 2' ]
}

@test "however deep in repairs, and in another file, a claude step gets the rest of the run's budget, and plan says so" {
	cat >inner.yaml <<-'YAML'
		claude: { output: json }
		max_cost: 7
		commands:
		  - shell: "[ -e fixed ]"
		    repair: [{ claude: inner }, { shell: touch fixed }]
	YAML
	workflow deep <<-'YAML'
		name: deep
		max_cost: 1
		claude: { output: json }
		commands:
		  - shell: "[ -e fixed ]"
		    repair:
		      - claude: one
		      - shell: "[ -e fixed ]"
		        repair:
		          - steps: [{ claude: two, check: { claude: three } }]
		          - workflow: inner.yaml
	YAML
	turns "$COST; cost hi 0.1"
	call workflow plan deep.yaml
	[ "$(grep -o '"--max-budget-usd","1"' <<<"$stdout" | wc -l)" -eq 4 ]
	call workflow run deep.yaml
	envelope 0
	[ "$(grep -h -A 1 max-budget claude/calls/*/argv | grep '^[0-9]' | xargs)" = "1 0.9 0.8 0.7" ]
}
