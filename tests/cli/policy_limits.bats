#!/usr/bin/env bats
# What a policy says beside names: of arguments, how often, for how long, in how many jobs, until when, and who is asked.

load lib/helper
load lib/confine

prepare() {
	body deploy 'args = { { "env", "enum", values = { "staging", "prod", "dev" }, default = "staging", env = "DEPLOY_ENV", description = "Where" },
		{ "replicas", "integer", description = "How many" }, { "wait", "duration", default = "5s", description = "How long" } },' <<-'LUA'
		local f = assert(io.open("runs", "a")) f:write(args.env, "\n") f:close()
		return { env = args.env }
	LUA
}

policy() {
	printf '%s\n' "$1" >"${2:-p.json}"
}

runs() {
	touch runs
	[ "$(wc -l <runs)" -eq "$1" ]
}

# denied RULE ARGS…: the call is refused by that rule, and nothing has run
denied() {
	local rule=$1
	shift
	rm -f runs
	answers 7 "$@"
	expect "e.error.code == 'POLICY_DENIED' and e.error.context['rule'] == '$rule' and e.error.side_effects == 'none'"
	runs 0
}

invalid() {
	answers 4 "$@"
	expect 'e.error.code == "POLICY_INVALID" and e.error.side_effects == "none"'
}

@test "a rule on an argument holds for the value that run gets, wherever it comes from" {
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"], "replicas": { "min": 1, "max": 3, "absent": true }, "wait": ["5s", "1m"] } } } }'
	answers 0 --policy p.json deploy
	answers 0 --policy p.json deploy --env staging --replicas 3 --wait 60
	answers 0 --policy p.json deploy --env=staging --wait 60s
	denied allow.deploy.args.env --policy p.json deploy --env prod
	expect 'e.error.context["allowed"] == ["staging"] and e.error.context["argument"] == "env"'
	[[ $(field 'e.error.message') == *"env may not be 'prod': allowed is 'staging'"* ]]
	denied allow.deploy.args.env DEPLOY_ENV=prod --policy p.json deploy
	denied allow.deploy.args.env --policy p.json deploy --raw-payload '{"env":"prod"}'
	printf '{"env":"prod"}' >args.json
	denied allow.deploy.args.env --policy p.json deploy --input-file args.json
	denied allow.deploy.args.env --policy p.json deploy --env prod --plan
	denied allow.deploy.args.replicas --policy p.json deploy --replicas 4
	denied allow.deploy.args.replicas --policy p.json deploy --raw-payload '{"replicas":0}'
	denied allow.deploy.args.wait --policy p.json deploy --wait 61s
	denied allow.deploy.args.env RUNNER_POLICY=p.json deploy --env prod --detach
	answers 2 --policy p.json deploy --env nowhere
	body typed 'args = { { "flag", "boolean", description = "x" }, { "data", "json", description = "x" }, { "tag", "string", default = "v1", description = "x" } },' <<<'return {}'
	policy '{ "allow": { "typed": { "args": { "flag": [false], "data": [{ "a": [1, null] }, null], "tag": { "pattern": "^v[0-9]+$" } } } } }'
	answers 0 --policy p.json typed --data '{ "a": [1, null] }'
	denied allow.typed.args.flag --policy p.json typed --flag
	denied allow.typed.args.data --policy p.json typed --data '{ "a": [1] }'
	denied allow.typed.args.tag --policy p.json typed --tag "v1 $(printf 'x%.0s' {1..9000})"
	expect 'len(e.error.message) < 1000'
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"] } } } }'
	answers 0 --policy p.json deploy --help
}

