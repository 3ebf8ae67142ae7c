#!/usr/bin/env bats
# Runs that are forgotten: by their IDs, and by age, number and size; and what keeps one.

load lib/workflow

# completed NAME: a run with a log and an output in a file, in $id
completed() {
	cat >done.yaml <<-YAML
		name: $1
		commands: [ { id: big, capture_limit: 4MiB, shell: "head -c 1500000 /dev/zero | tr '\\\\0' x" } ]
	YAML
	call workflow run done.yaml
	envelope 0
	id=$(field e.data.id)
}

failed() {
	echo 'name: failed
commands: [ { shell: "exit 3" } ]' >failed.yaml
	call workflow run failed.yaml
	envelope 1
	id=$(field e.data.id)
}

# gone ID: no row of it, no log, no output
gone() {
	[ "$(sql "select (select count(*) from runs where id = '$1') + (select count(*) from steps where run = '$1')
		+ (select count(*) from attempts where run = '$1') + (select count(*) from removed)")" -eq 0 ]
	[ ! -e "state/runner/logs/$1" ]
	[ ! -e "state/runner/outputs/$1" ]
}

# stays ID: its row and its files are there
stays() {
	[ "$(sql "select count(*) from runs where id = '$1'")" -eq 1 ]
	[ -d "state/runner/logs/$1" ]
}

# aged DAYS ID
aged() {
	sql "update runs set created_ms = created_ms - $1 * 86400000, updated_ms = updated_ms - $1 * 86400000,
		ended_ms = ended_ms - $1 * 86400000 where id = '$2'" >/dev/null
}

# --- rm ------------------------------------------------------------------------------------

@test "rm forgets runs with their logs and outputs, once each, and no other" {
	local first second third
	completed one
	first=$id
	[ -d "state/runner/outputs/$first" ]
	completed two
	second=$id
	completed two
	third=$id
	call workflow rm "$first" "${second: -8}" "$second" --dry-run
	envelope 0
	expect 'e.data.effect == "would_delete" and e.data.total == 2 and e.data.bytes_freed > 3000000'
	expect 'e.data.would_affect.changes == 4 and e.meta.dry_run'
	stays "$first"
	call workflow rm "$first" "${second: -8}" "$second"
	envelope 2
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	stays "$first"
	call workflow rm "$first" "${second: -8}" "$second" --confirm-destructive
	envelope 0
	expect "e.data.effect == 'deleted' and [r.id for r in e.data.runs] == ['$first', '$second'] and e.data.bytes_freed > 3000000"
	gone "$first"
	gone "$second"
	stays "$third"
	[ "$(sql 'select count(*) from sources')" -eq 1 ]
	call workflow rm "$third" --confirm-destructive
	[ "$(sql 'select count(*) from sources')" -eq 0 ]
	call workflow rm "$third" --confirm-destructive
	envelope 5
}

@test "rm of a run that can be resumed needs --force, and removes nothing else before that" {
	local first
	completed one
	first=$id
	failed
	call workflow rm "$first" "$id" --confirm-destructive
	envelope 6
	expect "e.error.code == 'CONFLICT' and 'can be resumed' in e.error.message and '--force' in e.error.suggestion"
	stays "$first"
	call workflow rm "$first" "$id" --force --confirm-destructive
	envelope 0
	gone "$first"
	gone "$id"
}

@test "a run that goes on is never removed, and one in doubt only by rm --force" {
	three
	begin workflow run three.yaml
	until_true [ -e began ]
	local held
	held=$(run_id)
	call workflow rm "$held" --force --confirm-destructive
	envelope 4
	expect 'e.error.code == "LOCK_HELD" and "workflow cancel" in e.error.suggestion'
	call workflow prune --keep 0 --failed --interrupted --confirm-destructive
	envelope 0
	expect 'e.data.total == 0 and e.data.effect == "noop"'
	kill_all
	finish
	call workflow prune --keep 0 --failed --interrupted --confirm-destructive
	expect 'e.data.total == 0'
	call workflow rm "$held" --confirm-destructive
	envelope 6
	expect '"in doubt" in e.error.message'
	call workflow resume "$held"
	envelope 81
	call workflow prune --keep 0 --failed --interrupted --confirm-destructive
	expect 'e.data.total == 0'
	stays "$held"
	call workflow rm "$held" --force --confirm-destructive
	envelope 0
	gone "$held"
}

@test "a run that somebody takes at the same moment stays, and of two that remove it one does" {
	completed one
	local n holder pids=()
	flock -F "state/runner/runs/$id.lock" sh -c 'touch held; until [ -e let ]; do sleep 0.01; done' 3>&- &
	holder=$!
	until_true [ -e held ]
	call workflow prune --keep 0 --confirm-destructive
	expect 'e.data.total == 0'
	stays "$id"
	touch let
	wait "$holder"
	for n in 1 2; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow prune --keep 0 --confirm-destructive >"prune.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	[ "$(cat prune.? | grep -o '"total":[0-9]' | sort | xargs)" = "total:0 total:1" ]
	gone "$id"
}

