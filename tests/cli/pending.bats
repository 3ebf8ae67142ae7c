#!/usr/bin/env bats
# Calls that need a person whom their client can't ask: each waits, is run once when somebody agrees, and not at all otherwise. A person
# is tests/fault/person.py, whose terminals were there before what asks.

load lib/workflow
load lib/person
load lib/mcp

setup_stage() {
	needs_library libsqlite3.so.0
	command_file drop <<-'LUA'
		return { description = "Drop", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "name", "string", default = "all", env = "DROP_NAME", description = "Which" },
				{ "pass", "string", secret = true, description = "Secret" }, { "fails", "boolean", description = "Does it?" } },
			run = function(args, ctx)
				require("fs").append("effects", args.name .. "\n")
				if args.name == "slow" then
					ctx:sleep(60)
				end
				return args.fails and ctx:fail("UNAVAILABLE", "no disk", { retryable = true }) or { effect = "deleted", name = args.name }
			end }
	LUA
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	echo '{ "subject": "agent-7", "confirm": ["drop"] }' >p.json
	begin_person
}

clean_up() {
	end_person
	kill_all
}

# asks WORDS…: an agent's call, which waits: $id
asks() {
	call --policy p.json drop "$@"
	envelope 2
	expect 'e.error["code"] == "CONFIRMATION_REQUIRED" and e.error["side_effects"] == "none"'
	id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	[ -n "$id" ]
}

effects() {
	[ "$(sort effects 2>/dev/null | uniq -c | sed 's/^ *//')" = "$1" ] || { cat effects >&2 && return 1; }
}

@test "a call that nobody can be asked about waits, runs once when a person agrees, and the same call is told what came of it" {
	setup_stage
	asks --name x
	expect "'runner approve $id' in e.error['suggestion'] and e.error['context']['approval'] == '$id'"
	local first=$id
	asks --name x
	[ "$id" = "$first" ]
	call approvals
	expect 'len(e.data) == 1 and e.data[0]["command"] == "drop" and e.data[0]["arguments"]["name"] == "x" and e.data[0]["subject"] == "agent-7"'
	effects ''
	person approve "$id"
	effects '1 x'
	call --policy p.json drop --name x
	envelope 0
	expect 'e.data["name"] == "x" and e.warnings[0]["code"] == "APPROVED_CALL"'
	effects '1 x'
	person approve "$id"
	effects '1 x'
	asks --name x
	[ "$id" != "$first" ]
	grep '"confirmed"' audit.jsonl | grep '"command":"drop"' | grep '"subject":"agent-7"' | grep -q "\"approval\":\"$first\""
}

@test "a failure of the approved call is told as that failure, once, and nothing repeats it" {
	setup_stage
	asks --fails
	person approve "$id"
	call RUNNER_RETRIES=3 --policy p.json drop --fails
	expect 'e.error["code"] == "UNAVAILABLE" and e.error["message"] == "no disk" and e.error["retryable"] is False'
	effects '1 all'
}

@test "what is rejected or too late never runs; the asker is told why" {
	setup_stage
	asks --name x
	person reject "$id" --why=monday
	person approve "$id"
	call --policy p.json drop --name x
	envelope 7
	expect 'e.error["code"] == "APPROVAL_REJECTED" and e.error["message"].endswith(": monday")'
	asks --name x
	sql "update approvals set deadline_ms = 1 where id = '$id'"
	person approve "$id"
	effects ''
	call --policy p.json drop --name x
	expect 'e.error["code"] == "APPROVAL_REJECTED" and "no person decided in time" in e.error["message"]'
	effects ''
}

@test "whoever asks doesn't decide: not without a terminal, under its policy, through exec, or by a command" {
	setup_stage
	asks --name x
	call approve "$id"
	expect 'e.error["code"] == "PERSON_REQUIRED"'
	person --policy p.json approve "$id"
	effects ''
	printf '{"_cmd":"approve","id":"%s"}\n' "$id" | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" exec --allow approve >/dev/null || true
	effects ''
	[ "$(sql "select state from approvals where id = '$id'")" = pending ]
}

@test "a command's file that was edited after the question, or arguments that are others now, is a CONFLICT: nothing runs" {
	setup_stage
	asks --name x
	sed -i 's/danger_level = "mutating"/danger_level = "safe"/' commands/drop.lua
	person approve "$id"
	effects ''
	[ "$(sql "select json_extract(outcome, '\$.error.code') from approvals where id = '$id'")" = CONFLICT ]
	call --policy p.json drop --name x
	envelope 6
	expect 'e.error["code"] == "CONFLICT" and e.error["context"]["approval"]'
	asks --name x
	local first=$id
	echo '-- edited' >>commands/drop.lua
	asks --name x
	[ "$id" != "$first" ]
	[ "$(sql "select state from approvals where id = '$first'")" = replaced ]
	echo '{ "subject": "agent-7", "confirm": ["drop"], "max_retries": 1 }' >p.json
	person approve "$id"
	effects ''
	[ "$(sql "select json_extract(outcome, '\$.error.code') from approvals where id = '$id'")" = POLICY_INVALID ]
}