@test "a default, a list, a path, what validate changes and what a program is handed are held as well" {
	body preset 'args = { { "env", "string", default = "prod", description = "x" } },' <<<'return { ran = true }'
	body many 'args = { { "names", "array", items = "string", variadic = true, description = "x" } },' <<<'return { ran = true }'
	body write 'args = { { "file", "path", required = true, positional = true, description = "x" } },' <<<'return { ran = true }'
	command_file sly <<<'return { description = "x", danger_level = "safe", args = { { "env", "string", default = "a", description = "x" } },
		validate = function(args) args.env = "prod" end, run = function(args) require("fs").write("sly", args.env) return {} end }'
	mkdir -p out
	ln -s / out/away
	policy "{ \"allow\": { \"preset\": { \"args\": { \"env\": [\"staging\"] } }, \"many\": { \"args\": { \"names\": [\"a\", \"b\"] } },
		\"write\": { \"args\": { \"file\": { \"within\": \"$PWD/out\" } } }, \"sly\": { \"args\": { \"env\": [\"a\"] } } } }"
	denied allow.preset.args.env --policy p.json preset
	answers 0 --policy p.json preset --env staging
	answers 0 --policy p.json many a b a
	denied allow.many.args.names --policy p.json many
	denied allow.many.args.names --policy p.json many a c
	answers 0 --policy p.json write out/x
	denied allow.write.args.file --policy p.json write out/../x
	denied allow.write.args.file --policy p.json write out/away/etc/x
	denied allow.write.args.file --policy p.json write /etc/x
	denied allow.sly.args.env --policy p.json sly
	[ ! -e sly ]
}

@test "a name's spelling, an alias, several in one call, exec, MCP, jobs, ctx:call and a workflow are no way around a rule" {
	body deploy 'aliases = { "ship" }, args = { { "env", "string", required = true, description = "x" } },' <<<'require("fs").append("runs", "x\n") return {}'
	body outer 'exit_codes = {},' <<<'return ctx:call("deploy", { env = "prod" })'
	printf 'name: flow\nsteps:\n  - runner: deploy\n    args: { env: prod }\n' >flow.yaml
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"] } }, "outer": {}, "exec": {}, "mcp serve": {}, "workflow run": {} } }'
	known
	local words
	for words in deploy ship "self deploy"; do
		rm -f runs
		# shellcheck disable=SC2086 # words
		call --policy p.json $words --env prod
		[ "$status" -ne 0 ]
		runs 0
	done
	call --policy p.json + deploy --env staging + deploy --env prod
	[ "$status" -eq 7 ]
	runs 1
	denied allow.deploy.args.env --policy p.json outer
	call --policy p.json workflow run flow.yaml
	[ "$status" -ne 0 ]
	runs 0
	printf '{"_cmd":"deploy","env":"prod"}\n' | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json exec >answers.txt || true
	grep -q POLICY_DENIED answers.txt
	runs 0
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" \
		PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 - <<-'PY'
		from mcp import *
		with Server() as s:
		    r = s.call("deploy", {"env": "prod"})
		    assert r["isError"] and r["structuredContent"]["error"]["context"]["rule"] == "allow.deploy.args.env", r
		    assert not s.call("deploy", {"env": "staging"}).get("isError")
	PY
	runs 1
}

@test "what is misspelt or doesn't fit refuses every call, and says what to write" {
	local text
	for text in '{ "max_cals": 1 }' '{ "max_calls": "20/x" }' '{ "max_calls": -1 }' '{ "max_calls": "20 per hour" }' '{ "args": ["env"] }' \
		'{ "args": { "env": "staging" } }' '{ "args": { "env": {} } }' '{ "args": { "env": [] } }' '{ "args": { "env": { "value": ["a"] } } }' \
		'{ "total_time": "x" }' '{ "total_time": 0 }' '{ "max_jobs": -1 }' '{ "optional": 1 }' '{ "name": "other" }' '[]' '"20/h"' 'null'; do
		policy "{ \"allow\": { \"deploy\": $text } }"
		invalid --policy p.json deploy
		invalid --policy p.json help
	done
	for text in '"expires": "tomorrow"' '"expires": "2026-02-30"' '"expires": 5' '"expires": "2026-12-01T00:00"' '"subject": ""' '"subject": 7' \
		'"confirm": "db"' '"confirm": ["nothing"]' '"counts": "relative"' '"max_jobs": "2"' '"confirms": []' '"expire": "2999-01-01"'; do
		policy "{ $text }"
		invalid --policy p.json deploy
	done
	policy '{ "allow": { "deploy": { "max_cals": 1 } } }'
	invalid --policy p.json deploy
	expect '"max_calls" in e.error.fix_required and "max_cals" in e.error.message'
	policy '{ "allow": { "deploy": { "args": { "evn": ["staging"] } } } }'
	invalid --policy p.json deploy
	expect '"evn" in e.error.message'
	policy '{ "allow": { "deploy": { "args": { "replicas": ["many"] } } } }'
	invalid --policy p.json deploy
	policy '{ "allow": { "deploy": { "args": { "env": ["stagging"] } } } }'
	invalid --policy p.json deploy
	expect '"none of its values" in e.error.message'
	runs 0
}