@test "killed while it removes, a run is there whole or is finished by the next prune" {
	command -v strace >/dev/null || skip "needs strace"
	local n call
	for call in fdatasync,fsync unlinkat,unlink,rmdir; do
		for n in 1 2 3 4; do
			completed one
			status=0
			env -i "${CLEAN_ENV[@]}" strace -f -qq -o trace.txt -e "trace=$call" -e "inject=$call:signal=SIGKILL:when=$n" \
				"$RUNNER" workflow rm "$id" --confirm-destructive >out.txt 2>err.txt </dev/null || status=$?
			if recorded "select 1 from runs where id = '$id'"; then
				stays "$id"
				[ -d "state/runner/outputs/$id" ]
				call workflow show "$id"
				envelope 0
			fi
			call workflow prune --keep 0 --confirm-destructive
			envelope 0
			gone "$id"
		done
	done
}

# --- prune ------------------------------------------------------------------------------------

@test "prune removes by age, keeps the newest in any case, and spares what can be resumed" {
	local old failed new
	completed one
	old=$id
	aged 40 "$old"
	failed
	failed=$id
	aged 50 "$failed"
	completed two
	new=$id
	call workflow prune --older-than 30d --keep 3 --dry-run
	expect 'e.data.total == 0 and e.data.effect == "would_noop"'
	call workflow prune --older-than 60d --confirm-destructive
	expect 'e.data.total == 0 and e.data.effect == "noop"'
	call workflow prune --older-than 30d --workflow two --confirm-destructive
	expect 'e.data.total == 0'
	call workflow prune --older-than 30d --keep 1 --confirm-destructive
	envelope 0
	expect "[r.id for r in e.data.runs] == ['$old']"
	stays "$failed"
	call workflow prune --older-than 30d --failed --confirm-destructive
	gone "$failed"
	stays "$new"
	call workflow prune --keep 0 --confirm-destructive
	gone "$new"
}

@test "rows that were edited by hand lead to no file of another run" {
	local odd
	completed one
	for odd in '' . .. ../logs "../logs/$id" /; do
		sql "insert into runs (id, workflow, state, created_ms, updated_ms) values ('$odd', 'odd', 'completed', 1, 1)" >/dev/null
		sql "insert or ignore into removed (run) values ('$odd')" >/dev/null
		call workflow prune --older-than 1d --all --confirm-destructive
		stays "$id"
		[ -d "state/runner/outputs/$id" ]
	done
	[ "$(sql 'select count(*) from runs')" -eq 1 ]
	# folders of placed steps, of another run, or none
	mkdir -p "shared/runner-0/$id/1" shared/runner-0/gone/2
	for odd in "$PWD" "$PWD/shared" "$PWD/shared/runner-0/$id/1" "$PWD/shared/runner-0/gone/../$id/1" "shared/runner-0/gone/2"; do
		sql "insert or replace into removed (run, folders) values ('gone', '$odd')" >/dev/null
		call workflow prune --older-than 1d --confirm-destructive
		[ -d "shared/runner-0/$id/1" ]
		[ -d shared/runner-0/gone/2 ]
	done
	sql "insert or replace into removed (run, folders) values ('gone', '$PWD/shared/runner-0/gone/2')" >/dev/null
	call workflow prune --older-than 1d --confirm-destructive
	[ ! -e shared/runner-0/gone ]
}

@test "prune removes the oldest beyond a size, and refuses a call that says nothing, or nonsense" {
	local first
	completed one
	first=$id
	completed two
	call workflow prune --max-size 4MB --confirm-destructive
	envelope 0
	gone "$first"
	stays "$id"
	call workflow prune
	envelope 2
	expect '"retention" in e.error.fix_required'
	call workflow prune --max-size lots
	envelope 2
	expect 'e.error.errors[0].field == "max_size"'
	call workflow prune --keep -1
	envelope 2
}

@test "a project's retention removes its own old runs after a run, and never changes what that answers" {
	local other
	completed other
	other=$id
	aged 40 "$other"
	mkdir -p project/flows
	cd project
	CLEAN_ENV+=(XDG_STATE_HOME="$BATS_TEST_TMPDIR/state")
	echo 'return { retention = { older_than = "30d", keep = 1 } }' >runner.lua
	mkdir commands
	echo '{ name: mine, commands: [ { shell: "echo hi" } ] }' >flows/mine.yaml
	ln -s ../state state
	call workflow run flows/mine.yaml
	local mine
	mine=$(field e.data.id)
	aged 40 "$mine"
	call workflow run flows/mine.yaml
	envelope 0
	expect 'e.data.state == "completed" and e.warnings == []'
	grep -q '1 old run was removed' err.txt
	gone "$mine"
	stays "$other"
	aged 40 "$(field e.data.id)"
	call workflow prune --dry-run
	expect 'e.data.total == 0' # keep = 1
	echo 'return { retention = { older_than = "30d" } }' >runner.lua
	call workflow prune --confirm-destructive
	expect 'e.data.total == 1'
	stays "$other"
	echo 'return { retention = { failed = true } }' >runner.lua
	call lint
	envelope 4
	grep -q 'retention' out.txt
}