@test "the call is made as it was: its directory, its policy's counts, and what it read of its environment" {
	setup_stage
	echo '{ "subject": "agent-7", "allow": { "drop": { "max_calls": 1 } }, "confirm": ["drop"] }' >p.json
	mkdir sub
	call DROP_NAME=env --cwd "$PWD" --policy p.json drop
	id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	local first=$id
	asks --name two
	person approve "$first"
	effects '1 env'
	person approve "$id"
	effects '1 env'
	call --policy p.json drop --name two
	envelope 7
	expect 'e.error["code"] == "POLICY_DENIED"'
}

# first_with WORD: of the processes that have it among theirs, the one that none of the others has started. (A lower number says
# nothing: they begin anew.)
first_with() {
	local all pid parent
	all=" $(grep -lzsx -- "$1" /proc/[0-9]*/cmdline | cut -d/ -f3 | xargs) "
	for pid in $all; do
		parent=$(sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$pid/stat" 2>/dev/null) || continue
		[[ $all == *" $parent "* ]] || echo "$pid"
	done
}

# outcome_of WORDS…: the code that a call ends with, or nothing.
outcome_of() {
	call "$@"
	python3 -c 'import json; print((json.load(open("out.txt"))["error"] or {}).get("code", ""))'
}

@test "another context, directory, settings, folder of commands or flag is another call, and the person reads which" {
	setup_stage
	sed -i 's/effect = "deleted", name = args.name/effect = "deleted", host = ctx.config.host/' commands/drop.lua
	local settings='contexts = { staging = { config = { host = "staging" } }, prod = { config = { host = "prod" } } }'
	echo "return { audit = { path = 'audit.jsonl' }, $settings }" >runner.lua
	mkdir sub more
	cp runner.lua copy.lua
	local drop=(--policy p.json --context staging drop --name c)
	call "${drop[@]}"
	id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	call approvals
	expect '", context staging, for" in e.data[0]["message"] and "Context: \"staging#" in e.data[0]["shown"]'
	person approve "$id"
	[ "$(outcome_of --policy p.json --context prod drop --name c)" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of --policy p.json drop --name c)" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of --cwd sub "${drop[@]}")" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of --config copy.lua "${drop[@]}")" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of RUNNER_PATH="$PWD/more" "${drop[@]}")" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of "${drop[@]}" --retries 2)" = CONFIRMATION_REQUIRED ]
	[ "$(outcome_of "${drop[@]}" --format json)" = "" ]
	expect 'e.data["host"] == "staging"'
	effects '1 c'
}

@test "settings that were edited after the question are a CONFLICT" {
	setup_stage
	asks --name x
	echo 'return { audit = { path = "audit.jsonl" }, config = { host = "prod" } }' >runner.lua
	person approve "$id"
	effects ''
	[ "$(sql "select json_extract(outcome, '\$.error.code') from approvals where id = '$id'")" = CONFLICT ]
}

@test "what decides a call is shown: directory, settings and command file outside, more folders, runner's flags" {
	setup_stage
	echo 'return { audit = { path = "audit.jsonl" } }' >"$PWD/other.lua"
	mkdir sub more
	sed 's/Drop/Drop it/' commands/drop.lua >more/purge.lua
	echo '{ "subject": "agent-7", "confirm": ["*"] }' >p.json
	call RUNNER_PATH="$PWD/more" --policy p.json --cwd sub --config "$PWD/other.lua" drop --name c --retries 9
	envelope 2
	id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	[ -n "$id" ]
	call approvals --all
	expect "all(x in e.data[0]['shown'] for x in ['/other.lua', 'RUNNER_PATH: \"', '--retries: 9', 'Called in: \"'])"
	expect "e.data[0]['message'].startswith('Run \'drop\' in %s/sub' % '$PWD')"
	call --policy p.json drop --name c --output here
	envelope 2
	expect 'e.warnings[0]["code"] == "CALL_NOT_KEPT" and "approval" not in e.error["context"]'
	effects ''
}

