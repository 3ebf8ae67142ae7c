#!/usr/bin/env bats
# A run that is cancelled, and a store that refuses: unwritable, corrupted, too new, full,
# deleted. The error says what to do, and nothing is lost.

load lib/workflow

# --- cancel ---------------------------------------------------------------------------

@test "cancel ends a live run: its tree is gone, it exits with 143, the store knows" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local id
	id=$(run_id)
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow cancel "$id" >cancel.txt 2>/dev/null </dev/null
	python3 "$ROOT/tests/cli/lib/envelope.py" check 0 cancel.txt
	finish
	envelope 143
	assert_no_process_left
	[ "$(sql 'select state from runs')" = cancelled ]
	effects one two
}

@test "cancel ends a wait, and a step that shuts out every signal it can" {
	workflow wait <<<'{ name: wait, commands: [ { claude: /a } ] }'
	workflow deaf <<-'YAML'
		name: deaf
		commands: [ { shell: "trap '' TERM INT HUP; touch began; while :; do sleep 0.1; done", grace: 300ms } ]
	YAML
	turns "$SERVER_ERROR"
	local name
	for name in wait deaf; do
		begin workflow run $name.yaml
		[ $name = deaf ] && until_true [ -e began ] || until_true grep -q retry.wait err.txt
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow cancel "$(run_id)" >cancel.txt 2>/dev/null </dev/null
		python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.data.state == "cancelled" and e.data.before == "running"' cancel.txt
		finish
		envelope 143
		assert_no_process_left
	done
	[ "$(sql 'select group_concat(distinct state) from runs')" = cancelled ]
}

@test "cancel ends a run that was stopped with Ctrl+Z" {
	three
	set -m # a job of its own, whose shell could continue it: else it would not stop
	begin workflow run three.yaml
	set +m
	until_true [ -e began ]
	kill -TSTP "$pid"
	until_true grep -q '^State:.T' "/proc/$pid/status"
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow cancel "$(run_id)" >cancel.txt 2>/dev/null </dev/null
	python3 "$ROOT/tests/cli/lib/envelope.py" check 0 cancel.txt
	finish
	envelope 143
	assert_no_process_left
}

@test "cancel of a completed run is a conflict" {
	workflow one <<<'{ name: one, commands: [ { shell: "true" } ] }'
	call workflow run one.yaml
	call workflow cancel "$(run_id)"
	envelope 6
}

# Its runner died long ago; whoever holds the lock now has not written its own number yet.
@test "cancel never signals a process that only has the number of an earlier owner" {
	three
	killed
	local innocent holder
	sleep 30 3>&- &
	innocent=$!
	sql "update runs set owner = $innocent" >/dev/null
	flock -F "state/runner/runs/$id.lock" sh -c "touch held; exec sleep 0.7" 3>&- &
	holder=$!
	until_true [ -e held ]
	call workflow cancel "$id"
	envelope 0
	kill "$innocent"
	wait "$holder"
}

@test "of two that cancel at once, one does" {
	three
	killed
	flock -F "state/runner/runs/$id.lock" sh -c "touch held; until [ -e let ]; do sleep 0.01; done" 3>&- &
	local n pids=($!)
	until_true [ -e held ]
	for n in 1 2; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow cancel "$id" >"cancel.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	sleep 0.3 # both have seen that it runs
	touch let
	wait "${pids[@]}" || true
	[ "$(cat cancel.? | grep -o '"effect":"[a-z]*"' | sort | xargs)" = "effect:noop effect:updated" ]
}

# --- a store that refuses -------------------------------------------------------------

# call, as somebody who may read everything here and write nothing
as_other_user() {
	if [ "$(id -u)" -ne 0 ]; then
		chmod -R a-w state
		call "$@"
		chmod -R u+w state
		return
	fi
	call_as 65534 "$@"
}

@test "a state directory that may not be written: PERMISSION_DENIED, and nothing runs" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one >>effects" } ] }'
	mkdir -p state/runner
	as_other_user workflow run one.yaml
	envelope 7
	expect 'e.error.code == "PERMISSION_DENIED" and "runs.db" in e.error.message and "XDG_STATE_HOME" in e.error.suggestion'
	[ ! -e effects ]
}

@test "a corrupted database is refused with what to do, and left as it is" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one >>effects" } ] }'
	call workflow run one.yaml
	sql 'pragma wal_checkpoint(truncate)'
	head -c 24576 /dev/zero | tr '\0' '\377' | dd of=state/runner/runs.db bs=4096 seek=1 conv=notrunc iflag=fullblock status=none
	cp state/runner/runs.db before
	local args
	for args in 'run one.yaml' "resume $(run_id)"; do
		# shellcheck disable=SC2086 # two words
		call workflow $args
		envelope 4
		expect 'e.error.code == "PRECONDITION" and "damaged" in e.error.message and "runs.db" in e.error.suggestion'
	done
	cmp before state/runner/runs.db
	effects one
	echo 'no database at all, but a text that is long enough' >state/runner/runs.db
	rm -f state/runner/runs.db-*
	call workflow list
	envelope 4
	expect 'e.error.code == "PRECONDITION"'
}

