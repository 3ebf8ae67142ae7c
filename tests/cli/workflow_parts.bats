#!/usr/bin/env bats
# What a workflow is made of besides its steps: their names, variables with types, other
# workflows, and the steps that run at its end.

load lib/workflow

# --- names ------------------------------------------------------------------------------

@test "a step's name is shown wherever its text was, with the values in it, and no secret" {
	workflow named <<-'YAML'
		vars: { who: Ada }
		secrets: { TOKEN_OF_IT: { env: HIDDEN } }
		commands:
		  - { name: "Greet ${who} with ${env.HIDDEN}", shell: echo hi }
		  - { foreach: [a, b], do: { name: "Test ${item}", shell: "[ ${item} = a ]" } }
	YAML
	CLEAN_ENV+=(HIDDEN=sesame-opens)
	call workflow run named.yaml
	envelope 1
	expect '[s.label for s in e.data.steps] == ["Greet Ada with ***", "foreach over 2 items", "Test a", "Test b"]'
	[ "$(messages step.started | tail -1)" = "Step 2[2].1: Test b" ]
	call workflow plan named.yaml
	envelope 0
	expect 'e.data.steps[1].steps[0].label == "Test ${item}"'
	sed -i 's/echo hi/echo ho/' named.yaml
	call workflow resume --force @last
	envelope 1
	expect '[(w.code, w.context.was, w.context["is"]) for w in e.warnings] == [("STEP_CHANGED", "echo hi", "echo ho")]'
}

@test "a name with a variable that nothing gives is a mistake in the file; with one that has no value yet it is as written" {
	workflow wrong <<-'YAML'
		commands:
		  - { name: "Greet ${whom}", shell: echo hi }
	YAML
	call workflow check wrong.yaml
	envelope 2
	expect '"${whom}: unknown variable" in e.error.message'
	ran <<-'YAML'
		  - { shell: "false", id: none, when: "${run.id} == 1" }
		  - { shell: "true", id: empty }
		  - { name: "After ${steps.none.output} of ${run.name}, $${x}", shell: "true" }
		  - { name: " ${steps.empty.output} ", shell: "true" }
	YAML
	envelope 0
	expect '[s.label for s in e.data.steps[2:]] == ["After ${steps.none.output} of "+e.data.workflow+", ${x}", "${steps.empty.output}"]'
}

# --- variables with types ------------------------------------------------------------------

typed() {
	workflow typed <<-'YAML'
		vars:
		  count: { type: integer, min: 1, default: 2, description: How many }
		  target: { type: enum, values: [prod, dev] }
		  files: { type: array, items: path, max_length: 2, default: [] }
		  fast: { type: boolean, default: true }
		  user: { type: string, pattern: "^[a-z]+$", default: "${env.WHO}" }
		  old: { type: postgres, port: 1 }
		commands:
		  - shell: touch begun; [ -e go ]
		  - { id: said, shell: "echo ${count} ${target} ${files} ${fast} ${user} ${old.port}", when: count > 1 and not fast }
	YAML
	CLEAN_ENV+=(WHO=ada)
}

@test "a variable with a type is read as an argument is, and refused as one is, before anything runs" {
	typed
	call workflow run typed.yaml --var count=x --var target=prd
	envelope 2
	expect '[x.code for x in e.error.errors] == ["INVALID_ARGUMENT"] * 2'
	expect 'e.error.errors[0].message == "Invalid --var count '"'x'"': expected a whole number of at least 1"'
	expect '"Did you mean '"'prod'"'?" in e.error.errors[1].suggestion'
	call workflow run typed.yaml
	envelope 2
	expect '[x.code for x in e.error.errors] == ["MISSING_VARIABLE"]'
	call workflow run typed.yaml --var target=dev --var files=a --var files=b --var files=c
	envelope 2
	expect '"was given 3 values" in e.error.message'
	CLEAN_ENV+=(WHO=Ada)
	call workflow run typed.yaml --var target=dev
	envelope 2
	expect '"(its default)" in e.error.message'
	[ ! -e begun ]
}