@test "each who has asked is one who doesn't decide, whoever asked first" {
	setup_stage
	asks --name x
	local first=$id
	cat >agent.py <<-PY
		import subprocess, sys
		asked = subprocess.run(["$RUNNER", "--policy", "p.json", "drop", "--name", sys.argv[1]], stdin=subprocess.DEVNULL, capture_output=True).stdout
		open("asked", "wb").write(asked)
		subprocess.run(["$RUNNER", "approve", "$first"], stderr=open("said", "ab"))
	PY
	people <<<"$(command -v python3) agent.py x"
	grep -q "$first" asked
	effects ''
	[ "$(sql "select state from approvals where id = '$first'")" = pending ]
	people <<<"$(command -v python3) agent.py other" # which has not asked for it
	cat said >&2
	effects '1 x'
}

@test "what came of a call is told for a day: later it is another wish" {
	setup_stage
	asks --name x
	local first=$id
	person approve "$id"
	sql "update approvals set outcome = json_set(outcome, '\$.ended_ms', json_extract(outcome, '\$.ended_ms') - 5 * 60000)"
	call --policy p.json drop --name x
	expect 'e.warnings[0]["code"] == "APPROVED_CALL" and "5 minutes ago" in e.warnings[0]["message"]'
	sql "update approvals set told = 0, outcome = json_set(outcome, '\$.ended_ms', json_extract(outcome, '\$.ended_ms') - 86400000)"
	asks --name x
	[ "$id" != "$first" ]
	effects '1 x'
	person reject "$id"
	sql "update approvals set decided_ms = decided_ms - 86400000, asked_ms = 1 where id = '$id'"
	asks --name x
	[ "$(sql "select count(*) from approvals where asked_ms = 1")" = 0 ]
	effects '1 x'
}

@test "many who agree at once have it run once" {
	setup_stage
	local i
	for i in 1 2 3 4 5; do
		asks --name "n$i"
		for _ in 1 2 3 4; do
			echo "approve $id"
		done | people
	done
	effects "$(printf '1 n%s\n' 1 2 3 4 5)"
}

@test "who dies between the decision and the end leaves it in doubt: told so, and never run again by itself" {
	setup_stage
	asks --name slow
	people <<<"approve $id" &
	until_true test -s effects
	kill -KILL "$(first_with "$id")"
	wait
	effects '1 slow'
	person approve "$id"
	effects '1 slow'
	call approvals --decided
	expect 'e.data[0]["outcome"] == "doubt"'
	call --policy p.json drop --name slow
	envelope 6
	expect 'e.error["code"] == "IN_DOUBT" and e.error["fix_required"] == "Find out what it did" and "key" not in str(e.error)'
	asks --name slow
	call approvals
	expect '"in doubt" in e.data[0]["message"]'
	effects '1 slow'
}

@test "a call with a secret, or that nothing can be kept of, is refused as ever, and that is said" {
	setup_stage
	echo s3cret >pass
	call --policy p.json drop --pass-from-file pass
	envelope 2
	expect 'e.error["code"] == "CONFIRMATION_REQUIRED" and e.warnings[0]["code"] == "CALL_NOT_KEPT"'
	[ -z "$(grep -rl s3cret state || true)" ]
	rm -rf state
	echo >state
	call --policy p.json drop --name x
	envelope 2
	expect 'e.error["code"] == "CONFIRMATION_REQUIRED" and [w["code"] for w in e.warnings] == ["CALL_NOT_KEPT"]'
	effects ''
}

@test "what says that it is approved is believed of the row, and of whoever has it run alone" {
	setup_stage
	asks --name x
	local digest words='["--format=json"]'
	digest=$(sql "select digest from approvals where id = '$id'")
	command_file forge <<-LUA
		return { description = "Forge", danger_level = "safe", run = function(args, ctx)
			return { got = ctx:run{ "$RUNNER", "--policy", "p.json", "drop", "--name", "x", stdin = [==[$words]==], check = false,
				env = { RUNNER_ARGUMENTS = "approved:${#words}:$id:$digest" } }.stdout }
		end }
	LUA
	call forge
	expect '"CONFLICT" in e.data["got"] or "CONFIRMATION_REQUIRED" in e.data["got"]'
	effects ''
	sql "update approvals set state = 'approved', decided_ms = 1, owner = '1 1 elsewhere' where id = '$id'"
	call forge
	effects ''
}

@test "calls of one command line don't wait: what came of the first can't be told apart from the others" {
	setup_stage
	call --policy p.json + drop --name a + drop --name b
	expect 'not e.ok and "CALL_NOT_KEPT" in [w["code"] for w in e.warnings]'
	call --policy p.json drop --name a --unmask
	envelope 2
	expect 'e.warnings[0]["code"] == "CALL_NOT_KEPT"'
	[ "$(sql "select count(*) from approvals" 2>/dev/null || echo 0)" = 0 ]
	effects ''
}

