#!/usr/bin/env bats
# A run that was interrupted or that failed, and how it goes on: no completed step is lost,
# none runs twice.

load lib/workflow

# --- Ctrl+C ---------------------------------------------------------------------------

@test "SIGINT during a step: exit 130, the tree is gone, the state is interrupted, resume goes on" {
	three
	sed -i "s/echo two/(setsid sleep 60 \&); sleep 61 \& trap '' INT; echo two/" three.yaml
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	envelope 130
	assert_no_process_left
	expect 'e.error.code == "CANCELLED" and e.data.progress.step == "two" and e.data.progress.done == 1'
	local id
	id=$(run_id)
	expect "e.error.suggestion == 'runner workflow resume $id' and e.error.retryable is False"
	call workflow show "$id"
	expect '[s.state for s in e.data.steps] == ["completed", "interrupted"] and e.data.state == "interrupted"'
	touch go
	call workflow resume "$id"
	envelope 0
	effects one two two three # surely cut off, so surely run again
	expect 'e.data.resumes == 1 and e.data.state == "completed"'
}

@test "SIGINT during a wait: resume goes on with the attempts used and the rest of the wait" {
	workflow wait <<-'YAML'
		name: wait
		commands: [ { claude: /a, retry: { strategy: custom, delays: [1ms, 60s, 1ms], jitter: 0 } } ]
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR"
	begin workflow run wait.yaml
	until_true grep -q '"delay_ms":60000' err.txt
	kill -INT "$pid"
	finish
	envelope 130
	[ "$(sql 'select runs.state, steps.attempts from runs, steps')" = 'interrupted|2' ]
	# 57 s later, so that no other wait than the rest is 3 s to 20 s
	sql "UPDATE steps SET wake_ms = wake_ms - 57000"
	call workflow resume "$(run_id)"
	envelope 12
	[ "$(calls)" -eq 4 ]
	[ "$(waited 2)" -ge 2995 ]
	[ "$(waited 2)" -lt 20000 ]
	messages step.failed | grep -q '^Claude command failed after 4 attempts'
}

@test "a wait that is over when the run is resumed is not waited for again" {
	workflow wait <<-'YAML'
		name: wait
		commands: [ { claude: /a, retry: { strategy: custom, delays: [300s], jitter: 0 } } ]
	YAML
	turns "$SERVER_ERROR" 'echo fine'
	begin workflow run wait.yaml
	until_true grep -q retry.wait err.txt
	kill -INT "$pid"
	finish
	# five minutes later
	sql "UPDATE steps SET wake_ms = wake_ms - 300000" >/dev/null
	call workflow resume "$(run_id)" --timeout 2m
	envelope 0
}

@test "SIGTERM ends a run like SIGINT, with 143" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -TERM "$pid"
	finish
	envelope 143
	assert_no_process_left
	[ "$(sql 'select state from runs')" = interrupted ]
}

@test "SIGINT with steps side by side: all of them end, and resume repeats only what was cut off" {
	workflow sides <<-'YAML'
		name: sides
		commands:
		  - parallel:
		      - shell: echo short >>effects
		      - shell: echo a >>effects; touch began-a; until [ -e go ]; do sleep 0.02; done
		      - shell: echo b >>effects; touch began-b; until [ -e go ]; do sleep 0.02; done
		  - shell: echo last >>effects
	YAML
	begin workflow run sides.yaml
	until_true [ -e began-a -a -e began-b ]
	until_true recorded "select 1 from steps where key = '1.1' and state = 'completed'"
	kill -INT "$pid"
	finish
	envelope 130
	assert_no_process_left
	[ "$(sql "select group_concat(state) from (select state from steps where key like '1.%' order by key)")" = completed,interrupted,interrupted ]
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(sort effects | tr '\n' ' ')" = 'a a b b last short ' ]
}

