#!/usr/bin/env bats
# A workflow whose steps run on an executor gives what it gives where all of them run here.

load lib/workflow

@test "retries, their waits, warnings and the error of a placed step are those of one that runs here; so is --retries" {
	local flags where
	steps() {
		cat <<-'YAML'
			  - id: each
			    foreach: [a, { k: [1, null] }, "it's"]
			    continue_on_error: true
			    do:
			      - id: flaky
			        shell: "echo >>n-${item_index}; test $(wc -l <n-${item_index}) -gt 2 || exit 75; echo '${item}'"
			        retry: { max_attempts: 3, initial_delay: 20ms, jitter: full }
			        on_retry: exit 3
			      - { shell: "echo left; exit 3", on_failure: { commands: [{ shell: exit 9 }], then: continue } }
			  - { id: last, shell: "echo ${steps.each.data.0.ok}; exit 5" }
		YAML
	}
	for flags in "" "--retries 0"; do
		for where in here none; do
			rm -f n-*
			{
				printf 'name: both\non: %s\nexecutors: { here: { kind: local, at_once: 2, poll: 100ms } }\ncommands:\n' "$where"
				steps
			} >both.yaml
			# shellcheck disable=SC2086 # words
			call workflow run both.yaml --seed 7 $flags
			envelope 1
			sql "select key, number, status, code, delay_ms from attempts where run = '$(run_id)' order by key, number" >"attempts-$where"
			sql "select key, state, status, code, message, output, data, attempts from steps where run = '$(run_id)' order by key" >"steps-$where"
			python3 -c 'import json, sys
e = json.load(sys.stdin)
print(e["error"]["code"], e["error"]["message"], e["error"]["context"]["step_key"], e["error"]["context"]["attempts"])
print(sorted((w["code"], w["message"]) for w in e["warnings"]), e["meta"]["exit_code"])' <out.txt >"answer-$where"
		done
		[ "$(sql 'select count(*) > 0 from units')" = 1 ]
		diff attempts-here attempts-none
		diff steps-here steps-none
		diff answer-here answer-none
		[ -n "$flags" ] || grep -q HOOK_FAILED answer-here
	done
}

# answer_of WHERE: out.txt in what must not depend on where its steps ran
answer_of() {
	sql "select key, number, status, code, delay_ms from attempts where run = '$(run_id)' order by key, number" >"attempts-$1"
	sql "select key, state, status, code, message, output, data, attempts from steps where run = '$(run_id)' order by key" >"steps-$1"
	python3 -c 'import json, sys
e = json.load(sys.stdin)
error = e["error"] or {"context": {}}
print([error.get(k) for k in ("code", "message", "retryable", "side_effects", "exit_code")])
print([error["context"].get(k) for k in ("step_key", "attempts", "status", "stderr", "code")])
print(sorted((w["code"], w["message"]) for w in e["warnings"]), e["meta"]["exit_code"], e["data"]["state"], e["data"].get("failed_step"))' \
		<out.txt >"answer-$1"
}

# same EXIT [FLAGS]: the steps on stdin, with `on: here` of the workflow and without, end alike, and with EXIT
same() {
	local where exit=$1
	shift
	cat >steps.txt
	for where in here none; do
		rm -rf work
		mkdir work
		{
			printf 'name: both\non: %s\nexecutors: { here: { kind: local, at_once: 2, poll: 100ms } }\ncommands:\n' "$where"
			cat steps.txt
		} >both.yaml
		call workflow run both.yaml --seed 11 "$@"
		envelope "$exit"
		answer_of "$where"
	done
	diff attempts-here attempts-none
	diff steps-here steps-none
	diff answer-here answer-none
	[ "$(sql 'select count(*) from runs r where exists (select 1 from units where run = r.id)')" = "${placed:=1}" ]
	placed=$((placed + 1))
}

@test "a step that fails for good ends the run with the code, the message and the exit code that it has here" {
	same 1 <<<'  - { id: bad, shell: "echo out; echo why >&2; exit 7" }'
	same 1 <<<'  - { id: none, shell: "exit 75", retry: { max_attempts: 2, initial_delay: 20ms, jitter: full } }'
	same 1 <<-'YAML'
		  - id: each
		    foreach: [a, b, c]
		    chunk: 3
		    do:
		      - { id: one, shell: "test ${item} != b" }
		  - shell: echo never
	YAML
	same 1 <<-'YAML'
		  - id: both
		    continue_on_error: true
		    parallel:
		      - { id: fine, shell: echo fine }
		      - { id: bad, shell: exit 4 }
		  - { shell: "exit 9" }
	YAML
}

@test "time limits, waits between attempts and --retries give the same attempts, delays and codes" {
	local steps
	steps=$(
		cat <<-'YAML'
			  - id: each
			    foreach: [x, y]
			    chunk: 2
			    continue_on_error: true
			    do:
			      - { id: slow, shell: "sleep 600.5", timeout: 50ms, grace: 50ms, retry: { delays: [10ms, 30ms], jitter: equal } }
		YAML
	)
	same 0 <<<"$steps"
	grep -q TIMEOUT attempts-here
	[ "$(grep -c slow attempts-here)" -eq 6 ]
	same 0 --retries 0 <<<"$steps"
	[ "$(grep -c slow attempts-here)" -eq 2 ]
}

@test "hooks of a step on an executor run where they do, once, and see what it left" {
	same 1 <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3]
		    chunk: 3
		    continue_on_error: true
		    do:
		      - id: odd
		        shell: echo "left ${item}"; test "$((${item} % 2))" = 0
		        on_failure: { shell: "echo mended ${item} ${steps.odd.status}" }
		        on_success: { shell: "echo fine ${item}" }
		  - id: after
		    shell: exit 3
		    on_failure: { commands: [{ id: told, shell: "echo told" }], then: continue }
		  - { shell: "echo ${steps.told.output}; exit 6" }
	YAML
	grep -q 'told' steps-here
	[ "$(grep -c 'on_failure' steps-here)" -eq 3 ]
}