@test "every rule that means a command holds, in a map and in a list" {
	policy '{ "allow": { "*": { "args": { "env": ["staging", "dev"] } }, "deploy": { "args": { "env": ["staging", "prod"] } } } }'
	answers 0 --policy p.json deploy
	denied 'allow.*.args.env' --policy p.json deploy --env prod
	denied allow.deploy.args.env --policy p.json deploy --env dev
	policy '{ "allow": [{ "name": "deploy", "args": { "env": ["staging"] } }] }'
	answers 0 --policy p.json deploy
	denied allow.deploy.args.env --policy p.json deploy --env dev
	policy '{ "allow": { "deploy": { "args": { "env": ["staging", "dev"] } } } }'
	policy '{ "allow": { "deploy": { "args": { "env": ["prod", "dev"] } } } }' other.json
	denied allow.deploy.args.env RUNNER_POLICY=other.json --policy p.json deploy --env prod
	answers 0 RUNNER_POLICY=other.json --policy p.json deploy --env dev
}

@test "a policy ends: at 00:00 UTC of a bare date, and what runs by then with it" {
	policy '{ "expires": "2001-01-01" }'
	denied expires --policy p.json deploy
	expect '"2001-01-01T00:00:00Z" in e.error.message'
	answers 0 --policy p.json help
	policy '{ "expires": "2999-01-01T12:00:00+02:00" }'
	answers 0 --policy p.json deploy
	policy "{ \"expires\": \"$(date -u -d '+100 seconds' +%Y-%m-%dT%H:%M:%SZ)\" }"
	answers 0 --policy p.json deploy --timeout 1h
	expect '50000 < e.meta["timeout_ms"] <= 100000'
}

@test "20 an hour are 20: over jobs, exec and several, and neither a dry run nor a refused call is one" {
	failing change mutating <<<'require("fs").append("runs", "x\n") return { effect = "updated" }'
	policy '{ "allow": { "change": { "max_calls": "5/h" }, "exec": {}, "job": {} } }'
	local began=$SECONDS
	answers 0 --policy p.json change
	answers 0 --policy p.json change --dry-run
	answers 0 --policy p.json change --plan
	answers 2 --policy p.json change --nothing
	answers 0 --policy p.json change --detach
	answers 0 --policy p.json job wait "$(field 'e.data["job_id"]')"
	answers 0 --policy p.json + change + change
	printf '{"_cmd":"change"}\n{"_cmd":"change"}\n' | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/elsewhere" "$RUNNER" --policy p.json exec >answers.txt || true
	[ "$(grep -c POLICY_DENIED answers.txt)" -eq 1 ]
	runs 5
	answers 7 XDG_STATE_HOME="$PWD/other" --policy p.json change
	expect 'e.error.context["rule"] == "allow.change.max_calls" and e.error.context["used"] == 5'
	expect "$((3598000 - (SECONDS - began) * 1000))"' < e.error.context["retry_after_ms"] <= 3600000 and e.error.context["allowed_at"] in e.error.message'
	answers 7 --policy p.json change --detach
	answers 7 --policy p.json change --dry-run
	ln -s p.json link.json
	answers 7 --policy link.json change
	policy '{ "allow": { "change": { "max_calls": "6/h" }, "exec": {}, "job": {} }, "max_danger": "mutating" }'
	answers 0 --policy p.json change
	answers 7 --policy p.json change
	runs 6
	policy '{ "allow": { "change": { "max_calls": "6/h" } }, "subject": "other" }'
	answers 0 --policy p.json change
}