@test "a database of a newer runner is refused and left as it is" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one >>effects" } ] }'
	call workflow run one.yaml
	sql 'pragma user_version = 99'
	local verb
	for verb in 'run one.yaml' list; do
		# shellcheck disable=SC2086 # two words
		call workflow $verb
		envelope 4
		expect 'e.error.code == "PRECONDITION" and "newer" in e.error.message'
	done
	effects one
	[ "$(sql 'pragma user_version')" -eq 99 ]
}

@test "a run that 0.1 is executing while its database is migrated can still answer" {
	turns 'complain "API Error: 500 Internal Server Error"; exit 1' 'complain "API Error: 500 Internal Server Error"; exit 1' 'echo done'
	workflow one <<<'{ commands: [ { claude: x, retry: { delays: [1ms, 1ms] } } ] }'
	call workflow run one.yaml
	envelope 0
	[ "$(sql 'SELECT group_concat(number) FROM (SELECT number FROM attempts ORDER BY rowid DESC)')" = 3,2,1 ]
}

@test "a disk that fills up while a run is at work: RESOURCE_EXHAUSTED, nothing lost, resume goes on" {
	needs_library libsqlite3.so.0
	unshare --mount sh -c 'mount -t tmpfs -o size=64k tmpfs /mnt' 2>/dev/null || skip "no mounts here"
	workflow fill <<-'YAML'
		name: fill
		commands:
		  - shell: echo one >>effects
		  - { shell: "echo two >>effects; cat /dev/zero >state/fill 2>/dev/null || true", idempotent: true, capture_output: false }
		  - foreach: [3, 4, 5, 6, 7, 8, 9]
		    do: [ { shell: "echo ${item} >>effects; head -c 100000 /dev/zero | tr '\\0' x", idempotent: true } ]
	YAML
	mkdir state
	cat >inside <<-'SH'
		mount -t tmpfs -o size=4m tmpfs state
		"$RUNNER" workflow run fill.yaml >out.txt 2>err.txt; echo $? >status
		rm state/fill
		sed -i 's/cat .dev.zero >state.fill/true/' fill.yaml
		"$RUNNER" workflow list >list.txt 2>/dev/null
		"$RUNNER" workflow resume --force "$(grep -o 'run_[0-9A-Z]\{26\}' err.txt | head -n 1)" >resumed.txt 2>resumed.err; echo $? >resumed.status
	SH
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" unshare --mount sh inside </dev/null
	status=$(<status)
	envelope 12
	expect 'e.error.code == "RESOURCE_EXHAUSTED" and "space" in e.error.message'
	# the identical call would begin another run
	expect 'e.error.retryable is False and e.error.side_effects == "partial" and e.data.state == "interrupted"'
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.ok and e.data[0].state in ("interrupted", "failed")' list.txt
	[ "$(<resumed.status)" -eq 0 ]
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.data.state == "completed"' resumed.txt
	[ "$(sort -u effects | tr '\n' ' ')" = '3 4 5 6 7 8 9 one two ' ]
	[ "$(grep -c one effects)" -eq 1 ]
}

@test "a database that is deleted while a run is at work: PRECONDITION, and no step more" {
	workflow gone <<-'YAML'
		name: gone
		commands:
		  - shell: echo one >>effects; rm -r state
		  - shell: echo two >>effects
	YAML
	call workflow run gone.yaml
	envelope 4
	expect '"moved or deleted" in e.error.message and e.error.retryable is False and e.error.side_effects == "partial"'
	effects one
}

@test "the store and its logs are their owner's alone" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one" } ] }'
	call workflow run one.yaml
	[ -z "$(find state/runner -perm /077)" ] || { find state/runner -perm /077 -ls >&2; return 1; }
	find state/runner -name runs.db | grep -q .
	find state/runner/logs -name 'succeeded.jsonl' | grep -q .
}

@test "runs at the same time share the database: all of them complete" {
	needs_library libsqlite3.so.0
	workflow share <<<'{ name: share, commands: [ { foreach: [1, 2, 3, 4, 5, 6, 7, 8], parallel: 4, do: [ { shell: "true" } ] } ] }'
	local n pids=()
	for n in 1 2 3 4; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow run share.yaml >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do wait "$n" || { cat out.* >&2; return 1; }; done
	[ "$(sql "select count(*) from runs where state = 'completed'")" -eq 4 ]
	[ "$(sql "select count(*) from attempts where status = 0")" -eq 32 ]
}

@test "logs that can't be written are a warning; the run completes" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one" } ] }'
	mkdir -p state/runner
	: >state/runner/logs
	call workflow run one.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["LOG_FAILED"]'
	call workflow logs "$(run_id)"
	envelope 0
	expect 'e.data[0].missing is True'
}