@test "a run that its --timeout ends can be resumed" {
	three
	local limit_ms
	for limit_ms in 600 3000 15000; do # as short as this machine allows
		rm -f effects
		call workflow run three.yaml --timeout "${limit_ms}ms"
		[ ! -e began ] || break
	done
	envelope 10
	expect 'e.error.code == "TIMEOUT" and e.data.progress.step == "two" and e.error.retryable is False'
	[ "$(field e.meta.run)" = "$(sql "select id from runs")" ]
	messages run.interrupted | grep -q 'runner workflow resume run_'
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	effects one two two three
}

@test "attempts that were interrupted do not count as failures of the step" {
	workflow cut <<-'YAML'
		name: cut
		commands: [ { claude: /a, retry: { max_attempts: 1, initial_delay: 1ms } } ]
	YAML
	turns 'touch began; sleep 60' "$SERVER_ERROR" 'echo fine'
	begin workflow run cut.yaml
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	envelope 130
	[ "$(field e.meta.run)" = "$(run_id)" ]
	call workflow resume "$(run_id)"
	[ "$(field e.meta.run)" = "$(run_id)" ]
	envelope 0
	[ "$(calls)" -eq 3 ]
	messages retry.failed | grep -qx 'Claude command failed (attempt 1/1): 500 Internal Server Error'
}

# --- what may be resumed --------------------------------------------------------------

@test "a failed run is resumed at the step that failed, with what the others gave" {
	workflow again <<-'YAML'
		name: again
		vars: { greeting: hello }
		commands:
		  - { shell: "echo one >>effects; echo ${greeting}", id: one }
		  - { shell: "echo two >>effects; [ -e fixed ]" }
		  - { shell: "echo three >>effects; echo ${steps.one.output} ${greeting}", id: three }
	YAML
	call workflow run again.yaml --var greeting=ciao
	envelope 1
	touch fixed
	call workflow resume "$(run_id)"
	envelope 0
	effects one two two three
	expect '[s.output for s in e.data.steps if s.id == "three"][0].split() == ["ciao", "ciao"]'
}

@test "a resumed run knows what steps side by side gave: outputs, captured variables, failures, hooks" {
	ran <<-'YAML'
		  - parallel:
		      - { id: left, shell: echo L, capture_output: side, on_success: { id: hook, shell: echo H } }
		      - { id: right, shell: echo R; exit 5, on_failure: continue }
		      - parallel: [{ id: deep, shell: echo D }]
		  - { id: wait, shell: "[ -e go ]" }
		  - shell: echo "${steps.left.output} ${side} ${steps.hook.output} ${steps.right.status} ${steps.right.output} ${steps.deep.output}"
	YAML
	envelope 1
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	expect 'e.data.steps[-1].output == "L L H 5 R D"'
}

@test "a resumed run works where it began, with its files, its variables and their types" {
	mkdir sub elsewhere
	echo A=file >.env
	workflow again <<-'YAML'
		name: again
		vars: { n: 3, list: [x, y] }
		env_files: [.env]
		commands:
		  - shell: "[ -e fixed ] || exit 1; pwd; echo $A"
		    working_dir: sub
		    output_file: out
		  - foreach: "${list}"
		    when: n > 2
		    do: [ { shell: "echo ${item} >>effects" } ]
	YAML
	call workflow run again.yaml
	envelope 1
	local id
	id=$(run_id)
	touch sub/fixed
	(cd elsewhere && call workflow resume "$id" && envelope 0)
	diff sub/out <(printf '%s\nfile' "$PWD/sub")
	effects x y
	call workflow show "$id"
	expect 'e.data.variables == {"n": 3, "list": ["x", "y"]}'
}

