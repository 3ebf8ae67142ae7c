#!/usr/bin/env bats
# What becomes of values in a workflow: variables, environments, secrets, outputs,
# conditions. None of them runs, none of the secrets is seen.

load lib/workflow

# --- values and secrets ---------------------------------------------------------------

@test "no value can run as shell text: substitutions, quotes, newlines, wherever it stands" {
	workflow quoting <<-'YAML'
		name: quoting
		vars: { v: }
		commands:
		  - { shell: "cat tricky", id: said }
		  - shell: |
		      printf '%s' ${v} >bare
		      printf '%s' "${v}" >double
		      printf '%s' '${v}' >single
		      printf '%s' "$(printf '%s' "${v}")" >nested
		      cat >here <<END
		      ${v}
		      END
		      printf '%s' x${v}y >glued
		      printf '%s' ${steps.said.output} >output
		  - foreach: ["$(touch ran)"]
		    do: [ { shell: "printf '%s' ${item} >item" } ]
	YAML
	local value
	# shellcheck disable=SC2016 # that is the point
	for value in '$(touch ran)' '`touch ran`' '"; touch ran; "' "'; touch ran; '" $'x\ntouch ran\n' '; touch ran #' '$HOME *' \
		'\"$(touch ran)' $'\'"\n$(touch ran)' '} $(touch ran) {' $'\nEND\ntouch ran' '&& touch ran' '| touch ran'; do
		printf '%s' "$value" >tricky
		call workflow run quoting.yaml --var "v=$value"
		envelope 0
		[ ! -e ran ]
		local file
		for file in bare double; do
			cmp "$file" tricky
		done
		[ "$(<output)" = "$(<tricky)" ]
		[ "$(<single)" = "$value" ] || cmp single tricky
		[ "$(<nested)" = "$(<tricky)" ]
		[ "$(<glued)" = "x${value}y" ]
		diff here <(printf '%s\n' "$value")
		[ "$(<item)" = '$(touch ran)' ]
	done
}

@test "secrets are masked in the envelope, on stderr, in logs, in show and in the database file" {
	printf 'file-s3cret-value\n' >token.txt
	workflow secret <<-'YAML'
		name: secret
		secrets: { TOKEN_A: { env: TOKEN_A }, TOKEN_B: { file: token.txt }, TOKEN_C: literal-s3cret-value }
		commands:
		  - shell: echo "$TOKEN_A and $TOKEN_B and $TOKEN_C"; echo "again $TOKEN_A" >&2; printf %s "$TOKEN_A" | base64
		    id: leak
		  - claude: "use ${steps.leak.output} and ${env.TOKEN_A} and more"
		    retry: false
	YAML
	turns 'complain "500 Internal Server Error: $TOKEN_B"; echo "{\"t\":\"$TOKEN_A\"}"; exit 1'
	call TOKEN_A=env-s3cret-value workflow run secret.yaml
	envelope 12
	local id
	id=$(run_id)
	grep -q 'TOKEN_A=env-s3cret-value' claude/calls/1/env # the program itself gets it
	grep -q 'and env-s3cret-value and' claude/calls/1/argv
	[[ $stdout == *'***'* ]]
	[[ $stderr == *'***'* ]]
	cp out.txt run.txt
	cp err.txt run.err
	call workflow show "$id" --full
	cp out.txt show.txt
	call workflow logs "$id"
	cp out.txt logs.txt
	local encoded
	encoded=$(printf env-s3cret-value | base64)
	if grep -rlaE "s3cret-value|${encoded:0:16}" run.txt run.err show.txt logs.txt state; then
		return 1
	fi
	call workflow resume "$id"
	envelope 4 # TOKEN_A is not set now
	expect '"TOKEN_A" in e.error.message and e.data is None'
}

