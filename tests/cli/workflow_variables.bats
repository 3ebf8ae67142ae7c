#!/usr/bin/env bats
# Variables of workflows: what no run may get or say of a secret in one, and that every value keeps the rules of its type,
# wherever it comes from.

load lib/workflow

refused_as_secret() { # NAME
	envelope 4
	expect "e.error.code == 'PRECONDITION' and \"'$1'\" in e.error.message and 'contained a secret' in e.error.message"
	[ ! -e begun ]
}

# --- secrets ---------------------------------------------------------------------------------

@test "no resumed run gets *** in the place of a secret: in lists, maps and numbers, of files inside, also where the file has changed" {
	workflow held <<-'YAML'
		secrets: [T]
		vars: { hosts: { type: array, items: string, default: [] }, cfg: { type: json, default: {} }, pin: { type: integer, default: 1 } }
		commands: [{ shell: "[ -e go ]" }, { shell: 'touch begun; echo "${hosts} ${cfg} ${pin}"' }]
	YAML
	CLEAN_ENV+=(T=98761234)
	local given
	for given in 'hosts=98761234' 'cfg={"a": ["x 98761234"]}' 'cfg={"98761234": 1}' 'pin=98761234'; do
		rm -f go
		call workflow run held.yaml --var "$given"
		envelope 1
		[ -z "$(grep -ral 98761234 state out.txt err.txt || true)" ]
		touch go
		call workflow resume @last
		refused_as_secret "${given%%=*}"
	done
	sed -i 's/^secrets.*//' held.yaml
	call workflow resume @last --force
	refused_as_secret pin
	rm go
	workflow inner <<<'{ vars: { t: }, secrets: [T], commands: [{ shell: touch begun }] }'
	workflow outer <<<'{ vars: { tok: none }, commands: [{ shell: "[ -e go ]" }, { workflow: inner.yaml, vars: { t: "${tok}" } }] }'
	call workflow run outer.yaml --var tok=98761234
	envelope 1
	touch go
	call workflow resume @last
	refused_as_secret tok
}

@test "a variable with stars in it that holds no secret is kept" {
	workflow stars <<<'{ vars: { t: }, commands: [{ shell: "[ -e go ]" }, { shell: "echo \"${t}\"" }] }'
	call workflow run stars.yaml --var 't=a *** b'
	envelope 1
	touch go
	call workflow resume @last
	envelope 0
	expect 'e.data.steps[1].output == "a *** b"'
}

@test "what is said of a wrong value shows no secret, also not the beginning of a long one, wherever the secret comes from" {
	workflow wrong <<-'YAML'
		secrets: { T: { env: T }, P: { file: password.txt }, F: { file: fifo }, MISSING: { env: MISSING } }
		vars:
		  n: { type: integer, default: "${env.T}" }
		  e: { type: enum, values: [a, b], default: "${env.T}" }
		  l: { type: array, items: string, max_length: 9, pattern: "^[a-z]$", default: ["${env.T}"] }
		  j: { type: json, schema: { type: object, properties: { x: { type: string, maxLength: 2 } } }, default: { x: "${env.T}" } }
		  p: { type: duration }
		commands: [{ shell: touch begun }]
	YAML
	mkfifo fifo
	printf 'pass-s3cret-%0300d' 7 >password.txt
	local long command
	long="long-s3cret-$(printf '%0300d' 7)"
	for command in run plan; do
		call T="$long" workflow "$command" wrong.yaml --var "p=$(<password.txt)" --var "q=$long"
		envelope 2
		expect 'len(e.error.errors) == 6'
		[ -z "$(grep -ral s3cret state out.txt err.txt || true)" ]
	done
	workflow inner <<<'{ secrets: [T], vars: { n: { type: integer } }, commands: [{ shell: touch begun }] }'
	workflow outer <<<'{ vars: { t: }, commands: [{ workflow: inner.yaml, vars: { n: "${t}" } }] }'
	call T="$long" workflow run outer.yaml --var "t=$long"
	envelope 4
	[ -z "$(grep -ral s3cret state out.txt err.txt || true)" ]
	[ ! -e begun ]
}

