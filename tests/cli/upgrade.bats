#!/usr/bin/env bats
# What version 0.2.0 has left is this version's: its run database, jobs, keys, ledger, libraries and policies. data/left_by_0_2 was
# written by the program of that version (commit 27803bc4), in /home/ada/shop.
# shellcheck disable=SC2034 # what call sets is for the tests

load lib/helper
load lib/tmux

FAILED=run_01M8KJCP7JT7BZQQW4959SDS6N COMPLETED=run_01M8KJCP8HY1XMHEDDWVEEYEW0
WAITING=run_01M8KJCP9V6YXDSY8P5E59PHDW KILLED=run_01M8KJCPAN52AG6M4RNMCD2CKK
HELLO=job_01M8KJCQFP9KDBV68S6ZPWRVTC SLOW=job_01M8KJCQGC3C96GNTPES4GG6EA

# The project and the state, in this test's folder and of its user, which take the place of those that they were written in.
prepare() {
	needs_library libsqlite3.so.0
	rm -rf commands
	cp -r "$ROOT/tests/cli/data/left_by_0_2/." .
	sed -i "s|/home/ada|$PWD|g; s|\"keys\" VALUES(0,|\"keys\" VALUES($(id -u),|" runs.sql state/runner/jobs/*/*.json
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())' state/runner/runs.db runs.sql
	chmod -R go= state shop/audit.jsonl
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	cd shop || return 1
	cp ../state/runner/runs.db ../as_it_was.db
}

clean_up() {
	end_shell
}

@test "runs that 0.2.0 has left are listed and shown as they ended" {
	call workflow list
	[ "$status" -eq 0 ]
	assert_envelope
	expect "[r['id'] for r in e.data] == ['$KILLED', '$WAITING', '$COMPLETED', '$FAILED']"
	expect "[r['state'] for r in e.data] == ['interrupted', 'waiting', 'completed', 'failed']"
	call workflow show "$COMPLETED"
	[ "$status" -eq 0 ]
	assert_envelope
	expect '[(s["key"], s["state"]) for s in e.data["steps"]][:3] == [("greet", "completed"), ("gate", "completed"), ("all", "completed")]'
	expect '[s["output"] for s in e.data["steps"] if s["key"] == "4"] == ["ada 3"]'
	call workflow logs "$FAILED" gate
	[ "$status" -eq 0 ]
	assert_envelope
	# the database as it was is kept beside what it has become
	[ ! -e ../state/runner/runs.db.v22 ] || cmp <(sqlite_dump ../as_it_was.db) <(sqlite_dump ../state/runner/runs.db.v22)
}

sqlite_dump() {
	python3 -c 'import sqlite3, sys; print("\n".join(sqlite3.connect(sys.argv[1]).iterdump()))' "$1"
}

@test "a run that failed under 0.2.0 is resumed: what was done stays done" {
	touch open
	call workflow resume "$FAILED"
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data["state"] == "completed" and e.data["resumes"] == 1'
	expect '[s["attempts"] for s in e.data["steps"] if s["key"] in ("greet", "gate")] == [1, 2]'
	expect '[s["output"] for s in e.data["steps"] if s["key"] == "4"] == ["ada 3"]'
}

@test "a run whose 0.2.0 was killed goes on where it stopped, and no effect comes twice" {
	touch open
	[ "$(<effects.txt)" = first ]
	call workflow resume "$KILLED"
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data["state"] == "completed"'
	[ "$(<effects.txt)" = $'first\nthird' ]
}

@test "a run that waits for a person since 0.2.0 is approved and goes on" {
	call approvals
	[ "$status" -eq 0 ]
	assert_envelope
	expect "[(a['id'], a['run'], a['state']) for a in e.data] == [('apr_9068d9b939fdb', '$WAITING', 'pending')]"
	start_shell 150 45
	type_line "\$R approve apr_9068d9b939fdb; echo \"ended: \$?\""
	on_screen 'Approve step .*\[y/N\]'
	type_line y
	on_screen 'ended: 0'
	call workflow show "$WAITING"
	assert_envelope
	expect 'e.data["state"] == "completed"'
	expect '[s["output"] for s in e.data["steps"] if s["key"] == "after"] == ["went"]'
}

@test "jobs of 0.2.0 are listed, and their answers are read" {
	call job list
	[ "$status" -eq 0 ]
	assert_envelope
	expect "[(j['job_id'], j['status'], j['exit_code']) for j in e.data] == [('$SLOW', 'failed', 12), ('$HELLO', 'complete', 0)]"
	call job wait "$HELLO"
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data == {"hello": "bob"} and e.meta["job"]["tool_version"] == "0.2.0"'
	call job status "$SLOW"
	assert_envelope
	expect 'e.data["status"] == "failed" and e.data["terminal"] is True'
}

@test "a key that 0.2.0 has used is used: the command doesn't run again" {
	call mark --idempotency-key once
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data["marked"] is True'
	[ "$(<marks.txt)" = mark ]
}

@test "the ledger of 0.2.0 is verified, goes on in one chain, and a change in its old rows is found" {
	local rows
	rows=$(wc -l <audit.jsonl)
	call audit verify
	[ "$status" -eq 0 ]
	assert_envelope
	expect "e.data['rows'] == $rows and e.data['problems'] == []"
	call hello eve
	[ "$status" -eq 0 ]
	call audit verify
	[ "$status" -eq 0 ]
	assert_envelope
	expect "e.data['rows'] > $rows and e.data['problems'] == []"
	call audit list --all --limit 100
	assert_envelope
	expect 'e.data[0]["args"] == {"name": "eve"}'
	expect '"mark" in [r["command"] for r in e.data]'
	sed -i '3s/"command"/"Command"/' audit.jsonl
	call audit verify
	[ "$status" -eq 4 ]
	assert_envelope
	expect 'e.error["code"] == "AUDIT_DAMAGED"'
}

@test "the lock file of 0.2.0 holds: its library is called, and refused when its bytes changed" {
	call lending lent
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data == {"lent": True}'
	call library list
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data[0]["library"] == "lending"'
	echo '-- more' >>vendor/lending/c88a4e0242a9/commands/lent.lua
	call lending lent
	[ "$status" -ne 0 ]
	assert_envelope
}

@test "a policy of 0.2.0 allows and denies what it did" {
	call --policy policy.json hello bob
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.meta["timeout_ms"] == 10000'
	call --policy policy.json workflow list
	[ "$status" -eq 0 ]
	call --policy policy.json mark
	[ "$status" -eq 7 ]
	assert_envelope
	expect 'e.error["code"] == "POLICY_DENIED"'
	call --policy policy.json workflow run flow.yaml
	[ "$status" -eq 7 ]
	[ "$(<marks.txt)" = mark ]
}