@test "a variable with a type has it in expressions, and a resumed run has the same values" {
	typed
	call workflow run typed.yaml --var target=dev --var files=a --var files=b --var fast=no --var count=3
	envelope 1
	touch go
	sed -i 's/default: 2/default: 5/' typed.yaml
	CLEAN_ENV+=(WHO=eve)
	call workflow resume @last --force
	envelope 0
	expect 'e.data.steps[1].output == "3 dev [\"a\",\"b\"] false ada 1"'
	expect 'e.data.variables.count == 3 and e.data.variables.fast is False'
}

@test "plan and check list the variables, and check says what is wrong with a declaration where it stands" {
	typed
	call workflow check typed.yaml
	envelope 0
	expect '[v.name for v in e.data.variables] == ["count", "fast", "files", "old", "target", "user"]'
	expect 'e.data.variables[0] == {"name": "count", "type": "integer", "min": 1, "default": 2, "description": "How many", "takes": "a whole number of at least 1"}'
	expect 'e.data.variables[4].required'
	call workflow plan typed.yaml --var target=dev
	envelope 0
	expect 'e.data.variables[3].default.port == 1'
	workflow wrong <<-'YAML'
		vars:
		  a: { type: integer, mn: 1 }
		  b: { type: text, default: a }
		  c: { type: string, secret: true }
		  d: { type: integer, default: x }
		commands: [{ shell: a }]
	YAML
	call workflow check wrong.yaml
	envelope 2
	expect '[x.line for x in e.error.errors] == [2, 3, 4, 5]'
	expect '"mn" in e.error.errors[0].message and "secrets" in e.error.errors[2].suggestion'
}

# --- workflows within workflows --------------------------------------------------------------

inner() {
	mkdir -p sub
	cat >sub/inner.yaml <<-'YAML'
		vars: { who: , count: { type: integer, min: 1, default: 1 } }
		env: { WHO: "${who}" }
		secrets: { KEY: { env: KEY_OF_INNER } }
		outputs: { said: "${steps.say.output}", count: "${count}", left: "${steps.skipped.output}" }
		commands:
		  - { id: say, shell: 'echo "$WHO ${count}" $KEY; echo said >>said' }
		  - { id: skipped, shell: "true", when: count > 7 }
		  - { workflow: deeper.yaml }
	YAML
	cat >sub/deeper.yaml <<-'YAML'
		commands: [{ id: say, shell: 'echo "deep $WHO"; [ -e go ]' }]
	YAML
	CLEAN_ENV+=(KEY_OF_INNER=sesame-opens)
}

@test "another file's steps run with its own variables, environment and secrets, and it gives its outputs" {
	inner
	touch go
	workflow outer <<-'YAML'
		vars: { who: outside }
		commands:
		  - { id: one, workflow: sub/inner.yaml, vars: { who: ada, count: 3 } }
		  - { id: each, foreach: [x, y], parallel: 2, do: [{ id: in, workflow: sub/inner.yaml, vars: { who: "${item}" } }, { shell: "echo ${steps.in.outputs.said}" }] }
		  - shell: echo "${steps.one.outputs.count} ${steps.one.data.left} ${steps.one.output} [$WHO$KEY] ${who}"
	YAML
	call workflow run outer.yaml
	envelope 0
	expect '[s.output for s in e.data.steps if s.key in ["one.say", "3", "one.3.say@1"]] == ["ada 3 ***", "deep ", "3 null deep  [] outside"]'
	expect '[s.data for s in e.data.steps if s.key == "each"][0][1].output == "y 1 ***"'
	[ "$(grep -rl sesame-opens state | wc -l)" = 0 ]
	call workflow plan outer.yaml
	envelope 0
	expect 'e.data.steps[0].workflow == "sub/inner.yaml" and e.data.steps[0].steps[2].steps[0].key == "one.3.say"'
}

@test "a failure inside another file is its step's: it is resumed there, repaired there, and continued after" {
	inner
	workflow outer <<-'YAML'
		commands:
		  - { id: one, workflow: sub/inner.yaml, vars: { who: ada } }
		  - shell: echo "after ${steps.one.outputs.said}"
	YAML
	call workflow run outer.yaml
	envelope 1
	expect 'e.data.failed_step == "one.3.say@1" and e.error.message.startswith("Step one.3.say@1: ")'
	touch go
	call workflow resume @last
	envelope 0
	expect 'e.data.steps[-1].output == "after ada 1 ***"'
	[ "$(cat said)" = said ]
	rm go
	workflow mended <<-'YAML'
		commands:
		  - { id: one, workflow: sub/inner.yaml, vars: { who: ada }, repair: { shell: touch go } }
		  - { id: two, workflow: sub/inner.yaml, vars: { who: bob }, check: { shell: "false" }, on_failure: continue }
	YAML
	call workflow run mended.yaml
	envelope 0
	expect '[s.state for s in e.data.steps if s.key in ["one", "two"]] == ["completed", "failed"]'
}

