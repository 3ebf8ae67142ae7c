#!/usr/bin/env bats
# total_cost_usd of a policy: what the workflow runs of a caller may cost together.

load lib/workflow

COST='cost() { printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"%s\",\"num_turns\":1,\"total_cost_usd\":%s}\n" "$1" "$2"; }'

flow() {
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		steps: [ { claude: one } ]
	YAML
}

budget() {
	grep -A 1 -x -e --max-budget-usd "claude/calls/$1/argv" | tail -n 1
}

# What is used, as policy check says it.
used() {
	call policy check p.json
	field 'e.data["total_cost_usd"]["used"]'
}

@test "all runs together cost no more than the policy says, each gets what is left, and the last none" {
	flow
	turns "$COST; cost hi 0.4"
	printf '{ "total_cost_usd": 1 }\n' >p.json
	call --policy p.json workflow run paid.yaml
	envelope 0
	[ "$(budget 1)" = 1 ]
	[ "$(used)" = 0.4 ]
	call XDG_STATE_HOME="$PWD/other" --policy p.json workflow run paid.yaml --max-cost 9
	envelope 0
	[ "$(budget 2)" = 0.6 ]
	call --policy p.json workflow run paid.yaml --max-cost 0.1
	[ "$(budget 3)" = 0.1 ]
	[ "$(used)" = 1.2 ]
	call --policy p.json workflow run paid.yaml
	envelope 7
	expect 'e.error.code == "POLICY_DENIED" and e.error.context.rule == "total_cost_usd" and e.error.context.used == 1.2'
	[ "$(calls)" -eq 3 ]
	call workflow list
	expect 'len(e.data) == 2' # in this state directory, and none of the call that was refused
	printf '{ "total_cost_usd": 3 }\n' >p.json
	call --policy p.json workflow run paid.yaml
	[ "$(budget 4)" = 1.8 ]
}

@test "a run that is killed has all that it might have cost, until it is resumed" {
	flow
	turns "echo began >began; sleep 60"
	printf '{ "total_cost_usd": 1 }\n' >p.json
	begin --policy p.json workflow run paid.yaml --max-cost 0.7
	until_true test -s began
	kill -KILL "$pid"
	finish
	[ "$(used)" = 0.7 ]
	turns "$COST; cost hi 0.1"
	call --policy p.json workflow run paid.yaml
	envelope 0
	[ "$(budget 2)" = 0.3 ]
	[ "$(used)" = 0.8 ]
	local id
	id=$(sql "SELECT id FROM runs ORDER BY created_ms LIMIT 1")
	until_true unlocked "$id"
	call --policy p.json workflow resume "$id" --max-cost 0.9 --retry-in-doubt
	envelope 0
	[ "$(used)" = 0.9 ] # its cut-off attempt said nothing, and is charged all of its budget
}

unlocked() {
	flock -n "state/runner/runs/$1.lock" true
}

@test "a run that fails gives back what it has not used" {
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		steps: [ { claude: one, retry: { attempts: 1, initial_delay: 10ms } } ]
	YAML
	turns "$COST; cost no 0.2 | sed 's/false/true/'; exit 1"
	printf '{ "total_cost_usd": 1 }\n' >p.json
	call --policy p.json workflow run paid.yaml
	[ "$status" -ne 0 ]
	[ "$(used)" = 0.4 ]
	workflow broken <<-'YAML'
		name: broken
		steps: [ { shell: "exit 3", retry: { attempts: 1, initial_delay: 10ms } } ]
	YAML
	call --policy p.json workflow run broken.yaml
	[ "$status" -ne 0 ]
	[ "$(used)" = 0.4 ]
}

@test "a total that is no amount, or can't be counted, refuses" {
	flow
	printf '{ "total_cost_usd": "much" }\n' >p.json
	call --policy p.json workflow run paid.yaml
	envelope 4
	printf '{ "total_cost_usd": 1, "counts": "/proc" }\n' >p.json
	call --policy p.json workflow run paid.yaml
	envelope 4
	expect 'e.error.code == "POLICY_INVALID"'
	[ "$(calls)" -eq 0 ]
	call workflow list
	expect 'len(e.data) == 0'
}
