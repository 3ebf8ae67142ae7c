#!/usr/bin/env bats
# One run at a time of those with the same key: who waits, who is cancelled, who is refused, and what ends that.

load lib/workflow

# group NAME WHEN_TAKEN: a workflow that writes NAME when it begins and stays until the file go.NAME is there; its key is ${key}
group() {
	workflow "$1" <<-YAML
		name: $1
		vars: { key: one }
		concurrency: { key: "\${key}", when_taken: $2 }
		commands:
		  - idempotent: true
		    shell: 'echo "$1" >>effects; until [ -e go.$1 ]; do sleep 0.02; done; echo "/$1" >>effects'
	YAML
}

# background NAME ARGS…: a run that goes on beside others; its pid is in NAME.pid
background() {
	local name=$1
	shift
	env -i --default-signal=INT,QUIT "${CLEAN_ENV[@]}" "$RUNNER" workflow "$@" >"$name.out" 2>"$name.err" </dev/null 3>&- &
	echo $! >"$name.pid"
}

# ended NAME STATUS
ended() {
	status=0
	wait "$(<"$1.pid")" || status=$?
	[ "$status" -eq "$2" ] || { cat "$1.out" "$1.err" >&2; return 1; }
}

# steps_of NAME: processes of this test that run its step
steps_of() {
	local path
	for path in $(processes_left); do
		if tr '\0' ' ' 2>/dev/null <"${path%environ}cmdline" | grep -qF "until [ -e go.$1 ]"; then echo "$path"; fi
	done
}

said() {
	[ "$(paste -sd ' ' effects)" = "$*" ] || { cat effects >&2; return 1; }
}

@test "queue: runs wait in the order in which they came, say for whom, and begin when the one before has ended" {
	group a queue
	group b queue
	group c queue
	background a run a.yaml
	until_true grep -qx a effects
	background b run b.yaml
	until_true grep -q 'waits for run run_.* of a' b.err
	background c run c.yaml
	until_true grep -q 'waits for run run_.* of b' c.err
	touch go.c go.a
	ended a 0
	until_true grep -qx b effects
	said a /a b
	touch go.b
	ended b 0
	ended c 0
	said a /a b /b c /c
	call workflow show c
	expect 'e.data.concurrency == "one" and e.data.state == "completed"'
}

@test "other keys run at the same time, and so do runs of another state directory" {
	group a queue
	background a run a.yaml
	until_true grep -qx a effects
	touch go.b
	group b refuse
	call workflow run b.yaml --var key=two
	envelope 0
	touch go.a
	ended a 0
}

@test "refuse: GROUP_TAKEN is retryable, names the holder, and stores no run; a resume is refused, too, and changes nothing" {
	group a queue
	group b refuse
	background a run a.yaml
	until_true grep -qx a effects
	call workflow run b.yaml
	envelope 86
	expect 'e.error.code == "GROUP_TAKEN" and e.error.retryable is True and e.error.side_effects == "none"'
	[ "$(sql 'select id from runs')" = "$(python3 -c 'import json,sys; print(json.load(open("out.txt"))["error"]["context"]["holder"])')" ]
	touch go.a
	ended a 0
	begin workflow run b.yaml
	until_true grep -qx b effects
	kill_all
	rm go.a effects
	background a run a.yaml
	until_true grep -qx a effects
	call workflow resume b
	envelope 86
	[ "$(sql "select state, resumes from runs where workflow = 'b'")" = "running|0" ]
	touch go.a go.b
	ended a 0
	call workflow resume b
	envelope 0
}

@test "cancel: the holder and those that wait are cancelled, with their processes gone, before the run begins" {
	group a queue
	group b queue
	group c cancel
	background a run a.yaml
	until_true grep -qx a effects
	background b run b.yaml
	until_true grep -q 'waits for run' b.err
	touch go.c
	call workflow run c.yaml
	envelope 0
	said a c /c
	ended a 143
	ended b 143
	[ "$(sql 'select workflow, state from runs order by rowid' | paste -sd ' ')" = "a|cancelled b|cancelled c|completed" ]
	grep -q 'cancels run run_.* of b' err.txt
}

@test "after kill -9 of the holder the next one goes on when its steps are gone, and the dead one comes last when it is resumed" {
	group a queue
	group b queue
	background a run a.yaml
	until_true grep -qx a effects
	background b run b.yaml
	until_true grep -q 'waits for run' b.err
	kill -KILL "$(<a.pid)"
	until_true grep -qx b effects
	[ -z "$(steps_of a)" ]
	background r resume a
	until_true grep -q 'waits for run run_.* of b' r.err
	touch go.a go.b
	ended b 0
	ended r 0
	said a b /b a /a
}

@test "Ctrl+C ends a run that waits; it is interrupted, has begun nothing, and can be resumed" {
	group a queue
	group b queue
	background a run a.yaml
	until_true grep -qx a effects
	background b run b.yaml
	until_true grep -q 'waits for run' b.err
	kill -INT "$(<b.pid)"
	ended b 130
	[ "$(sql "select state, (select count(*) from steps where run = id) from runs where workflow = 'b'")" = "interrupted|0" ]
	call workflow run b.yaml --timeout 300ms
	envelope 10
	touch go.a go.b
	ended a 0
	call workflow resume b
	envelope 0
	said a /a b /b
}

@test "a step that starts a run with the key of its own is refused: it would wait for itself" {
	group b queue
	workflow outer <<-YAML
		name: outer
		concurrency: { key: one }
		commands:
		  - shell: '$RUNNER workflow run b.yaml >inner.json 2>/dev/null || true'
	YAML
	call workflow run outer.yaml
	envelope 0
	grep -q '"code":"CONFLICT".*made by one of its steps' inner.json
	[ ! -e effects ]
}

@test "check, plan and show have it; a key that is missing, wrong or empty is refused" {
	group a cancel
	call workflow check a.yaml
	envelope 0
	call workflow plan a.yaml
	expect 'e.data.concurrency == {"key": "${key}", "when_taken": "cancel"}'
	on_pty workflow plan a.yaml
	grep -qF 'one run at a time: ${key} (when taken: cancel)' screen
	call workflow run a.yaml --var 'key= '
	expect 'e.error.code == "PRECONDITION" and "empty" in e.error.message'
	local each
	for each in '{}' '{ when_taken: queue }' '{ key: a, when_taken: wait }' '{ key: "${steps.x.output}" }' '{ key: a, more: 1 }' a; do
		printf 'name: x\nconcurrency: %s\ncommands:\n  - { id: x, shell: "true" }\n' "$each" >x.yaml
		call workflow check x.yaml
		[ "$status" -eq 2 ]
		expect 'e.error.errors[0].line == 2'
	done
}