@test "a run whose inner file has changed is not resumed unless that is forced" {
	inner
	workflow outer <<<'commands: [{ id: one, workflow: sub/inner.yaml, vars: { who: ada } }]'
	call workflow run outer.yaml
	envelope 1
	sed -i 's/deep/deeper/' sub/deeper.yaml
	touch go
	call workflow resume @last
	envelope 6
	expect 'e.error.code == "CONFLICT" and "or one that it runs, has changed" in e.error.message'
	mv sub/deeper.yaml sub/elsewhere.yaml
	call workflow resume @last
	envelope 5
	expect '"sub/deeper.yaml" in e.error.message and "is gone" in e.error.message'
	mv sub/elsewhere.yaml sub/deeper.yaml
	call workflow resume @last --force
	envelope 0
	expect 'e.data.steps[-1].output == "deeper "'
}

@test "check says what is wrong with a file inside, and how it is run, with the file and the line; one that runs itself is refused" {
	inner
	workflow outer <<-'YAML'
		commands:
		  - { id: one, workflow: sub/inner.yaml, vars: { whoo: ada, count: 0 } }
		  - shell: echo "${steps.one.outputs.sad}"
		  - workflow: sub/wrong.yaml
		  - workflow: none.yaml
	YAML
	echo 'commands: [{ shell: "echo ${who.x}" }]' >sub/wrong.yaml
	call workflow check outer.yaml
	envelope 2
	expect 'len(e.error.errors) == 6 and e.error.errors[-1].message.startswith("sub/wrong.yaml:1:27: ")'
	expect '"needs the variable '"'who'"'" in e.error.errors[0].message and "Did you mean" in e.error.errors[1].suggestion'
	expect '"of at least 1" in e.error.errors[2].message and "'"'said'"'" in e.error.errors[3].suggestion'
	workflow again <<<'commands: [{ workflow: ./sub/back.yaml }]'
	echo 'commands: [{ foreach: [a], do: { workflow: ../again.yaml } }]' >sub/back.yaml
	for command in check run; do
		call workflow "$command" again.yaml
		envelope 2
		expect '"again.yaml runs itself: " in e.error.message and e.error.message.count("again.yaml") == 3'
	done
	workflow placed <<<'commands: [{ foreach: [a], on: here, do: { workflow: sub/deeper.yaml } }]'
	printf 'executors: { here: { kind: local } }\n' >>placed.yaml
	call workflow check placed.yaml
	envelope 2
	expect '"run on this machine" in e.error.message'
}

@test "a value that comes late and does not fit fails the step that gives it, and nothing inside has begun" {
	inner
	ran <<-'YAML'
		  - { id: n, shell: echo none }
		  - { id: one, workflow: sub/inner.yaml, vars: { who: a, count: "${steps.n.output}" } }
	YAML
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "vars.count" in e.error.message and e.error.context.step_key == "one"'
	[ ! -e said ]
}

