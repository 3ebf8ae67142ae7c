#!/usr/bin/env bats
# What `workflow check` finds besides errors: slips that are valid, and values that become code.

load lib/workflow

@test "check finds plain names that nothing defines, and leaves the shell its own" {
	workflow names <<-'YAML'
		name: names
		vars: { name: x }
		env: { given: y }
		commands:
		  - shell: echo ${nme} ${name} ${given} ${HOME} ${x:-1} '${anything}'
		  - shell: for f in *; do echo ${f}; done; a=1; read -r b c; echo ${a}${b}${c}
		  - foreach: [1]
		    do: [{ shell: "echo ${index} $ARG" }]
		  - claude: "fix $ARG"
	YAML
	call workflow check names.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["UNKNOWN_NAME"] * 4'
	expect '"names.yaml:5:17: ${nme}" in e.warnings[0].message and "Did you mean '"'name'"'?" in e.warnings[0].message'
	expect '"${item_index}" in e.warnings[1].message and "--var ARG=VALUE" in e.warnings[2].message + e.warnings[3].message'
	call workflow check names.yaml --warnings-as-errors
	[ "$status" -ne 0 ]
	workflow index <<<'commands: [{ claude: "${index}" }]'
	call workflow check index.yaml
	envelope 2
	expect '"${item_index}" in e.error.errors[0].suggestion'
}

@test "check finds a runner step whose command does not exist, with what was probably meant" {
	body deploy <<<'return 1'
	workflow calls <<-'YAML'
		commands:
		  - runner: deploy
		  - runner: workflow list
		  - runner: "${run.name}"
		  - shell: exit 1
		    on_failure: { runner: dploy }
	YAML
	call workflow check calls.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["UNKNOWN_COMMAND"]'
	expect '"calls.yaml:6:17: runner: dploy" in e.warnings[0].message and "Did you mean '"'deploy'"'?" in e.warnings[0].message'
}

@test "check foretells what the caller's policy would refuse or cut, and what it says comes true" {
	body deploy <<<'return 1'
	body read_only <<<'return 1'
	command_file drop <<'LUA'
return { description = "x", danger_level = "destructive", dry_run = true, run = function() return { effect = "noop" } end,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } } }
LUA
	workflow calls <<-'YAML'
		max_cost: 5
		commands:
		  - runner: deploy
		  - runner: read_only
		  - shell: exit 0
		    timeout: 10m
		    retry: { max_attempts: 9 }
		  - parallel:
		      - { runner: drop, args: { confirm_destructive: true } }
		      - runner: "${run.name}"
	YAML
	echo '{ "deny": ["deploy"], "max_danger": "mutating", "max_retries": 2, "max_timeout": "1m", "max_cost_usd": 1 }' >policy.json
	call --policy policy.json workflow check calls.yaml
	envelope 0
	expect '[(w.code, w.context.line) for w in e.warnings if w.code != "COST_UNKNOWN"] == [("POLICY_REFUSES", 3), ("POLICY_CUTS", 5), ("POLICY_CUTS", 5), ("POLICY_REFUSES", 9), ("POLICY_CUTS", 1)]'
	expect '"deploy" in e.warnings[1].message and "max_danger is mutating" in e.warnings[4].message and "$1" in e.warnings[5].message'
	call RUNNER_POLICY="$PWD/policy.json" workflow run calls.yaml
	[ "$status" -ne 0 ]
	grep -q POLICY_DENIED out.txt
	echo '{ "confirm_by_flag": false, "deny": ["workflow run"] }' >policy.json
	call --policy policy.json workflow check calls.yaml
	envelope 0
	expect '[(w.code, w.context.line) for w in e.warnings if w.code != "COST_UNKNOWN"] == [("POLICY_REFUSES", 9), ("POLICY_REFUSES", 1)]'
	call workflow check calls.yaml
	envelope 0
	expect 'not any(w.code.startswith("POLICY") for w in e.warnings)'
}

