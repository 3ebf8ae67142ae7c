#!/usr/bin/env bats
# The audit ledger: who called what and how it ended, and whether somebody changed it.

load lib/helper

prepare() {
	echo 'return { audit = { path = "ledger.jsonl" } }' >runner.lua
	body greet 'args = { { "name", "string", default = "you" }, { "key", "string", secret = true } },' <<<'return { greeting = args.name }'
}

# row NUMBER EXPR: it holds for that row (1 is the first, -1 the last) of the ledger, `r`
row() {
	python3 - "$1" "$2" <<-'PY'
		import json, sys
		rows = [json.loads(line) for line in open("ledger.jsonl")]
		n = int(sys.argv[1])
		r = rows[n - 1 if n > 0 else n]
		assert eval(sys.argv[2]), json.dumps(r, indent=1)
	PY
}

rows() {
	wc -l <ledger.jsonl
}

@test "REQ-O-030 a call has a row before run and one at its end, with what was called, by whom and how it ended" {
	answers 0 TOOL_TRACE_ID=0af7651916cd43dd8448eb211c80319c USER=mallory LOGNAME=mallory greet --name Ada
	expect "e.meta['audit_log_path'] == '$PWD/ledger.jsonl'"
	[ "$(rows)" -eq 2 ]
	row 1 'r["event"] == "begin" and r["command"] == "greet" and r["args"]["name"] == "Ada" and r["attempt"] == 1'
	row 1 "r['uid'] == $(id -u) and r['user'] == '$(id -un)' and r['cwd'] == '$PWD' and r['project'] == '$PWD'"
	row 1 "r['file'] == '$PWD/commands/greet.lua' and r['file_sha256'] == '$(sha256sum <commands/greet.lua | cut -d' ' -f1)'"
	row 1 'len(r["args_sha256"]) == 64 and r["trace_id"].startswith("0af7651916cd43dd")'
	row 2 'r["event"] == "end" and r["exit_code"] == 0 and r["code"] is None and r["attempts"] == 1 and r["duration_ms"] >= 0'
	row 2 "r['request_id'] == '$(field 'e.meta["request_id"]')'"
	[ "$(stat -c %a ledger.jsonl)" = 600 ]
}

@test "a row says who has logged in, where the process is of another account" {
	(echo 65529 >/proc/self/loginuid) 2>/dev/null || skip "/proc/self/loginuid can't be set here"
	(echo 65529 >/proc/self/loginuid && answers 0 greet)
	row 1 "r['login_uid'] == 65529 and r['uid'] == $(id -u)"
	call audit list
	expect 'e.data[0]["login_uid"] == 65529'
	(id -u >/proc/self/loginuid && answers 0 greet)
	row -1 '"login_uid" not in r'
}

@test "a secret is in no row, and neither are arguments that are too long" {
	answers 0 KEY=hunter2hunter2 greet --key-from-env KEY --name ghp_0123456789abcdefghijABCDEFGHIJ012345
	[ "$(grep -c 'hunter2\|ghp_012345' ledger.jsonl)" -eq 0 ]
	answers 0 greet --name "$(head -c 60000 /dev/zero | tr '\0' x)"
	row -2 'r["truncated"] is True and "args" not in r and len(r["args_sha256"]) == 64'
}

@test "without the setting there is no file, and no row where nothing is called" {
	answers 0 help
	answers 0 greet --help
	answers 0 greet --plan
	answers 0 manifest
	answers 2 nonsense
	[ ! -e ledger.jsonl ]
	echo 'return { audit = false }' >runner.lua
	answers 0 XDG_STATE_HOME="$PWD/state" greet
	expect '"audit_log_path" not in e.meta'
	[ -z "$(find . -name "*audit*")" ]
	echo 'return { audit = true }' >runner.lua
	answers 0 XDG_STATE_HOME="$PWD/state" greet
	[ "$(stat -c %a state/runner) $(stat -c %a state/runner/audit.jsonl)" = "700 600" ]
}