@test "a value that the store does not have is missing where it is used, in a file inside as elsewhere, and nowhere else" {
	workflow given <<-'YAML'
		commands:
		  - { id: a, shell: echo ada, capture_output: false }
		  - { id: c, workflow: inner.yaml, vars: { w: "${steps.a.output}" } }
		  - { id: each, foreach: [1], do: { id: in, workflow: inner.yaml, vars: { w: "${steps.a.output}" } } }
		  - { id: gate, shell: "[ -e go ]" }
		  - { id: whole, shell: "echo ${steps.each.data.0.ok} ${steps.c.outputs.said}" }
		  - { id: uses, shell: "echo ${steps.c.outputs.lost}" }
	YAML
	cat >inner.yaml <<-'YAML'
		vars: { w: }
		outputs: { said: "${steps.x.output}", lost: "${w}", left: "${steps.left.output}" }
		commands:
		  - { id: left, shell: "true", when: w == "eve" }
		  - { id: x, shell: "echo x ${w}" }
		  - { id: y, shell: "[ -e gone ] || touch gone; [ ! -e fails ]" }
	YAML
	call workflow run given.yaml
	envelope 1
	expect 'e.data.failed_step == "gate"'
	touch go
	call workflow resume @last
	envelope 4
	expect 'e.data.failed_step == "uses" and e.error.code == "PRECONDITION" and "${steps.a.output} has no value" in e.error.message'
	expect 'e.data.steps[-2].output == "true x ada"'
	sed -i 's/steps.c.outputs.lost/steps.c.data/' given.yaml
	call workflow resume @last --force
	envelope 4
	sed -i 's/steps.c.data/steps.c.outputs.left/' given.yaml
	call workflow resume @last --force
	envelope 0
	expect 'e.data.steps[-1].output == "null"'
	rm go
	touch go fails
	call workflow run given.yaml
	envelope 1
	expect 'e.data.failed_step == "c.y"'
	rm fails
	call workflow resume @last
	envelope 4
	expect 'e.data.failed_step == "each[1].in" and e.data.steps[1].state == "completed"' # that one hadn't begun
}

@test "an output is null where its step was skipped, and the failure of its file where it has no value" {
	inner
	workflow outer <<-'YAML'
		commands:
		  - { id: c, workflow: inner.yaml }
		  - { id: gate, shell: "[ -e go ]" }
		  - shell: echo "${steps.c.outputs.o} ${steps.c.outputs.n} ${steps.c.outputs.v} ${steps.c.outputs.f}"
	YAML
	cat >inner.yaml <<-'YAML'
		vars: { f: { type: boolean, default: false } }
		outputs: { o: "${steps.a.output}", n: "${steps.b.output}", v: "${steps.v.output}", f: "${f}" }
		commands:
		  - { id: a, shell: echo vala, capture_output: false, check: { id: v, shell: echo checked } }
		  - { id: b, shell: "true", when: run.id == "1" }
	YAML
	touch go
	call workflow run outer.yaml
	envelope 0
	expect 'e.data.steps[-1].output == "vala null checked false"'
	rm go
	call workflow run outer.yaml
	touch go
	call workflow resume @last
	envelope 4
	expect '"Step c, output o: " in e.error.message'
	sed -i 's/${steps.c.outputs.o}/o/' outer.yaml
	call workflow resume @last --force
	envelope 0
	expect 'e.data.steps[-1].output == "o null checked false"'
	sed -i 's/a.output}"/a.data.no}"/' inner.yaml
	call workflow run outer.yaml
	envelope 4
	expect 'e.data.failed_step == "c" and "Step c, output o: The variable ${steps.a.data.no} has no value" in e.error.message'
}

@test "a file inside whose step has failed and been repaired has its outputs at once, as a resumed run has them" {
	workflow mended <<-'YAML'
		commands:
		  - { id: c, workflow: inner.yaml, check: { shell: "true" }, repair: { shell: "true" } }
		  - shell: echo "${steps.c.outputs.o} ${steps.c.outputs.after}"
		  - shell: "[ -e go ]"
		  - shell: echo "${steps.c.outputs.o} ${steps.c.outputs.after}"
	YAML
	cat >inner.yaml <<-'YAML'
		outputs: { o: "${steps.x.output}", after: "${steps.z.output}" }
		commands: [{ id: x, shell: echo xx }, { id: y, shell: exit 1 }, { id: z, shell: echo zz }]
	YAML
	call workflow run mended.yaml
	envelope 1
	expect '[s.output for s in e.data.steps if s.key == "2"] == ["xx null"]'
	touch go
	call workflow resume @last
	envelope 0
	expect 'e.data.steps[-1].output == "xx null"'
}