@test "check warns of values that another shell would run as code, and of no others" {
	workflow nested <<-'YAML'
		vars: { v: x, host: h }
		commands:
		  - { id: said, shell: echo hello }
		  - shell: ssh ${host} "ls ${v}"
		  - shell: eval "echo ${steps.said.output}"
		  - shell: sh -c 'echo "$1"' sh ${v}; eval "echo ${undefined_here:-}"; eval "x=${said_by_shell}"; said_by_shell=1
		  - { shell: "true", verify: "bash -c 'test ${v}'", when: "${steps.said.status} == 0" }
	YAML
	call workflow check nested.yaml
	envelope 0
	expect '[(w.code, w.context.line) for w in e.warnings] == [("NESTED_CODE", 4), ("NESTED_CODE", 5), ("NESTED_CODE", 7)]'
	expect '"what ssh runs as code" in e.warnings[0].message and "bash -c" in e.warnings[2].message'
}

@test "defaults of vars take the environment, and refuse other references" {
	workflow defaults <<-'YAML'
		vars: { who: "${env.WHO}!", list: ["${env.WHO}"], literal: "$${x}" }
		commands:
		  - shell: echo ${who} ${list.0} ${literal}
	YAML
	call WHO=me workflow run defaults.yaml
	envelope 0
	expect 'e.data.steps[0].output == "me! me ${x}"'
	call workflow run defaults.yaml
	envelope 2
	expect '"variable '"'list'"'" in e.error.errors[0].message and "WHO" in e.error.errors[0].suggestion'
	call workflow run defaults.yaml --var who=1 --var list=2
	envelope 4
	workflow other <<<'{ vars: { a: "${b}" }, commands: [{ shell: "true" }] }'
	call workflow check other.yaml
	envelope 2
	expect '"only ${env.NAME} has a value in vars" in e.error.errors[0].message'
}

@test "plan --graph is the picture: plain where that is asked for, else in the envelope" {
	workflow picture <<-'YAML'
		name: picture
		secrets: { KEY: hidden-value }
		commands:
		  - { id: build, shell: "make hidden-value" }
		  - parallel: [ { id: lint, shell: lint }, { id: test, shell: test } ]
	YAML
	for format in text mermaid dot; do
		call workflow plan picture.yaml --graph "$format"
		envelope 0
		expect "e.data.format == '$format' and 'lint' in e.data.graph and 'hidden-value' not in e.data.graph"
		field 'e.data.graph' >graph
		call workflow plan picture.yaml --graph "$format" --format plain
		[ "$(<out.txt)" = "$(<graph)" ]
	done
	call workflow plan picture.yaml --graph svg
	envelope 2
}

@test "a schema that is none is refused where its mistake is" {
	workflow typed <<-'YAML'
		name: typed
		commands:
		  - claude: /triage
		    schema:
		      type: object
		      required: [a]
		      properties:
		        a: { type: strin }
	YAML
	call workflow check typed.yaml
	[ "$status" -eq 2 ]
	expect 'e.error.errors[0].line == 8 and "properties/a/type" in e.error.errors[0].message'
	sed -i 's/strin /string /; s/required: .a./maxItem: 3/' typed.yaml
	call workflow check typed.yaml
	expect 'e.error.errors[0].line == 6 and "no keyword" in e.error.errors[0].message'
	sed -i 's/maxItem:/maxItems:/' typed.yaml
	call workflow check typed.yaml
	envelope 0
}

@test "plan shows which items a loop has, how many may fail, what a step is held to and how it is repaired" {
	workflow chosen <<-'YAML'
		name: chosen
		commands:
		  - foreach: { file: a.json, path: $.items }
		    where: item.n > 1
		    sort: [item.n desc, item.s]
		    limit: 3
		    max_failures: 10%
		    do: [{ shell: echo 1, threshold: 0.5 }]
		    repair: { steps: [{ shell: "true" }], max: 2 }
	YAML
	call workflow plan chosen.yaml
	envelope 0
	expect '[(s.where, s.sort, s.max_items, s.max_failures) for s in e.data.steps[0].steps] == [("item.n > 1", ["item.n desc", "item.s"], 3, {"percent": 10})]'
	expect 'e.data.steps[0].steps[0].steps[0].threshold == {"score": 0.5}'
	on_pty workflow plan chosen.yaml
	grep -qF 'where item.n > 1; sort item.n desc, item.s; the first 3; at most 10% may fail' screen
	grep -qF 'repaired 2 times at most, then again: step' screen
}
