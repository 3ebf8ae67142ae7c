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
