#!/usr/bin/env bats
# `above: ask` of a policy: a call above a quota waits for a person, and runs once if that agrees.

load lib/workflow
load lib/person

setup_stage() {
	needs_library libsqlite3.so.0
	command_file deploy <<-'LUA'
		return { description = "Deploy", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "env", "enum", values = { "staging", "prod" }, default = "staging", description = "Where" },
				{ "n", "integer", default = 0, description = "Which" } },
			run = function(args, ctx)
				require("fs").append("effects", args.n .. "\n")
				if args.n == 59 or args.n == 60 then
					ctx:sleep(args.n == 59 and 1.5 or 60)
				end
				while args.n > 60 and not require("fs").stat("go") do
					ctx:sleep(0.05)
				end
				return { effect = "updated", n = args.n }
			end }
	LUA
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	policy '"allow": { "deploy": { "args": { "env": ["staging"] }, "max_calls": "2/h", "above": "ask" }, "*": {} }'
	begin_person
}

# A command that destroys: 9 among the effects.
wipes() {
	command_file wipe <<-'LUA'
		return { description = "Wipe", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			run = function() require("fs").append("effects", "9\n") return { effect = "deleted" } end }
	LUA
}

policy() {
	printf '{ "subject": "agent-7", %s }\n' "$1" >p.json
}

clean_up() {
	end_person
	kill_all
}

deploys() {
	call --policy p.json deploy "$@"
	envelope 0
}

# waits WORDS…: a call above a quota: $id
waits() {
	call --policy p.json "$@"
	envelope 2
	expect 'e.error["code"] == "CONFIRMATION_REQUIRED" and e.error["side_effects"] == "none" and not e.error["retryable"]'
	id=$(field 'e.error["context"]["approval"]')
	[[ $id == apr_* ]]
}

# denied RULE WORDS…: nobody is asked
denied() {
	local rule=$1
	shift
	call --policy p.json "$@"
	envelope 7
	expect "e.error['code'] == 'POLICY_DENIED' and e.error['context']['rule'] == '$rule'"
}

effects() {
	[ "$(sort -n effects 2>/dev/null | tr '\n' ' ')" = "$1" ] || { cat effects >&2 && return 1; }
}

are_over() {
	call job list
	expect 'e.data and all(j["status"] == "complete" for j in e.data)'
}

waiting() {
	call approvals
	envelope 0
	expect "len(e.data) == $1"
}

@test "above a quota a call waits, says by whose rule and when there is room, and runs once, counted, when a person agrees" {
	setup_stage
	deploys --n 1
	deploys --n 2
	waits deploy --n 3
	expect 'e.error["context"]["rule"] == "allow.deploy.max_calls" and e.error["context"]["policy"].endswith("/p.json")'
	expect 'e.error["context"]["allowed"] == "2/h" and e.error["context"]["used"] == 2 and 0 < e.error["context"]["retry_after_ms"] <= 3600000'
	expect '"max_calls is 2/h, and 2 were made: the next is possible in" in e.error["message"] and "T" in e.error["context"]["allowed_at"]'
	local first=$id
	waits deploy --n 3
	[ "$id" = "$first" ]
	call approvals "$id"
	expect '"Above allow.deploy.max_calls of " in e.data[0]["shown"] and "2/h" in e.data[0]["shown"]'
	effects '1 2 '
	person approve "$id"
	effects '1 2 3 '
	call policy check p.json
	expect '[r["used"]["calls"] for r in e.data["rules"] if r["rule"] == "deploy"] == [3]'
	deploys --n 3
	expect '"APPROVED_CALL" in [w["code"] for w in e.warnings] and e.data["n"] == 3'
	effects '1 2 3 '
	waits deploy --n 3
	[ "$id" != "$first" ]
	person approve "$first"
	effects '1 2 3 '
	call audit list --limit 0
	expect '[(r["by"], r["subject"]) for r in e.data if r.get("decision") == "confirmed" and r["command"] == "deploy"] == [("terminal", "agent-7")]'
	expect 'all(r["user"] for r in e.data if r.get("decision") == "confirmed")'
}

