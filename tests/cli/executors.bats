#!/usr/bin/env bats
# Executors: what the commands say of `executors` and `on`, wherever they stand.

load lib/workflow

here() {
	workflow flow <<-'YAML'
		name: flow
		executors:
		  near: { kind: local }
		claude: { output: json }
		commands:
		  - { shell: echo a }
	YAML
}

@test "check and plan take the executor of the call, and name those that there are" {
	here
	for command in check plan; do
		call workflow "$command" flow.yaml --on near
		envelope 0
		call workflow "$command" flow.yaml --on naer
		envelope 2
		expect 'e.error.errors[0].field == "on" and "near" in e.error.errors[0].suggestion'
	done
	call workflow run flow.yaml --on none
	envelope 0
}

@test "runner.lua describes the site's, and a wrong one is refused" {
	here
	echo 'return { executors = { site = { kind = "local" } } }' >runner.lua
	call workflow check flow.yaml --on site
	envelope 0
	echo 'return { executors = { site = { knid = "local" } } }' >runner.lua
	call lint
	[ "$status" -ne 0 ]
	expect '"executors" in e.error.errors[0].message'
}

@test "a claude step on an executor can't share the budget that the call sets" {
	here
	echo '  - { claude: a, on: near }' >>flow.yaml
	call workflow run flow.yaml --max-cost 1
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none"'
	[ "$(calls)" -eq 0 ]
}

@test "the run keeps the executor that the call named" {
	here
	call workflow run flow.yaml --on none
	[ "$(sql 'select given_on from runs')" = none ]
}
