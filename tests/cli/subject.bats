#!/usr/bin/env bats
# --subject and RUNNER_SUBJECT: whose a call is, where no policy says it. A person is tests/fault/person.py.

load lib/workflow
load lib/person
load lib/mcp

prepare() {
	needs_library libsqlite3.so.0
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
}

clean_up() {
	end_person
	kill_all
}

# of SUBJECT WORDS…: as `call` of that subject; "": of nobody
of() {
	local whose=$1
	shift
	if [ -n "$whose" ]; then
		call RUNNER_SUBJECT="$whose" "$@"
	else
		call "$@"
	fi
}

# requested SUBJECT [NAME=value…]: the answers to the file `requests`, of an exec of that subject, are in `lines`
requested() {
	local whose=$1
	shift
	env -i "${CLEAN_ENV[@]}" "$@" "$RUNNER" --subject "$whose" exec --ignore-errors <requests >lines 2>err.txt || true
	[ -s lines ]
}

stage() {
	body hello <<<'return { subject = os.getenv "RUNNER_SUBJECT" or "none" }'
	command_file drop <<-'LUA'
		return { description = "Drop", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "name", "string", default = "all", description = "Which" } },
			run = function(args, ctx)
				require("fs").append("effects", args.name .. (ctx:call("hello").subject) .. "\n")
				return { effect = "deleted", name = args.name }
			end }
	LUA
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	printf 'name: w\nsteps:\n  - shell: echo hi\n' >w.yaml
}

@test "a name that is none, or another one than that of a policy or of the caller, is refused, and nothing runs" {
	stage
	body hello <<<'require("fs").append("ran", "x\n") return { subject = os.getenv "RUNNER_SUBJECT" or "none" }'
	local name long
	long=$(printf 'x%.0s' {1..201})
	for name in '' $'two\nlines' $'\x7f' "$long" $'\xff'; do
		call RUNNER_SUBJECT="$name" hello
		envelope 4
		expect 'e.error["code"] == "POLICY_INVALID" and "RUNNER_SUBJECT" in e.error["message"]'
	done
	call --subject '' hello
	envelope 4
	expect 'e.error["code"] == "POLICY_INVALID" and "--subject" in e.error["message"]'
	call --subject
	envelope 2
	expect '"--subject" in e.error["message"]'
	call hello --subject a
	envelope 2
	expect 'e.error["fix_required"] == "Put --subject in front of the command\x27s name"'
	call RUNNER_SUBJECT=a --subject b hello
	envelope 7
	expect 'e.error["code"] == "POLICY_DENIED" and e.error["context"]["rule"] == "subject" and e.error["fix_required"].startswith("Leave out --subject")'
	echo '{ "subject": "a" }' >a.json
	echo '{ "max_timeout": "1m" }' >none.json
	for words in "--subject b --policy a.json" "--policy a.json --subject b"; do
		# shellcheck disable=SC2086
		call $words hello
		envelope 7
		expect "e.error['context'] == {'policy': '$PWD/a.json', 'rule': 'subject', 'command': 'hello', 'subject': 'a'}"
	done
	call RUNNER_SUBJECT=b RUNNER_POLICY="$PWD/a.json" hello
	envelope 7
	expect 'e.error["code"] == "POLICY_DENIED" and e.error["fix_required"].startswith("Unset RUNNER_SUBJECT")'
	[ ! -e ran ]
	call RUNNER_SUBJECT=a --subject a --policy a.json hello
	envelope 0
	call --policy none.json --subject b hello
	envelope 0
	expect 'e.data["subject"] == "b"'
	body mail 'args = { { "subject", "string" } },' <<<'return { subject = args.subject, whose = os.getenv "RUNNER_SUBJECT" or "none" }'
	call mail --subject hi
	expect 'e.data == {"subject": "hi", "whose": "none"}'
	call --subject b mail --subject hi
	expect 'e.data == {"subject": "hi", "whose": "b"}'
}