@test "a command's own argument format stays as it was" {
	setup_stage
	sed -i 's/{ "fails"/{ "format", "enum", values = { "csv", "xml" }, default = "xml", description = "Form" }, { "fails"/; s/name = args.name }/name = args.format }/' commands/drop.lua
	call --format json --policy p.json drop --name x --format csv --runner-format json
	id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	person approve "$id"
	call --policy p.json drop --name x --format csv
	envelope 0
	expect 'e.data["name"] == "csv"'
	effects '1 x'
}

@test "what has waited too long keeps nobody from asking" {
	setup_stage
	asks --name x
	sql "insert into approvals (id, kind, project, key, digest, state, asked_ms, deadline_ms, fallback, asker, message, subject, call)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 100)
		select 'apr_late' || i, 'call', project, 'k' || i, digest, 'pending', asked_ms, 1, fallback, asker, message, subject, call from approvals, n"
	asks --name y
	[ "$(sql "select count(*) from approvals where state = 'pending'")" = 2 ]
	sql "update approvals set state = 'pending', deadline_ms = asked_ms * 2 where state = 'rejected'"
	call --policy p.json drop --name z
	expect 'e.warnings[0]["code"] == "CALL_NOT_KEPT"'
}

@test "the warnings that the call had are told with what came of it, which has been judged already" {
	setup_stage
	asks --name x --warnings-as-errors
	person approve "$id"
	call --policy p.json drop --name x --warnings-as-errors
	envelope 0
	expect 'e.warnings[0]["code"] == "APPROVED_CALL"'
	sed -i 's/return args.fails/ctx:warn("HALF_DONE", "half of it")\n\t\treturn args.fails/' commands/drop.lua
	asks --name x
	person approve "$id"
	call --policy p.json drop --name x
	envelope 0
	expect '[w["code"] for w in e.warnings] == ["APPROVED_CALL", "HALF_DONE"]'
	asks --name x --warnings-as-errors
	person approve "$id"
	call --policy p.json drop --name x --warnings-as-errors
	expect 'e.error["code"] == "WARNINGS_AS_ERRORS"'
	effects '3 x'
}

@test "a call of a project that is gone can be rejected, and says so where it is approved" {
	setup_stage
	mkdir away
	mv commands runner.lua p.json away
	id=$(cd away && env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$OLDPWD/state" "$RUNNER" --policy p.json drop --name x </dev/null | grep -o 'apr_[0-9a-f]*' | head -n 1)
	[ -n "$id" ]
	mv away moved
	call approve "$id"
	expect "e.error['code'] == 'PRECONDITION' and e.error['suggestion'] == 'runner reject $id'"
	person reject "$id"
	[ "$(sql "select state from approvals where id = '$id'")" = rejected ]
	[ ! -e moved/effects ]
}

@test "a request of exec and a tool of MCP wait as well; a plain call is refused as ever" {
	setup_stage
	sed -i 's/danger_level = "mutating"/danger_level = "destructive"/' commands/drop.lua
	call drop --name x
	envelope 2
	expect '"approval" not in e.error["context"]'
	printf '{"_cmd":"drop","name":"by exec"}\n' | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" exec --ignore-errors >answer || true
	id=$(grep -o 'apr_[0-9a-f]*' answer | head -n 1)
	[ -n "$id" ]
	person approve "$id"
	effects '1 by exec'
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"drop","arguments":{"name":"by mcp"}}}' >session
	mcp() {
		rm -f answer # else it waits for the last one's
		# shellcheck disable=SC2094 # it waits for the answer
		(cat session && until_true grep -q '"id":2' answer && sleep 0.1) | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" mcp serve --allow drop >answer 2>/dev/null
	}
	mcp
	grep -q CONFIRMATION_REQUIRED answer
	id=$(grep -o 'apr_[0-9a-f]*' answer | head -n 1)
	[ -n "$id" ]
	person approve "$id"
	effects "$(printf '1 by exec\n1 by mcp')"
	mcp
	grep -q '"isError":false' answer
	grep -q APPROVED_CALL answer
	effects "$(printf '1 by exec\n1 by mcp')"
	# a call that its client may make after all decides what waits of it
	exec_drop() {
		printf '{"_cmd":"drop","name":"allowed"}\n' | env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" exec --ignore-errors "$@" >answer || true
	}
	exec_drop
	id=$(grep -o 'apr_[0-9a-f]*' answer | head -n 1)
	[ -n "$id" ]
	exec_drop --allow drop
	person approve "$id"
	effects "$(printf '1 allowed\n1 by exec\n1 by mcp')"
}