@test "a secret is hidden before a text is cut: no beginning of it is left in labels, log lines, messages" {
	workflow cut <<-'YAML'
		name: cut
		secrets: { TOKEN: { env: TOKEN_IN }, OWN: "inline-0123456789" }
		commands:
		  - shell: "true || echo 0123456789012345678901234567890123456789 inline-0123456789"
		  - shell: 'printf "%0163d %s\n" 1 "$TOKEN" >&2; exit 3'
		    on_failure: continue
		  - claude: "ask"
		    retry: false
		    on_failure: continue
		  - shell: 'echo "$TOKEN" >&2; head -c 4085 /dev/zero | tr "\000" x >&2; exit 4'
	YAML
	turns 'printf "{\"type\":\"result\",\"is_error\":true,\"result\":\"%0196d %s\"}" 1 "$TOKEN"'
	CLEAN_ENV+=(TOKEN_IN=token-zyxwvutsrq)
	call workflow run cut.yaml
	envelope 1
	expect '"xxx" in e.error.context.stderr'
	expect 'e.data.steps[0].label.endswith("***")'
	[ -z "$(grep -aE 'inline-|token-|[a-z-]9876|9876543' out.txt err.txt || true)" ]
	[ -z "$(grep -raE 'inline-0|token-9|543210' state || true)" ]
	call workflow plan cut.yaml
	envelope 0
	[ -z "$(grep -E 'inline-' out.txt || true)" ]
}

@test "a secret that lies across the cut of a long output or a long line is hidden on both sides" {
	workflow long <<-'YAML'
		name: long
		secrets: [TOKEN_IN]
		commands:
		  - shell: 'python3 -c "import os; t = os.environ[\"TOKEN_IN\"]; print(\"x\" * 524282 + t + \"y\" * 90000 + t + \"x\" * 524281)"'
		  - shell: 'python3 -c "import os, sys; sys.stderr.write(\"x\" * 65530 + os.environ[\"TOKEN_IN\"] + \"y\" * 10)"'
	YAML
	CLEAN_ENV+=(TOKEN_IN=token-zyxwvutsrq)
	call workflow run long.yaml
	envelope 0
	[ -z "$(grep -aE 'token|zyxw|tsrq' out.txt err.txt || true)" ]
	[ -z "$(grep -raE 'token-|vutsrq' state || true)" ]
}

@test "a variable that held a secret is not kept: a resumed run is refused, not given ***" {
	workflow held <<<'{ name: held, vars: { v: }, secrets: [T], commands: [ { shell: "exit 3" } ] }'
	call T=env-s3cret-value workflow run held.yaml --var v=x-env-s3cret-value
	envelope 1
	expect 'e.data.variables == {"v": "x-***"}'
	if grep -rla s3cret-value state out.txt err.txt; then return 1; fi
	call T=env-s3cret-value workflow resume "$(run_id)"
	envelope 4
	expect "\"'v'\" in e.error.message and \"--var v=VALUE\" in e.error.suggestion and e.error.side_effects == \"none\""
}

@test "a text that holds a secret is not kept: without its file such a run can't go on, and says so" {
	workflow literal <<<'{ name: literal, secrets: { T: literal-s3cret-value }, commands: [ { shell: "exit 3" } ] }'
	call workflow run literal.yaml
	envelope 1
	rm literal.yaml
	call workflow resume "$(run_id)" --force
	envelope 5
	expect '"contains a secret" in e.error.message and e.error.fix_required == "Restore the file"'
}

@test "env, env_files and secrets reach steps: the later of them wins, and a step's own env above all" {
	printf '# comment\nexport A=file\nB="from file"\nC=file\n' >.env
	workflow env <<-'YAML'
		name: env
		env_files: [.env]
		env: { B: workflow, D: "${run.name}", E: workflow }
		secrets: { C: hidden-value }
		commands:
		  - shell: echo "$A|$B|$D|$E|$RUNNER_AUTOMATION"; [ "$C" = hidden-value ] || exit 9
		    env: { E: step }
	YAML
	call workflow run env.yaml
	envelope 0
	expect 'e.data.steps[0].output.strip() == "file|workflow|env|step|true"'
	expect 'e.data.env_names == ["A", "B", "C", "D", "E"]'
	rm .env
	call workflow run env.yaml
	envelope 4
	expect '".env" in e.error.message'
}

