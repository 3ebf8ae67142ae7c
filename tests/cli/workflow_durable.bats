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

# written N: effects has as many lines or more
written() {
	[ "$(wc -l <effects)" -ge "$1" ]
}

# recorded QUERY: it gives a row
recorded() {
	[ -n "$(sql "$1")" ]
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

@test "SIGINT with steps side by side: all of them end, and resume repeats only what was cut off" {
	workflow sides <<-'YAML'
		name: sides
		commands:
		  - parallel:
		      - shell: echo short >>effects
		      - shell: echo a >>effects; touch began-a; until [ -e go ]; do sleep 0.02; done
		      - shell: echo b >>effects; touch began-b; until [ -e go ]; do sleep 0.02; done
		  - shell: echo last >>effects
	YAML
	begin workflow run sides.yaml
	until_true [ -e began-a -a -e began-b ]
	until_true recorded "select 1 from steps where key = '1.1' and state = 'completed'"
	kill -INT "$pid"
	finish
	envelope 130
	assert_no_process_left
	[ "$(sql "select group_concat(state) from (select state from steps where key like '1.%' order by key)")" = completed,interrupted,interrupted ]
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	[ "$(sort effects | tr '\n' ' ')" = 'a a b b last short ' ]
}

@test "a run that its --timeout ends can be resumed" {
	three
	call workflow run three.yaml --timeout 600ms
	envelope 10
	expect 'e.error.code == "TIMEOUT" and e.data.progress.step == "two" and e.error.retryable is False'
	messages run.interrupted | grep -q 'runner workflow resume run_'
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	effects one two two three
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

@test "a resumed run works where it began, with its files, its variables and their types" {
	mkdir sub elsewhere
	echo A=file >.env
	workflow again <<-'YAML'
		name: again
		vars: { n: 3, list: [x, y] }
		env_files: [.env]
		commands:
		  - shell: "[ -e fixed ] || exit 1; pwd; echo $A"
		    working_dir: sub
		    output_file: out
		  - foreach: "${list}"
		    when: n > 2
		    do: [ { shell: "echo ${item} >>effects" } ]
	YAML
	call workflow run again.yaml
	envelope 1
	local id
	id=$(run_id)
	touch sub/fixed
	(cd elsewhere && call workflow resume "$id" && envelope 0)
	diff sub/out <(printf '%s\nfile' "$PWD/sub")
	effects x y
	call workflow show "$id"
	expect 'e.data.variables == {"n": 3, "list": ["x", "y"]}'
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

@test "loops side by side, killed with -9 again and again: what had completed is never run again" {
	workflow many <<-'YAML'
		name: many
		commands:
		  - foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
		    parallel: 3
		    do:
		      - { shell: "echo ${item} >>effects; sleep 0.05", id: first, idempotent: true }
		      - { shell: "echo done-${item} >>effects", idempotent: true }
	YAML
	begin workflow run many.yaml
	until_true grep -q . effects
	local id completed
	id=$(run_id)
	for _ in 1 2 3; do
		until_true written $((${completed:-0} + 4))
		kill_all
		finish
		completed=$(sql "select count(*) from steps where state = 'completed' and kind = 'shell'")
		sql "select key from steps where state = 'completed' and kind = 'shell'" >"completed.$completed"
		cp effects "effects.$completed"
		begin workflow resume "$id"
	done
	finish
	envelope 0
	# each effect is there, and none of a completed step came again
	[ "$(sort -u effects | wc -l)" -eq 24 ]
	local file key
	for file in completed.*; do
		tail -n +"$(($(wc -l <"effects.${file#*.}") + 1))" effects >later
		while read -r key; do
			key=${key#1[}
			[[ $key == *first ]] && key=${key%%]*} || key=done-${key%%]*}
			if grep -qx "$key" later; then
				echo "$key again after $file" >&2
				return 1
			fi
		done <"$file"
	done
	[ "$(sql "select count(*) from steps where state = 'completed'")" -eq 25 ]
}

@test "hooks of a failure run once for each round of their step" {
	workflow rounds <<-'YAML'
		name: rounds
		commands:
		  - shell: echo try >>effects; [ -e fixed ]
		    on_failure: { shell: echo hook >>effects }
	YAML
	call workflow run rounds.yaml
	envelope 1
	local id
	id=$(run_id)
	call workflow resume "$id"
	envelope 1
	effects try hook try hook
	touch fixed
	call workflow resume "$id"
	envelope 0
	effects try hook try hook try
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
		python3 "$ROOT/tests/cli/envelope.py" expect 'e.data.state == "cancelled" and e.data.before == "running"' cancel.txt
		finish
		envelope 143
		assert_no_process_left
	done
	[ "$(sql 'select group_concat(distinct state) from runs')" = cancelled ]
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
	find state/runner -name runs.db | grep -q . && find state/runner/logs -name '1-1.json' | grep -q .
}

@test "runs at the same time share the database: all of them complete" {
	workflow share <<<'{ name: share, commands: [ { foreach: [1, 2, 3, 4, 5, 6, 7, 8], parallel: 4, do: [ { shell: "true" } ] } ] }'
	local n pids=()
	for n in 1 2 3 4; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow run share.yaml >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do wait "$n"; done
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

@test "a run without warnings has none: its logs are written" {
	workflow one <<<'{ name: one, commands: [ { shell: "echo one" } ] }'
	call workflow run one.yaml
	envelope 0
	expect 'e.warnings == []'
}

@test "the step that failed the run is named, not one whose failure did not count" {
	workflow count <<-'YAML'
		name: count
		commands:
		  - foreach: [a, b]
		    continue_on_error: true
		    do: [ { id: inner, shell: "exit 3" } ]
		  - { id: handled, shell: "exit 4", on_failure: continue }
		  - { id: last, shell: "exit 5" }
	YAML
	call workflow run count.yaml
	envelope 1
	expect 'e.data.failed_step == "last" and e.error.context.step_key == "last"'
	expect 'e.error.context.error_history[0].attempt_number == 1 and "5" in e.error.message'
}

@test "on_failure of a loop runs again each time that the loop has failed" {
	workflow again <<-'YAML'
		name: again
		commands:
		  - id: loop
		    foreach: [a]
		    do: [ { shell: "exit 3" } ]
		    on_failure: [ { shell: "echo handled >>effects" } ]
	YAML
	call workflow run again.yaml
	envelope 1
	call workflow resume "$(run_id)"
	envelope 1
	call workflow resume "$(run_id)"
	envelope 1
	[ "$(grep -c handled effects)" -eq 3 ]
}