@test "a file inside that would be run without one of its keys says so, and none runs here that is meant for elsewhere" {
	workflow outer <<-'YAML'
		executors: { here: { kind: local } }
		commands:
		  - workflow: inner.yaml
		  - workflow: inner.yaml
	YAML
	cat >inner.yaml <<-'YAML'
		recover: true
		concurrency: { key: k }
		executors: { there: { kind: local } }
		commands: [{ shell: echo $$ }]
	YAML
	call workflow check outer.yaml
	envelope 0
	expect '[(w.code, w.context.file, w.context.line) for w in e.warnings] == [("KEY_UNUSED", "inner.yaml", n) for n in (1, 2, 3)]'
	call workflow run outer.yaml --on here
	envelope 2
	expect '[x.line for x in e.error.errors] == [3, 4] and "run on this machine" in e.error.errors[0].message'
	sed -i 's/^executors/on: here\nexecutors/' outer.yaml
	call workflow check outer.yaml
	envelope 2
	sed -i 's/workflow: inner.yaml/{ workflow: inner.yaml, on: none }/' outer.yaml
	call workflow check outer.yaml
	envelope 0
	sed -i 's/^concurrency.*/on: there/' inner.yaml
	call workflow check outer.yaml
	envelope 2
	expect '[x.message.split(" ")[0] for x in e.error.errors] == ["inner.yaml:2:5:"] and "stay on this machine" in e.error.message'
}

@test "what an output is made of has run before the last steps of its file" {
	workflow late <<<'{ commands: [{ shell: "true" }], outputs: { o: "${steps.end.output}" }, finally: [{ id: end, shell: "true" }] }'
	call workflow check late.yaml
	envelope 2
	expect '"has not run yet" in e.error.message'
}

@test "files within files have a limit, which is not a circle; what is no file is not opened" {
	for i in {0..16}; do
		echo "commands: [{ workflow: $((i + 1)).yaml }]" >"$i.yaml"
	done
	echo 'commands: [{ shell: "true" }]' >17.yaml
	call workflow check 1.yaml
	envelope 2
	expect '"16 is the limit" in e.error.message and "itself" not in e.error.message'
	call workflow check 2.yaml
	envelope 0
	mkfifo pipe
	echo 'commands: [{ workflow: pipe }]' >opens.yaml
	call workflow check opens.yaml
	envelope 2
	expect '"pipe is not a regular file" in e.error.message'
	for i in 0 1 2; do
		{
			echo 'commands:'
			yes "  - workflow: $((i + 1)).yaml" | head -n 20
		} >"$i.yaml"
	done
	echo 'commands: [{ shell: "true" }]' >3.yaml
	call workflow check 0.yaml
	envelope 2
	expect '"more than 256" in e.error.errors[0].message'
	call workflow check 2.yaml
	envelope 0
	{
		echo 'commands: [{ shell: "true" }]'
		head -c 1500000 /dev/zero | tr '\0' '#'
	} >3.yaml
	call workflow check 2.yaml
	envelope 2
	expect '"4 MiB" in e.error.errors[0].message'
}

# --- last steps -------------------------------------------------------------------------------

last() {
	workflow last <<-'YAML'
		commands:
		  - { id: a, shell: echo one }
		  - { id: b, shell: "echo $$ >at; [ -e go ] || exec sh wait.sh" }
		finally:
		  - { name: Tell, shell: 'echo "${run.state} ${run.code} ${steps.a.output}" >>told' }
		  - { shell: "[ ! -e bad ]", when: run.error != "x" }
	YAML
	echo 'exit 3' >wait.sh
}

@test "last steps run after a failure and see it; a resumed run ends once more, and has them once more" {
	last
	call workflow run last.yaml
	envelope 1
	expect 'e.data.failed_step == "b" and [s.key for s in e.data.steps] == ["a", "b", "finally", "finally.1", "finally.2"]'
	touch go
	call workflow resume @last
	envelope 0
	expect '[s.state for s in e.data.steps if s.key.startswith("finally@2")] == ["completed"]'
	diff told <(printf 'failed SUBPROCESS_FAILED one\ncompleted  one\n')
	call workflow resume @last
	envelope 0
	[ "$(wc -l <told)" = 2 ]
}

@test "a last step that fails fails a run that had succeeded, and is a warning beside an earlier failure" {
	last
	touch go bad
	call workflow run last.yaml
	envelope 1
	expect 'e.data.failed_step == "finally.2" and e.data.steps[1].state == "completed"'
	rm bad
	call workflow resume @last
	envelope 0
	[ "$(cat told)" = $'completed  one\ncompleted  one' ]
	rm go
	touch bad
	call workflow run last.yaml
	envelope 1
	expect 'e.data.failed_step == "b" and [w.code for w in e.warnings] == ["FINALLY_FAILED"]'
	call workflow show @last
	expect '[w.code for w in e.warnings] == ["FINALLY_FAILED"]'
}

