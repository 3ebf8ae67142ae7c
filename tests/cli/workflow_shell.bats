#!/usr/bin/env bats
# Shell steps stop at the first command that fails: the interpreters, the switch, hooks,
# runs that an older runner started, and the pipes that `check` points at.

load lib/workflow

# ran [BODY of commands]: a run of it, named one
ran() {
	workflow one <<<"name: one
$1
commands:
$(cat)"
	call workflow run one.yaml
}

@test "a shell step stops at the first command that fails, and has failed" {
	ran <<<'  - shell: cd nowhere; false; touch ../built; echo built'
	envelope 1
	[ ! -e built ]
	[ ! -e ../built ]
	expect 'e.error.code == "SUBPROCESS_FAILED" and "nowhere" in e.error.message'
	expect 'e.data.state == "failed" and e.data.steps[0].state == "failed"'
}

@test "conditions, lists and || go on as the shell defines it" {
	ran <<-'YAML'
		  - shell: |
		      if false; then :; fi
		      false || echo handled
		      false && echo never
		      ! true
		      echo end
	YAML
	envelope 0
	expect 'e.data.steps[0].output == "handled\nend"'
}

@test "errexit: false goes on after a failure, for a workflow or for a step" {
	ran <<<'  - { shell: "false; echo built", errexit: false }'
	envelope 0
	expect 'e.data.steps[0].output == "built"'
	ran 'errexit: false' <<<'  - { shell: "false; echo built" }'
	envelope 0
	expect 'e.data.steps[0].output == "built"'
	ran 'errexit: false' <<<'  - { shell: "false; echo built", errexit: true }'
	envelope 1
}

@test "sh doesn't notice a failure on the left side of a pipe; bash does, with pipefail" {
	ran <<<'  - shell: "false | cat; echo built"'
	envelope 0
	ran <<<'  - { shell: "false | cat; echo built", interpreter: bash }'
	envelope 1
	expect 'e.data.steps[0].output == ""'
	ran 'interpreter: bash' <<<'  - shell: "[[ x == x ]]; false | cat; echo built"'
	envelope 1
	ran 'interpreter: bash' <<<'  - { shell: "false | cat; echo built", interpreter: sh }'
	envelope 0
	ran 'interpreter: bash' <<<'  - { shell: "false | cat; echo ${BASH_VERSION:+built}", errexit: false }'
	envelope 0
	expect 'e.data.steps[0].output == "built"'
}

@test "an interpreter that isn't installed fails the step and is named" {
	ran <<<"  - { shell: 'true', interpreter: bash, env: { PATH: $PWD } }"
	envelope 1
	expect '"bash" in e.error.message and "could not be started" in e.error.message'
}

@test "steps within loops, parallel steps and on_failure have the workflow's options" {
	ran 'errexit: false' <<-'YAML'
		  - { foreach: [a], do: { shell: "false; echo ${item}" } }
		  - { parallel: [ { shell: "false; echo side" } ] }
		  - { shell: "exit 3", on_failure: { steps: [ { shell: "false; echo hook >>hooks" } ], then: continue } }
		  - { shell: "true", on_success: { shell: "false; echo fine >>hooks" } }
	YAML
	envelope 0
	[ "$(<hooks)" = $'hook\nfine' ]
	ran <<<'  - { shell: "exit 3", errexit: false, on_failure: { shell: "false; echo never >>hooks" } }'
	envelope 1
	[ "$(<hooks)" = $'hook\nfine' ]
	expect '[w.code for w in e.warnings] == ["ON_FAILURE_FAILED"]'
	expect 'e.error.context.step_key == "1" and e.error.message == "Step 1: Shell command exited with status 3"'
}

@test "on_retry stops at its first failure, unless it or its step says otherwise" {
	local hook
	for hook in 'on_retry: "false; touch hooked"' 'on_retry: { shell: "false | cat; touch hooked", interpreter: bash }'; do
		ran <<<"  - { shell: 'exit 3', retry: { delays: [1ms] }, $hook }"
		envelope 1
		[ ! -e hooked ]
		expect '[w.code for w in e.warnings] == ["HOOK_FAILED"]'
	done
	for hook in 'on_retry: { shell: "false; touch hooked", errexit: false }' 'errexit: false, on_retry: "false; touch hooked"'; do
		rm -f hooked
		ran <<<"  - { shell: 'exit 3', retry: { delays: [1ms] }, $hook }"
		envelope 1
		[ -e hooked ]
		expect 'not e.warnings'
	done
}

@test "verify stops at its first failure: its last command doesn't answer for the others" {
	local id
	workflow doubt <<-'YAML'
		name: doubt
		commands:
		  - { id: up, shell: "echo up >>effects; until [ -e go ]; do sleep 0.05; done", verify: "[ -e first ]; [ -e second ]" }
	YAML
	touch second
	begin workflow run doubt.yaml
	until_true [ -s effects ]
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	id=$(sql 'SELECT id FROM runs')
	touch go
	call workflow resume "$id"
	envelope 0
	[ "$(wc -l <effects)" -eq 2 ]
}

# What runner 0.1 left in the database: the same, but for what later migrations added.
as_left_by_0_1() {
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())' \
		state/runner/runs.db "$ROOT/tests/fault/as_left_by_0_1.sql"
}

@test "a run that 0.1 started resumes with 0.1's shell options; a new run of the same file has ours" {
	local id
	workflow old <<-'YAML'
		name: old
		commands:
		  - { id: gate, shell: "[ -e go ]" }
		  - { id: make, shell: "false; echo built >>effects", on_success: { shell: "false; echo hook >>effects" } }
		  - { id: chosen, shell: "false; echo never >>effects", errexit: true }
	YAML
	call workflow run old.yaml
	envelope 1
	as_left_by_0_1
	touch go
	id=$(sql 'SELECT id FROM runs')
	call workflow resume "$id"
	envelope 1
	expect 'e.error.context.step_key == "chosen"'
	[ "$(<effects)" = $'built\nhook' ]
	[ "$(sql 'PRAGMA user_version')" -ge 2 ]
	[ "$(sql 'PRAGMA user_version' state/runner/runs.db.v1)" -eq 1 ]
	[ "$(sql 'SELECT id, state FROM runs' state/runner/runs.db.v1)" = "$id|failed" ]
	call workflow resume "$id" # again, from a database of ours
	expect 'e.error.context.step_key == "chosen"'
	call workflow run old.yaml
	envelope 1
	expect 'e.error.context.step_key == "make"'
	[ "$(<effects)" = $'built\nhook' ]
}

@test "check points at pipes whose failure sh can't see" {
	workflow pipes <<-'YAML'
		name: pipes
		commands:
		  - shell: curl -f https://example.com | tar x
		  - { shell: "make | tee log", interpreter: bash }
		  - { shell: "make | tee log", errexit: false }
		  - shell: |
		      echo "$VALUE" | wc -c
		      x=$(sort list | uniq)
		  - claude: summarise
		    verify: git log | grep -q released
	YAML
	call workflow check pipes.yaml
	envelope 0
	expect 'e.data.valid is True and [w.code for w in e.warnings] == ["PIPE_UNCHECKED"] * 3'
	expect '[(w.context.line, w.context.column) for w in e.warnings] == [(3, 40), (8, 21), (10, 21)]'
	expect 'e.warnings[0].message.startswith("pipes.yaml:3:40: ") and "interpreter: bash" in e.warnings[0].message'
	call workflow plan pipes.yaml
	expect 'not e.warnings'
}
