#!/usr/bin/env bats
# A step in doubt inside something else: loops, steps side by side, hooks. It is never an
# ordinary failure: nothing continues past it, it is named itself, and both ways out work.

load lib/workflow

# stuck NAME [KEYS]: a step that stays in the middle for item b (of a loop), until go is there
# shellcheck disable=SC2016 # for the workflow
STUCK='{ id: sub, shell: "echo ${item} >>effects; [ ${item} != b ] || { touch began; until [ -e go ]; do sleep 0.02; done; }" }'
HELD='{ id: sub, shell: "echo sub >>effects; touch began; until [ -e go ]; do sleep 0.02; done" }'

# killed_in WORKFLOW: its run, everything killed once began is there; go is there afterwards
killed_in() {
	rm -f began go effects
	killed "$1.yaml"
	touch go
}

# in_doubt KEY: resume stops at it, runs nothing, and leaves no step running
in_doubt() {
	local before
	before=$(<effects)
	call workflow resume "$id"
	envelope 81
	expect "e.error.code == 'STEP_IN_DOUBT' and e.error.context.step_key == '$1' and e.data.state == 'interrupted'"
	# a shell may take brackets for a pattern
	expect "'--mark-done ' + __import__('shlex').quote('$1') in e.error.suggestion and e.data.failed_step == '$1'"
	[ "$(<effects)" = "$before" ]
	[ -z "$(sql "select key from steps where state = 'running'")" ]
	[ "$(sql "select code from steps where key = '$1'")" = STEP_IN_DOUBT ]
}

# both_ways WORKFLOW KEY LEFT AGAIN: what the steps write after the user's decision
both_ways() {
	killed_in "$1"
	in_doubt "$2"
	in_doubt "$2"
	call workflow resume "$id" --mark-done "$2"
	envelope 0
	[ "$(tr '\n' ' ' <effects)" = "$3 " ]
	killed_in "$1"
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	[ "$(tr '\n' ' ' <effects)" = "$4 " ]
	[ -z "$(sql "select key from steps where run = '$id' and state not in ('completed', 'skipped', 'failed')")" ]
}

@test "in a loop with continue_on_error it is named, and nothing continues past it" {
	workflow loop <<-YAML
		name: loop
		commands:
		  - { id: loop, foreach: [a, b, c], continue_on_error: true, do: [$STUCK] }
		  - shell: echo end >>effects
	YAML
	both_ways loop 'loop[2].sub' 'a b c end' 'a b b c end'
}

@test "below a container's on_failure with then: continue no hook runs for it" {
	workflow hooked <<-YAML
		name: hooked
		commands:
		  - id: loop
		    foreach: [a, b, c]
		    do: [$STUCK]
		    on_failure: { steps: [{ shell: echo hook >>effects }], then: continue }
		  - shell: echo end >>effects
	YAML
	both_ways hooked 'loop[2].sub' 'a b c end' 'a b b c end'
}

@test "in parallel steps inside a loop inside parallel steps it passes all of them" {
	workflow nested <<-YAML
		name: nested
		commands:
		  - id: out
		    continue_on_error: true
		    on_failure: continue
		    parallel:
		      - id: loop
		        foreach: [a, b]
		        continue_on_error: true
		        on_failure: continue
		        do:
		          - { id: side, continue_on_error: true, on_failure: continue, parallel: [$STUCK] }
		  - shell: echo end >>effects
	YAML
	both_ways nested 'out.loop[2].side.sub' 'a b end' 'a b b end'
}

@test "in on_failure it is not hidden by the failure of its parent, which starts over only afterwards" {
	workflow failing <<-YAML
		name: failing
		commands:
		  - id: a
		    shell: echo a >>effects; [ -e go ]
		    on_failure: [$HELD, { shell: echo second >>effects }]
		  - shell: echo end >>effects
	YAML
	both_ways failing 'a.on_failure.sub' 'a sub second a end' 'a sub sub second a end'
}

@test "in a loop in on_failure with then: continue, too" {
	workflow deep <<-YAML
		name: deep
		commands:
		  - id: a
		    shell: echo first >>effects; exit 3
		    on_failure:
		      steps: [{ id: h, foreach: [a, b], continue_on_error: true, do: [$STUCK] }]
		      then: continue
		  - shell: echo end >>effects
	YAML
	both_ways deep 'a.on_failure.h[2].sub' 'first a b end' 'first a b b end'
}

@test "in on_success it is named, and its parent stays completed" {
	workflow succeeding <<-YAML
		name: succeeding
		commands:
		  - { id: loop, foreach: [x], continue_on_error: true, do: [{ id: a, shell: echo a >>effects, on_success: $HELD }] }
		  - shell: echo end >>effects
	YAML
	both_ways succeeding 'loop[1].a.on_success.sub' 'a sub end' 'a sub sub end'
}

