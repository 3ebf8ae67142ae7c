#!/usr/bin/env bats
# examples/leash: what its policies say, from the command line. Its agents are in tests/claude/leash.py.

load lib/workflow

setup_stage() {
	cp -r "$ROOT/examples/leash/." .
	cat >turns.sh <<-'SH'
		printf '{"type":"result","subtype":"success","is_error":false,"result":"notes","num_turns":1,"total_cost_usd":%s}\n' 2
	SH
	turns "$(cat turns.sh)"
}

clean_up() {
	kill_all
}

@test "the example is valid, and every rule of its policies means something" {
	setup_stage
	call lint
	expect 'e.data["problems"] == [] and e.data["warnings"] == []'
	for policy in policies/*.json; do
		call policy check "$policy"
		envelope 0
		expect 'all(r["commands"] for r in e.data["rules"]) and e.warnings == []'
	done
	[ "$(wc -l <policies/agent7.json)" -le 15 ]
}

@test "staging and not prod, 20 times an hour over eight processes, above that somebody is asked, and nothing for the other agent" {
	setup_stage
	# shellcheck disable=SC2016 # for sh
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" sh -c 'seq 40 | xargs -P 8 -I{} sh -c "\"$0\" --policy policies/agent7.json deploy --env staging >>out.jsonl 2>/dev/null || true"' "$RUNNER"
	[ "$(wc -l <deployed.log)" -eq 20 ]
	[ "$(grep -c CONFIRMATION_REQUIRED out.jsonl)" -eq 20 ]
	[ "$(grep -o 'apr_[0-9a-f]*' out.jsonl | sort -u | wc -l)" -eq 1 ]
	call approvals
	expect '[(r["command"], r["subject"]) for r in e.data] == [("deploy", "agent-7")] and "20/h" in e.data[0]["shown"]'
	call --policy policies/agent7.json deploy --env prod
	envelope 7
	call --policy policies/agent9.json deploy --env staging
	envelope 7
	call --policy policies/agent9.json status
	envelope 0
	expect 'e.data["deployed"] == {"staging": 20}'
}

@test "for five dollars: before a run that begins with none left somebody is asked" {
	setup_stage
	for ((i = 0; i < 3; i++)); do
		call --policy policies/agent7.json workflow run notes.yaml
		envelope 0
	done
	call --policy policies/agent7.json workflow run notes.yaml
	envelope 2
	expect 'e.error["code"] == "CONFIRMATION_REQUIRED" and e.error["context"]["rule"] == "total_cost_usd"'
	cp notes.yaml other.yaml
	call --policy policies/agent7.json workflow run other.yaml
	envelope 7
}