@test "what is rejected or too late never runs, and the end of a policy and an argument outside it ask nobody" {
	setup_stage
	deploys --n 1
	deploys --n 2
	waits deploy --n 3
	person reject "$id" --why later
	call --policy p.json deploy --n 3
	expect 'e.error["code"] == "APPROVAL_REJECTED" and "later" in e.error["message"]'
	waits deploy --n 3
	denied allow.deploy.args.env deploy --env prod
	call --policy p.json deploy --dry-run --n 9
	envelope 0
	cp p.json before.json
	policy '"allow": { "deploy": { "max_calls": "2/h" } }, "above": "ask", "expires": "2020-01-01"'
	denied expires deploy --n 4
	person approve "$id"
	effects '1 2 '
	cp before.json p.json
	waits deploy --n 5
	sql "UPDATE approvals SET deadline_ms = 1 WHERE state = 'pending'"
	person approve "$id"
	effects '1 2 '
}

@test "each rule may say it or not, a key of the policy says it for all, and what only refuses does so first" {
	setup_stage
	policy '"allow": { "deploy": { "max_calls": 1 }, "policy check": {} }, "above": "ask"'
	deploys --n 1
	waits deploy --n 2
	expect '"no more are possible" in e.error["message"] and "retry_after_ms" not in e.error["context"]'
	policy '"allow": { "deploy": { "max_calls": 1, "above": "refuse" } }, "above": "ask"'
	denied allow.deploy.max_calls deploy --n 2
	policy '"allow": { "deploy": { "max_calls": 1, "above": "ask" }, "dep*": { "max_calls": "1/h" } }'
	denied 'allow.dep*.max_calls' deploy --n 2
	policy '"allow": { "deploy": { "max_calls": 1, "above": "ask" } }'
	printf '{ "allow": { "deploy": { "max_calls": 0 } } }\n' >other.json
	call RUNNER_POLICY="$PWD/other.json" --policy p.json deploy --n 2
	envelope 7
	policy '"allow": { "deploy": { "total_time": "1s" } }, "above": "ask"'
	call --policy p.json deploy --n 60 # it takes what is left, and is cut off
	waits deploy --n 3
	expect 'e.error["context"]["rule"] == "allow.deploy.total_time"'
	person approve "$id"
	grep -qx 3 effects
	local wrong
	for wrong in '"above": "asks"' '"above": true' '"allow": { "deploy": { "max_calls": 1, "above": 1 } }'; do
		policy "$wrong"
		call --policy p.json deploy
		envelope 4
		expect 'e.error["code"] == "POLICY_INVALID" and "ask" in str(e.error)'
	done
}

@test "where there is room again the call runs, and nothing waits for a person any more" {
	setup_stage
	deploys --n 1
	deploys --n 2
	waits deploy --n 3
	waits deploy --n 4
	local kept=$id
	policy '"allow": { "deploy": { "max_calls": "3/h", "above": "ask" } }'
	deploys --n 3
	expect 'e.warnings == []'
	waiting 1
	expect "e.data[0]['id'] == '$kept'"
	waits deploy --n 4
	[ "$id" != "$kept" ] # which no one could run any more, as the policy was another
	person approve "$kept"
	effects '1 2 3 '
	person approve "$id"
	effects '1 2 3 4 '
}

undoable() {
	command_file undoable <<-'LUA'
		return { description = "Undoable", danger_level = "mutating", dry_run = true,
			exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "env", "string", default = "staging", description = "Where" }, { "n", "integer", default = 0, description = "Which" } },
			validate = function() end,
			run = function(args, ctx)
				if not ctx.dry_run then
					require("fs").append("effects", args.n .. "\n")
				end
				return ctx:fail("TIMEOUT", "no")
			end,
			rollback = function(args) require("fs").append("undone", args.env .. args.n .. "\n") end }
	LUA
}