@test "steps of a failure that their runner's death kept from starting run before the step starts over" {
	workflow unstarted <<-'YAML'
		name: unstarted
		commands:
		  - id: a
		    shell: echo a >>effects; [ -e go ]
		    on_failure: [{ shell: echo rollback >>effects }]
	YAML
	call workflow run unstarted.yaml
	envelope 1
	effects a rollback
	# as a kill between the two commits leaves it
	id=$(run_id)
	sql "delete from attempts where key like 'a.on_failure%'"
	sql "delete from steps where key like 'a.on_failure%'"
	sql "update runs set state = 'running'"
	touch go
	call workflow resume "$id"
	envelope 0
	effects a rollback rollback a
}

@test "several in doubt: the error names the others, which --retry-in-doubt runs again as well" {
	workflow several <<-'YAML'
		name: several
		commands:
		  - id: loop
		    foreach: [a, b]
		    parallel: 2
		    do: [{ id: sub, shell: "echo ${item} >>effects; touch began.${item}; until [ -e go ]; do sleep 0.02; done" }]
	YAML
	begin workflow run several.yaml
	until_true [ -e began.a -a -e began.b ]
	kill_all
	finish
	id=$(run_id)
	touch go
	call workflow resume "$id"
	envelope 81
	expect 'e.error.context.step_key == "loop[1].sub" and e.error.context.also_in_doubt == ["loop[2].sub"]'
	expect '"loop[2].sub" in e.error.suggestion'
	call workflow resume "$id" --mark-done 'loop[1].sub'
	envelope 81
	expect 'e.error.context.step_key == "loop[2].sub" and "also_in_doubt" not in e.error.context'
	call workflow resume "$id" --mark-done 'loop[2].sub'
	envelope 0
	[ "$(sort effects | tr '\n' ' ')" = 'a b ' ]
}

@test "a doubt ends the waits and the loop beside it, which go on when it is decided" {
	workflow beside <<-'YAML'
		name: beside
		commands:
		  - parallel:
		      - { id: sub, shell: "echo sub >>effects; touch began; until [ -e go ]; do sleep 0.02; done" }
		      - { id: waits, shell: "echo try >>effects; [ -e go ]", retry: { delays: [1h] } }
		      - { id: more, foreach: [1, 2, 3], do: [{ shell: "until [ -e end ]; do sleep 0.02; done; echo ${item} >>effects" }] }
	YAML
	begin workflow run beside.yaml
	until_true [ -e began ]
	until_true recorded "select 1 from steps where key = '1.waits' and state = 'waiting'"
	shepherd_of sub | xargs kill -KILL
	until_true recorded "select 1 from steps where key = '1.sub' and state = 'interrupted'"
	touch end # of the item that runs, if one does: none comes after it
	finish
	envelope 81
	expect 'e.error.context.step_key == "1.sub"'
	[ "$(sql "select count(*) from steps where state = 'running'")" = 0 ]
	[ "$(sql "select count(*) from steps where key like '1.more[[]2%'")" = 0 ]
	[ -z "$(sql "select key from steps where state = 'running'")" ]
}

@test "after a doubt nothing starts that waited: neither a short retry nor a step that waits for a budget" {
	workflow waiting <<-'YAML'
		max_cost: 1
		claude: { output: json }
		commands:
		  - parallel:
		      - { id: sub, shell: "touch began; until [ -e go ]; do sleep 0.02; done" }
		      - { id: waits, shell: "echo try >>effects; exit 1", retry: { delays: [1s], attempts: 500 } }
		      - { id: first, claude: first }
		      - { id: second, claude: second }
	YAML
	turns -p first 'until [ -e go ]; do sleep 0.02; done; echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.1}"'
	begin workflow run waiting.yaml
	until_true [ -e began ]
	until_true [ -e claude/calls/1/began ]
	until_true recorded "select 1 from steps where key = '1.waits' and state = 'waiting'"
	shepherd_of sub | xargs kill -KILL
	until_true recorded "select 1 from steps where key = '1.sub' and state = 'interrupted'"
	sleep 1.5 # a retry would be due while `first` still runs
	touch go
	finish
	envelope 81
	[ "$(sql "select count(*) from attempts where started_ms > (select ended_ms from attempts where key = '1.sub')")" = 0 ]
	[ "$(calls)" = 1 ]
	[ "$(sql "select state from steps where key = '1.waits'")" = waiting ]
	[ "$(sql "select cost_micros from usage")" = 100000 ]
	[ "$(sql "select count(*) from steps where key = '1.second'")" = 0 ]
}