@test "attempts are one call, what needs it and what is unchanged none, and a total never comes back" {
	command_of flaky 'retry = { retries = 3, delay = 0 }, exit_codes = { UNAVAILABLE = { retryable = true, side_effects = "none" } },' <<<'if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "x") end return {}'
	echo a >in.txt
	body made 'sources = { "in.txt" }, generates = { "made.txt" },' <<<'require("fs").write("made.txt", "x") return {}'
	body needy 'needs = { "made" },' <<<'return {}'
	policy '{ "allow": { "flaky": { "max_calls": 2 }, "made": { "max_calls": 1 }, "needy": { "max_calls": "2/d" } } }'
	answers 0 --policy p.json flaky
	expect 'e.meta["attempt"] == 3'
	answers 0 --policy p.json flaky
	answers 7 --policy p.json flaky
	expect '"no more are possible" in e.error.message and "retry_after_ms" not in e.error.context'
	answers 0 --policy p.json made
	answers 0 --policy p.json made
	rm -f made.txt
	answers 7 --policy p.json needy
	[ ! -e made.txt ]
}

@test "a thousand calls of eight processes, some killed, are as many as the policy says" {
	policy '{ "allow": { "deploy": { "max_calls": "137/h" }, "exec": {}, "hang": { "max_calls": "3/h" } } }'
	body hang 'timeout = "60s",' <<<'require("fs").append("hung", "x\n") ctx:sleep("50s")'
	local i
	for i in 1 2; do
		env -i "${CLEAN_ENV[@]}" RUNNER_POLICY=p.json "$RUNNER" hang >/dev/null 2>&1 &
		# shellcheck disable=SC2317 # called by until_true
		hung() { [ -e hung ] && [ "$(wc -l <hung)" -eq "$i" ]; }
		until_true hung
		kill -KILL $!
		wait $! || true
	done
	call --policy p.json hang --timeout 100ms
	[ "$status" -ne 7 ]
	answers 7 --policy p.json hang
	expect 'e.error.context["used"] == 3'
	for i in $(seq 125); do echo '{"_cmd":"deploy"}'; done >calls.jsonl
	for i in 1 2 3 4 5 6 7 8; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state$i" timeout 200 "$RUNNER" --policy p.json exec --ignore-errors <calls.jsonl >"answers$i" 2>/dev/null &
	done
	wait
	runs 137
	[ "$(cat answers[1-8] | grep -c '"ok":true')" -eq 137 ]
	[ "$(cat answers[1-8] | grep -c POLICY_DENIED)" -eq 863 ]
}

@test "the time of all calls together is bounded, a call gets what is left, and a killed one has had its own" {
	body work 'timeout = "10m",' <<<'ctx:sleep "300ms" return {}'
	local taken
	policy '{ "allow": { "work": { "total_time": "5m" } } }'
	answers 0 --policy p.json work
	expect 'e.meta["timeout_ms"] == 300000'
	taken=$elapsed_ms
	answers 0 --policy p.json work
	expect "300 <= 300000 - e.meta['timeout_ms'] <= $taken"
	taken=$((taken + elapsed_ms))
	answers 0 --policy p.json --timeout 1m work
	expect 'e.meta["timeout_ms"] == 60000'
	taken=$((taken + elapsed_ms))
	answers 0 policy check p.json
	expect "900 <= e.data['rules'][0]['used']['time_ms'] <= $taken"
	body work 'timeout = "10m",' <<<'require("fs").write("began", "x") ctx:sleep("9m")'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" --policy p.json work >/dev/null 2>&1 &
	until_true test -e began
	kill -KILL $!
	wait $! || true
	answers 7 --policy p.json work
	expect 'e.error.context["rule"] == "allow.work.total_time"'
}

