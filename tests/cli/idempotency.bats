#!/usr/bin/env bats
# --idempotency-key: a call is made once, whatever happens to its caller.

load lib/helper

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	echo 'return {}' >runner.lua
}

# once NAME [KEYS…] <<'LUA': a mutating command that notes each run in `runs`
once() {
	local name=$1
	shift
	{
		printf 'return { description = "x", danger_level = "mutating", %s\n' "$*"
		echo 'args = { { "target", "string", default = "all" }, { "token", "string", secret = true } },'
		echo 'run = function(args, ctx) local f = io.open("runs", "a") f:write("x") f:close()'
		cat
		echo 'end }'
	} | command_file "$name"
}

TIMEOUT='exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },'

@test "REQ-C-007 the same key twice: one run, the same data, effect noop" {
	once add "$TIMEOUT" <<<'return { effect = "created", id = 7, token = args.token, at = os.clock() }'
	answers 0 T=s3cretvalue add --idempotency-key k1 --token-from-env T
	expect 'e.data.effect == "created" and "idempotency_hit" not in e.meta'
	local at
	at=$(field e.data.at)
	answers 0 T=s3cretvalue add --idempotency-key k1 --token-from-env T
	expect "e.data == { 'effect': 'noop', 'id': 7, 'token': '***', 'at': $at } and e.meta.idempotency_hit is True and e.warnings == []"
	[ "$(<runs)" = x ]
	answers 0 add --idempotency-key k2
	answers 0 add
	[ "$(<runs)" = xxx ]
	[ "$(stat -c %a state/runner/runs.db)" = 600 ]
	run grep -rq s3cretvalue state
	[ "$status" -eq 1 ]
}

@test "REQ-C-007 a key belongs to a command and a project; other arguments under it are CONFLICT" {
	once add "$TIMEOUT" <<<'return { effect = "created" }'
	once more "$TIMEOUT" <<<'return { effect = "created" }'
	answers 0 add --idempotency-key k
	answers 6 add --idempotency-key k --target other
	expect 'e.error.code == "CONFLICT" and e.error.side_effects == "none" and e.error.context.first_request_id.startswith("req_")'
	answers 0 more --idempotency-key k
	expect '"idempotency_hit" not in e.meta'
	[ "$(<runs)" = xx ]
	mkdir -p other && cp -r commands runner.lua other/ && cd other
	answers 0 add --idempotency-key k
	expect '"idempotency_hit" not in e.meta'
}

@test "REQ-C-007 of two calls at once one runs; the other may retry and gets its data" {
	mkfifo gate
	once slow "$TIMEOUT" <<<'io.open("marker", "w"):close() io.open("gate"):close() return { effect = "updated", n = 1 }'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow --idempotency-key k >first.txt 2>/dev/null </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	answers 4 slow --idempotency-key k --retries 0
	expect 'e.error.code == "LOCK_HELD" and e.error.retryable is True'
	: >gate
	wait "$pid"
	answers 0 slow --idempotency-key k
	expect 'e.data == {"effect": "noop", "n": 1}'
	[ "$(<runs)" = x ]
}

@test "REQ-C-007 an owner that died leaves the key in doubt, and nobody runs it again" {
	needs_library libsqlite3.so.0
	once slow "$TIMEOUT" <<<'io.open("marker", "w"):close() ctx:sleep(60)'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow --idempotency-key k >/dev/null 2>&1 </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	kill -9 "$pid"
	wait "$pid" || true
	for _ in 1 2; do
		answers 6 slow --idempotency-key k
		expect 'e.error.code == "IN_DOUBT" and e.error.retryable is False'
	done
	[ "$(<runs)" = x ]
}

@test "REQ-C-007 a failure without effects frees the key; one with effects leaves it in doubt" {
	once free "$TIMEOUT" <<<'ctx:fail("NOT_FOUND", "no", { side_effects = "none" })'
	answers 5 free --idempotency-key k
	answers 5 free --idempotency-key k --target other
	[ "$(<runs)" = xx ]
	once half "$TIMEOUT" <<<'error "half"'
	answers 1 half --idempotency-key k
	answers 6 half --idempotency-key k
	expect 'e.error.code == "IN_DOUBT"'
	[ "$(<runs)" = xxx ]
}

@test "REQ-C-007 retries of one run share its key, and dry runs leave it alone" {
	once again "$TIMEOUT" 'retry = { retries = 2, delay = "1ms" },' <<<'if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "no") end return { effect = "updated" }'
	answers 0 again --idempotency-key k --dry-run
	answers 0 again --idempotency-key k
	expect 'e.data.effect == "updated"'
	[ "$(<runs)" = xxx ]
	answers 0 again --idempotency-key k
	expect 'e.meta.idempotency_hit is True'
	answers 2 again --idempotency-key ''
	body safe <<<'return {}'
	answers 2 safe --idempotency-key k
}

@test "REQ-C-007 data is kept for 24 hours" {
	once add "$TIMEOUT" <<<'return { effect = "created" }'
	answers 0 add --idempotency-key k
	python3 -c 'import sqlite3; d = sqlite3.connect("state/runner/runs.db"); d.execute("UPDATE keys SET created_ms = created_ms - 86390000"); d.commit()'
	answers 0 add --idempotency-key k
	expect 'e.meta.idempotency_hit is True'
	python3 -c 'import sqlite3; d = sqlite3.connect("state/runner/runs.db"); d.execute("UPDATE keys SET created_ms = created_ms - 20000"); d.commit()'
	answers 0 add --idempotency-key k
	expect '"idempotency_hit" not in e.meta'
	[ "$(<runs)" = xx ]
}