@test "resume of a completed run answers as wait does, whatever else it is asked, and repeats nothing" {
	workflow one <<<'{ name: one, vars: { n: 1 }, commands: [ { id: a, shell: "echo one | tee -a effects" } ] }'
	call workflow run one.yaml
	envelope 0
	local id words
	id=$(run_id)
	call workflow wait "$id"
	envelope 0
	python3 -c 'import json; print(json.dumps(json.load(open("out.txt"))["data"], sort_keys=True))' >waited
	for words in "$id" @last one "$id --force" "$id --retry-in-doubt" "$id --mark-done a" "$id --max-cost 5" "$id --steps all"; do
		# shellcheck disable=SC2086 # words
		call workflow resume $words
		envelope 0
		expect "e.data.effect == 'noop' and e.meta.run == '$id' and e.warnings == []"
		diff waited <(python3 -c 'import json; d = json.load(open("out.txt"))["data"]; del d["effect"]; print(json.dumps(d, sort_keys=True))')
	done
	rm one.yaml
	call workflow resume "$id"
	envelope 0
	call workflow resume "$id" --format plain
	[ "$status" -eq 0 ]
	effects one
}

@test "no suggestion of a workflow command starts a run over: what is there is resumed or looked at" {
	workflow long <<-'YAML'
		name: long
		secrets: { KEY: { env: SECRET_KEY } }
		vars: { who: nobody }
		commands: [ { shell: "echo one >>effects" }, { shell: "[ -e go ]" } ]
	YAML
	CLEAN_ENV+=(SECRET_KEY=tok-123456)
	call workflow run long.yaml --var who=tok-123456
	envelope 1
	call workflow resume @last
	envelope 4
	expect 'e.error.suggestion.startswith("runner workflow show ")'
	call workflow rm @last --confirm-destructive
	envelope 6
	expect '"runner workflow resume " in e.error.suggestion'
	effects one
	grep -rnE 'suggestion = .*(workflow run |[Ss]tart(ing)? (the workflow again|over))' "$ROOT/lua" | grep -v commands/workflow/new.lua >suggested || true
	diff suggested - </dev/null
}

@test "a cancelled run is not resumed" {
	three
	killed
	call workflow cancel "$id"
	envelope 0
	expect 'e.data.state == "cancelled" and e.data.before == "interrupted"'
	call workflow resume "$id"
	envelope 6
	expect '"--force" in e.error.suggestion'
	call workflow cancel "$id"
	envelope 0
	expect 'e.data.effect == "noop"'
}

# library EDIT: lua/ of our own, where sed has made a moment last
library() {
	cp -R "$ROOT/lua" library
	sed -i "$1" library/workflow/run/engine.lua
	if cmp -s "$ROOT/lua/workflow/run/engine.lua" library/workflow/run/engine.lua; then return 1; fi
	CLEAN_ENV+=(RUNNER_LUA="$PWD/library")
}

@test "a signal that comes behind the end of a run does not undo it" {
	workflow good <<<'{ name: good, commands: [ { shell: "true" } ] }'
	workflow bad <<<'{ name: bad, commands: [ { shell: "exit 3" } ] }'
	library 's/^local function fail(/local function slow() io.open("ended", "w"):close() require("runner.host").sleep(30000) end\n&/
		s/^\t*events.ended(run, state)/slow() &/
		s/^\trun.db:set_run(run.id, { state = "completed" })/& slow()/'
	local name
	for name in good bad; do
		rm -f ended
		begin workflow run $name.yaml
		until_true [ -e ended ]
		kill -TERM "$pid"
		finish
		envelope 143
	done
	[ "$(sql 'select group_concat(state) from (select state from runs order by workflow)')" = failed,completed ]
}

@test "a file that changed is refused; --force takes it as it is now" {
	workflow again <<<'{ name: again, commands: [ { shell: "echo one >>effects" }, { shell: "exit 3" } ] }'
	call workflow run again.yaml
	envelope 1
	sed -i 's/exit 3/echo mended >>effects/' again.yaml
	call workflow resume "$(run_id)"
	envelope 6
	expect '"changed" in e.error.message and "--force" in e.error.suggestion and e.error.side_effects == "none"'
	effects one
	call workflow resume "$(sql 'select id from runs')" --force
	envelope 0
	effects one mended
}

