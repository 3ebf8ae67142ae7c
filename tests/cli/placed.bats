#!/usr/bin/env bats
# Steps on an executor (`on`), with kind local: the tasks are processes of this machine. What
# only a cluster does is in slurm.bats, and the faults of queues in coordinator_spec.lua.

load lib/workflow

# on_local: the steps on stdin, in a workflow with an executor
on_local() {
	{
		printf 'name: placed\nexecutors: { here: { kind: local, at_once: 2, poll: 100ms } }\ncommands:\n'
		cat
	} >placed.yaml
}

# once N: each of the items 1 to N wrote its line to effects exactly once
once() {
	diff <(sort -n effects) <(seq "$1")
}

# unit: the folder of the run's first unit
unit() {
	sql "select directory from units order by number limit 1"
}

@test "a loop on an executor gives the outputs, the order and the exit code that it gives here" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [a, b, c, d, e, f, g]
		    on: here
		    chunk: 2
		    do:
		      - shell: echo "item ${item} ${item_index}"
		  - shell: echo "${steps.each.output}"
	YAML
	call workflow run placed.yaml --seed 5
	envelope 0
	expect 'e.data.steps[-1].output.split("\n") == ["item %s %d" % (x, i + 1) for i, x in enumerate("abcdefg")]'
	expect 'sorted(s.key for s in e.data.steps if s.key.startswith("each[")) == ["each[%d].1" % i for i in range(1, 8)]'
	expect 'e.data.placed[0].step == "each" and e.data.placed[0].executor == "here" and e.data.placed[0].parts == 4'
	expect 'e.data.placed[0].completed == 4 and e.data.placed[0]["items"] == 7 and e.data.placed[0].run_ms > 0'
	[ "$(sql 'select count(*), sum(count), min(generation), max(generation) from chunks where state = "completed"')" = "4|7|1|1" ]
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
	local placed=$stdout
	call workflow run placed.yaml --seed 5 --on none
	envelope 0
	python3 - "$placed" "$stdout" <<-'PY'
		import json, sys
		def seen(text):
		    data = json.loads(text)["data"]
		    return data["seed"], sorted((s["key"], s["state"], s.get("output"), json.dumps(s.get("data"))) for s in data["steps"])
		a, b = map(seen, sys.argv[1:])
		assert a == b, (a, b)
	PY
}

@test "show and stats tell the time in the queue from the time of running, while it runs too" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3, 4, 5]
		    on: here
		    chunk: 1
		    do:
		      - shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done"
	YAML
	begin workflow run placed.yaml
	until_true written 2
	until_true recorded 'select 1 from chunks where state = "running"'
	id=$(run_id)
	on_pty workflow show "$id"
	grep -q '^  each on here: 0 of [45] parts done, [12] running, [1234] queued' screen
	touch go
	finish
	envelope 0
	call workflow stats
	envelope 0
	expect 'e.data.by_executor[0].executor == "here" and e.data.by_executor[0].parts == 5'
	expect 'e.data.by_executor[0].queue_ms >= 0 and e.data.by_executor[0].run_ms > 0 and e.data.by_executor[0].placed_again == 0'
	once 5
}

@test "a run on an executor can be detached, and answers as a job" {
	needs_library libsqlite3.so.0
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3]
		    on: here
		    do:
		      - shell: echo ${item} >>effects
	YAML
	call workflow run placed.yaml --detach
	envelope 0
	until_true written 3
	until_true recorded 'select 1 from runs where state = "completed"'
	once 3
	until_true assert_no_process_left
}

@test "a second coordinator of a run is refused while the first one lives" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2]
		    on: here
		    do:
		      - shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done"
	YAML
	begin workflow run placed.yaml
	until_true written 1
	id=$(run_id)
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow resume "$id" >second.txt 2>/dev/null || status=$?
	grep -q '"code":"LOCK_HELD"' second.txt
	touch go
	finish
	envelope 0
	once 2
}

