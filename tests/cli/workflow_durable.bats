#!/usr/bin/env bats
# What is left of a run that was interrupted, killed, refused or robbed of its disk, and
# how it goes on: no completed step is lost, none runs twice.

load workflow

SERVER_ERROR='complain "500 Internal Server Error"; exit 1'

# three [KEYS]: a step before, one in the middle that stays until `go` is there, one after;
# each writes its name to effects
three() {
	workflow three <<-YAML
		name: three
		commands:
		  - shell: echo one >>effects
		  - shell: echo two >>effects; touch began; until [ -e go ]; do sleep 0.02; done
		    id: two
		    ${1:-grace: 1s}
		  - shell: echo three >>effects
	YAML
}

effects() {
	[ "$(tr '\n' ' ' <effects)" = "$* " ]
}

# killed: the run of three.yaml, everything killed in the middle of its second step
killed() {
	begin workflow run three.yaml
	until_true [ -e began ]
	kill_all
	finish
	id=$(run_id)
}

# --- Ctrl+C --------------------------------------------------------------------------------

@test "SIGINT during a step: exit 130, the tree is gone, the state is interrupted, resume goes on" {
	three
	sed -i "s/echo two/(setsid sleep 60 \&); sleep 61 \& trap '' INT; echo two/" three.yaml
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	envelope 130
	assert_no_process_left
	expect 'e.error.code == "CANCELLED" and e.data.progress.step == "two" and e.data.progress.done == 1'
	local id
	id=$(run_id)
	call workflow show "$id"
	expect '[s.state for s in e.data.steps] == ["completed", "interrupted"] and e.data.state == "interrupted"'
	touch go
	call workflow resume "$id"
	envelope 0
	effects one two two three # surely cut off, so surely run again
	expect 'e.data.resumes == 1 and e.data.state == "completed"'
}

@test "SIGINT during a wait: resume goes on with the attempts used and the rest of the wait" {
	workflow wait <<-'YAML'
		name: wait
		commands: [ { claude: /a, retry: { strategy: custom, delays: [1ms, 1200ms, 1ms], jitter: 0 } } ]
	YAML
	turns "$SERVER_ERROR" "$SERVER_ERROR" "$SERVER_ERROR"
	begin workflow run wait.yaml
	until_true grep -q '"delay_ms":1200' err.txt
	kill -INT "$pid"
	finish
	envelope 130
	[ "$(sql 'select runs.state, steps.attempts from runs, steps')" = 'interrupted|2' ]
	call workflow resume "$(run_id)"
	envelope 12
	[ "$(calls)" -eq 4 ] && [ "$(waited 2)" -ge 1195 ] && [ "$(waited 2)" -lt 4000 ]
	messages step.failed | grep -q '^Claude command failed after 4 attempts'
}

@test "a wait that is over when the run is resumed is not waited for again" {
	workflow wait <<-'YAML'
		name: wait
		commands: [ { claude: /a, retry: { strategy: custom, delays: [2s], jitter: 0 } } ]
	YAML
	turns "$SERVER_ERROR" 'echo fine'
	begin workflow run wait.yaml
	until_true grep -q retry.wait err.txt
	kill -INT "$pid"
	finish
	sleep 1.8
	call workflow resume "$(run_id)"
	envelope 0
	[ "$elapsed_ms" -lt 1500 ]
}

@test "SIGTERM ends a run like SIGINT, with 143" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -TERM "$pid"
	finish
	envelope 143
	assert_no_process_left
	[ "$(sql 'select state from runs')" = interrupted ]
}

@test "attempts that were interrupted do not count as failures of the step" {
	workflow cut <<-'YAML'
		name: cut
		commands: [ { claude: /a, retry: { max_attempts: 1, initial_delay: 1ms } } ]
	YAML
	turns 'touch began; sleep 60' "$SERVER_ERROR" 'echo fine'
	begin workflow run cut.yaml
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	envelope 130
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(calls)" -eq 3 ]
	messages retry.failed | grep -qx 'Claude command failed (attempt 1/1): 500 Internal Server Error'
}

# --- what may be resumed ----------------------------------------------------------------------

