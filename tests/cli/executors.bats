#!/usr/bin/env bats
# Executors: what the commands say of `executors` and `on`, wherever they stand.

load lib/workflow

here() {
	workflow flow <<-'YAML'
		name: flow
		executors:
		  near: { kind: local }
		claude: { output: json }
		commands:
		  - { shell: echo a }
	YAML
}

@test "check and plan take the executor of the call, and name those that there are" {
	here
	for command in check plan; do
		call workflow "$command" flow.yaml --on near
		envelope 0
		call workflow "$command" flow.yaml --on naer
		envelope 2
		expect 'e.error.errors[0].field == "on" and "near" in e.error.errors[0].suggestion'
	done
	call workflow run flow.yaml --on none
	envelope 0
}

@test "runner.lua describes the site's, and a wrong one is refused" {
	here
	echo 'return { executors = { site = { kind = "local" } } }' >runner.lua
	call workflow check flow.yaml --on site
	envelope 0
	echo 'return { executors = { site = { knid = "local" } } }' >runner.lua
	call lint
	[ "$status" -ne 0 ]
	expect '"executors.site.knid" in e.error.errors[0].message and e.error.errors[0].fix_required == "Rename it to kind"'
	call workflow check flow.yaml --on site
	envelope 2
	expect 'e.error.errors[0].field == "on" and e.warnings[0].code == "PROJECT_IGNORED" and "site.knid" in e.warnings[0].message'
	echo 'return { executors = ' >runner.lua
	call workflow check flow.yaml
	envelope 0
	expect '[w.code for w in e.warnings] == ["PROJECT_IGNORED"]'
}

@test "a claude step on an executor can't share the budget that the call sets" {
	here
	echo '  - { claude: a, on: near }' >>flow.yaml
	call workflow run flow.yaml --max-cost 1
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none"'
	[ "$(calls)" -eq 0 ]
}

@test "the run keeps the executor that the call named" {
	here
	call workflow run flow.yaml --on none
	[ "$(sql 'select given_on from runs')" = none ]
}

# by_programs KEYS: flow.yaml, its loop over items.txt on the queue of tests/cli/lib/batch_queue.py
by_programs() {
	mkdir -p shared queue
	env -i "${CLEAN_ENV[@]}" python3 "$ROOT/tests/cli/lib/batch_queue.py" serve "$PWD/queue" >/dev/null 2>&1 </dev/null 3>&- &
	{
		printf 'name: flow\nexecutors:\n  q: { kind: command, directory: %s/shared, poll: 100ms, submit_rate: 100' "$PWD"
		for verb in submit states cancel; do
			printf ', %s: [python3, %s, %s, %s/queue]' "$verb" "$ROOT/tests/cli/lib/batch_queue.py" "$verb" "$PWD"
		done
		printf ' }\ncommands:\n  - id: each\n    foreach: { file: items.txt }\n    on: q\n    chunk: 5\n    do:\n'
		sed 's/^/      /'
	} >flow.yaml
}

@test "three programs of the user's drive a queue, from the check to the outputs" {
	seq 23 >items.txt
	by_programs <<-'YAML'
		- shell: echo "$((item * 2))"
		  env: { item: "${item}" }
	YAML
	call executor check q --file flow.yaml
	envelope 0
	expect 'all(r.ok for r in e.data.checks)'
	call workflow run flow.yaml
	envelope 0
	expect '[int(i.output) for i in e.data.steps[0].data] == [2 * n for n in range(1, 24)]'
}