@test "what is refused before its run has begun is not rolled back, and neither is a dry run" {
	setup_stage
	undoable
	policy '"allow": { "undoable": { "args": { "env": ["staging"] }, "max_calls": 1, "above": "ask" }, "*": {} }'
	denied allow.undoable.args.env undoable --env prod --rollback-on-failure
	call --policy p.json undoable --dry-run --rollback-on-failure
	[ "$status" -ne 0 ]
	[ ! -e undone ]
	[ ! -e effects ]
	call --policy p.json undoable --n 1 --rollback-on-failure
	expect 'e.error["code"] == "TIMEOUT" and e.data["rollback_status"] == "completed"'
	[ "$(<undone)" = staging1 ]
	waits undoable --n 2 --rollback-on-failure --idempotency-key z
	policy '"allow": { "undoable": { "max_calls": 0 }, "*": {} }'
	denied allow.undoable.max_calls undoable --n 3 --rollback-on-failure --idempotency-key y
	expect 'e.error["side_effects"] == "none"'
	policy '"allow": { "*": {} }'
	echo 'return { before = function(ctx) ctx:fail("NOT_FOUND", "no") end }' >runner.lua
	call --policy p.json undoable --n 4 --rollback-on-failure
	expect 'e.error["code"] == "NOT_FOUND"'
	effects '1 '
	[ "$(<undone)" = staging1 ]
}

@test "of calls at once those that wait end with 2, as nothing was done, and none is rolled back" {
	setup_stage
	undoable
	policy '"allow": { "*": {}, "undoable": { "max_calls": 1 } }, "above": "ask"'
	local i n=0
	for i in 1 2 3 4; do
		{ env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" timeout 100 "$RUNNER" --policy p.json undoable --rollback-on-failure --n "$i" >"answer$i" 2>/dev/null || echo $? >"exit$i"; } &
	done
	wait
	for i in 1 2 3 4; do
		if grep -q CONFIRMATION_REQUIRED "answer$i"; then
			n=$((n + 1))
			[ "$(<"exit$i")" = 2 ]
			grep -q '"exit_code":2' "answer$i"
		fi
	done
	[ "$n" -eq 3 ]
	[ "$(wc -l <effects)" -eq 1 ]
	[ "$(wc -l <undone)" -eq 1 ]
}

@test "a call that is made while it waits is made once: nobody approves it any more" {
	setup_stage
	command_file old <<-'LUA'
		return { description = "Old", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			status = "false", args = { { "n", "integer", default = 0, description = "Which" } },
			run = function(args) require("fs").append("effects", args.n .. "\n") return { effect = "updated" } end }
	LUA
	command_file wipe <<-'LUA'
		return { description = "Wipe", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "n", "integer", default = 0, description = "Which" } },
			run = function(args) require("fs").append("effects", args.n .. "\n") return { effect = "deleted" } end }
	LUA
	echo 'return { audit = { path = "audit.jsonl" }, before = function(ctx, call)
		if call.args.n == 6 and call.attempt == 1 then ctx:fail("UNAVAILABLE", "no", { retryable = true, side_effects = "none" }) end end }' >runner.lua
	policy '"allow": { "*": {}, "old": { "max_calls": 1 }, "wipe": { "max_calls": 2 }, "deploy": { "max_calls": 3 } }, "above": "ask"'
	local i
	for i in old deploy deploy deploy 'wipe --confirm-destructive' 'wipe --confirm-destructive'; do
		# shellcheck disable=SC2086 # words
		call --policy p.json $i
		envelope 0
	done
	rm effects
	waits old --n 1
	local old=$id
	waits deploy --n 2 --idempotency-key k
	local keyed=$id
	waits deploy --n 3 --detach
	local job=$id
	waits wipe --n 4
	local typed=$id
	waits wipe --n 5 --confirm-destructive
	local by_flag=$id
	waits deploy --n 6 --retries 1 --retry-delay 1ms
	local again=$id
	rm p.json.counts-*.json # there is room again, by the same policy
	call --policy p.json old --n 1
	envelope 0
	call --policy p.json deploy --n 2 --idempotency-key k
	envelope 0
	call --policy p.json deploy --n 3 --detach
	envelope 0
	person --policy p.json wipe --n 4
	call --policy p.json wipe --n 5 --confirm-destructive
	envelope 0
	deploys --n 6 --retries 1 --retry-delay 1ms
	expect 'e.meta["attempt"] == 2'
	# shellcheck disable=SC2317 # until_true calls it
	ran() { [ "$(wc -l <effects)" -eq 6 ]; }
	until_true ran
	waiting 0
	for id in "$again" "$old" "$keyed" "$job" "$typed" "$by_flag"; do
		person approve "$id"
	done
	effects '1 2 3 4 5 6 '
	grep -F "\"$old\"" audit.jsonl | grep -q '"decision":"declined"'
	grep -F "\"$typed\"" audit.jsonl | grep -q '"decision":"confirmed"'
}