@test "what makes calls or waits takes none of their time, and a lock that somebody holds is waited for within the limit" {
	policy '{ "allow": { "*": { "total_time": "60s" } } }'
	printf '{"_cmd":"deploy"}\n{"_cmd":"deploy"}\n' | env -i "${CLEAN_ENV[@]}" "$RUNNER" --policy p.json exec >answers.txt
	[ "$(grep -c '"ok":true' answers.txt)" -eq 2 ]
	answers 0 --policy p.json deploy
	local files=(p.json.counts-*.lock)
	flock "${files[0]}" sh -c 'touch held; while [ ! -e over ]; do sleep 0.05; done' 3>&- &
	until_true test -e held
	answers 10 --policy p.json deploy --timeout 300ms
	expect 'e.error.code == "TIMEOUT"'
	touch over
	wait
	answers 0 --policy p.json deploy
	runs 4
}

@test "a confined command is counted, with its time, and can't reach its counts" {
	needs 1
	body work 'confine = { write = {}, network = false },' <<<'ctx:sleep("200ms") local f = io.open("p.json", "a") return { wrote = f ~= nil }'
	policy '{ "allow": { "work": { "max_calls": 1, "total_time": "10s" } } }'
	answers 0 --policy p.json work
	expect 'e.data == { "wrote": False }'
	answers 7 --policy p.json work
	answers 0 policy check p.json
	expect 'e.data["rules"][0]["used"]["calls"] == 1 and 200 <= e.data["rules"][0]["used"]["time_ms"] < 10000'
}

@test "so many jobs run at once, and one that ends makes room" {
	body long <<<'require("fs").append("runs", "x\n") while not require("fs").stat("stop") do ctx:sleep("20ms") end return {}'
	policy '{ "allow": { "long": {}, "job": {} }, "max_jobs": 2 }'
	local i ids=()
	for i in 1 2; do
		answers 0 --policy p.json long --detach
		ids+=("$(field 'e.data["job_id"]')")
	done
	answers 7 --policy p.json long --detach
	expect 'e.error.context["rule"] == "max_jobs" and e.error.context["used"] == 2'
	answers 7 XDG_STATE_HOME="$PWD/other" --policy p.json long --detach
	touch stop
	answers 0 --policy p.json job wait "${ids[0]}"
	answers 0 --policy p.json job wait "${ids[1]}"
	answers 0 --policy p.json long --detach
	answers 0 --policy p.json job wait "$(field 'e.data["job_id"]')"
	policy '{ "allow": { "long": { "max_jobs": 0 } } }'
	answers 7 --policy p.json long --detach
	expect 'e.error.context["rule"] == "allow.long.max_jobs"'
}

