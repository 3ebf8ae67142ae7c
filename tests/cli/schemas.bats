#!/usr/bin/env bats
# The published JSON Schemas, as other programs read them: ajv judges files as `workflow check` does, and the language
# server for YAML shows, completes and checks keys by them.

load lib/helper

SCHEMAS=$BATS_TEST_DIRNAME/../schemas
WORKFLOW=$BATS_TEST_DIRNAME/../../docs/schema/workflow.json

INSTALLED=$SCHEMAS/node_modules/.package-lock.json # npm writes it when all is there

# Once, also where two suites run this file at once.
setup_file() {
	serve_envelopes
	command -v npm >/dev/null || return 0
	(cd "$SCHEMAS" && exec 9<package.json && flock -w 330 9 && [ ! -e "$INSTALLED" ] &&
		timeout 300 npm ci --no-audit --no-fund --ignore-scripts --fetch-retry-mintimeout 500 --fetch-retry-maxtimeout 3000 9<&-) >/dev/null 2>&1 || true
}

need_packages() {
	command -v node >/dev/null || skip "no Node.js here"
	[ -e "$INSTALLED" ] || skip "npm can't install the language server for YAML here"
}

ajv() {
	timeout 60 node "$SCHEMAS/ajv.mjs" "$@"
}

language_server() {
	timeout 60 node "$SCHEMAS/language_server.mjs" "$@" >said.json
}

# said EXPRESSION: it holds of what the language server said, `e`.
said() {
	python3 -c 'import json, sys; e = json.load(open("said.json")); assert eval(sys.argv[1]), e' "$1"
}

# workflow NAME <<'YAML': a file with a line that names the schema.
workflow() {
	{ echo "# yaml-language-server: \$schema=$WORKFLOW"; cat; } >"$1"
}

@test "ajv takes both schemas, and every workflow file of the documentation and the examples" {
	not_sanitized "read by others"
	need_packages
	local files
	cd "$ROOT"
	ajv docs/schema/project.json
	mapfile -t files < <(find docs examples -name '*.yaml' -print0 | xargs -0 grep -lE '^(commands|steps):')
	[ "${#files[@]}" -ge 1 ]
	ajv docs/schema/workflow.json "${files[@]}" >"$BATS_TEST_TMPDIR/verdicts"
	run grep -v '^valid ' "$BATS_TEST_TMPDIR/verdicts"
	[ -z "$output" ]
}

# kept NAME: the last answer, as one of the values of docs/schema/NAME.json
kept() {
	mkdir -p "values/$1"
	python3 -c 'import json, sys; print(json.dumps(eval(sys.argv[1], {"e": json.load(open("out.txt"))})))' "${2:-e}" >"values/$1/$RANDOM$RANDOM.json"
}