@test "a failure, a refusal, a limit and a retry are told apart" {
	answers 2 greet --nonsense
	[ "$(rows)" -eq 1 ]
	row 1 'r["event"] == "end" and r["code"] == "VALIDATION_ERROR" and r["exit_code"] == 2 and r["side_effects"] == "none"'
	failing wipe destructive <<<'ctx:fail("TIMEOUT", "x")'
	answers 2 wipe
	row -1 'r["event"] == "end" and r["code"] == "CONFIRMATION_REQUIRED"'
	answers 10 wipe --confirm-destructive
	[ "$(rows)" -eq 8 ]
	row 2 'r["event"] == "decision" and r["decision"] == "refused" and r["by"] == "runner" and r["command"] == "wipe"'
	row 4 'r["decision"] == "confirmed" and r["by"] == "flag" and r["flag"] == "--confirm-destructive"'
	row -2 'r["event"] == "begin" and r["attempt"] == 3'
	row -1 'r["code"] == "TIMEOUT" and r["attempts"] == 3'
	body slow <<<'ctx:sleep(60)'
	answers 10 slow --timeout 300ms
	row -1 'r["code"] == "TIMEOUT" and r["exit_code"] == 10'
	body crash <<<'os.execute("kill -9 $PPID")'
	answers 1 crash
	row -1 'r["code"] == "COMMAND_CRASHED"'
	printf '{ "max_danger": "safe", "deny": ["slow"] }' >p.json
	answers 7 --policy p.json wipe
	row -1 'r["code"] == "POLICY_DENIED" and r["command"] == "wipe"'
	answers 7 --policy p.json slow
	row -1 'r["code"] == "POLICY_DENIED" and r["command"] == "slow"'
	answers 0 --policy p.json greet
	row -2 "r['policy'] == ['$PWD/p.json']"
}

@test "what was killed has begun and never ended" {
	body slow <<<'require("fs").write("marker", "x") ctx:sleep(60)'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	kill -9 "$pid"
	wait "$pid" || true
	answers 0 audit list --state open
	expect '[(c["command"], c["state"], "ended" in c) for c in e.data] == [("slow", "open", False)]'
}

@test "a ledger is listed newest first, and verify finds nothing wrong with what many wrote at once" {
	local pids=() i
	for i in 1 2 3 4 5 6; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" greet --name "n$i" >/dev/null 2>&1 </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	answers 2 greet --nonsense
	[ "$(rows)" -eq 13 ]
	answers 0 audit verify
	expect 'e.data["rows"] == 13 and e.data["problems"] == [] and len(e.data["head"]) == 64'
	answers 0 audit list --limit 0
	expect 'len(e.data) == 7 and e.data[0]["state"] == "not_run" and e.data[1]["state"] == "ended"'
	answers 0 audit list --command nothing
	expect 'e.data == []'
	[ "$(rows)" -eq 13 ]
}

# damaged SED…: the ledger of three calls, changed by sed, is found out
damaged() {
	rm -f ledger.jsonl
	call greet --name one
	call greet --name two
	call greet --name three
	"$@" ledger.jsonl
	answers 4 audit verify
	expect 'e.error.code == "AUDIT_DAMAGED" and e.data["problems"][0]["line"] >= 1'
}

@test "a row that was changed, removed, added or moved is found" {
	damaged sed -i '3s/two/TWO/'
	damaged sed -i '6s/"exit_code":0/"exit_code":1/'
	damaged sed -i 3d
	damaged sed -i 1d
	damaged sed -i '2{p}'
	damaged sed -i '2{h;d};3{G}'
	damaged sed -i '4s/$/ /'
	damaged sed -i '$a{"event":"end"}'
	damaged truncate -s -5
	answers 0 greet # and it goes on
	[ "$(tail -n 1 ledger.jsonl | head -c 16)" = '{"event":"end","' ]
}

