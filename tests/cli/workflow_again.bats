#!/usr/bin/env bats
# What of a run runs once more: what was passed over (resume --failed), or all from a step on (retry --from).

load lib/workflow

# effects WORD…: what the steps have written since the last time
effects() {
	[ "$(tr '\n' ' ' <effects)" = "${*:+$* }" ] || { cat effects >&2; return 1; }
	: >effects
}

# states KEY=STATE…: of these steps
states() {
	local each
	for each; do
		[ "$(sql "select state from steps where key = '${each%=*}'")" = "${each#*=}" ] || { sql "select key, state from steps" >&2; return 1; }
	done
}

passed_over() {
	ran <<-'YAML'
		  - { id: before, shell: echo before >>effects }
		  - id: each
		    foreach: [a, "b c", { name: d }]
		    parallel: 2
		    max_failures: 2
		    do:
		      - { id: one, shell: 'echo "one${item_index}" >>effects' }
		      - { id: two, shell: 'echo "two${item_index}" >>effects; [ ${item_index} = 1 ] || [ -e go${item_index} ]' }
		      - { id: three, shell: 'echo "three ${item}" >>made' }
		  - { id: soft, shell: 'echo soft >>effects; [ -e go2 ]', on_failure: { steps: [{ shell: echo hook >>effects }], then: continue } }
		  - { id: after, shell: 'echo "after ${steps.each.failed}" >>after' }
	YAML
	envelope 0
}