@test "notify of the project calls somebody, once for what waits, in bounded time; what becomes of it is a warning, and nothing else" {
	setup_stage
	local begin='return { audit = { path = "audit.jsonl" }, notify = '
	echo "$begin"'"cat >>told; echo $RUNNER_APPROVAL >>told; echo noise" }' >runner.lua
	asks --name x
	expect 'e.warnings == []'
	[ "$(tail -n 1 told)" = "$id" ]
	head -n 1 told | python3 -c '
import json, sys
d = json.JSONDecoder().raw_decode(sys.stdin.read())[0]
assert d["approval"] == sys.argv[1] and d["subject"] == "agent-7" and d["call"]["command"] == "drop", d
assert d["call"]["arguments"]["name"] == "x" and d["call"]["would_affect"] and "env" not in d["call"] and "words" not in d["call"], d
assert "name" in d["shown"] and "Run '"'drop'"' in" in d["message"] and d["deadline"], d' "$id"
	local i
	for i in 1 2 3; do
		asks --name x
	done
	[ "$(grep -c '^apr_' told)" -eq 1 ]
	[ "$(sql 'select notified from approvals')" = 1 ]
	rm told
	for i in 1 2 3 4 5 6; do # of those that ask at once, one has somebody called
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" --policy p.json drop --name race >/dev/null 2>&1 3>&- 8>&- </dev/null &
	done
	wait
	[ "$(grep -c '^apr_' told)" -eq 1 ]
	[ "$(sql "select count(*) from approvals where state = 'pending'")" -eq 2 ]
	local text
	for text in '"echo bad >&2; exit 3"' '{ "/not/there" }' '"kill -9 $$"' '"exec sleep 100"'; do
		echo "$begin$text }" >runner.lua
		local before=$SECONDS
		asks --name "y$SECONDS$RANDOM"
		expect '[w["code"] for w in e.warnings] == ["NOTIFY_FAILED"] and e.warnings[0]["context"]["approval"] == "'"$id"'"'
		[ $((SECONDS - before)) -lt 60 ]
		[ "$(sql "select notified, state from approvals where id = '$id'")" = '0|pending' ]
	done
	for text in '"exec sleep 100"' '"trap : TERM; sleep 100; sleep 100"'; do # in the time that the call has, and what it writes is not for the caller
		echo "$begin$text }" >runner.lua
		asks --name "short$RANDOM" --timeout 3s
		expect '[w["code"] for w in e.warnings if w["code"] != "PROCESS_LEFT"] == ["NOTIFY_FAILED"]' # the second sleep, where it had begun
	done
	echo "$begin"'"echo token-of-ada >&2; exit 3" }' >runner.lua
	asks --name told
	[ "$(grep -c token-of-ada out.txt)" -eq 0 ]
	expect '"exited with 3" in e.warnings[0]["message"]'
	echo "$begin"'"echo $RUNNER_APPROVAL >>later" }' >runner.lua
	asks --name late
	local first=$id
	rm later
	sql "update approvals set notified = 0 where id = '$id'"
	asks --name late
	[ ! -e later ] # whoever called at first may be on the way
	sql "update approvals set asked_ms = asked_ms - 61000 where id = '$id'"
	asks --name late
	[ "$(cat later)" = "$first" ]
	rm later
	call drop --name late # needs nobody, or isn't kept
	call --policy p.json drop --name late --pass hush
	[ ! -e later ]
	for text in 7 '{}' '""' '{ 1 }' 'function() end'; do
		echo "$begin$text }" >runner.lua
		call --policy p.json drop --name late
		expect 'e.error["code"] == "COMMAND_INVALID" and "notify" in e.error["message"]'
	done
	effects '1 late'
}

@test "approvals ID says what is asked, with which arguments and effects, and by whom; of another subject there is none" {
	setup_stage
	asks --name "$(printf 'a\nApprove: yes')"
	call approvals "$id"
	envelope 0
	expect 'len(e.data) == 1 and e.data[0]["id"] == "'"$id"'" and e.data[0]["asked_by"][0]["uid"] == '"$(id -u)"' and e.data[0]["asked_by"][0]["processes"]'
	expect 'e.data[0]["arguments"]["name"].startswith("a") and e.data[0]["would_affect"] and e.data[0]["subject"] == "agent-7"'
	call approvals "${id: -6}"
	envelope 0
	env -i "${CLEAN_ENV[@]}" TERM=xterm XDG_STATE_HOME="$PWD/state" python3 -c '
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while data := os.read(master, 4096):
        os.write(1, data)
except OSError:
    pass' "$RUNNER" approvals "$id" | tr -d '\r' >seen
	grep -q '^  | It would affect:' seen
	grep -q '^subject:  agent-7$' seen
	grep -q "^asked by: user $(id -u), processes " seen
	[ "$(grep -c '^Approve' seen)" -eq 0 ]
	echo '{ "subject": "agent-8" }' >q.json
	call --policy q.json approvals "$id"
	envelope 5
	call approvals apr_0000000000000
	envelope 5
	person reject "$id" --why=no
	call approvals "$id"
	expect 'e.data[0]["state"] == "rejected" and e.data[0]["why"] == "no"'
}