@test "ajv takes every other published schema, and what the program prints by it" {
	not_sanitized "read by others"
	need_packages
	known
	cp -r "$ROOT"/tests/criteria/project/* .
	sed -i 's/name = "probes",/name = "probes", audit = { path = "audit.jsonl" },/' runner.lua
	local args name
	for args in hello 'fail --code CONFLICT' 'hello --nope' 'rows --limit 3' 'slow --timeout 1s' 'noise' 'open' 'make --dry-run' nosuch; do
		# shellcheck disable=SC2086
		call $args
		kept envelope
	done
	for args in '' --compact hello; do
		# shellcheck disable=SC2086
		call manifest $args
		kept manifest 'e["data"]'
	done
	answers 0 later
	kept job 'e["data"]'
	answers 0 job wait "$(field 'e.data["job_id"]')"
	mkdir -p values/stream-line values/audit-row values/exec-request
	"$RUNNER" events --stream >stream.jsonl
	"$RUNNER" events --stream --fail >>stream.jsonl || true
	split -l 1 --additional-suffix=.json stream.jsonl values/stream-line/
	split -l 1 --additional-suffix=.json audit.jsonl values/audit-row/
	echo '{"_cmd":"hello","_opts":{"timeout":"5s"},"_id":7,"name":"Ada"}' >values/exec-request/one.json
	"$RUNNER" exec <values/exec-request/one.json
	for name in envelope manifest job stream-line audit-row exec-request; do
		ajv "$ROOT/docs/schema/$name.json" values/"$name"/*.json >>verdicts
	done
	[ "$(wc -l <verdicts)" -ge 40 ]
	run grep -v '^valid ' verdicts
	[ -z "$output" ]
	for name in envelope manifest job stream-line audit-row exec-request; do
		echo '[]' >nope.json
		run ajv "$ROOT/docs/schema/$name.json" nope.json
		[[ $output == invalid* ]]
	done
	ajv "$ROOT/docs/schema/conformance-result.json"
}

@test "ajv and workflow check judge alike what people get wrong" {
	need_packages
	local line number=0
	while IFS= read -r line; do
		number=$((number + 1))
		printf '%s\n' "$line" >"$(printf 'w%02d.yaml' "$number")"
	done <<'YAML'
{ commands: [ { shell: make } ] }
{ steps: [ { claude: hello, model: opus, max_turns: 3 } ] }
{ commands: [ { shell: make, timeout: 5m, retry: { max_attempts: 3, retry_on: [ timeout ] } } ] }
{ commands: [ { foreach: [ a, b ], do: { shell: 'echo "${item}"' }, parallel: true } ] }
{ commands: [ { parallel: [ { shell: a }, { runner: db migrate, args: { n: 1 } } ], limit: 2 } ] }
{ commands: [ { shell: a, on_failure: { steps: [ { shell: b } ], then: continue } } ] }
{ commands: [ { shell: a, on_failure: continue, on_success: { shell: b } } ] }
{ commands: [ { shell: 8080 } ], env: { A: 1, B: true }, secrets: { T: { file: t.txt } }, vars: { x: , y: [ 1 ] } }
{ commands: [ { shell: a } ], executors: { c: { kind: slurm, directory: ~/x, memory: [ 1G, 2G ], options: [ --qos=x ] } } }
{ commands: [ { shell: a, retry: { delays: [ 1s, 2 ], jitter: full } } ], interpreter: bash, errexit: false }
{ commands: [ { shell: make, timout: 5m } ] }
{ commands: [ { shell: make, timeout: 5 minutes } ] }
{ commands: [ { shell: make, timeout: 5m, timeout_secs: 300 } ] }
{ commands: [ { shell: make, claude: hello } ] }
{ commands: [ { id: a } ] }
{ commands: [ make ] }
{ commands: [] }
{ name: x }
{ commands: [ { shell: '' } ] }
{ commands: [ { shell: a, id: 9x } ] }
{ commands: [ { shell: a, id: steps } ] }
{ commands: [ { foreach: a, do: { shell: b } } ] }
{ commands: [ { foreach: [ a ] } ] }
{ commands: [ { foreach: [ a ], do: { shell: b }, timeout: 5m } ] }
{ commands: [ { parallel: { shell: b } } ] }
{ commands: [ { shell: a, retry: { strategy: expo } } ] }
{ commands: [ { shell: a, retry: { strategy: linear, delays: [ 1s ] } } ] }
{ commands: [ { shell: a, retry: 3 } ] }
{ commands: [ { shell: a, retry: { retry_on: [ { exit: 300 } ] } } ] }
{ commands: [ { shell: a, on_failure: stop } ] }
{ commands: [ { runner: --help } ] }
{ commands: [ { claude: a, permission_mode: root } ] }
{ commands: [ { shell: a } ], secrets: { T: { file: t, env: E } } }
{ commands: [ { shell: a } ], secrets: { 9T: x } }
{ commands: [ { shell: a } ], interpreter: zsh }
{ commands: [ { shell: a } ], executors: { none: { kind: local } } }
{ commands: [ { shell: a } ], executors: { c: { kind: slurm, directory: x } } }
{ commands: [ { shell: a } ], executors: { c: { kind: slurm, directory: /x, options: [ -J ] } } }
{ commands: [ { shell: a } ], max_cost: 0 }
[ { shell: a } ]
YAML
	ajv "$WORKFLOW" w*.yaml >verdicts
	[ "$(grep -c '^valid ' verdicts)" -eq 10 ]
	for line in w*.yaml; do
		call workflow check "$line"
		if [ "$status" -eq 0 ]; then echo "valid $line"; else echo "invalid $line"; fi
	done >wanted
	sed 's/:.*//' verdicts | diff wanted -
}

@test "the language server finds no fault in a good workflow, and shows and completes its keys" {
	not_sanitized "read by others"
	need_packages
	workflow good.yaml <<'YAML'
commands:
  - shell: make
    timeout: 5m
    
  - claude: Look
    permission_mode: plan
YAML
	language_server good.yaml 3 6 4 4 6 21 1 2
	said 'e["diagnostics"] == []'
	said '"limit of one attempt" in e["places"][0]["hover"] and "500ms" in e["places"][0]["hover"]'
	said '{"retry", "verify", "on_failure"} <= set(e["places"][1]["completions"]) and "allowed_tools" not in e["places"][1]["completions"]'
	said '"acceptEdits" in e["places"][2]["completions"] or "--permission-mode" in e["places"][2]["hover"]'
	said '"the steps" in e["places"][3]["hover"]'
}

@test "the language server points at a misspelt key and at a value that is none" {
	not_sanitized "read by others"
	need_packages
	workflow bad.yaml <<'YAML'
commands:
  - shell: make
    timeout: 5 minutes
    retires: 3
  - foreach: [a]
    do:
      - shell: b
        errexit: 7
YAML
	language_server bad.yaml
	said '{d["line"] for d in e["diagnostics"]} == {3, 4, 8}'
	said 'any("retires" in d["message"] for d in e["diagnostics"])'
}

@test "a new workflow names the schema that runner types has written, wherever it stands, and the language server reads it" {
	echo 'return {}' >runner.lua
	call workflow new before.yaml
	run grep -c yaml-language-server before.yaml
	[ "$output" = 0 ]
	call types
	call workflow new after.yaml
	[ "$(head -n 1 after.yaml)" = '# yaml-language-server: $schema=.runner/types/workflow.schema.json' ]
	call workflow new ./././also.yaml
	[ "$(head -n 1 also.yaml)" = '# yaml-language-server: $schema=.runner/types/workflow.schema.json' ]
	call workflow new flows//./deep/after.yaml
	[ "$(head -n 1 flows/deep/after.yaml)" = '# yaml-language-server: $schema=../../.runner/types/workflow.schema.json' ]
	call workflow check flows/deep/after.yaml
	[ "$status" -eq 0 ]
	call workflow new ../outside.yaml
	run grep -c yaml-language-server ../outside.yaml
	[ "$output" = 0 ]
	need_packages
	language_server flows/deep/after.yaml 2 1
	said 'e["diagnostics"] == []'
	sed -i 's/^vars:/varz:/' flows/deep/after.yaml
	language_server flows/deep/after.yaml
	said 'any("varz" in d["message"] for d in e["diagnostics"])'
}