@test "working_dir, output_file and capture_output place and keep what a step prints" {
	mkdir sub
	ran <<-'YAML'
		  - { shell: "pwd; echo x >&2", working_dir: sub, output_file: out.log, id: one }
		  - { shell: "echo kept", capture_output: word }
		  - { shell: "echo gone", capture_output: false, id: quiet }
		  - { shell: "echo ${word}; pwd" }
	YAML
	envelope 0
	[ "$(<sub/out.log)" = "$PWD/sub" ]
	expect 'e.data.steps[3].output.split("\n")[0] == "kept" and not e.data.steps[2].output'
	[ "$(field 'e.data.steps[3].output.split("\n")[1]')" = "$PWD" ]
	messages step.stderr | grep -qx x
	ran <<<'  - { shell: "echo x", working_dir: nowhere }'
	[ "$status" -ne 0 ]
	assert_envelope
	[[ $(field 'e.error.message') == *nowhere* ]]
	ran <<<'  - { shell: "echo x", output_file: nowhere/at/all }'
	envelope 1
	expect 'e.error.code == "OUTPUT_FAILED" and "nowhere/at/all" in e.error.message and "output_file" in e.error.fix_required'
}

@test "a captured variable is there after steps side by side; where it has no value no shell gets an empty one" {
	ran <<-'YAML'
		  - parallel: [{ shell: echo left, capture_output: side }]
		  - { shell: "echo ${side}" }
		  - { shell: echo never, capture_output: skipped, when: "false" }
		  - { shell: "echo removed /${skipped} >effects" }
	YAML
	envelope 4
	expect 'e.data.steps[2].output == "left" and e.error.message == "Step 4: The variable ${skipped} has no value"'
	[ ! -e effects ]
}

@test "when decides with variables and outputs; skipped steps are reported" {
	ran <<-'YAML'
		  - { shell: "echo 7", id: n }
		  - { shell: "echo yes >ran-big", when: "${steps.n.output} > 5 and not false" }
		  - { shell: "echo yes >ran-small", when: "steps.n.output < 5", id: small }
	YAML
	envelope 0
	[ -e ran-big ]
	[ ! -e ran-small ]
	expect 'e.data.steps[2].state == "skipped"'
	messages step.skipped | grep -qx 'Step small skipped: when: steps.n.output < 5'
}

# --- outputs --------------------------------------------------------------------------

@test "an output is kept up to a megabyte, head and tail, and shown up to four kilobytes" {
	ran <<<'  - { shell: "seq 300000", id: flood }'
	envelope 0
	[ "$(sql "select length(output) < 1049000 and output like '1%' and output like '%bytes omitted%300000' from steps")" = 1 ]
	expect 'len(e.data.steps[0].output) <= 4096 and e.data.steps[0].output_bytes > 4096'
	call workflow show "$(run_id)" --full
	expect 'len(e.data.steps[0].output) > 100000'
}

@test "whatever bytes a step prints: the envelope, stderr, show and logs stay valid and clean" {
	ran <<-'YAML'
		  - { shell: "printf 'a\\377b\\000c\\033[31mred\\033[0m\\n'; printf 'e\\377\\000\\033[1mx\\n' >&2", id: odd }
		  - { shell: "head -c 300000 /dev/zero | tr '\\0' x >&2" }
	YAML
	envelope 0
	messages step.stderr | head -n 1 | grep -q '^e.*x$'
	local id
	id=$(run_id)
	call workflow show "$id" --full
	envelope 0
	expect 'e.data.steps[0].output.startswith("a") and e.data.steps[0].output.endswith("red")'
	call workflow logs "$id"
	envelope 0
	expect '"x" * 1000 in e.data[1].stderr'
}