@test "what waits in an instance is decided there: its hints and notify name it" {
	setup_stage
	echo '{ "confirm": ["drop"] }' >p.json
	echo 'return { audit = { path = "audit.jsonl" }, notify = "cat >told" }' >runner.lua
	asks --name x --instance-id one
	expect '"runner --instance-id one approve '"$id"'" in e.error["suggestion"]'
	grep -q '"instance":"one"' told
	call approvals "$id"
	envelope 5
	person --instance-id one approve "$id"
	asks --name y
	expect '"Have a person decide: runner approve '"$id"'" in e.error["suggestion"]'
	[ "$(grep -c instance told)" -eq 0 ]
	effects '1 x'
}

@test "the same call of one subject under two policies is two that wait, and each runs under its own" {
	setup_stage
	echo '{ "subject": "agent-7", "confirm": ["drop"], "allow": { "drop": { "args": { "name": ["x"] } } } }' >q.json
	asks --name x
	local first=$id
	call --policy q.json drop --name x
	envelope 2
	local second
	second=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
	[ "$second" != "$first" ]
	person approve "$second"
	effects '1 x'
	asks --name x
	[ "$id" = "$first" ]
	call --policy q.json drop --name x
	envelope 0
	grep '"begin"' audit.jsonl | grep '"command":"drop"' | grep -q 'q.json'
	effects '1 x'
}

@test "what a policy confines waits, too, and runs confined once a person has agreed" {
	setup_stage
	python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) < 4)' || skip "this kernel's Landlock is version 0, not 4"
	mkdir out pol
	command_file put <<-'LUA'
		return { description = "Put", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			dry_run = true, args = { { "path", "string", required = true, description = "Where" } },
			run = function(args, ctx)
				local ok = ctx.dry_run or io.open(args.path, "a")
				return { effect = ok and "updated" or "noop", would_affect = { { path = args.path } } }
			end }
	LUA
	echo "{ \"subject\": \"agent-7\", \"confirm\": [\"put\"], \"confine\": { \"write\": [\"$PWD/out\"] } }" >pol/c.json
	local path
	for path in "$PWD/out/x" "$PWD/x"; do
		call --policy pol/c.json put --path "$path"
		envelope 2
		id=$(grep -o 'apr_[0-9a-f]*' out.txt | head -n 1)
		person approve "$id"
		call --policy pol/c.json put --path "$path"
		envelope 0
	done
	expect 'e.data["effect"] == "noop"'
	[ -e out/x ]
	[ ! -e x ]
}

@test "a person approves from another account; the account of the agent neither reads nor decides" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	setup_stage
	local us=65534 agent=65533
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR/../.."
	install -m 755 "$RUNNER" runner-for-all
	mkdir -m 700 state home
	echo '{ "subject": "agent-7", "confirm": ["drop"], "allow": ["drop"] }' >p.json
	touch audit.jsonl
	chown -R $us:$us state home commands runner.lua p.json audit.jsonl .
	as() {
		setpriv "--reuid=$1" "--regid=$1" --clear-groups env -i PATH="$PATH" HOME="$PWD/home" XDG_STATE_HOME="$PWD/state" "${@:2}"
	}
	as $agent ./runner-for-all --version >/dev/null 2>&1 || skip "another user can't reach $PWD"
	# what sudo lets the agent do: this call, as that account
	as $us ./runner-for-all --policy p.json drop --name x --format json >answer 2>/dev/null </dev/null || true
	id=$(grep -o 'apr_[0-9a-f]*' answer | head -n 1)
	[ -n "$id" ]
	local words
	for words in "approve $id" "reject $id" "approvals" "approvals $id"; do
		# shellcheck disable=SC2086 # words
		as $agent ./runner-for-all $words --format json >answer 2>/dev/null </dev/null || true
		grep -q '"ok":false' answer
		[ "$(grep -c '"command":"drop"' answer)" -eq 0 ]
	done
	# as that account, but without a terminal of a person
	as $us ./runner-for-all approve "$id" --format json >answer 2>/dev/null </dev/null || true
	grep -q PERSON_REQUIRED answer
	effects ''
	# a person, whose own account is another one
	person "/usr/bin/setpriv --reuid=$us --regid=$us --clear-groups $PWD/runner-for-all approve $id"
	effects '1 x'
	[ "$(stat -c %u effects)" -eq $us ]
	as $us ./runner-for-all --policy p.json drop --name x --format json >answer 2>/dev/null </dev/null
	grep -q '"APPROVED_CALL"' answer
	effects '1 x'
	grep '"confirmed"' audit.jsonl | grep -q "\"approval\":\"$id\""
}

