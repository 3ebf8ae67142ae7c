#!/usr/bin/env bats
# What a resumed run finds as it was: results of loops, a file whose meaning is the same, a
# clock that was set back, a directory without old locks.

load lib/workflow

@test "the status of a loop that failed and was passed over is the same after resume" {
	ran <<-'YAML'
		  - { id: loop, foreach: [a, b], do: [{ shell: exit 3 }], on_failure: continue }
		  - { shell: "echo live ${steps.loop.status} ${steps.loop.ok} >>effects" }
		  - { shell: "[ -e go ]" }
		  - { shell: "echo resumed ${steps.loop.status} ${steps.loop.ok} >>effects" }
	YAML
	envelope 1
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	diff effects <(printf '%s\n' 'live 3 false' 'resumed 3 false')
}

@test "a file whose comments and layout changed can be resumed; one that says something else can't" {
	workflow edited <<<'{ name: edited, commands: [ { shell: "[ -e go ]" }, { shell: echo end >>effects } ] }'
	call workflow run edited.yaml
	envelope 1
	local id
	id=$(run_id)
	workflow edited <<-'YAML'
		# what it is for
		commands:
		  - shell: "[ -e go ]"   # waits for go
		  - shell: 'echo end >>effects'
		name: edited
	YAML
	call workflow resume "$id"
	envelope 1
	touch go
	sed -i 's/echo end/echo another/' edited.yaml
	call workflow resume "$id"
	envelope 6
	expect '"has changed" in e.error.message'
	echo 'commands: [' >edited.yaml
	call workflow resume "$id"
	envelope 6
}

@test "a run of which only the digest of the text is known is resumed while the text is the same" {
	workflow old <<<'{ name: old, commands: [ { shell: "[ -e go ]" } ] }'
	call workflow run old.yaml
	envelope 1
	local id
	id=$(run_id)
	touch go
	# as an earlier runner stored it
	digest=$(python3 - <<-'PYTHON'
		h = 0xcbf29ce484222325 # FNV-1a
		for byte in open("old.yaml", "rb").read():
		    h = (h ^ byte) * 0x100000001b3 % 2**64
		print(f"{h:016x}")
	PYTHON
	)
	sql "update runs set digest = '$digest'"
	call workflow resume "$id"
	envelope 0
}

@test "no duration is negative after the clock was set back" {
	ran <<<'  - shell: "true"'
	local id
	id=$(run_id)
	sql "update runs set ended_ms = created_ms - 3600000"
	sql "update attempts set ended_ms = started_ms - 3600000"
	call workflow list
	expect 'e.data[0].duration_ms == 0'
	call workflow show "$id"
	expect 'e.data.duration_ms == 0'
	call workflow stats
	expect 'e.data.by_step[0].mean_ms == 0 and e.data.by_step[0].max_ms == 0'
}

@test "no lock file stays: not of a run, and not of a runner that was killed once another has run" {
	ran <<<'  - shell: "true"'
	[ -z "$(find state -name '*.lock')" ]
	three
	killed
	[ -n "$(find state -name '*.lock')" ]
	begin workflow run three.yaml
	until_true written 4
	[ "$(find state -name '*.lock' | wc -l)" -eq 1 ] # of the one that runs
	call workflow list --state running
	expect 'len(e.data) == 1'
	kill -TERM "$pid"
	finish
	[ -z "$(find state -name '*.lock')" ]
}

