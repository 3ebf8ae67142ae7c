#!/usr/bin/env bats
# Who agreed to a call, in the audit ledger: each confirmed, declined and refused call has a row that says so.

load lib/helper
load lib/mcp

prepare() {
	echo 'return { audit = { path = "ledger.jsonl" } }' >runner.lua
	printf 'return { description = "Wipe", danger_level = "destructive", safe_default = false, timeout = "20s",\n%s\n%s' \
		'exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "path", "string" }, { "key", "string", secret = true } },' \
		'run = function() require("fs").write("wiped", "x") return { effect = "deleted" } end }' >commands/wipe.lua
	body look <<<'return { seen = true }'
}

# decisions EXPR: it holds for the rows of decisions, `d`
decisions() {
	python3 - "$1" <<-'PY'
		import json, os, sys
		rows = [json.loads(line) for line in open("ledger.jsonl")]
		d = [r for r in rows if r["event"] == "decision"]
		assert all(r["uid"] == os.getuid() and r["user"] and r["time"] and r["request_id"] and r["project"] for r in d), d
		assert eval(sys.argv[1]), json.dumps(d, indent=1)
	PY
	answers 0 audit verify
}

@test "a call that a flag confirms, one that nobody confirms, and one that a policy refuses each say so" {
	answers 0 KEY=hunter2hunter2 wipe --path /data --key-from-env KEY --confirm-destructive
	answers 2 wipe --path /data
	echo '{ "deny": ["wipe"] }' >p.json
	answers 7 --policy p.json wipe --confirm-destructive
	decisions "[(r['decision'], r['by'], r.get('flag'), r.get('rule')) for r in d] == [('confirmed', 'flag', '--confirm-destructive', None),
		('refused', 'runner', None, None), ('refused', 'policy', None, 'deny: wipe')] and d[2]['policy_file'] == '$PWD/p.json'"
	decisions 'd[0]["args"] == {"path": "/data", "key": "***"}'
	[ "$(grep -c hunter2 ledger.jsonl)" -eq 0 ]
	answers 0 audit list
	expect '[(c["state"], c["decision"], c["by"]) for c in e.data] == [("not_run", "refused", "policy"), ("not_run", "refused", "runner"), ("ended", "confirmed", "flag")]'
}

@test "a job has one decision, that of the call that made it" {
	answers 0 XDG_STATE_HOME="$PWD/state" wipe --confirm-destructive --detach
	local id
	id=$(field 'e.data["job_id"]')
	answers 0 XDG_STATE_HOME="$PWD/state" job wait "$id"
	decisions '[(r["decision"], r["by"]) for r in d] == [("confirmed", "flag")]'
}

@test "a person's yes and no at a terminal are rows" {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" decisions_are_recorded
	decisions '[(r["command"], r["decision"], r["by"]) for r in d] == [("purge", "declined", "terminal"), ("purge", "confirmed", "terminal"),
		("release", "declined", "terminal"), ("release", "confirmed", "terminal")]'
}

@test "what a client of MCP confirms, declines and is refused names the client and its transport" {
	session <<'PY'
INFO = {"io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1.5"}}
def call(s, **params):
    return s.answer(s.request("tools/call", {"name": "wipe", "arguments": {"path": "/data", "key": "hunter2hunter2"}, **params}, meta=INFO))
with Server("--allow", "wipe", elicits=True) as s:
    for action in {"action": "decline"}, {"action": "accept", "content": {"confirm": True}}:
        state = call(s)["result"]["requestState"]
        call(s, requestState=state, inputResponses={"confirm": action})
    call(s, requestState="forged", inputResponses={"confirm": {"action": "accept", "content": {"confirm": True}}})
with Server("--allow", "wipe") as s:
    assert "error" in call(s)
    assert "error" in s.answer(s.request("tools/call", {"name": "db_drop", "arguments": {}}, meta=INFO))
PY
	[ -e wiped ]
	decisions '[(r["command"], r["decision"], r["by"]) for r in d] == [("wipe", "declined", "client"), ("wipe", "confirmed", "client"),
		("wipe", "refused", "server"), ("wipe", "refused", "runner"), ("db_drop", "refused", "server")]'
	decisions 'all(r["client"] == {"name": "test-client", "version": "1.5", "transport": "mcp-stdio"} for r in d)'
	decisions 'd[0]["args"] == {"path": "/data", "key": "***"} and len({r["request_id"] for r in d}) == 5'
	[ "$(grep -c hunter2 ledger.jsonl)" -eq 0 ]
}

@test "a call of a client of MCP or of exec that needs no confirmation says whose it was, too" {
	session <<'PY'
with Server() as s:
    s.initialize()
    s.answer(s.request("tools/call", {"name": "look", "arguments": {}}, modern=False))
PY
	"$RUNNER" exec --allow wipe >/dev/null <<<'{"_cmd":"wipe"}'
	python3 - <<-'PY'
		import json
		rows = [json.loads(line) for line in open("ledger.jsonl")]
		clients = [(r["event"], r["command"], r["client"]) for r in rows if "client" in r]
		assert ("begin", "look", {"name": "test", "version": "1", "transport": "mcp-stdio"}) in clients, clients
		assert ("decision", "wipe", {"transport": "exec"}) in clients, clients
	PY
}

@test "where the ledger is required and can't be written, a confirmed call doesn't run" {
	echo 'return { audit = { path = "/proc/nowhere/ledger.jsonl", required = true } }' >runner.lua
	answers 4 wipe --confirm-destructive
	expect 'e.error.code == "AUDIT_UNAVAILABLE"'
	[ ! -e wiped ]
}