@test "what can't be counted is refused, and so are counts that are damaged" {
	policy '{ "allow": { "deploy": { "max_calls": "2/h" } }, "counts": "/proc" }'
	invalid --policy p.json deploy
	expect '"counted" in e.error.message and "counts" in e.error.fix_required'
	policy "{ \"allow\": { \"deploy\": { \"max_calls\": \"2/h\" } }, \"counts\": \"$PWD/counts\" }"
	invalid --policy p.json deploy
	mkdir -m 777 counts
	invalid --policy p.json deploy
	chmod 700 counts
	answers 0 --policy p.json deploy
	local files=(counts/*.json)
	[ ${#files[@]} -eq 1 ]
	local text
	for text in '' '{}' '[' 'null' '{"version":1,"wall":0,"calls":[{}],"totals":{},"jobs":[]}' '{"version":2,"wall":0,"calls":[],"totals":{},"jobs":[]}'; do
		printf '%s' "$text" >"${files[0]}"
		invalid --policy p.json deploy
		expect '"damaged" in e.error.message'
	done
	rm "${files[0]}"
	mkdir "${files[0]}"
	invalid --policy p.json deploy
	runs 1
}

@test "a clock that was set makes no room, and what was counted slides away" {
	policy '{ "allow": { "deploy": { "max_calls": "1/h" } } }'
	answers 0 --policy p.json deploy
	python3 - <<-'PY'
		import glob, json
		path = glob.glob("p.json.counts-*.json")[0]
		state = json.load(open(path))
		state["wall"] -= 40 * 3600000 # as if the clock had been set forward since
		json.dump(state, open(path, "w"))
	PY
	[ -r /proc/uptime ] || skip "needs /proc/uptime"
	answers 7 --policy p.json deploy
	python3 - <<-'PY'
		import glob, json
		path = glob.glob("p.json.counts-*.json")[0]
		state = json.load(open(path))
		state["wall"] += 40 * 3600000 # and back, in another boot
		state["boot"] = "another"
		json.dump(state, open(path, "w"))
	PY
	answers 7 --policy p.json deploy
	python3 - <<-'PY'
		import glob, json
		path = glob.glob("p.json.counts-*.json")[0]
		state = json.load(open(path))
		state["calls"][0]["age"] += 3600000
		json.dump(state, open(path, "w"))
	PY
	answers 0 --policy p.json deploy
	answers 7 --policy p.json deploy
}

@test "who is asked before a command is a person: no flag, no exec, no variable says yes" {
	failing change mutating <<<'require("fs").append("runs", "x\n") return { effect = "updated" }'
	failing wipe destructive <<<'require("fs").append("runs", "x\n") return { effect = "deleted" }'
	body look <<<'require("fs").append("runs", "x\n") return {}'
	policy '{ "confirm": ["change", "wipe", "look"] }'
	local name
	for name in change wipe look; do
		answers 2 --policy p.json "$name"
		expect 'e.error.code == "CONFIRMATION_REQUIRED" and "confirm-destructive" not in str(e.error)'
		printf '["--policy","p.json","%s"]' "$name" >words # as mcp serve hands on what its person has agreed to
		status=0
		env -i "${CLEAN_ENV[@]}" RUNNER_DEADLINE_MS="0:$$:999999999999" RUNNER_ARGUMENTS="asked:$(wc -c <words)" "$RUNNER" <words >out.txt || status=$?
		[ "$status" -eq 2 ]
		grep -q CONFIRMATION_REQUIRED out.txt
	done
	denied 'confirm: wipe' --policy p.json wipe --confirm-destructive
	denied 'confirm: change' --policy p.json change --yes
	denied 'confirm: change' --policy p.json change --detach --yes
	answers 2 --policy p.json change --detach
	answers 0 --policy p.json change --dry-run
	printf '{"_cmd":"change"}\n{"_cmd":"wipe"}\n{"_cmd":"look"}\n' | env -i "${CLEAN_ENV[@]}" "$RUNNER" --policy p.json exec \
		--ignore-errors --allow change --allow wipe >answers.txt || true
	[ "$(grep -c POLICY_DENIED answers.txt)" -eq 2 ]
	[ "$(grep -c CONFIRMATION_REQUIRED answers.txt)" -eq 1 ]
	runs 0
}

@test "what has executed runner after it started a call, or claims that it vouches, answers nothing a person is asked" {
	failing change mutating <<<'require("fs").append("runs", "x\n") return { effect = "updated" }'
	policy '{ "confirm": ["change"] }'
	printf '["--policy","p.json","change"]' >words
	cat >parent.py <<-'PY'
		import os, sys, time
		runner, where = sys.argv[1:]
		parent = os.getpid()
		if os.fork() == 0:
		    while not os.path.samefile(f"/proc/{parent}/exe", runner):
		        time.sleep(0.01)
		    os.dup2(os.open("words", os.O_RDONLY), 0)
		    os.dup2(os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
		    os.environ["RUNNER_ARGUMENTS"] = where.replace("PID", str(parent)).replace("N", str(os.path.getsize("words")))
		    os.execv(runner, [runner])
		os.execv(runner, [runner, "exec"])
	PY
	local where
	for where in asked:N asked:PID@N needed:PID@N approved:PID@N:run_1:abc asked:999999999999; do
		rm -f out.txt
		env -i "${CLEAN_ENV[@]}" timeout 60 python3 - "$RUNNER" "$where" <<-'PY'
			import os, subprocess, sys, time
			with subprocess.Popen([sys.executable, "parent.py"] + sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as p:
			    while not (os.path.exists("out.txt") and open("out.txt").read().endswith("\n")):
			        time.sleep(0.01)
			    p.stdin.close()
		PY
		grep -qE 'CONFIRMATION_REQUIRED' out.txt || { cat out.txt >&2; return 1; }
	done
	runs 0
}

@test "a client of MCP has its person asked before a command that a policy has asked for" {
	failing change mutating <<<'require("fs").append("runs", "x\n") return { effect = "updated" }'
	body look <<<'require("fs").append("runs", "x\n") return {}'
	policy '{ "confirm": ["change", "look"] }'
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" \
		PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 - <<-'PY'
		from mcp import *
		import os
		with Server() as s:
		    for name in "change", "look":
		        assert s.call(name)["code"] == -32021
		with Server(elicits=True) as s:
		    for i, name in enumerate(["change", "look"]):
		        asked = s.call(name)
		        assert "A policy has you asked" in asked["inputRequests"]["confirm"]["params"]["message"], asked
		        no = {"confirm": {"action": "decline"}}
		        assert s.call(name, requestState=asked["requestState"], inputResponses=no)["isError"]
		        asked = s.call(name)
		        assert len(open("runs").readlines() if os.path.exists("runs") else []) == i
		        done = s.call(name, requestState=asked["requestState"], inputResponses=YES)
		        assert not done.get("isError"), done
	PY
	runs 2
}

@test "policy check explains a call, and names every rule that means nothing" {
	policy '{ "allow": { "deploy": { "args": { "env": ["staging"] }, "max_calls": "1/h" } }, "confirm": ["deploy"], "subject": "agent-7" }'
	answers 0 policy check p.json deploy --env staging
	expect 'e.data["call"] == { "command": "deploy", "allowed": True, "asked": True }'
	answers 7 policy check p.json deploy --env prod
	expect 'e.data["call"]["refused"]["rule"] == "allow.deploy.args.env" and e.data["call"]["refused"]["context"]["allowed"] == ["staging"]'
	answers 7 policy check p.json policy check
	expect 'e.data["call"]["refused"]["rule"] == "allow"'
	answers 3 policy check p.json nothing || answers 5 policy check p.json nothing || [ "$status" -ne 0 ]
	policy '{ "allow": { "deploy": { "args": { "nothing": ["a"] } }, "gone": {} }, "deny": ["lost"], "confirm": ["db.*"] }'
	answers 4 policy check p.json
	expect 'sorted(r["rule"] for r in e.data["rules"] if "problem" in r) == ["db.*", "deploy", "gone", "lost"]'
	expect '"3 more" in e.error.message'
	runs 0
}

@test "policy init writes a policy that lets through what was called, and no more" {
	echo 'return { audit = true }' >runner.lua
	failing change mutating <<<'return { effect = "updated" }'
	body secret 'args = { { "token", "string", secret = true, env = "TOKEN_X", description = "x" }, { "text", "string", description = "x" } },' <<<'return {}'
	answers 5 policy init
	local i
	for i in 1 2 3; do answers 0 deploy --replicas "$i" --wait 1m; done
	answers 0 deploy --env dev
	answers 0 change
	answers 0 change --dry-run
	for i in $(seq 12); do answers 0 TOKEN_X=hidden secret --text "t$i"; done
	answers 0 policy init learned.json --subject agent-7
	expect 'e.data["effect"] == "created" and [w["code"] for w in e.warnings] == ["POLICY_UNBOUND"]'
	[[ $(field 'e.warnings[0]["message"]') == *"token of 'secret', text of 'secret'"* ]]
	answers 6 policy init learned.json
	answers 0 policy init other.json --dry-run
	[ ! -e other.json ]
	[ "$(grep -c hidden learned.json)" -eq 0 ]
	answers 0 policy check learned.json
	expect 'sorted(r["rule"] for r in e.data["rules"]) == ["change", "deploy", "secret"]'
	expect '[r["says"] for r in e.data["rules"] if r["rule"] == "change"] == [{ "max_calls": "1/h" }]'
	denied allow.deploy.args.env --policy learned.json deploy --env prod
	denied allow.deploy.args.replicas --policy learned.json deploy --replicas 4
	denied allow.deploy.args.wait --policy learned.json deploy --wait 2m
	denied allow --policy learned.json lint
	for i in 1 2 3 1; do answers 0 --policy learned.json deploy --replicas "$i"; done
	answers 7 --policy learned.json deploy --replicas 1
	answers 0 audit list --command deploy --limit 5
	expect '[c.get("subject") for c in e.data] == ["agent-7"] * 5'
	answers 5 policy init x.json --client nobody
	answers 0 policy init x.json --since 1h
}

@test "a subject has jobs, keys, checkpoints and rows of its own, and those of another are not there" {
	echo 'return { audit = true }' >runner.lua
	failing change mutating <<<'require("fs").append("runs", "x\n") return { effect = "updated", secret = "of " .. tostring(ctx.request_id) }'
	body sum 'interruption = { resume = true },' <<<'local state = ctx:restore("v1") if state then return { restored = true } end ctx:checkpoint{ done = 1, total = 2 } ctx:fail("UNAVAILABLE", "later")'
	policy '{ "subject": "agent-a" }' a.json
	policy '{ "subject": "agent-b" }' b.json
	local export_state=XDG_STATE_HOME="$PWD/state"
	answers 0 "$export_state" RUNNER_CLIENT='{"transport":"exec","name":"c"}' TOOL_TRACE_ID=0af7651916cd43dd8448eb211c80319c --policy a.json change --detach
	local id
	id=$(field 'e.data["job_id"]')
	answers 0 "$export_state" --policy a.json job wait "$id"
	answers 0 "$export_state" --policy a.json job status @last
	local words
	for words in "status $id" "wait $id" "logs $id" "cancel $id" "status @last" "status ${id:0:12}"; do
		# shellcheck disable=SC2086 # words
		answers 5 "$export_state" --policy b.json job $words
		expect '"another project" not in str(e.error)'
	done
	answers 0 "$export_state" --policy b.json job list --all
	expect 'e.data == []'
	answers 0 "$export_state" --policy a.json --policy a.json job list
	expect '[j["subject"] for j in e.data] == ["agent-a"]'
	expect 'e.data[0]["client"] == {"transport": "exec", "name": "c"} and e.data[0]["trace_id"].startswith("0af7651916cd43dd")'
	answers 0 "$export_state" job list
	expect '[j["subject"] for j in e.data] == ["agent-a"]'
	answers 5 "$export_state" RUNNER_POLICY="$PWD/b.json" --policy a.json job status "$id" # whoever is bound can't take another name
	answers 0 "$export_state" --policy a.json change --idempotency-key k
	answers 0 "$export_state" --policy a.json change --idempotency-key k
	expect 'e.data["effect"] == "noop"'
	answers 0 "$export_state" --policy b.json change --idempotency-key k
	expect 'e.data["effect"] == "updated"'
	runs 3
	call "$export_state" --policy a.json sum
	[ "$status" -ne 0 ]
	call "$export_state" --policy b.json sum
	[ "$status" -ne 0 ]
	answers 0 "$export_state" --policy a.json sum
	expect 'e.data == { "restored": True }'
	answers 0 "$export_state" --policy b.json audit list --command change
	expect '[c["subject"] for c in e.data] == ["agent-b"]'
	answers 0 "$export_state" audit list --command change
	expect 'set(c.get("subject") for c in e.data) == { "agent-a", "agent-b" }'
}