@test "what has begun to wait since a call looked for room is another's wish, and waits on" {
	setup_stage
	cat >runner.lua <<-'LUA'
		return { before = function(ctx)
			while not require("fs").stat("go") do require("fs").append("looked", "x\n") ctx:sleep(0.05) end end }
	LUA
	policy '"allow": { "deploy": { "max_calls": 5, "above": "ask" } }'
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" timeout 100 "$RUNNER" --policy p.json deploy --n 7 >first.json 2>/dev/null &
	local first=$!
	until_true test -e looked
	policy '"allow": { "deploy": { "max_calls": 0, "above": "ask" } }'
	waits deploy --n 7
	touch go
	wait "$first"
	effects '7 '
	waiting 1
	expect "e.data[0]['id'] == '$id'"
	person approve "$id"
	effects '7 7 '
}

@test "nobody is asked about a destructive call that a quota refuses all the same" {
	setup_stage
	wipes
	policy '"allow": { "wipe": { "max_calls": 0, "above": "refuse" }, "*": {} }, "above": "ask", "confirm": ["wipe"]'
	denied allow.wipe.max_calls wipe
	call policy check p.json wipe
	envelope 7
	printf '{ "allow": { "wipe": { "max_calls": 0, "above": "ask" }, "*": {} } }\n' >other.json
	policy '"allow": { "wipe": { "max_calls": 0 }, "*": {} }'
	call RUNNER_POLICY="$PWD/other.json" --policy p.json wipe
	envelope 7
	call --policy p.json wipe
	envelope 2
	call --policy p.json wipe --confirm-destructive
	envelope 7
	waiting 0
}

@test "of many calls by eight processes, some killed, as many run as the quota says, and the others wait" {
	setup_stage
	policy '"allow": { "deploy": { "max_calls": "12/h", "above": "ask" }, "exec": {} }'
	local i
	for i in 1 2 3 4 5 6 7 8; do
		seq "$i" 8 39 | sed 's/.*/{"_cmd":"deploy","n":&}/' >"calls$i"
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" timeout 100 "$RUNNER" --policy p.json exec --ignore-errors <"calls$i" >"answers$i" 2>/dev/null &
	done
	for i in 1 2 3; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" timeout 100 "$RUNNER" --policy p.json deploy --n "10$i" >/dev/null 2>&1 &
		kill -KILL $! || true
	done
	wait
	[ "$(wc -l <effects)" -le 12 ]
	[ "$(cat answers? | grep -c '"ok":true')" -le 12 ]
	[ "$(cat answers? | grep -c '"ok":true')" -ge 9 ]
	[ "$(cat answers? | grep -c CONFIRMATION_REQUIRED)" -eq $((39 - $(cat answers? | grep -c '"ok":true'))) ]
	[ "$(cat answers? | grep -c POLICY_DENIED)" -eq 0 ]
}

@test "jobs are counted as they start: as many run as the quota says, one that is agreed to runs once" {
	setup_stage
	local i
	for i in 1 2 3 4 5 6; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json deploy --detach --n "$i" >"answer$i" 2>/dev/null &
	done
	wait
	[ "$(cat answer? | grep -c '"ok":true')" -eq 2 ]
	[ "$(cat answer? | grep -c CONFIRMATION_REQUIRED)" -eq 4 ]
	ran() { [ "$(wc -l <effects)" -eq "$1" ]; }
	until_true ran 2
	waiting 4
	id=$(field 'e.data[0]["id"]')
	person approve "$id"
	until_true ran 3
	call policy check p.json
	expect '[r["used"]["calls"] for r in e.data["rules"] if r["rule"] == "deploy"] == [3]'
	until_true are_over
	call job list
	expect 'len(e.data) == 3'
	ran 3
}