@test "a failed run is resumed at the step that failed, with what the others gave" {
	workflow again <<-'YAML'
		name: again
		vars: { greeting: hello }
		commands:
		  - { shell: "echo one >>effects; echo ${greeting}", id: one }
		  - { shell: "echo two >>effects; [ -e fixed ]" }
		  - { shell: "echo three >>effects; echo ${steps.one.output} ${greeting}", id: three }
	YAML
	call workflow run again.yaml --var greeting=ciao
	envelope 1
	touch fixed
	call workflow resume "$(run_id)"
	envelope 0
	effects one two two three
	expect '[s.output for s in e.data.steps if s.id == "three"][0].split() == ["ciao", "ciao"]'
}

@test "a completed run, and a cancelled one, are not resumed" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one >>effects" } ] }'
	call workflow run one.yaml
	call workflow resume "$(run_id)"
	envelope 6
	expect 'e.error.code == "CONFLICT" and "completed" in e.error.message'
	effects one
	three
	rm effects
	killed
	call workflow cancel "$id"
	envelope 0
	expect 'e.data.state == "cancelled" and e.data.before == "interrupted"'
	call workflow resume "$id"
	envelope 6
	expect '"--force" in e.error.suggestion'
	call workflow cancel "$id"
	envelope 0
	expect 'e.data.effect == "unchanged"'
}

@test "a file that changed is refused; --force takes it as it is now" {
	workflow again <<<'{ name: again, commands: [ { shell: "echo one >>effects" }, { shell: "exit 3" } ] }'
	call workflow run again.yaml
	envelope 1
	sed -i 's/exit 3/echo mended >>effects/' again.yaml
	call workflow resume "$(run_id)"
	envelope 6
	expect '"changed" in e.error.message and "--force" in e.error.suggestion and e.error.side_effects == "none"'
	effects one
	call workflow resume "$(sql 'select id from runs')" --force
	envelope 0
	effects one mended
}

@test "a file that is gone is refused; --force takes the text the run began with" {
	workflow again <<<'{ name: again, commands: [ { shell: "echo one >>effects" }, { shell: "[ -e fixed ]" } ] }'
	call workflow run again.yaml
	envelope 1
	rm again.yaml
	touch fixed
	call workflow resume "$(run_id)"
	envelope 5
	expect 'e.error.code == "NOT_FOUND" and "--force" in e.error.fix_required + e.error.suggestion'
	call workflow resume "$(sql 'select id from runs')" --force
	envelope 0
	effects one
}

@test "a workflow deleted while it runs: the run goes on to its end" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	rm three.yaml
	touch go
	finish
	envelope 0
	effects one two three
}

@test "of two resumes at once one is refused, naming the process that owns the run" {
	three 'idempotent: true'
	killed
	rm began
	begin workflow resume "$id"
	until_true [ -e began ]
	cp err.txt first.err && cp out.txt first.out
	local first=$pid
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow resume "$id" >second.txt 2>/dev/null </dev/null || status=$?
	[ "$status" -eq 4 ]
	python3 "$ROOT/tests/cli/envelope.py" check 4 second.txt
	python3 "$ROOT/tests/cli/envelope.py" expect 'e.error.code == "LOCK_HELD" and isinstance(e.error.context.owner_pid, int) and e.error.side_effects == "none"' second.txt
	touch go
	pid=$first
	finish
	envelope 0
	effects one two two three
}

@test "after a kill -9 nothing of the run lives on, and show calls it interrupted" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	kill -KILL "$pid" # the supervisor alone
	finish
	until_true assert_no_process_left
	call workflow show "$(run_id)"
	envelope 0
	expect 'e.data.state == "interrupted"'
	call workflow list --state interrupted
	expect 'len(e.data) == 1'
}

# --- in doubt ---------------------------------------------------------------------------------------

@test "a step killed in the middle is in doubt: resume stops with STEP_IN_DOUBT and runs nothing" {
	three
	killed
	touch go
	call workflow resume "$id"
	envelope 81
	expect 'e.error.code == "STEP_IN_DOUBT" and e.error.retryable is False and e.error.context.step_key == "two"'
	expect '"--mark-done two" in e.error.suggestion and "--retry-in-doubt" in e.error.suggestion'
	effects one two
	# asking again changes nothing
	call workflow resume "$id"
	envelope 81
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	effects one two two three
}

@test "--mark-done takes a step in doubt for done; a step that is not there is refused" {
	three
	killed
	call workflow resume "$id" --mark-done tow
	envelope 5
	expect "\"'tow'\" in e.error.message"
	call workflow resume "$id" --mark-done two
	envelope 0
	effects one two three
	expect '[s.state for s in e.data.steps] == ["completed"] * 3'
}