# What a client with forms does: `form(action, **arguments)` calls drop and answers its form; `person(words)` decides at a terminal.
FORMS='
import re, socket
def effects():
    return open("effects").read().split() if os.path.exists("effects") else []
def person(*words):
    with socket.socket(socket.AF_UNIX) as c:
        c.connect("person.socket")
        with c.makefile("rw") as f:
            print(json.dumps({"argv": [os.environ["RUNNER"], *words], "cwd": os.getcwd(), "env": {k: v for k, v in os.environ.items() if k != "RUNNER_POLICY"}}), file=f, flush=True)
            pid = int(f.readline())
    until(lambda: not os.path.exists(f"/proc/{pid}/exe"))
def form(s, action, between=None, **given):
    s.line({"jsonrpc": "2.0", "id": "f", "method": "tools/call", "params": {"name": "drop", "arguments": given}}) if s.old else None
    r = s.read() if s.old else s.call("drop", given)
    reply = {"action": action, "content": {"confirm": True}}
    if "method" not in r and "requestState" not in r:
        return r.get("result", r)
    s.forms += 1
    if between:
        between()
    if s.old:
        s.line({"jsonrpc": "2.0", "id": r["id"], "result": reply})
        return s.answer("f")["result"]
    return s.call("drop", given, requestState=r["requestState"], inputResponses={"confirm": reply})
def server(era):
    s = Server("--allow", "drop", elicits=True)
    s.old, s.forms = era == "2025-11-25", 0
    if s.old:
        s.initialize(era)
    return s
def waits(s, **given):
    return re.search("apr_[0-9a-f]+", json.dumps(form(s, "cancel", **given))).group()
def code(result):
    return (result["structuredContent"]["error"] or {}).get("code")
def pending():
    out = subprocess.run([os.environ["RUNNER"], "approvals", "--format", "json"], stdout=subprocess.PIPE, text=True).stdout
    return [row["id"] for row in json.loads(out)["data"]]
def decisions(id):
    return [(r["decision"], r["by"]) for r in map(json.loads, open("audit.jsonl")) if r["event"] == "decision" and r.get("approval") == id]
'

@test "what waits is decided with the form of the same call, once: a yes runs it, a no takes it back, and a decision elsewhere holds" {
	setup_stage
	sed -i 's/danger_level = "mutating"/danger_level = "destructive", timeout = "10m"/' commands/drop.lua
	session XDG_STATE_HOME="$PWD/state" <<PY
$FORMS
for era in ("2026-07-28", "2025-11-25"):
    with server(era) as s:
        x = era + "x"
        id = waits(s, name=x)
        assert pending() == [id] and effects().count(x) == 0
        assert not form(s, "accept", name=x)["isError"] and effects().count(x) == 1
        assert pending() == [] and ("confirmed", "client") in decisions(id), decisions(id)
        person("approve", id)
        assert effects().count(x) == 1, "it ran twice"
        before = s.forms
        assert not form(s, "accept", name=x)["isError"] and s.forms == before + 1 and effects().count(x) == 2 # another wish
        # a no
        x = era + "no"
        id = waits(s, name=x)
        r = form(s, "decline", name=x)
        assert code(r) == "CONFIRMATION_REQUIRED" and pending() == [] and ("declined", "client") in decisions(id), (r, decisions(id))
        person("approve", id)
        assert x not in effects(), "it ran after a no"
        # decided elsewhere before the form: told, and no form
        x = era + "told"
        person("approve", waits(s, name=x))
        before = s.forms
        r = form(s, "accept", name=x)
        assert s.forms == before and r["structuredContent"]["warnings"][0]["code"] == "APPROVED_CALL", r
        assert effects().count(x) == 1
        person("reject", waits(s, name=x), "--why=monday")
        r = form(s, "accept", name=x)
        assert code(r) == "APPROVAL_REJECTED" and s.forms == before + 1 and effects().count(x) == 1, r
        # … and while the form is open
        x = era + "open"
        for action in ("accept", "decline"):
            id = waits(s, name=x)
            had = effects().count(x)
            r = form(s, action, lambda: person("approve", id), name=x)
            assert r["structuredContent"]["warnings"][0]["code"] == "APPROVED_CALL" and effects().count(x) == had + 1, (action, r)
        # a reply that is none decides nothing
        x = era + "odd"
        id = waits(s, name=x)
        form(s, "whatever", name=x)
        assert pending() == [id]
        person("reject", id)
        # what fails is decided, too
        id = waits(s, name=era + "f", fails=True)
        assert code(form(s, "accept", name=era + "f", fails=True)) == "UNAVAILABLE" and pending() == []
        person("approve", id)
        assert effects().count(era + "f") >= 1 and code(form(s, "decline", name=era + "f", fails=True)) == "CONFIRMATION_REQUIRED"
        # files that have changed ask anew
        id = waits(s, name=era + "c")
        open("runner.lua", "a").write("\n-- " + era + "\n")
        assert not form(s, "accept", name=era + "c")["isError"] and pending() == []
        person("approve", id)
        assert effects().count(era + "c") == 1
# as a task, which is detached
with Server("--allow", "drop", elicits=True, tasks=True) as s:
    s.old, s.forms = False, 0
    id = waits(s, name="task")
    task = form(s, "accept", name="task")["taskId"]
    assert pending() == []
    until(lambda: s.ask("tasks/get", {"taskId": task})["result"]["status"] == "completed")
    person("approve", id)
    assert effects().count("task") == 1
PY
}