@test "jobs that start at once take no more time than there is: one holds it, and begins with as much" {
	setup_stage
	policy '"allow": { "deploy": { "total_time": "30s" }, "job*": {} }, "above": "ask"'
	local i
	for i in 61 62 63; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json deploy --detach --n "$i" >"answer$i" 2>/dev/null &
	done
	wait
	[ "$(cat answer6? | grep -c '"ok":true')" -eq 1 ]
	[ "$(cat answer6? | grep -c CONFIRMATION_REQUIRED)" -eq 2 ]
	call policy check p.json
	expect '[r["used"]["time_ms"] for r in e.data["rules"] if r["rule"] == "deploy"] == [30000]'
	touch go
	until_true are_over
	call policy check p.json
	expect 'all(r["used"]["time_ms"] < 30000 for r in e.data["rules"] if r["rule"] == "deploy")'
	deploys --n 64
	[ "$(wc -l <effects)" -eq 2 ]
}

@test "neither a flag, a terminal of its own, a command that calls it, several in one call nor a workflow is a person" {
	setup_stage
	wipes
	command_file outer <<-'LUA'
		return { description = "Outer", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			run = function(_, ctx) local done, e = ctx:call("deploy", {}) return done and { effect = "updated" } or ctx:fail(e.code, e.message) end }
	LUA
	workflow flow <<<'{ name: flow, steps: [ { runner: deploy } ] }'
	policy '"allow": { "*": {}, "wipe": { "max_calls": 0 }, "deploy": { "max_calls": 0 } }, "above": "ask"'
	waits wipe --confirm-destructive
	expect 'e.error["context"]["rule"] == "allow.wipe.max_calls"'
	waits wipe
	waits deploy --yes
	on_pty "$RUNNER" --policy p.json deploy <<<"y" || true
	on_pty "$RUNNER" --policy p.json wipe <<<"y" || true
	effects ''
	denied allow.deploy.max_calls + deploy + deploy
	call --policy p.json outer
	expect 'e.error["code"] == "POLICY_DENIED"'
	call --policy p.json workflow run flow.yaml
	[[ $(cat out.txt) == *POLICY_DENIED* ]]
	effects ''
	waiting 2
	waits wipe --confirm-destructive
	person approve "$id"
	effects '9 '
}

@test "an agent of MCP has its call wait as well, and is told what came of it" {
	setup_stage
	policy '"allow": { "*": {}, "deploy": { "max_calls": 1 } }, "above": "ask"'
	local n
	for n in 1 2; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" \
			PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 - "$n" >answer <<-'PY'
			from mcp import *
			import sys
			for elicits in False, True:
			    with Server(elicits=elicits) as s:
			        print(s.call("deploy", {"n": 1}) if sys.argv[1] == "1" and not elicits else s.call("deploy", {"n": 2}))
		PY
		if [ "$n" -eq 1 ]; then
			id=$(grep -o 'apr_[0-9a-f]*' answer | sort -u)
			[ "$(wc -l <<<"$id")" -eq 1 ]
			person approve "$id"
		fi
	done
	grep -q APPROVED_CALL answer
	grep -q CONFIRMATION_REQUIRED answer
	effects '1 2 '
}

@test "a form that a client fills in makes no room, and decides what waits where there is some" {
	setup_stage
	wipes
	policy '"allow": { "*": {}, "wipe": { "max_calls": "1/h" } }, "above": "ask"'
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" \
		PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 - >answer <<-'PY'
		from mcp import *
		with Server("--allow", "wipe", elicits=True) as s:
		    for asked in s.call("wipe"), s.call("wipe"):
		        print(s.call("wipe", requestState=asked["requestState"], inputResponses=YES))
		for elicits in True, False: # nobody is asked in vain, and it says why
		    for older in True, False:
		        with Server("--allow", "wipe", elicits=elicits) as s:
		            if older:
		                s.initialize()
		            waits = s.answer(s.request("tools/call", {"name": "wipe", "arguments": {}}, modern=not older))["result"]
		            assert waits["isError"] and "requestState" not in waits, waits
		            for what in "allow.wipe.max_calls", "apr_", "/p.json", "allowed_at", "retry_after_ms":
		                assert what in str(waits), (what, waits)
	PY
	effects '9 '
	[ "$(grep -c CONFIRMATION_REQUIRED answer)" -eq 1 ]
	id=$(grep -o 'apr_[0-9a-f]*' answer | sort -u)
	person approve "$id"
	effects '9 9 '
}