@test "cancel ends what runs by these programs" {
	seq 3 >items.txt
	by_programs <<-YAML
		- shell: touch '$PWD/began'; sleep 600.25
	YAML
	begin workflow run flow.yaml
	until_true [ -e began ]
	call workflow cancel @last
	[ "$status" -eq 0 ]
	finish
	[ "$status" -ne 0 ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
}

@test "programs that fail, lie and say half of it cost time, and no item its one run" {
	seq 12 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; sleep 0.1; echo "\$item"
		  env: { item: "\${item}" }
	YAML
	cp flow.yaml well.yaml
	for seed in ${SEED:-1 2 3}; do
		: >effects
		sed -E "s#/batch_queue.py, (submit|states|cancel), [^]]*#/moody_queue.py, \1, $PWD/queue, s$seed#g" well.yaml >flow.yaml
		call workflow run flow.yaml --timeout 100s
		envelope 0
		diff <(sort -n effects) items.txt
	done
	sed -i "s/sleep 0.1/touch '${PWD//\//\\/}\/began'; sleep 600.25/" flow.yaml
	begin workflow run flow.yaml
	until_true [ -e began ]
	mv out.txt run.txt
	until_true cancelled
	finish
	[ "$status" -ne 0 ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
}

# It may take more than one call, if the programs answer none of its questions.
cancelled() {
	call workflow cancel @last
	[ "$status" -eq 0 ]
}

# meddled MARK <<SHELL: a question to the queue runs the shell text once there is a result, whose path is $result; until it has
# made the file MARK, the answer waits for one: what has come behind a question would be believed at once
meddled() {
	{
		printf 'results="%s/shared/runner-*/*/*/1.result"\n' "$PWD"
		printf 'until result=$(ls $results 2>/dev/null) || [ -e %s ]; do sleep 0.02; done\n[ ! -e "$result" ] || {\n' "$1"
		cat
		printf '}\nexec python3 "%s/tests/cli/lib/batch_queue.py" states "%s/queue"\n' "$ROOT" "$PWD"
	} >states.sh
	sed -i "s#states: \[[^]]*\]#states: [sh, $PWD/states.sh]#" flow.yaml
}

five_noted() {
	seq 5 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; echo "\$item"
		  env: { item: "\${item}" }
	YAML
}

@test "a result that is seen before the journal that it stands on, as over NFS, is waited for" {
	five_noted
	meddled n <<-'SH'
		n=$(cat n || echo 0); echo $((n + 1)) >n; journal=${result%result}journal
		[ "$n" != 0 ] || { cp "$journal" whole; truncate -s 20 "$journal"; }
		[ "$n" != 6 ] || cp whole "$journal"
	SH
	call workflow run flow.yaml --timeout 60s
	envelope 0
	diff effects items.txt
}

@test "a result that is cut ends the run with its path; once it is removed, resume goes on, and each item has run once" {
	five_noted
	meddled cut <<-'SH'
		[ -e cut ] || { truncate -s 20 "$result"; echo "$result" >cut; }
	SH
	call workflow run flow.yaml --timeout 60s
	envelope 4
	expect "e.error.code == 'PRECONDITION' and '$(cat cut) is damaged' in e.error.message"
	rm "$(cat cut)"
	call workflow resume @last
	envelope 0
	diff effects items.txt
}

# answering TEXT: what the queue says of states goes through this Python text, which changes `tasks`, those of each token
answering() {
	cat >answer.py <<-PY
		import json, os, sys
		answer = json.load(sys.stdin)
		for placement in answer["placements"].values():
		    tasks = placement["tasks"]
		    $1
		print(json.dumps(answer))
	PY
	printf 'python3 "%s/tests/cli/lib/batch_queue.py" states "%s/queue" | python3 "%s/answer.py"\n' "$ROOT" "$PWD" "$PWD" >states.sh
	sed -i "s#states: \[[^]]*\]#states: [sh, $PWD/states.sh]#" flow.yaml
}

# ended_as HOW: 3 items in one part, whose task is killed in the second one; the queue says that it has ended so
ended_as() {
	rm -f effects go
	seq 3 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; [ "\$item" != 2 ] || until [ -e '$PWD/go' ]; do sleep 0.05; done
		  env: { item: "\${item}" }
		  idempotent: true
	YAML
	answering "tasks.update({n: {'state': 'ended', 'ended': '$1'} for n, task in tasks.items() if task['state'] == 'ended'})"
	begin workflow run flow.yaml --timeout 60s
	until_true grep -qs 2 effects
	kill_tasks
}

# shellcheck disable=SC2046 # one word each
kill_tasks() {
	kill -KILL $(pgrep -f "workflow chunk $PWD/")
}

@test "a part that was preempted, not started by its node, or ended at a time limit is placed again after a wait, but for what it has done" {
	for how in preempted boot_failed timeout; do
		ended_as "$how"
		touch go
		finish
		envelope 0
		[ "$(xargs <effects)" = '1 2 2 3' ]
		[ "$(sql "select generation from chunks where run = '$(run_id)'")" = 2 ]
		[ "$(sql "select max(submitted_ms) - min(ended_ms) >= 900 from placements where run = '$(run_id)'")" = 1 ]
		kill_queue
	done
}

kill_queue() {
	kill -KILL "$(pgrep -f "batch_queue.py serve $PWD/queue")"
	rm -r queue
}

@test "a step that was ended by a signal an instant before its task was cut off, not failed: verify decides" {
	seq 2 >items.txt
	by_programs <<-YAML
		- shell: echo \$\$ >'$PWD/pid'; echo "\$item" >>'$PWD/effects'; [ "\$item" != 2 ] || sleep 600.25
		  env: { item: "\${item}" }
		  verify: grep -qx "\$item" '$PWD/effects'
		  idempotent: false
	YAML
	begin workflow run flow.yaml --timeout 60s
	until_true grep -qs 2 effects
	until_true recorded 'select 1 from chunks where state = "running"'
	local step task
	step=$(<pid)
	mapfile -t task < <(pgrep -f "workflow chunk $PWD/")
	kill -TERM "$step"
	until_true [ ! -e "/proc/$step" ] # its end is known, and waited with for a second (lua/workflow/run/attempts.lua)
	kill -TERM "${task[@]}"
	finish
	envelope 0
	[ "$(xargs <effects)" = '1 2' ]
}

@test "a shared directory that can't be written is refused before anything is submitted, by check, too" {
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	seq 2 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item"
		  env: { item: "\${item}" }
	YAML
	for _ in new known; do
		run_in_readonly workflow run flow.yaml
		envelope 4
		expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none" and "Read-only file system" in e.error.message'
		run_in_readonly executor check q --file flow.yaml
		envelope 4
		expect 'e.error.code == "PRECONDITION" and "Read-only file system" in e.error.message'
		[ -e "shared/runner-$(id -u)" ] || mkdir -m 700 "shared/runner-$(id -u)"
	done
	[ -z "$(ls queue)" ]
}

# run_in_readonly ARGS…: where nobody can write to the shared directory
run_in_readonly() {
	local runner=$RUNNER
	cat >readonly.sh <<-SH
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind shared shared && mount -o remount,ro,bind shared && exec "\$0" "\$@"' '$runner' "\$@"
	SH
	chmod +x readonly.sh
	RUNNER=$PWD/readonly.sh
	call "$@"
	RUNNER=$runner
}

@test "a part that somebody else has cancelled fails the step with UNAVAILABLE, and resume places it again" {
	ended_as cancelled
	finish
	envelope 12
	expect 'e.error.code == "UNAVAILABLE" and "somebody cancelled it in the queue" in e.error.message'
	[ "$(xargs <effects)" = '1 2' ]
	touch go
	call workflow resume @last
	envelope 0
	[ "$(xargs <effects)" = '1 2 2 3' ]
}

@test "what the queue says of one task that can't be read leaves that one open, and no other; stderr has it" {
	seq 10 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; until [ -e '$PWD/go' ]; do sleep 0.05; done
		  env: { item: "\${item}" }
		  idempotent: true
	YAML
	answering "'2' not in tasks or os.path.exists('$PWD/mended') or tasks.update({'2': 'half a li'})"
	begin workflow run flow.yaml --timeout 60s
	until_true written 2
	kill_tasks
	until_true recorded 'select 1 from chunks where chunk = 1 and generation = 2'
	[ "$(sql 'select generation from chunks where chunk = 2')" = 1 ]
	until_true grep -q "can't be read: .*half a li" err.txt
	touch mended go
	finish
	envelope 0
	[ "$(sort -n effects | xargs)" = '1 1 2 3 4 5 6 6 7 8 9 10' ]
}

@test "a submission that the site refuses ends the step, and what else is placed of it is cancelled" {
	seq 15 >items.txt
	by_programs <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; [ "\$item" -lt 6 ] || sleep 600.25
		  env: { item: "\${item}" }
	YAML
	cat >submit.sh <<-SH
		echo >>submitted
		[ "\$(wc -l <submitted)" = 3 ] || exec python3 "$ROOT/tests/cli/lib/batch_queue.py" submit "$PWD/queue"
		until grep -qx 6 effects; do sleep 0.05; done
		cat >/dev/null
		echo '{"error": {"kind": "refused", "message": "no such account"}}'
	SH
	sed -i -e "s|submit: \[[^]]*\]|submit: [sh, $PWD/submit.sh]|" -e 's/kind: command,/& at_once: 1,/' flow.yaml
	call workflow run flow.yaml --timeout 60s
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "no such account" in e.error.message and e.error.side_effects == "partial"'
	[ "$(wc -l <submitted)" = 3 ]
	[ "$(xargs <effects)" = '1 2 3 4 5 6' ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
}

@test "a wall clock that jumps an hour while steps are placed delays nothing" {
	dynamic_only "preloads nothing"
	"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -fno-builtin -o clock.so "$ROOT/tests/fault/clock.c" -ldl
	seq 12 >items.txt
	by_programs <<-'YAML'
		- shell: sleep 0.2; echo "$item"
		  env: { item: "${item}" }
	YAML
	for clock in 150:-3600 400:-3600 800:-20 1200:-3600 400:3600 1000:3600; do
		call LD_PRELOAD="$PWD/clock.so" FAULT_CLOCK="$clock" workflow run flow.yaml --timeout 60s
		envelope 0
		expect 'len(e.data.steps[0].data) == 12'
	done
}

@test "check refuses a chunk that may not fit into the executor's time, warns where nothing bounds it, and run takes both" {
	seq 3 >items.txt
	by_programs <<-'YAML'
		- shell: echo "$item"
		  env: { item: "${item}" }
		  timeout: 8s
	YAML
	sed -i 's/kind: command,/kind: command, time: 30s,/' flow.yaml
	call workflow check flow.yaml
	envelope 2
	expect '(e.error.errors[0].code, e.error.errors[0].line, "chunk: 3" in e.error.errors[0].suggestion) == ("WORKFLOW_INVALID", 5, True)'
	sed -i '/timeout/d' flow.yaml
	call workflow check flow.yaml
	envelope 0
	expect '[(w.code, w.context.line) for w in e.warnings] == [("TIME_UNBOUNDED", 5)]'
	sed -i -e 's/time: 30s/time: 25s/' -e '/env:/a\        timeout: 8s' -e '/chunk:/d' flow.yaml
	call workflow check flow.yaml
	envelope 0
	expect 'e.warnings == []'
	call workflow run flow.yaml
	envelope 0
	[ "$(sql 'select per_chunk from units')" = 2 ]
}

@test "a chunk is meant for --on: without it check warns, with it there is nothing to say" {
	printf 'executors:\n  q: { kind: local }\ncommands:\n  - foreach: [a, b]\n    chunk: 5\n    do: [ { shell: "true" } ]\n' >flow.yaml
	call workflow check flow.yaml
	envelope 0
	expect '[(w.code, w.context.line) for w in e.warnings] == [("CHUNK_UNUSED", 5)]'
	call workflow check flow.yaml --on q
	envelope 0
	expect 'e.warnings == []'
	call workflow run flow.yaml
	envelope 0
	expect 'e.warnings == []'
}

@test "what an executor refuses has had no effect, unless something was done before" {
	seq 3 >items.txt
	by_programs <<<'- shell: touch ran'
	cat >no.sh <<<'cat >/dev/null; echo "{\"error\": {\"kind\": \"refused\", \"message\": \"no such account\"}}"'
	sed -i "s|submit: \[[^]]*\]|submit: [sh, $PWD/no.sh]|" flow.yaml
	call workflow run flow.yaml
	envelope 4
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none"'
	[ ! -e ran ]
	sed -i 's/^commands:/&\n  - shell: touch before/' flow.yaml
	call workflow run flow.yaml
	envelope 4
	expect 'e.error.side_effects == "partial"'
}

@test "what a step says of its effects is not said of a run in which another item, chunk or attempt did something" {
	mkdir -p commands shared
	cat >commands/act.lua <<-'LUA'
		return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "what", "string" } }, run = function(args, ctx)
				local fails = args.what == "fail" or args.what == "again" and require "runner.fs".stat "did"
				if not fails then io.open("did", "w"):close() end
				if args.what == "do" then return 1 end
				ctx:fail("UNAVAILABLE", "no", { retryable = true, side_effects = fails and "none" or "partial" })
			end }
	LUA
	local head='executors: { q: { kind: local, poll: 100ms, directory: '$PWD'/shared } }\ncommands:\n'
	local loop='  - { on: q, chunk: %d, foreach: [%s], do: [ { runner: act, args: { what: "${item}" } } ] }\n'
	# shellcheck disable=SC2059 # formats
	effects() {
		rm -f did
		printf "$head$2" "${@:3}" >flow.yaml
		call workflow run flow.yaml
		envelope 12
		expect "e.error.side_effects == '$1'"
	}
	effects none "$loop" 5 fail
	effects partial "$loop" 5 "do, fail"
	effects partial "$loop" 1 "do, fail"
	effects none '  - { runner: act, args: { what: fail } }\n'
	effects partial '  - { runner: act, args: { what: again }, retry: { max_attempts: 1, delays: [10ms] } }\n'
}
