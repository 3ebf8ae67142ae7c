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