@test "idempotent: true, or side_effects: none, is repeated without asking" {
	local key
	for key in 'idempotent: true' 'side_effects: none'; do
		three "$key"
		rm -f effects began go
		killed
		touch go
		call workflow resume "$id"
		envelope 0
		effects one two two three
	done
}

@test "verify decides: 0 it landed, 1 it did not, anything else is still in doubt" {
	three 'verify: echo asked >>asked; exit $(cat answer)'
	killed
	touch go
	echo 7 >answer
	call workflow resume "$id"
	envelope 81
	expect '"verify" in e.error.message and "7" in e.error.message'
	effects one two
	echo 0 >answer
	call workflow resume "$id"
	envelope 0
	effects one two three
	rm -f effects began go
	killed
	touch go
	echo 1 >answer
	call workflow resume "$id"
	envelope 0
	effects one two two three
	[ "$(wc -l <asked)" -eq 3 ]
}

@test "claude steps are in doubt as well; loops go on within, with the same items" {
	workflow loop <<-'YAML'
		name: loop
		commands:
		  - { shell: "cat items", id: items }
		  - foreach: "${steps.items.output}"
		    do:
		      - shell: echo ${item} >>effects
		      - claude: "do ${item}"
		        id: ask
	YAML
	printf 'a\nb\nc\n' >items
	turns -p 'do b' 'touch began; sleep 60' 'echo fine'
	begin workflow run loop.yaml
	until_true [ -e began ]
	kill_all
	finish
	echo other >items
	call workflow resume "$(run_id)"
	envelope 81
	expect 'e.error.context.step_key == "2[2].ask"'
	call workflow resume "$(sql 'select id from runs')" --retry-in-doubt
	envelope 0
	effects a b c
	[ "$(calls)" -eq 4 ]
}

# --- cancel -----------------------------------------------------------------------------------------

@test "cancel ends a live run: its tree is gone, it exits with 143, the store knows" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local id
	id=$(run_id)
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow cancel "$id" >cancel.txt 2>/dev/null </dev/null
	python3 "$ROOT/tests/cli/envelope.py" check 0 cancel.txt
	finish
	envelope 143
	assert_no_process_left
	[ "$(sql 'select state from runs')" = cancelled ]
	effects one two
}

@test "cancel of a completed run is a conflict" {
	workflow one <<<'{ name: one, commands: [ { shell: "true" } ] }'
	call workflow run one.yaml
	call workflow cancel "$(run_id)"
	envelope 6
}

# --- a store that refuses ------------------------------------------------------------------------------

# call, as somebody who may read everything here and write nothing
as_other_user() {
	if [ "$(id -u)" -ne 0 ]; then
		chmod -R a-w state
		call "$@"
		chmod -R u+w state
		return
	fi
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$RUNNER" || skip "another user can't reach $RUNNER"
	chmod 755 . .. ../.. 2>/dev/null || true
	status=0
	env -i "${CLEAN_ENV[@]}" setpriv --reuid=65534 --regid=65534 --clear-groups "$RUNNER" "$@" \
		>out.txt 2>err.txt </dev/null || status=$?
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
	dd if=/dev/urandom of=state/runner/runs.db bs=4096 seek=1 count=6 conv=notrunc status=none
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

@test "a disk that fills up while a run is at work: RESOURCE_EXHAUSTED, nothing lost, resume goes on" {
	unshare --mount sh -c 'mount -t tmpfs -o size=64k tmpfs /mnt' 2>/dev/null || skip "no mounts here"
	workflow fill <<-'YAML'
		name: fill
		commands:
		  - shell: echo one >>effects
		  - { shell: "echo two >>effects; cat /dev/zero >state/fill 2>/dev/null; true", idempotent: true, capture_output: false }
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
	python3 "$ROOT/tests/cli/envelope.py" expect 'e.ok and e.data[0].state in ("interrupted", "failed")' list.txt
	[ "$(<resumed.status)" -eq 0 ]
	python3 "$ROOT/tests/cli/envelope.py" expect 'e.data.state == "completed"' resumed.txt
	[ "$(sort -u effects | tr '\n' ' ')" = '3 4 5 6 7 8 9 one two ' ]
	[ "$(grep -c one effects)" -eq 1 ]
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

@test "a run without warnings has none: its logs are written" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one" } ] }'
	call workflow run one.yaml
	envelope 0
	expect 'e.warnings == []'
}