@test "where the ledger can't be written, a call warns, or is refused if it must be written" {
	mkdir ledger.jsonl
	answers 0 greet
	expect '[w["code"] for w in e.warnings] == ["AUDIT_UNAVAILABLE"] * 2'
	rmdir ledger.jsonl
	echo secret >elsewhere
	ln -s elsewhere ledger.jsonl
	answers 0 greet
	expect 'e.warnings[0]["code"] == "AUDIT_UNAVAILABLE"'
	[ "$(cat elsewhere)" = secret ]
	rm ledger.jsonl
	echo 'return { audit = { path = "ledger.jsonl", required = true, sync = true } }' >runner.lua
	failing act mutating <<<'fs.write("acted", "x") return { effect = "created" }'
	: >ledger.jsonl
	chmod g+w ledger.jsonl
	answers 4 act
	expect 'e.error.code == "AUDIT_UNAVAILABLE" and e.error.side_effects == "none" and e.error.retryable is False'
	[ ! -e acted ]
	chmod g-w ledger.jsonl
	answers 0 act
	[ -e acted ]
	rm acted
	echo 'return { audit = { path = "/dev/full", required = true } }' >runner.lua
	answers 4 act
	[ ! -e acted ]
}

@test "on a full disk no part of a row is left" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	mkdir small
	mount -t tmpfs -o size=8k tmpfs small 2>/dev/null || skip "can't mount here"
	echo 'return { audit = { path = "small/ledger.jsonl", required = true } }' >runner.lua
	local i
	for i in $(seq 20); do
		call greet --name "$(head -c 500 /dev/zero | tr '\0' x)"
		[ "$status" -eq 0 ] || break
	done
	cp small/ledger.jsonl ledger.jsonl
	umount small
	expect 'e.error.code == "AUDIT_UNAVAILABLE" and e.error.side_effects == "none"'
	echo 'return { audit = { path = "ledger.jsonl" } }' >runner.lua
	answers 0 audit verify
}

@test "a confined command and a job are in the ledger, too" {
	mkdir out
	body narrow 'confine = { write = { "out" }, required = false },' <<<'return {}'
	answers 0 narrow
	expect '"AUDIT_UNAVAILABLE" not in [w["code"] for w in e.warnings]'
	[ "$(rows)" -eq 2 ]
	answers 0 XDG_STATE_HOME="$PWD/state" greet --detach
	answers 0 XDG_STATE_HOME="$PWD/state" job wait "$(field 'e.data["job_id"]')"
	answers 0 audit list --command greet
	expect 'sorted(c["state"] for c in e.data) == ["ended", "not_run"]'
}

@test "a wrong setting is said, and without one there is nothing to list" {
	local wrong
	for wrong in '"yes"' '{ path = "" }' '{ path = 1 }' '{ requierd = true }' '{ sync = 1 }'; do
		echo "return { audit = $wrong }" >runner.lua
		answers 4 greet
		expect 'e.error.code == "COMMAND_INVALID" and e.error.errors[0]["field"] == "audit"'
	done
	echo 'return {}' >runner.lua
	answers 4 audit list
	expect 'e.error.code == "AUDIT_DISABLED"'
	answers 4 audit verify
	echo 'return { audit = { path = "none.jsonl" } }' >runner.lua
	answers 0 audit verify
	expect 'e.data["rows"] == 0'
}

@test "a built-in command without the context that RUNNER_CONTEXT names is written down all the same" {
	known
	echo 'return { audit = { path = "ledger.jsonl" }, contexts = { prod = {} } }' >runner.lua
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	answers 0 RUNNER_CONTEXT=prd job list
	row -1 'r["event"] == "end" and r["command"] == "job.list" and r["exit_code"] == 0'
	answers 2 RUNNER_CONTEXT=prd workflow resume @last
	row -1 'r["event"] == "end" and r["command"] == "workflow.resume" and r["exit_code"] == 2'
	[ "$(rows)" -eq 3 ]
}

@test "a ledger that an earlier version wrote is verified and goes on" {
	answers 0 greet
	python3 - <<-'PY'
		import hashlib, json
		out, prev = "", "0" * 64
		for text in '{"event":"begin","request_id":"req_1","command":"greet","user":"ada"', '{"event":"end","request_id":"req_1","command":"greet","exit_code":0':
		    body = f'{text},"prev":"{prev}"'
		    prev = hashlib.sha256(body.encode()).hexdigest()
		    out += f'{body},"hash":"{prev}"}}\n'
		open("ledger.jsonl", "w").write(out)
	PY
	answers 0 greet
	answers 0 audit verify
	expect 'e.data["rows"] == 4 and e.data["problems"] == []'
}