@test "once the cost of all runs is used up a run waits for a person, and costs as much again at most" {
	setup_stage
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		steps: [ { claude: one } ]
	YAML
	turns 'printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"hi\",\"num_turns\":1,\"total_cost_usd\":1}\n"'
	policy '"total_cost_usd": 1, "above": "ask"'
	call --policy p.json workflow run paid.yaml
	envelope 0
	waits workflow run paid.yaml
	expect 'e.error["context"]["rule"] == "total_cost_usd" and e.error["context"]["used"] == 1'
	[ "$(calls)" -eq 1 ]
	person approve "$id"
	[ "$(calls)" -eq 2 ]
	[ "$(grep -A 1 -x -e --max-budget-usd claude/calls/2/argv | tail -n 1)" = 1 ]
	call policy check p.json
	expect 'e.data["total_cost_usd"]["used"] == 2 and e.data["total_cost_usd"]["above"] == "ask"'
	call --policy p.json workflow run paid.yaml
	envelope 0
	waits workflow run paid.yaml --max-cost 0.5 --detach
	person approve "$id"
	until_true grep -qxe --max-budget-usd claude/calls/3/argv
	[ "$(grep -A 1 -x -e --max-budget-usd claude/calls/3/argv | tail -n 1)" = 0.5 ]
}

@test "runs that start at once as jobs cost no more than there is, and the others wait" {
	setup_stage
	workflow paid <<-'YAML'
		name: paid
		claude: { output: json }
		steps: [ { claude: one } ]
	YAML
	turns "until [ -e '$PWD/go' ]; do sleep 0.05; done; "'printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"hi\",\"num_turns\":1,\"total_cost_usd\":1}\n"'
	policy '"total_cost_usd": 1, "above": "ask"'
	local i
	for i in 1 2 3; do
		cp paid.yaml "paid$i.yaml"
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json workflow run "paid$i.yaml" --detach >"answer$i" 2>/dev/null &
	done
	wait
	[ "$(cat answer? | grep -c '"ok":true')" -eq 1 ]
	[ "$(cat answer? | grep -c CONFIRMATION_REQUIRED)" -eq 2 ]
	touch go
	until_true are_over
	waiting 2
	[ "$(calls)" -eq 1 ]
	rm go
	policy '"total_cost_usd": 2, "above": "ask"'
	for i in 4 5 6; do
		cp paid.yaml "paid$i.yaml"
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json workflow run "paid$i.yaml" --max-cost 0.5 --detach >"answer$i" 2>/dev/null &
	done
	wait
	[ "$(cat answer[456] | grep -c '"ok":true')" -eq 2 ]
	[ "$(cat answer[456] | grep -c CONFIRMATION_REQUIRED)" -eq 1 ]
	touch go
}

@test "what is agreed to has its own limits, however little is left" {
	setup_stage
	policy '"allow": { "deploy": { "max_calls": 1, "total_time": "1s" }, "job*": {} }, "above": "ask"'
	deploys --n 1
	waits deploy --n 59
	person approve "$id"
	deploys --n 59
	waits deploy --n 59 --detach
	person approve "$id"
	until_true are_over
	effects '1 59 59 '
}

@test "policy check says that somebody would be asked, for which quota, and counts what comes before" {
	setup_stage
	call policy check p.json deploy
	expect 'e.data["call"] == {"allowed": True, "command": "deploy"}'
	deploys --n 1
	deploys --n 2
	call policy check p.json deploy --n 3
	envelope 0
	expect 'e.data["call"]["allowed"] and e.data["call"]["asked"] and e.data["call"]["above"][0]["rule"] == "allow.deploy.max_calls"'
	expect '[r["says"]["above"] for r in e.data["rules"] if r["rule"] == "deploy"] == ["ask"]'
	call policy check p.json + deploy + deploy
	envelope 7
	call policy check p.json deploy --env prod
	envelope 7
	call policy check p.json deploy --n 3 --idempotency-key k
	envelope 0
	expect 'e.data["call"]["asked"] and e.data["call"]["above"][0]["rule"] == "allow.deploy.max_calls"'
	expect '"POLICY_UNKNOWN" in [w["code"] for w in e.warnings]'
	policy '"allow": { "deploy": { "max_calls": "2/h" }, "*": {} }'
	call policy check p.json deploy --n 3 --idempotency-key k
	envelope 7
	waiting 0
	effects '1 2 '
}