@test "a run whose runner was killed stays in doubt when it is cancelled and resumed by force" {
	three
	killed
	call workflow show "$id"
	expect '[s.state for s in e.data.steps if s.key == "two"] == ["interrupted"] and e.data.state == "interrupted"'
	expect 'e.data.steps_by_state == {"completed": 1, "interrupted": 1}'
	call workflow cancel "$id"
	envelope 0
	[ "$(sql "select state, code from steps where key = 'two'")" = 'interrupted|STEP_IN_DOUBT' ]
	touch go
	call workflow resume "$id" --force
	envelope 81
	effects one two
}

@test "what is inside a loop that is marked done is left out: nothing of it stays interrupted or waiting" {
	workflow nested <<-YAML
		name: nested
		commands:
		  - id: outer
		    foreach: [a, b]
		    do:
		      - id: sides
		        parallel:
		          - $STUCK
		          - { id: waits, shell: "exit 5", retry: { delays: [1h] } }
		          - { id: fails, shell: "exit 6", on_failure: [{ id: hook, shell: "echo hook >>effects" }] }
		        continue_on_error: true
		  - { id: also, shell: "echo also >>effects; touch began.also; until [ -e go2 ]; do sleep 0.02; done" }
	YAML
	sed -i 's/exit 5/[ ${item} = a ] || exit 5/' nested.yaml
	begin workflow run nested.yaml
	until_true [ -e began ]
	until_true recorded "select 1 from steps where key = 'outer[2].sides.waits' and state = 'waiting'"
	kill_all
	finish
	id=$(run_id)
	begin workflow resume "$id" --mark-done outer
	until_true [ -e began.also ]
	[ -z "$(sql "select key from steps where key like 'outer%' and state in ('interrupted', 'waiting')")" ]
	kill_all
	finish
	call workflow resume "$id"
	envelope 81
	expect 'e.error.context.step_key == "also" and "also_in_doubt" not in e.error.context'
	call workflow resume "$id" --mark-done also
	envelope 0
	[ -z "$(sql "select key from steps where state not in ('completed', 'skipped', 'failed') or wake_ms is not null")" ]
	expect '[s.state for s in e.data.steps if s.key in ("outer[2].sides", "outer[2].sides.sub")] == ["skipped"] * 2'
	expect '[s.message for s in e.data.steps if s.key == "outer[2].sides.sub"] == ["was left out: step outer was marked done"]'
	expect '[s.retry.error_history[0].code for s in e.data.steps if s.key == "outer[2].sides.sub"] == ["STEP_IN_DOUBT"]'
}

@test "a mark on another step leaves out nothing: not one with a longer name, nor an outer one" {
	workflow alike <<-YAML
		name: alike
		commands:
		  - id: all
		    foreach: [b]
		    do:
		      - id: one
		        parallel:
		          - { id: x, shell: "touch began.x; until [ -e go ]; do sleep 0.02; done", idempotent: true }
		          - { id: xy, shell: "touch began.xy; until [ -e go ]; do sleep 0.02; done; echo xy >>effects", idempotent: true }
	YAML
	begin workflow run alike.yaml
	until_true [ -e began.x -a -e began.xy ]
	kill_all
	finish
	touch go
	call workflow resume "$(run_id)" --mark-done 'all[1].one.x'
	envelope 0
	[ "$(<effects)" = xy ]
	expect '[s.state for s in e.data.steps] == ["completed"] * 4'
}

@test "a step in doubt that the file no longer has is left out when the run completes" {
	workflow fewer <<-YAML
		name: fewer
		commands:
		  - { id: sub, shell: "echo sub >>effects; touch began; until [ -e go ]; do sleep 0.02; done" }
		  - { id: end, shell: "echo end >>effects" }
	YAML
	killed_in fewer
	sed -i '/id: sub/d' fewer.yaml
	call workflow resume "$id" --force
	envelope 0
	expect '[(s.key, s.state) for s in e.data.steps] == [("sub", "skipped"), ("end", "completed")]'
	[ "$(sql 'select code from attempts where key = "sub"')" = STEP_IN_DOUBT ]
}

@test "an error doesn't name steps in doubt whose loop is marked done" {
	workflow both <<-YAML
		name: both
		commands:
		  - parallel:
		      - { id: held, shell: "touch began.held; until [ -e go ]; do sleep 0.02; done" }
		      - { id: loop, foreach: [b], do: [$STUCK] }
	YAML
	begin workflow run both.yaml
	until_true [ -e began -a -e began.held ]
	kill_all
	finish
	touch go
	call workflow resume "$(run_id)"
	envelope 81
	expect 'e.error.context.step_key == "1.held" and e.error.context.also_in_doubt == ["1.loop[1].sub"]'
	call workflow resume "$(run_id)" --mark-done 1.loop
	envelope 81
	expect 'e.error.context.step_key == "1.held" and "also_in_doubt" not in e.error.context'
}