@test "a database that can't be written says that it is read-only, and can be read" {
	unshare -m true 2>/dev/null || skip "no mounts here"
	ran <<<'  - { id: one, shell: "true" }'
	cat >read_only <<-'SH'
		mount --bind state state && mount -o remount,ro,bind state || exit 99
		exec "$@"
	SH
	status=0
	env -i "${CLEAN_ENV[@]}" unshare -m sh read_only "$RUNNER" workflow run small.yaml >out.txt 2>err.txt </dev/null || status=$?
	[ "$status" -ne 99 ] || skip "can't remount here"
	# shellcheck disable=SC2034 # for envelope
	stdout=$(<out.txt)
	envelope 7
	expect 'e.error.code == "PERMISSION_DENIED" and "runs.db is read-only" in e.error.message'
	env -i "${CLEAN_ENV[@]}" unshare -m sh read_only "$RUNNER" workflow list >out.txt 2>err.txt </dev/null
	python3 "$ROOT/tests/cli/lib/envelope.py" expect 'e.data[0].state == "completed"' out.txt
}

@test "resuming a long loop takes no more memory than running it: steps are read one by one" {
	case $RUNNER in */sanitize/*) skip "a sanitizer needs the memory itself" ;; esac
	seq 20000 >items
	ran <<-'YAML'
		  - { id: each, foreach: { file: items }, max_items: 3, do: [{ shell: "[ -e go ] || [ ${item} != 3 ]" }] }
		  - shell: 'awk "/^VmHWM/ { print \$2 }" /proc/$(awk "/^PPid/ { print \$2 }" /proc/$PPID/status)/status >kib'
	YAML
	envelope 1
	# as if 20,000 items had been run
	sed -i 's/, max_items: 3//' small.yaml
	sql "WITH RECURSIVE n (i) AS (VALUES (4) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO steps (run, key, position, state, kind, label, round, attempts, output)
		SELECT s.run, 'each[' || i || '].1', i + 10, 'completed', s.kind, s.label, 1, 1, '' FROM steps s, n WHERE s.key = 'each[1].1'"
	touch go
	call workflow resume "$(run_id)" --force
	envelope 0
	expect 'e.data.steps_by_state == {"completed": 20002}'
	[ "$(<kib)" -gt 1000 ]
	[ "$(<kib)" -lt 40000 ]
}

@test "through every door, resume of a completed run is its answer and repeats nothing" {
	load lib/exec
	load lib/mcp
	ran <<<'  - { id: a, shell: "echo one | tee -a effects" }'
	local id
	id=$(run_id)
	batch --allow 'workflow resume' <<<"{\"_cmd\": \"workflow.resume\", \"id\": \"$id\", \"steps\": \"all\", \"limit\": 1}"
	each 'len(a) == 1 and a[0]["ok"] and a[0]["data"]["effect"] == "noop" and a[0]["data"]["steps"][0]["output"] == "one"'
	session ID="$id" <<-'PY'
		import os
		with Server("--allow", "workflow resume") as server:
		    e = server.call("workflow_resume", {"id": os.environ["ID"]})["structuredContent"]
		    assert e["ok"] and e["data"]["effect"] == "noop" and e["data"]["state"] == "completed", e
	PY
	call workflow resume "$id" --detach
	envelope 0
	call job wait @last
	envelope 0
	expect "e.data.effect == 'noop' and e.data.id == '$id'"
	effects one
}

# (in its second step)
cut_by_its_limit() {
	rm -f effects began
	call workflow run cut.yaml --timeout "$((2 * 4 ** (nth - 1)))s"
	[ -e began ]
}

@test "a run that was cut off names resume and is never retryable, however its process ended" {
	local how
	for how in timeout TERM SEGV KILL; do
		rm -f effects err.txt began
		workflow cut <<<'{ name: cut, commands: [ { shell: echo one >>effects }, { shell: touch began; sleep 60 } ] }'
		if [ "$how" = timeout ]; then
			tries 3 cut_by_its_limit
		else
			begin workflow run cut.yaml
			until_true grep -qs 'Step 2' err.txt
			until_true [ -e began ] # (its process may come after its line)
			if [ "$how" = TERM ]; then kill -TERM "$pid"; else kill -"$how" "$(worker_of_run)"; fi
			finish
		fi
		assert_envelope
		expect "e.error.retryable is False and e.error.suggestion == 'runner workflow resume ' + e.meta.run"
		effects one
	done
}