@test "short successes share a log file, failures have their own, and logs shows them all" {
	workflow mixed <<-'YAML'
		name: mixed
		commands:
		  - { id: each, foreach: [1, 2, 3, 4, 5], parallel: 5, do: [ { shell: "echo item ${item}" } ] }
		  - id: twice
		    shell: "echo try; test -e tried || { touch tried; echo 503 Service Unavailable >&2; exit 75; }"
		    retry: { max_attempts: 2, initial_delay: 1ms }
		  - { id: fails, shell: "test -e mended" }
	YAML
	call workflow run mixed.yaml
	envelope 1
	local id
	id=$(run_id)
	touch mended
	call workflow resume "$id"
	envelope 0
	run ls "state/runner/logs/$id"
	[ "$output" = $'fails-1.json\nsucceeded.jsonl\ntwice-1.json' ]
	call workflow logs "$id"
	envelope 0
	expect '[r.stdout for r in e.data if r.step.startswith("each")] == ["item %d\n" % n for n in range(1, 6)]'
	expect '[(r.attempt, r.status, r.stdout, r.stderr) for r in e.data if r.step == "twice"] == [(1, 75, "try\n", "503 Service Unavailable\n"), (2, 0, "try\n", "")]'
	expect '[(r.attempt, r.status) for r in e.data if r.step == "fails"] == [(1, 1), (2, 0)]'
	expect '[r.log.rsplit("/", 1)[1] for r in e.data if r.step == "twice"] == ["twice-1.json", "succeeded.jsonl"]'
	call workflow logs "$id" each[3].1
	envelope 0
	expect '[r.stdout for r in e.data] == ["item 3\n"]'
}

@test "a runner that is killed between a step's log and its commit leaves the log to be read" {
	workflow cut <<<'{ name: cut, commands: [ { id: one, shell: "echo one" }, { id: two, shell: "echo did it" } ] }'
	call workflow run cut.yaml
	envelope 0
	local id
	id=$(run_id)
	sql "update attempts set log = '', status = null, ended_ms = null where key = 'two'"
	sql "update steps set state = 'running', status = null, ended_ms = null where key = 'two'"
	sql "update runs set state = 'running', ended_ms = null"
	call workflow logs "$id"
	envelope 0
	expect '[(r.step, r.stdout, "missing" in r) for r in e.data] == [("one", "one\n", False), ("two", "did it\n", False)]'
	rm -r "state/runner/logs/$id"
	call workflow logs "$id"
	envelope 0
	expect '[r.missing for r in e.data] == [True, True]'
}

@test "a run without warnings has none: its logs are written" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one" } ] }'
	call workflow run one.yaml
	envelope 0
	expect 'e.warnings == []'
}

# --- where nothing can be written, and where another process writes ------------------------------

@test "runs are listed where nothing can be written beside their database, whatever its folder is called" {
	local state="$PWD/a %41 b#c?d"
	workflow one <<<'{ name: one, commands: [ { shell: echo here } ] }'
	call XDG_STATE_HOME="$state" workflow run one.yaml
	envelope 0
	chmod -R a+rX "$state"
	find "$state" -type d -exec chmod a-w {} +
	if [ "$(id -u)" -eq 0 ]; then
		call_as 65534 XDG_STATE_HOME="$state" workflow list --all
	else
		call XDG_STATE_HOME="$state" workflow list --all
	fi
	chmod -R u+w "$state"
	envelope 0
	expect '[(r["workflow"], r["state"]) for r in e.data] == [("one", "completed")]'
}

@test "a detached run is on the disk when its answer comes, also behind another writer, and the answer doesn't wait for more" {
	workflow one <<<'{ name: one, commands: [ { shell: "until [ -e go ]; do sleep 0.05; done" } ] }'
	touch go
	call workflow run one.yaml
	envelope 0
	rm go
	python3 - <<-'PY' &
		import pathlib, sqlite3, time
		db = sqlite3.connect("state/runner/runs.db", isolation_level=None)
		db.execute("BEGIN IMMEDIATE")
		pathlib.Path("held").touch()
		time.sleep(1)
		db.execute("ROLLBACK")
	PY
	until_true [ -e held ]
	call workflow run one.yaml --detach
	envelope 0
	[ "$(sql "select count(*) from runs where state = 'running'")" -eq 1 ]
	expect 'e.data["run"].startswith("run_")'
	[ "$elapsed_ms" -lt 9500 ] # (it would wait ten seconds for a run that isn't there)
	touch go
	call job wait @last
	envelope 0
	wait
}

@test "a database is neither made nor migrated where its lock can't be had" {
	workflow one <<<'{ name: one, commands: [ { shell: echo here >>effects } ] }'
	mkdir -p state/runner/runs.lock
	call workflow run one.yaml
	assert_envelope
	[ "$status" -ne 0 ]
	expect 'e.error["code"] != "INTERNAL_ERROR" and e.error["side_effects"] == "none"'
	[ ! -e effects ]
	rmdir state/runner/runs.lock
	call workflow run one.yaml
	envelope 0
}
