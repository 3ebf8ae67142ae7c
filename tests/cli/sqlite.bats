#!/usr/bin/env bats
# SQLite inside a real run: what a signal does to a wait and to a transaction, what a
# missing library looks like, and that other commands don't pay for it.

load lib/helper

# sql STATEMENT: the first column of its first row, as another process sees it.
sql() {
	python3 -c 'import sqlite3, sys
db = sqlite3.connect("test.db", isolation_level=None)
print((db.execute(sys.argv[1]).fetchone() or [""])[0])' "$1"
}

prepare() {
	needs_library libsqlite3.so.0
	sql "PRAGMA journal_mode = WAL"
	sql "CREATE TABLE t (a)"
}

# Send TERM to the run of ARGS once `marker` is there.
terminated() {
	env -i "${CLEAN_ENV[@]}" "$RUNNER" "$@" >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$! before
	until_true [ -e marker ]
	sleep 0.2
	before=${EPOCHREALTIME/[.,]/}
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	elapsed_ms=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
	assert_envelope
}

@test "a signal ends the wait for another process's lock at once" {
	body blocked <<-'LUA'
		local sqlite = require "runner.sqlite"
		local holder <close> = sqlite.open "test.db"
		holder:transaction(function()
			local other <close> = sqlite.open "test.db"
			io.open("marker", "w"):close()
			pcall(other.run, other, "INSERT INTO t VALUES (1)")
			error "went on"
		end)
	LUA
	terminated blocked
	[ "$status" -eq 143 ]
	[ "$elapsed_ms" -lt 20000 ]
	expect 'e.error.code == "CANCELLED"'
}

@test "a cancelled transaction is undone, though no Lua runs any more, and cleanup can go on writing" {
	command_file half <<-'LUA'
		local conn
		return { description = "x", danger_level = "safe", grace = "20s",
			run = function()
				conn = require("runner.sqlite").open "test.db"
				pcall(conn.transaction, conn, function()
					conn:run "INSERT INTO t VALUES ('half')"
					io.open("marker", "w"):close()
					while true do end
				end)
				conn:run "INSERT INTO t VALUES ('after')"
			end,
			cleanup = function()
				conn:transaction(conn.run, conn, "INSERT INTO t VALUES ('cleanup')")
			end }
	LUA
	terminated half
	[ "$status" -eq 143 ]
	[ "$(sql "SELECT group_concat(a) FROM t")" = cleanup ]
}

@test "what was committed before a SIGKILL is there, what was not is not" {
	body killed <<-'LUA'
		local conn = require("runner.sqlite").open "test.db"
		conn:run "INSERT INTO t VALUES ('committed')"
		conn:transaction(function()
			conn:run "INSERT INTO t VALUES ('half')"
			os.execute "kill -9 $PPID"
			os.execute "sleep 5"
		end)
	LUA
	call killed
	assert_envelope
	[ "$status" -ne 0 ]
	[ "$(sql "SELECT group_concat(a) FROM t")" = committed ]
	[ "$(sql "PRAGMA integrity_check")" = ok ]
}

@test "a missing libsqlite3 is a precondition that names the package" {
	dynamic_only "has it inside"
	body runs <<-'LUA'
		return #require("runner.workflow.store.store").open {}:list()
	LUA
	mkdir empty
	touch empty/libsqlite3.so.0
	call LD_LIBRARY_PATH="$PWD/empty" XDG_STATE_HOME="$PWD/state" runs
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "PRECONDITION" and e.error.retryable is False'
	expect '"apt-get install libsqlite3-0" in e.error.suggestion'
	[ ! -e state/runner/runs.db ]
	call XDG_STATE_HOME="$PWD/state" runs
	[ "$status" -eq 0 ]
	[ -e state/runner/runs.db ]
}

@test "a command without a database opens no libsqlite3" {
	dynamic_only "opens none"
	command -v strace >/dev/null || skip "no strace here"
	body plain <<<'return {}'
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=openat -o trace.txt "$RUNNER" plain >out.txt </dev/null
	grep -q 'libc\.so' trace.txt
	[ -z "$(grep sqlite trace.txt || true)" ]
}