@test "resume --failed runs the items again that failed, from the step that did, and failed steps that were passed over" {
	passed_over
	sort -o effects effects
	effects before hook one1 one2 one3 soft two1 two2 two3
	touch go2
	call workflow resume @last --failed
	envelope 0
	sort -o effects effects
	effects soft two2 two3
	expect '[(d.ok, d.item) for d in e.data.steps[1].data] == [(True, "a"), (True, "b c"), (False, {"name": "d"})]'
	expect '[(w.code, w.context.step, w.context.failed) for w in e.warnings] == [("PASSED_OVER", "each", 1)] and e.data.effect == "updated"'
	[ "$(cat made)" = "three a
three b c" ]
	touch go3
	call workflow resume @last --failed
	envelope 0
	expect 'e.warnings == [] and e.data.steps_by_state == {"completed": 14}'
	effects two3
	[ "$(tail -n 1 made)" = 'three {"name":"d"}' ]
	[ "$(cat after)" = "after 2" ]
	[ "$(sql "select round, attempts from steps where key in ('each[3].two', 'soft')")" = "3|1
2|1" ]
}

@test "resume --failed of a run in which nothing was passed over is a resume: of a completed one nothing runs" {
	ran <<<'  - shell: echo once >>effects'
	envelope 0
	call workflow resume @last --failed
	envelope 0
	expect 'e.data.effect == "noop" and e.data.state == "completed"'
	effects once
	[ "$(sql 'select resumes from runs')" = 0 ]
}

@test "resume --failed of a run that failed goes on there, too, and runs loops that were passed over again" {
	ran <<-'YAML'
		  - { id: each, foreach: [1, 2], continue_on_error: true, do: [{ shell: 'echo "${item}" >>effects; [ ${item} = 1 ] || [ -e go ]' }] }
		  - { id: stop, shell: echo stop >>effects; test -e go }
	YAML
	envelope 1
	effects 1 2 stop
	touch go
	call workflow resume @last
	envelope 0
	effects stop
	call workflow resume @last --failed
	envelope 0
	effects 2
}

@test "resume --failed checks a block again that holds the loop, with all its repairs, and comes to loops in loops and in on_success" {
	ran <<-'YAML'
		  - id: block
		    steps:
		      - id: out
		        foreach: [x, y]
		        do:
		          - { id: in, foreach: [1, 2], continue_on_error: true, do: [{ shell: 'echo "${item}" >>effects; [ ${item} = 1 ] || [ -e go ]' }] }
		    check: { shell: 'echo check >>effects; [ ! -e go ] || [ -e repaired ]' }
		    repair: { steps: [{ shell: echo repair >>effects; touch repaired }], max: 1 }
		  - id: then
		    shell: echo then >>effects
		    on_success:
		      - { id: more, parallel: [{ id: p, shell: echo p >>effects }, { id: q, shell: echo q >>effects; test -e go }], continue_on_error: true, limit: 1 }
	YAML
	envelope 0
	effects 1 2 1 2 check 'then' p q
	touch go
	call workflow resume @last --failed
	envelope 0
	effects 2 2 check repair check q
	expect 'e.warnings == []'
}

@test "resume --failed leaves alone what was passed over in an earlier round, in a hook and in a repair" {
	ran <<-'YAML'
		  - id: block
		    steps:
		      - { id: each, foreach: [1, 2], continue_on_error: true, do: [{ shell: 'echo "${item}" >>effects; [ ${item} = 1 ] || [ -e fixed ]' }] }
		      - shell: test -e fixed
		    repair: { again: step, steps: [{ id: r, foreach: [1], continue_on_error: true, do: [{ shell: touch fixed; exit 1 }] }] }
	YAML
	envelope 0
	effects 1 2 1 2
	call workflow resume @last --failed
	envelope 0
	expect 'e.data.effect == "noop"'
	effects
}

@test "retry --from runs a step and all that follow it again; what is before it stays, with its outputs" {
	passed_over
	: >effects
	call workflow retry @last --from soft
	envelope 0
	effects soft hook
	[ "$(cat after)" = "after 2
after 2" ]
	touch go2 go3
	call workflow retry @last --from each
	envelope 0
	sort -o effects effects
	effects one1 one2 one3 soft two1 two2 two3
	expect 'e.warnings == [] and e.data.resumes == 2'
	[ "$(tail -n 1 after)" = "after 0" ]
	[ "$(sql "select distinct round from steps where key like 'each[%].one'")" = 2 ]
}

@test "retry --from decides conditions again, finds the items of a loop again, and begins a block with all its repairs" {
	printf 'a\nb\n' >items
	ran <<-'YAML'
		  - { id: each, foreach: { file: items }, do: [{ shell: 'echo "${item}" >>effects' }] }
		  - { id: some, when: "steps.each.total > 1", shell: echo some >>effects }
		  - id: block
		    shell: "true"
		    check: { shell: 'grep -qx fix1 effects' }
		    repair: { shell: 'echo "fix${attempt.repair}" >>effects' }
	YAML
	envelope 0
	effects a b some fix1
	echo c >items
	call workflow retry @last --from each
	envelope 0
	effects c fix1
	states 'each[1].1=completed' 'each[2].1=skipped' some=skipped block=completed
}

@test "retry and --failed refuse what they can't do, and change nothing" {
	three
	call workflow run three.yaml --var x=1
	passed_over
	: >effects
	call workflow retry @last --from two
	envelope 5
	call workflow retry @last --from 'each[1].one'
	envelope 5
	expect '"--from each" in e.error.suggestion'
	call workflow retry @last
	envelope 2
	effects
	echo "  - shell: echo more >>effects" >>small.yaml
	call workflow retry @last --from soft
	envelope 6
	expect '"has changed" in e.error.message'
	call workflow resume @last --failed
	envelope 6
	effects
	call workflow retry @last --from 5 --force
	envelope 6
	expect '"has not begun" in e.error.message'
	[ "$(sql "select state, resumes from runs where workflow = 'small'")" = "completed|0" ]
}

@test "retry refuses a step in doubt, and a run that is running; --retry-in-doubt runs it again" {
	workflow doubt <<-'YAML'
		name: doubt
		commands:
		  - { id: a, shell: echo a >>effects }
		  - { id: b, shell: 'echo b >>effects; [ -e go ] || sleep 60' }
	YAML
	begin workflow run doubt.yaml
	until_true grep -qx b effects
	call workflow retry @last --from a
	expect 'e.error.code == "LOCK_HELD"'
	kill_all
	call workflow retry @last --from a
	envelope 81
	expect 'e.error.code == "STEP_IN_DOUBT" and "b" in e.error.message'
	touch go
	call workflow retry @last --from a --retry-in-doubt
	envelope 0
	effects a b a b
}

@test "of a placed step neither is run again" {
	workflow far <<-YAML
		name: far
		executors: { here: { kind: local } }
		commands:
		  - { id: far, on: here, foreach: [1, 2], continue_on_error: true, do: [{ shell: 'test \${item} = 1' }] }
	YAML
	call workflow run far.yaml
	envelope 0
	call workflow resume @last --failed
	envelope 6
	expect '"on an executor" in e.error.message'
	call workflow retry @last --from far
	envelope 6
	[ "$(sql "select state from runs")" = completed ]
}

@test "the value of a secret in an item is not stored: the item isn't run again with something else" {
	workflow hidden <<-'YAML'
		name: hidden
		secrets: { WORD: { file: word } }
		commands:
		  - { id: each, foreach: { file: items }, continue_on_error: true, do: [{ shell: exit 1 }] }
	YAML
	echo hush-hush-42 >word
	printf 'plain\nwith hush-hush-42\n' >items
	call workflow run hidden.yaml
	envelope 0
	call workflow resume @last --failed
	expect 'e.error.code == "PRECONDITION" and "Item 2" in e.error.message'
	[ "$status" -ne 0 ]
}

@test "what is put back outlives its process: a plain resume goes on with it" {
	ran <<-'YAML'
		  - { id: each, foreach: [1, 2, 3], continue_on_error: true, do: [{ shell: 'echo ${item} >>effects; [ -e go ] || exit 1; [ ${item} != 2 ] || [ -e on ] || sleep 60', idempotent: true }] }
		  - { id: soft, shell: 'echo soft >>effects; [ -e go ]', on_failure: continue }
	YAML
	effects 1 2 3 soft
	touch go
	begin workflow resume @last --failed
	until_true grep -qx 2 effects
	kill_all
	touch on
	call workflow resume @last
	envelope 0
	effects 1 2 2 3 soft
	expect 'e.warnings == []'
}

@test "an item whose worktree is there runs again in it; what failed in a worktree that is gone is refused, not passed over again" {
	git init -q -b main .
	git config user.name Ada
	git config user.email ada@example.org
	echo '*' >.gitignore
	git add -f .gitignore
	git commit -qm start
	workflow items <<-YAML
		name: items
		commands:
		  - { id: each, foreach: [a, b], continue_on_error: true, worktree: true, do: [{ shell: 'echo \${item} >>$PWD/effects; [ \${item} = a ] || [ -e $PWD/go ]' }] }
	YAML
	call workflow run items.yaml
	envelope 0
	touch go
	call workflow resume @last --failed
	envelope 0
	expect 'e.warnings == []'
	effects a b b
	rm go
	workflow inside <<-YAML
		name: inside
		commands:
		  - id: block
		    worktree: true
		    steps: [{ id: each, foreach: [a, b], continue_on_error: true, do: [{ shell: 'echo \${item} >>$PWD/effects; [ \${item} = a ] || [ -e $PWD/go ]' }] }]
	YAML
	call workflow run inside.yaml
	envelope 0
	touch go
	call workflow resume @last --failed
	envelope 6
	expect 'e.error.suggestion.endswith("--from block")'
	call workflow show @last
	expect 'e.warnings[0].code == "PASSED_OVER"'
	call workflow retry @last --from block
	envelope 0
	effects a b a b
}

@test "retry --from a step runs none that is before it" {
	ran <<-'YAML'
		  - { id: one, shell: 'echo one >>effects; [ ! -e bad ]' }
		  - { id: two, shell: echo two >>effects }
		  - { id: three, shell: echo three >>effects }
	YAML
	envelope 0
	touch bad
	call workflow retry @last --from one
	envelope 1
	effects one two three one
	call workflow retry @last --from three
	envelope 6
	expect '"Step one, which is before it, is not over" in e.error.message'
	effects
	rm bad
	call workflow resume @last
	envelope 0
	effects one two three
}

@test "a retry that failed shows what is still to run again, and leaves what had followed an earlier failure" {
	ran <<-'YAML'
		  - { id: one, shell: '[ ! -e bad ]' }
		  - { id: soft, shell: '[ -e good ]', on_failure: { steps: [{ id: hook, shell: echo hook }], then: continue } }
		  - { id: each, foreach: [1], do: [{ shell: "true" }] }
	YAML
	envelope 0
	touch bad good
	call workflow retry @last --from one
	envelope 1
	call workflow show @last
	expect '{s.key: s.state for s in e.data.steps} == {"one": "failed", "soft": "pending", "soft.on_failure.hook": "completed", "each": "pending", "each[1].1": "pending"}'
	expect 'e.data.steps_by_state == {"failed": 1, "pending": 3, "completed": 1}'
	call workflow show @last --html run.html
	envelope 0
	rm bad
	call workflow resume @last
	envelope 0
	states one=completed soft=completed soft.on_failure.hook=completed each=completed
}

@test "retry runs a killed step again that may be repeated, as resume does" {
	local how
	for how in 'idempotent: true' 'side_effects: none'; do
		rm -rf state effects go
		workflow killed <<-YAML
			name: killed
			commands: [{ id: b, $how, shell: 'echo b >>effects; [ -e go ] || sleep 60' }]
		YAML
		begin workflow run killed.yaml
		until_true grep -qx b effects
		kill_all
		touch go
		call workflow retry @last --from b
		envelope 0
		effects b b
	done
}

@test "a claude step that begins anew doesn't continue the session of the attempt that ended" {
	turns 'echo done'
	ran <<<'  - { id: b, claude: do b, resume_session: true }'
	envelope 0
	call workflow retry @last --from b
	envelope 0
	[ "$(calls)" -eq 2 ]
	[ "$(cat claude/calls/*/argv | grep -cx -- --resume)" -eq 0 ]
}

@test "--failed: a block that was skipped, and ones that couldn't start" {
	printf 'vars: { n: { type: integer } }\ncommands: [{ shell: "echo ${n} >>effects" }]\n' >inner.yaml
	ran <<-'YAML'
		  - { id: skipped, when: "1 == 2", steps: [{ id: x, foreach: [1], do: [{ shell: "true" }] }] }
		  - { id: value, shell: echo some }
		  - { id: block, steps: [{ shell: "true" }], check: { commit: true }, on_failure: { steps: [{ shell: "true" }], then: continue } }
		  - { id: child, workflow: inner.yaml, vars: { n: "${steps.value.output}" }, on_failure: { steps: [{ shell: "true" }], then: continue } }
		  - { id: none, foreach: "${steps.value.data.x}", do: [{ shell: "true" }], on_failure: { steps: [{ shell: "true" }], then: continue } }
		  - { id: each, foreach: [1], continue_on_error: true, do: [{ shell: 'echo each >>effects; [ -e go ]' }] }
	YAML
	envelope 0
	call workflow resume @last --failed
	envelope 0
	touch go
	call workflow resume @last --failed
	envelope 0
	expect 'e.data.steps_by_state.failed == 3'
	states each=completed skipped=skipped child=failed block=failed none=failed
}

@test "an item is known to hold a secret of a file inside" {
	printf 'secrets: { TOK: { file: word } }\ncommands: [{ shell: "true" }]\n' >inner.yaml
	echo hush-hush-42 >word
	printf 'hush-hush-42\n' >items
	ran <<-'YAML'
		  - { id: each, foreach: { file: items }, continue_on_error: true, do: [{ shell: exit 1 }] }
		  - { workflow: inner.yaml }
	YAML
	envelope 0
	call workflow resume @last --failed
	expect 'e.error.code == "PRECONDITION" and "Item 1" in e.error.message'
}

@test "a secret in an item is never stored: such a loop doesn't go on in another process" {
	workflow hidden <<-'YAML'
		name: hidden
		secrets: { WORD: { file: word } }
		commands:
		  - { id: each, foreach: "${env.LIST}", do: [{ shell: exit 1 }] }
	YAML
	echo hush-hush-42 >word
	CLEAN_ENV+=(LIST=$'plain\nwith hush-hush-42')
	call workflow run hidden.yaml
	envelope 1
	[ "$(sql "select data from steps where key = 'each'")" = '["plain","with ***"]' ]
	[ "$(cat state/runner/runs.db* | grep -ac hush-hush-42)" -eq 0 ]
	call workflow resume @last
	[ "$status" -ne 0 ]
	expect 'e.error.code == "PRECONDITION" and "Item 2 of step each was not stored" in e.error.message'
}

@test "what runs again ends once more, with the last steps, also where it is cut off on its way: of the run and of a file in it" {
	local signal how
	printf 'name: inner\ncommands: [{ id: b, foreach: [1], continue_on_error: true, do: [{ id: c, shell: "echo b >>effects; [ -e hold ] && { touch held; sleep 60; }; false" }] }]\nfinally: [{ shell: echo inner >>effects }]\n' >inner.yaml
	workflow outer <<-'YAML'
		name: outer
		commands:
		  - { id: a, shell: "echo a >>effects; [ ! -e hold ] || { touch held; sleep 60; }" }
		  - { id: file, workflow: inner.yaml }
		  - { id: z, shell: echo z >>effects }
		finally: [{ shell: echo over >>effects }]
	YAML
	for signal in KILL INT TERM; do
		for how in 'retry @last --from a' 'resume @last --failed'; do
			rm -rf state effects held hold
			call workflow run outer.yaml
			envelope 0
			effects a b inner z over
			: >effects
			touch hold
			# shellcheck disable=SC2086 # words
			begin workflow $how
			until_true [ -e held ]
			if [ "$signal" = KILL ]; then kill_all; else kill -"$signal" "$pid"; fi
			finish
			rm hold held
			: >effects
			call workflow resume @last --retry-in-doubt
			envelope 0
			[ "$(tail -n 3 effects | tr '\n' ' ')" = "inner z over " ] || [ "$(tail -n 2 effects | tr '\n' ' ')" = "inner over " ] ||
				{ cat effects; return 1; }
			: >effects
			call workflow resume @last
			effects
		done
	done
}