@test "check and plan show no declared secret: in defaults and descriptions, in files inside, and where the file is wrong" {
	workflow literal <<-'YAML'
		secrets: { T: text-s3cret-value, E: { env: E } }
		vars: { a: text-s3cret-value, b: { type: string, default: of-s3cret-env, description: is text-s3cret-value } }
		commands: [{ shell: "true" }]
	YAML
	workflow outer <<<'{ vars: { a: text-s3cret-value }, commands: [{ workflow: literal.yaml }] }'
	local file command
	for file in literal outer; do
		for command in check plan; do
			call E=of-s3cret-env workflow "$command" "$file.yaml"
			envelope 0
			expect 'e.data.variables[0].default == "***"'
			[ -z "$(grep -al s3cret out.txt err.txt || true)" ]
		done
	done
	local long
	long="text-s3cret-$(printf '%0300d' 7)"
	workflow wrong <<<"{ secrets: { T: $long }, vars: { n: { type: integer, default: $long } }, commands: [{ shell: a }] }"
	call workflow check wrong.yaml
	envelope 2
	expect '"***" in e.error.message'
	[ -z "$(grep -al s3cret out.txt err.txt || true)" ]
}

# --- types -----------------------------------------------------------------------------------------

@test "what a default takes from the environment keeps the rules of its type, also inside lists and maps" {
	workflow late <<-'YAML'
		vars:
		  h: { type: array, items: string, pattern: "^[^/]*$", default: ["${env.H}", b] }
		  j: { type: json, schema: { type: object, properties: { x: { type: string, maxLength: 12 } } }, default: { x: "${env.H}" } }
		  p: { type: array, items: path, within: sub, default: ["sub/${env.H}"] }
		  n: { type: array, items: integer, default: ["${env.N}", 2] }
		commands: [{ shell: 'echo ${h} ${j.x} ${n.0}', when: n.0 < 10 }]
	YAML
	call H=../longer/than/twelve N=x workflow run late.yaml
	envelope 2
	expect '[x.fix_required.split(chr(39))[1] for x in e.error.errors] == ["h", "j", "n", "p"]'
	expect 'all("in the workflow file" in x.fix_required for x in e.error.errors)'
	call H=here N=7 workflow run late.yaml
	envelope 0
	expect 'e.data.steps[0].output == "[\"here\",\"b\"] here 7"'
}

@test "a list may come from one variable of the environment, with commas" {
	workflow list <<-'YAML'
		vars: { n: { type: array, items: integer, max: 9, default: "${env.N}" } }
		commands: [{ shell: 'echo "${n}"' }]
	YAML
	call N=5 workflow run list.yaml
	expect 'e.data.steps[0].output == "[5]"'
	call N=1,2 workflow run list.yaml
	expect 'e.data.steps[0].output == "[1,2]"'
	call N= workflow run list.yaml
	expect 'e.data.steps[0].output == "[]"'
	call N=1,20 workflow run list.yaml
	envelope 2
	expect '"of at most 9" in e.error.message'
	sed -i 's/"${env.N}"/[]/' list.yaml
	call workflow run list.yaml
	expect 'e.data.steps[0].output == "[]"'
}

@test "a declaration without a value for a key, and members of a single value, are refused in the words of workflow files" {
	workflow words <<-'YAML'
		vars:
		  a: { type: integer, default: null }
		  b: { type: integer, min: }
		  c: { type: string, pattern: "[a-z]+" }
		  d: { type: array, items: string, default: [null] }
		  e: { type: integer, max: 2, default: 3 }
		commands: [{ shell: 'echo ${a} ${b.x} ${c} ${d.0} ${e}' }]
	YAML
	call workflow check words.yaml
	envelope 2
	expect '[x.line for x in e.error.errors] == [3, 4, 5, 6, 7]'
	expect '"vars.b.min has no value" in e.error.errors[0].message'
	expect '"Anchor it: pattern: " in e.error.errors[1].suggestion'
	expect '"null" in e.error.errors[2].message and "userdata" not in e.error.errors[2].message'
	expect '"variable'"'"'s own rules" in e.error.errors[3].message'
	expect '"is a single value" in e.error.errors[4].message'
	workflow words <<<'{ vars: { a: { type: integer, default: null } }, commands: [{ shell: touch begun }] }'
	call workflow run words.yaml
	envelope 2
	expect '"MISSING_VARIABLE" == e.error.errors[0].code'
}