@test "last steps run when the run is asked to end, within its grace, and the rest of them when it is resumed" {
	last
	echo 'exec sleep 300' >wait.sh
	begin workflow run last.yaml
	until_true test -s at
	kill -TERM "$pid"
	finish
	[ "$status" = 143 ]
	[ "$(cat told)" = "interrupted CANCELLED one" ]
	[ "$(sql "select state from runs")" = interrupted ]
	touch go
	call workflow resume @last
	envelope 0
	[ "$(tail -n +2 told)" = "completed  one" ]
	rm go
	sed -i 's/\[ ! -e bad \]/exec sleep 300/' last.yaml
	cut_off 500 last.yaml test -e at
	expect "e.error.code == 'TIMEOUT' and e.meta.duration_ms < $limit_ms + 20000"
	[ "$(sql "select state from steps where key = 'finally.2' order by rowid desc limit 1")" = interrupted ]
	touch go
	sed -i 's/exec sleep 300/true/' last.yaml
	call workflow resume @last --force
	envelope 0
	expect '[s.state for s in e.data.steps if s.key in ["finally.2", "finally.2@2"]] == ["completed"] * 2'
}

@test "last steps that are under way when the run is asked to end go on within its grace" {
	workflow on <<-'YAML'
		commands: [{ id: a, shell: echo one }, { shell: "[ ! -e bad ]" }]
		finally:
		  - shell: echo "first ${run.state} ${steps.a.output}" >>told; [ -e cut ] || { echo $$ >at; exec sleep 300; }
		  - shell: echo second >>told
	YAML
	for bad in "" 1; do
		rm -f at cut told
		[ -z "$bad" ] || touch bad
		begin workflow run on.yaml
		until_true test -s at
		touch cut
		kill -TERM "$pid"
		finish
		[ "$status" = 143 ]
		[ "$(sed 's/ .*//' told | tr '\n' ' ')" = "first first second " ]
		[ "$(sort -u told | wc -l)" = 2 ]
		[ "$(sql "select state from runs order by rowid desc limit 1")" = interrupted ]
	done
	rm bad
	call workflow resume @last
	envelope 0
	[ "$(tail -n 2 told)" = "first completed one
second" ]
	rm -f cut
	cut_off 1000 on.yaml grep -qs '^first completed' told
	expect "e.error.code == 'TIMEOUT' and e.meta.duration_ms < $limit_ms + 20000"
	[ "$(cat told)" = "first completed one
first completed one" ]
	touch cut
	call workflow resume @last
	envelope 0
	[ "$(sed 's/ .*//' told | tr '\n' ' ')" = "first first first second " ]
}

@test "a last step whose runner was killed is in doubt, as any other: a decision lets the rest go on" {
	workflow on <<-'YAML'
		commands: [{ shell: exit 3 }]
		finally:
		  - shell: echo first >>told; [ -e cut ] || { echo $$ >at; exec sleep 300; }
		  - shell: echo second >>told
	YAML
	begin workflow run on.yaml
	until_true test -s at
	kill -KILL "$pid"
	finish
	until_true not_alive "$(cat at)"
	touch cut
	call workflow resume @last
	envelope 81
	expect '"finally.1" in e.error.message and "--mark-done finally.1" in e.error.suggestion'
	call workflow resume @last --mark-done finally.1
	envelope 1
	[ "$(tr '\n' ' ' <told)" = "first second first second " ]
}

@test "a run with a step in doubt has no last steps yet; one that was killed in them goes on there" {
	last
	sed -i 's/exec sh wait.sh/exec sleep 300/' last.yaml
	begin workflow run last.yaml
	until_true test -s at
	kill -KILL "$pid"
	finish
	until_true not_alive "$(cat at)"
	call workflow resume @last
	envelope 81
	[ ! -e told ]
	touch go
	call workflow resume @last --retry-in-doubt
	envelope 0
	[ "$(cat told)" = "completed  one" ]
}

# cut_off MS FILE CONDITION…: its run with a limit that is as short as this machine allows for the condition to hold then: $limit_ms
cut_off() {
	for limit_ms in "$1" $(($1 * 5)) $(($1 * 25)); do
		rm -f at told
		call workflow run "$2" --timeout "${limit_ms}ms"
		! "${@:3}" || return 0
	done
	return 1
}

not_alive() {
	! kill -0 "$1" 2>/dev/null
}

@test "a file inside has last steps of its own, when its steps end" {
	workflow within <<-'YAML'
		commands: [{ id: in, workflow: file.yaml, on_failure: continue }, { shell: "echo outer >>told" }]
		finally: { shell: 'echo "outer ${run.state}" >>told' }
	YAML
	workflow file <<-'YAML'
		commands: [{ shell: exit 4 }]
		finally: [{ shell: 'echo "inner ${run.state}" >>told' }]
	YAML
	call workflow run within.yaml
	envelope 0
	diff told <(printf 'inner failed\nouter\nouter completed\n')
	expect '[s.key for s in e.data.steps if "finally" in s.key] == ["in.finally@1", "in.finally.1@1@1", "finally", "finally.1"]'
	call workflow plan within.yaml
	expect 'e.data.steps[-1].key == "finally" and e.data.steps[-1].steps[0].key == "finally.1"'
	expect '[s.key for s in e.data.steps[0].steps] == ["in.1", "in.finally"]'
}

@test "what only last steps know is refused elsewhere, and what they can not have is refused there" {
	workflow wrong <<-'YAML'
		executors: { here: { kind: local } }
		commands: [{ id: finally, shell: "echo ${run.state}" }]
		finally: [{ on: here, shell: "echo ${run.state} ${run.sate}" }]
	YAML
	call workflow check wrong.yaml
	envelope 2
	expect '[x.line for x in e.error.errors] == [2, 3, 3, 3] and "unknown field" in e.error.errors[0].message'
	expect '"stay on this machine" in " ".join(x.message for x in e.error.errors)'
}

@test "a run that waits for a person has not ended: its last steps come once it has, and nobody is asked in them" {
	workflow asks <<-'YAML'
		commands: [{ approve: Go on? }]
		finally: [{ shell: "echo ${run.state} >>told" }]
	YAML
	call workflow run asks.yaml
	[ "$(sql "select state from runs")" != completed ]
	[ ! -e told ]
	sed -i 's/finally: \[/finally: [{ approve: Sure? }, /' asks.yaml
	call workflow check asks.yaml
	envelope 2
	expect '"no person is asked" in e.error.message'
}

@test "a run that is asked to end when it has ended before, and while a file inside is at its end, has last steps for that" {
	workflow twice <<-'YAML'
		commands:
		  - { id: in, workflow: file.yaml, on_failure: continue }
		  - shell: echo $$ >at; [ -e go ] || exit 3; exec sleep 300
		finally: [{ shell: 'echo "outer ${run.state}" >>told' }]
	YAML
	workflow file <<-'YAML'
		max_cost: 1
		commands: [{ shell: exit 4 }]
		finally: [{ shell: "[ ! -e slow ] || { echo $$ >at; exec sleep 300; }" }]
	YAML
	call workflow run twice.yaml
	envelope 1
	expect '[w.code for w in e.warnings].count("WORKFLOW_WARNING") == 1'
	rm at
	touch go
	begin workflow resume @last
	until_true test -s at
	kill -TERM "$pid"
	finish
	diff told <(printf 'outer failed\nouter interrupted\n')
	rm at
	touch slow
	begin workflow run twice.yaml
	until_true test -s at
	kill -TERM "$pid"
	finish
	diff told <(printf 'outer failed\nouter interrupted\nouter interrupted\n')
}

@test "a file inside that is gone is named by a resume, also with --force: its text is not stored" {
	local how
	printf 'commands: [{ workflow: deep.yaml }]\n' >inner.yaml
	printf 'commands: [{ shell: "[ -e go ]" }]\n' >deep.yaml
	ran <<<'  - { id: c, workflow: inner.yaml }'
	envelope 1
	mv deep.yaml kept.yaml
	for how in '' --force; do
		call workflow resume @last $how
		envelope 5
		expect '"deep.yaml" in e.error.message and "is gone" in e.error.message'
	done
	mv kept.yaml deep.yaml
	touch go
	call workflow resume @last
	envelope 0
}