@test "a completed step that is another one in a changed file is not run, and a warning says so" {
	workflow odd <<-'YAML'
		name: odd
		commands:
		  - shell: echo one >>effects
		  - { id: kept, shell: "exit 3" }
	YAML
	call workflow run odd.yaml
	envelope 1
	local id
	id=$(run_id)
	sed -i 's/  - shell: echo one/  - shell: echo new >>effects\n&/; s/exit 3/true/' odd.yaml
	call workflow resume "$id" --force
	envelope 0
	effects one one
	expect '[(w.code, w.context) for w in e.warnings] == [("STEP_CHANGED", {"step": "1", "was": "echo one >>effects", "is": "echo new >>effects"})]'
}

@test "nor does a name hide that a completed step does something else" {
	printf 'commands: [{ id: x, shell: echo inner }]\n' >inner.yaml
	ran <<-'YAML'
		  - { id: a, name: same, shell: echo one }
		  - { id: b, name: "${steps.a.output}", shell: echo two }
		  - { id: c, foreach: [1], do: [{ id: d, name: each, shell: echo three }] }
		  - { id: e, workflow: inner.yaml }
		  - { id: stop, shell: "[ -e go ]" }
	YAML
	envelope 1
	touch go
	sed -i 's/echo \(one\|two\|three\)/rm -f \1/' small.yaml
	call workflow resume @last --force
	envelope 0
	expect '[(w.context.step, w.context.was, w.context["is"]) for w in e.warnings if w.code == "STEP_CHANGED"] == [("a", "echo one", "rm -f one"), ("b", "echo two", "rm -f two")]'
}

@test "a file that is gone is refused; --force takes the text the run began with" {
	workflow again <<<'{ name: again, commands: [ { shell: "echo one >>effects" }, { shell: "[ -e fixed ]" } ] }'
	call workflow run again.yaml
	envelope 1
	rm again.yaml
	touch fixed
	call workflow resume "$(run_id)"
	envelope 5
	expect 'e.error.code == "NOT_FOUND" and "--force" in e.error.fix_required + e.error.suggestion'
	call workflow resume "$(sql 'select id from runs')" --force
	envelope 0
	effects one
}

@test "a workflow deleted while it runs: the run goes on to its end" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	rm three.yaml
	touch go
	finish
	envelope 0
	effects one two three
}

@test "of two resumes at once one is refused, naming the process that owns the run" {
	three 'idempotent: true'
	killed
	rm began
	begin workflow resume "$id"
	until_true [ -e began ]
	cp err.txt first.err
	cp out.txt first.out
	local first=$pid
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow resume "$id" >second.txt 2>/dev/null </dev/null || status=$?
	[ "$status" -eq 4 ]
	python3 "$ROOT/tests/cli/lib/envelope.py" check 4 second.txt
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.error.code == "LOCK_HELD" and isinstance(e.error.context.owner_pid, int) and e.error.side_effects == "none"' second.txt
	touch go
	pid=$first
	finish
	envelope 0
	effects one two two three
}

@test "after a kill -9 nothing of the run lives on, and show calls it interrupted" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -KILL "$pid" # the supervisor alone
	finish
	until_true assert_no_process_left
	call workflow show "$(run_id)"
	envelope 0
	expect 'e.data.state == "interrupted"'
	call workflow list --state interrupted
	expect 'len(e.data) == 1'
}

@test "a worker whose runner is killed waits for its shepherds alone" {
	three
	local _ began best=99999 worker state end=$((SECONDS + 150))
	while [ "$best" -ge 200 ] && [ "$SECONDS" -lt "$end" ]; do # the fastest: a busy machine makes any of them slow
		rm -f began
		begin workflow run three.yaml
		until_true [ -e began ]
		worker=$(pgrep -P "$pid")
		began=${EPOCHREALTIME/[.,]/}
		kill -KILL "$pid"
		while read -r _ _ state _ <"/proc/$worker/stat" && [ "$state" != Z ]; do :; done 2>/dev/null
		began=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
		[ "$began" -gt "$best" ] || best=$began
		finish
	done
	echo "$best ms"
	[ "$best" -lt 200 ] # after that it would have killed what keeps it waiting
}