@test "two login nodes that don't share their state: the folder of the step has one owner" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2]
		    on: here
		    do:
		      - shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done"
	YAML
	mkdir shared
	sed -i "s|at_once: 2|at_once: 2, directory: $PWD/shared|" placed.yaml
	begin workflow run placed.yaml
	until_true written 1
	id=$(run_id)
	cp -r state other
	rm other/runner/runs.db* # a copy of files that change may be torn
	sql "vacuum into 'other/runner/runs.db'"
	status=0
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/other" "$RUNNER" workflow resume "$id" >second.txt 2>/dev/null || status=$?
	grep -q '"code":"LOCK_HELD"' second.txt
	touch go
	finish
	envelope 0
	once 2
}

@test "an item that fails ends the loop, with its error; resume runs what is left, and nothing twice" {
	on_local <<-'YAML'
		  - id: each
		    foreach: { file: items }
		    on: here
		    chunk: 1
		    do:
		      - shell: "[ ${item} -lt 4 ] || until [ -e go ]; do sleep 0.02; done; [ ${item} != 3 -o -e go ] || exit 7; echo ${item} >>effects"
		        idempotent: true # one that begins while another fails may be ended before it can say that it was interrupted
	YAML
	seq 6 >items
	call workflow run placed.yaml
	envelope 1
	expect 'e.error.code == "COMMAND_FAILED" or e.error.code == "NON_ZERO_EXIT" or e.error.context.step_key == "each[3].1"'
	expect 'e.error.context.step_key == "each[3].1"'
	[ ! -e "$(unit)/secrets.json" ]
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	once 6
}

@test "a step that is no loop, and parallel steps, run on an executor as here" {
	on_local <<-'YAML'
		  - id: one
		    shell: echo "from ${run.id}"
		    on: here
		  - id: both
		    on: here
		    parallel:
		      - { id: x, shell: "echo ${steps.one.output} x" }
		      - { id: y, shell: echo y }
		  - id: fails
		    shell: echo out; exit 4
		    on: here
		    on_failure: { commands: [{ shell: "echo hook ${steps.fails.error.code} >hook" }], then: continue }
		  - shell: echo "${steps.x.output} ${steps.y.output}"
	YAML
	call workflow run placed.yaml
	envelope 0
	expect 'e.data.steps[-1].output == "from " + e.data.id + " x y"'
	grep -q '^hook .' hook
	[ "$(sql 'select count(*) from units')" = 3 ]
}

@test "Ctrl+C ends the tasks, and resume goes on with the items that had not run" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3, 4, 5, 6]
		    on: here
		    chunk: 2
		    do:
		      - shell: "echo ${item} >>effects; [ ${item} -lt 3 ] || until [ -e go ]; do sleep 0.02; done"
		        idempotent: false
		        verify: grep -qx ${item} effects
	YAML
	begin workflow run placed.yaml
	until_true written 3
	kill -INT "$pid"
	finish
	envelope 130
	assert_no_process_left
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
	touch go
	call workflow resume "$(run_id)"
	envelope 0
	once 6
}

@test "kill -9 of the coordinator: resume waits for its tasks to be gone, and runs nothing twice" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3, 4, 5]
		    on: here
		    chunk: 2
		    do:
		      - shell: "echo ${item} >>effects; [ ${item} = 1 ] || until [ -e go ]; do sleep 0.02; done"
		        verify: grep -qx ${item} effects
		        idempotent: false
	YAML
	begin workflow run placed.yaml
	until_true written 3
	id=$(run_id)
	kill -KILL "$pid"
	finish
	until_true no_owner "$id"
	touch go
	call workflow resume "$id"
	envelope 0
	once 5
	expect 'len(e.data.steps) == 6'
}

@test "a doubt in a task ends the run as a doubt here does, and resume asks" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2, 3]
		    on: here
		    do:
		      - shell: "[ ${item} != 3 ] || until [ -e go ]; do sleep 0.02; done; echo ${item} >>effects; [ ${item} != 2 -o -e go ] || kill -KILL $PPID"
	YAML
	call workflow run placed.yaml
	envelope 81
	expect 'e.error.code == "STEP_IN_DOUBT" and e.error.context.step_key == "each[2].1"'
	id=$(run_id)
	call workflow resume "$id"
	envelope 81
	touch go
	call workflow resume "$id" --retry-in-doubt
	envelope 0
	[ "$(sort -n effects | tr '\n' ' ')" = "1 2 2 3 " ]
}

