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
	expect 'e.warnings == []' # its name is what it is known by
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
		  - { name: "After ${steps.none.output}", shell: "true" }
	YAML
	envelope 0
	expect 'e.data.steps[1].label == "After ${steps.none.output}"'
}