@test "what an approved call attached is told with its outcome, to a client of MCP, too; what is gone is said" {
	setup_stage
	command_file drop <<-'LUA'
		return { description = "Drop", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			run = function(args, ctx)
				ctx:attach { name = "a.txt", data = "what it did" }
				ctx:attach { name = "empty.bin", data = "" }
				return { effect = "deleted" }
			end }
	LUA
	asks
	person approve "$id"
	call --policy p.json drop
	envelope 0
	expect '[(a["name"], open(a["path"]).read()) for a in e.meta["attachments"]] == [("a.txt", "what it did"), ("empty.bin", "")]'
	expect '[w["code"] for w in e.warnings] == ["APPROVED_CALL"]'
	session XDG_STATE_HOME="$PWD/state" RUNNER_POLICY="$PWD/p.json" <<PY
$FORMS
for gone in (False, True):
    with Server("--allow", "drop") as s:
        s.initialize()
        ask = lambda: s.ask("tools/call", {"name": "drop", "arguments": {}}, modern=False)["result"]
        person("approve", re.search("apr_[0-9a-f]+", json.dumps(ask())).group())
        if gone:
            for name in os.listdir("state/runner/answers"):
                os.unlink("state/runner/answers/" + name)
        result = ask()
        codes = [w["code"] for w in result["structuredContent"]["warnings"]]
        assert not result["isError"], result
        if gone:
            assert codes.count("ATTACHMENT_NOT_KEPT") == 2 and len(result["content"]) == 1, result
        else:
            assert codes == ["APPROVED_CALL"] and [b["resource"].get("text") for b in result["content"][1:]] == ["what it did", ""], result
PY
}

@test "a call that ran with its form ends in no doubt though it is confined; one that was killed is in doubt" {
	setup_stage
	touch effects
	sed -i 's/danger_level = "mutating"/danger_level = "destructive", confine = { write = { "effects" }, required = false }/' commands/drop.lua
	session XDG_STATE_HOME="$PWD/state" <<PY
$FORMS
with server("2026-07-28") as s:
    id = waits(s, name="x")
    r = form(s, "accept", name="x")
    assert not r["isError"] and r["structuredContent"]["warnings"] == [], r
    assert pending() == [] and effects() == ["x"]
    before = s.forms
    r = form(s, "accept", name="x")
    assert not r["isError"] and s.forms == before + 1 and effects() == ["x", "x"], r
# one whose end nobody saw is in doubt: while it goes nothing runs beside it, and afterwards that is said, once
with server("2026-07-28") as s, server("2026-07-28") as other:
    waits(s, name="slow")
    r = s.call("drop", {"name": "slow"})
    s.request("tools/call", {"name": "drop", "arguments": {"name": "slow"}, "requestState": r["requestState"], "inputResponses": YES})
    until(lambda: "slow" in effects())
    assert code(form(other, "accept", name="slow")) == "LOCK_HELD"
    import sqlite3
    def owner():
        with sqlite3.connect("state/runner/runs.db") as db:
            return db.execute("SELECT owner FROM approvals WHERE outcome IS NULL").fetchone()[0]
    supervisor = int(owner().split()[0])
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{supervisor}/exe"))
    assert code(form(other, "accept", name="slow")) == "IN_DOUBT" and other.forms == 0
    assert "requestState" in other.call("drop", {"name": "slow"}) and effects().count("slow") == 1
PY
	[ "$(sql 'select outcome from approvals' | grep -c '"ok":true')" = 1 ]
}