@test "jobs, runs, rows of the ledger and what waits carry the name, and are not there for another one" {
	stage
	local whose id job=() run=()
	for whose in a b ''; do
		of "$whose" hello --detach
		envelope 0
		job[${#job[@]}]=$(grep -o 'job_[0-9A-Z]*' out.txt | head -n 1)
		of "$whose" job wait "${job[-1]}"
		envelope 0
		of "$whose" workflow run w.yaml
		envelope 0
		run[${#run[@]}]=$(grep -o 'run_[0-9A-Z]*' out.txt | head -n 1)
	done
	of a job list
	expect "[(j['job_id'], j['subject']) for j in e.data] == [('${job[0]}', 'a')]"
	of a job status "${job[1]}"
	expect 'e.error["code"] == "NOT_FOUND"'
	of a job status "${job[2]}"
	expect 'e.error["code"] == "NOT_FOUND"'
	of '' job list
	expect 'len(e.data) == 3'
	of b workflow list
	expect "[(r['id'], r['subject']) for r in e.data] == [('${run[1]}', 'b')]"
	of b workflow show "${run[0]}"
	expect 'e.error["code"] == "NOT_FOUND"'
	# through exec, each request
	printf '{"_cmd":"hello"}\n{"_cmd":"drop"}\n{"_cmd":"job.list"}\n' >requests
	requested a
	python3 - <<-'PY'
		import json
		hello, drop, jobs = map(json.loads, open("lines"))
		assert hello["data"]["subject"] == "a", hello
		assert drop["error"]["context"]["approval"], drop
		assert [j["subject"] for j in jobs["data"]] == ["a"], jobs
	PY
	id=$(grep -o 'apr_[0-9a-f]*' lines | head -n 1)
	of b approvals
	expect 'e.data == []'
	of b approve "$id"
	expect 'e.error["code"] == "NOT_FOUND"'
	of a approvals
	expect "[(g['id'], g['subject']) for g in e.data] == [('$id', 'a')]"
	of b audit list
	expect '[r["subject"] for r in e.data] and {r["subject"] for r in e.data} == {"b"}'
	# the same data as under a policy that names the same subject
	echo '{ "subject": "a" }' >a.json
	call --policy a.json job list
	expect "[j['job_id'] for j in e.data] == ['${job[0]}']"
}

@test "a call that waits runs as the one who asked, once a person agrees, and that one alone is told" {
	local id
	stage
	begin_person
	printf '{"_cmd":"drop","name":"x"}\n' >requests
	requested a TOOL_TRACE_ID=0af7651916cd43dd8448eb211c80319c
	id=$(grep -o 'apr_[0-9a-f]*' lines | head -n 1)
	call approvals "$id"
	expect 'e.data[0]["trace_id"] == "0af7651916cd43dd8448eb211c80319c" and e.data[0]["subject"] == "a"'
	person approve "$id"
	[ "$(cat effects)" = xa ]
	requested b
	grep -q CONFIRMATION_REQUIRED lines
	requested a
	grep -q APPROVED_CALL lines
	[ "$(cat effects)" = xa ]
	grep '"confirmed"' audit.jsonl | grep '"command":"drop"' | grep -q '"subject":"a"'
}

@test "a server has one: what its calls make, and what they, its tasks and its resources show, is of its subject" {
	stage
	body slow 'async = true,' <<<'return { n = 1 }'
	session <<'PY'
import re
ids, tasks = {}, []
for whose in ("a", "b"):
    with Server("--builtin", "--allow", "workflow run", env={"RUNNER_SUBJECT": whose}) as s:
        s.initialize()
        answer = s.ask("tools/call", {"name": "hello", "arguments": {}}, modern=False)["result"]
        assert answer["structuredContent"]["data"]["subject"] == whose, answer
        s.ask("tools/call", {"name": "workflow_run", "arguments": {"file": "w.yaml"}}, modern=False)
        text = json.dumps(s.ask("tools/call", {"name": "workflow_list", "arguments": {}}, modern=False))
        ids[whose] = set(re.findall("run_[0-9A-Z]{26}", text))
        resources = json.dumps(s.ask("resources/list", modern=False))
        assert set(re.findall("run_[0-9A-Z]{26}", resources)) == ids[whose], resources
    with Server(tasks=True, env={"RUNNER_SUBJECT": whose}) as s:
        for task in tasks:
            assert "error" in s.ask("tasks/get", {"taskId": task}), task
        tasks.append(s.ask("tools/call", {"name": "slow", "arguments": {}})["result"]["taskId"])
        assert s.ask("tasks/get", {"taskId": tasks[-1]})["result"]["taskId"] == tasks[-1]
assert len(ids["a"]) == len(ids["b"]) == 1 and ids["a"] != ids["b"], ids
PY
}

@test "a checkpoint says whose it is, through which client and in which trace, and another subject begins anew" {
	stage
	body work 'interruption = { resume = true },' <<-'LUA'
		local from = ctx:restore()
		ctx:checkpoint { done = 1, total = 2 }
		return from and { from = "checkpoint" } or ctx:fail("UNAVAILABLE", "stopped")
	LUA
	printf '{"_cmd":"work"}\n' >requests
	requested a TOOL_TRACE_ID=0af7651916cd43dd8448eb211c80319c
	env -i "${CLEAN_ENV[@]}" python3 - <<-'PY'
		import glob, json, os
		[path] = glob.glob(os.environ["XDG_STATE_HOME"] + "/runner/checkpoints/*/*.json")
		kept = json.load(open(path))
		assert kept["subject"] == "a" and kept["client"] == {"transport": "exec"}, kept
		assert kept["trace_id"] == "0af7651916cd43dd8448eb211c80319c" and kept["state"]["done"] == 1, kept
	PY
	of b --retries 0 work
	expect 'e.error["code"] == "UNAVAILABLE"'
	of a --retries 0 work
	envelope 0
	expect 'e.data["from"] == "checkpoint"'
}