@test "a coordinator that is killed alone leaves tasks that its shepherds end, and cancel says so" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2]
		    on: here
		    do:
		      - shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done"
	YAML
	begin workflow run placed.yaml
	until_true written 1
	kill -KILL "$pid"
	finish
	id=$(run_id)
	until_true no_owner "$id"
	[ -e "$(unit)/secrets.json" ]
	call workflow cancel "$id"
	envelope 0
	until_true assert_no_process_left
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
	[ "$(sql 'select state from runs')" = cancelled ]
	[ ! -e "$(unit)/secrets.json" ]
}

@test "a placed step that is interrupted leaves none of its secrets" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2]
		    on: here
		    do:
		      - { shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done", idempotent: true }
	YAML
	begin workflow run placed.yaml
	until_true written 1
	[ -e "$(unit)/secrets.json" ]
	kill -INT "$pid"
	finish
	[ "$(sql 'select state from runs')" = interrupted ]
	[ ! -e "$(unit)/secrets.json" ]
	touch go
	call workflow resume "$(run_id)"
	envelope 0
}

@test "a placed step that is marked done is ended first, and a doubt elsewhere ends what is placed" {
	on_local <<-'YAML'
		  - parallel:
		      - id: each
		        foreach: [1, 2]
		        on: here
		        do:
		          - { shell: "echo ${item} >>effects; until [ -e go ]; do sleep 0.02; done", idempotent: true }
		      - { id: doubt, shell: "until [ -s effects ]; do sleep 0.02; done; kill -KILL $PPID" }
	YAML
	call workflow run placed.yaml
	envelope 81
	expect 'e.error.context.step_key == "1.doubt"'
	assert_no_process_left
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
	call workflow resume "$(run_id)" --mark-done 1.doubt --mark-done 1.each
	envelope 0
	[ "$(sql 'select count(*) from placements')" = 1 ]
}

@test "rm removes the folders of a run's placed steps with it" {
	on_local <<-'YAML'
		  - { id: one, shell: "head -c 2000000 /dev/zero | tr '\\0' x", on: here, capture_limit: 4M }
	YAML
	call workflow run placed.yaml
	envelope 0
	expect 'e.data.steps[0].output_bytes == 2000000'
	[ "$(wc -c <"$(find "$(unit)/1.out" -name one)")" = 2000000 ]
	expect "e.data.steps[0].output_path == '$(unit)/1.out/one'"
	local folder id
	folder=$(unit) id=$(run_id)
	[ -d "$folder" ]
	[ ! -e "$folder/secrets.json" ]
	call workflow rm "$id" --dry-run
	envelope 0
	grep -qF "\"target\":\"$folder\"" out.txt
	expect 'e.data.runs[0].bytes_freed > 2000000'
	call workflow rm "$id" --confirm-destructive
	envelope 0
	[ ! -e "$folder" ]
	[ ! -e "${folder%/*}" ]
}

@test "a step whose folder was removed, or whose executor has another directory now, can't go on: said at once" {
	on_local <<-'YAML'
		  - id: each
		    foreach: [1, 2]
		    on: here
		    do:
		      - shell: "echo ${item} >>effects; [ ${item} = 1 ]"
	YAML
	call workflow run placed.yaml
	envelope 1
	id=$(run_id)
	rm -r "$(unit)"
	call workflow resume "$id"
	envelope 4
	expect 'e.error.code == "PRECONDITION" and not e.error.retryable and "isn'"'"'t there any more" in e.error.message'
	[ ! -e "$(unit)" ]
	mkdir elsewhere
	sed -i "s,kind: local,kind: local\\, directory: $PWD/elsewhere," placed.yaml
	call workflow resume "$id" --force
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.context.path == "'"$(unit)"'" and "they can'"'"'t go on in" in e.error.message'
	[ "$(sort effects | uniq -d)" = "" ]
}
