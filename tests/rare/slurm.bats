#!/usr/bin/env bats
# The real Slurm at full size, and what takes its minutes there: `make rare`. tests/cli/slurm.bats and
# tests/cli/slurm_failures.bats are what each check runs.

load ../cli/lib/slurm

bats_require_minimum_version 1.5.0

setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
	MESSAGE_TIMEOUT=5 cluster 4 4
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	site ''
}

@test "10,000 items in parts come out once, in their order" {
	seq "${ITEMS:-10000}" >items.txt
	workflow flow <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: c
		    chunk: 250
		    do:
		      - shell: echo "\$item" >>'$PWD/effects'; echo "\$((item * 2))"
		        env: { item: "\${item}" }
		  - shell: printf '%s\n' "\${steps.each.output}" >outputs
	YAML
	local began=$SECONDS
	call workflow run flow.yaml --timeout 1h
	envelope 0
	echo "# ${ITEMS:-10000} items in $((SECONDS - began)) s" >&3
	diff <(sort -n effects) items.txt
	diff outputs <(seq 2 2 $((2 * ${ITEMS:-10000})))
}

@test "the coordinator or tasks are killed at 200 random instants, and every item runs once" {
	local began=$SECONDS
	mkdir kills
	EXECUTOR="kind: slurm, directory: 'DIRECTORY', poll: 200ms, submit_rate: 100/s" SPAN=3 KILLS=${KILLS:-200} \
		run -0 python3 "$ROOT/tests/fault/placed_kill.py" "$RUNNER" "$PWD/kills" 0 ${SEED:+"$SEED"}
	echo "# ${lines[-1]}, in $((SECONDS - began)) s" >&3
}

@test "a run is cancelled at 200 random instants, and the queue has nothing of it" {
	local began=$SECONDS
	run -0 python3 "$ROOT/tests/fault/placed_cancel.py" "$RUNNER" "$PWD/state" "${CANCELS:-200}" ${SEED:+"$SEED"}
	echo "# ${lines[-1]}, in $((SECONDS - began)) s" >&3
}

@test "everything goes wrong for a third of an hour, and every item runs once" {
	"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -fno-builtin -o clock.so "$ROOT/tests/fault/clock.c" -ldl
	mkdir chaos
	local status=0
	CLOCK=$PWD/clock.so python3 "$ROOT/tests/fault/placed_chaos.py" "$RUNNER" "$PWD/chaos" "${CHAOS:-1200}" ${SEED:+"$SEED"} >chaos.txt 2>&1 || status=$?
	echo "# $(tail -n 1 chaos.txt)" >&3
	scancel --user "$(id -un)" || true # nothing of it for the next test
	[ $status -eq 0 ]
}

@test "each variable of the manual pages by itself changes nothing, or what it is meant for" {
	run -0 python3 "$ROOT/tests/fault/placed_environment.py" "$RUNNER" "$PWD/shared" one
	echo "# ${lines[-1]}" >&3
}

@test "the site's time limit ends a task, and its items go on in another one, which has the next of the list" {
	seq 3 >items.txt
	workflow flow <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: c
		    chunk: 3
		    resources: { time: [1m, 10m] }
		    do:
		      - shell: echo "\$item \$(squeue -h -j "\$SLURM_JOB_ID" -o %l)" >>'$PWD/effects'; [ "\$item" != 2 ] || [ -e '$PWD/limited' ] || { touch '$PWD/limited'; sleep 600; }
		        idempotent: true
		        env: { item: "\${item}" }
	YAML
	call workflow run flow.yaml --timeout 10m
	envelope 0
	[ "$(xargs <effects)" = "1 1:00 2 1:00 2 10:00 3 10:00" ]
	grep -q 'DUE TO TIME LIMIT' shared/runner-*/*/*/*.out
}

@test "a step's program that has too little memory gives its task the next size, where Slurm has control groups" {
	[ ! -e /sys/fs/cgroup/memory/slurm_n1 ] || skip "there is a Slurm that has control groups"
	mkdir /sys/fs/cgroup/memory/runner-test 2>/dev/null || skip "no cgroup for memory here"
	rmdir /sys/fs/cgroup/memory/runner-test
	mkdir -p confined
	printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup ConstrainRAMSpace=yes ConstrainSwapSpace=yes >confined/cgroup.conf
	local whole=$CLUSTER CLUSTER=$PWD/confined
	printf '%s\n' TaskPlugin=task/cgroup ProctrackType=proctrack/cgroup SelectTypeParameters=CR_CPU_Memory | slurm up 1 2
	CLEAN_ENV+=(SLURM_CONF="$CLUSTER/slurm.conf")
	site 'memory = { "100M", "600M" }'
	seq 3 >items.txt
	workflow flow <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: c
		    chunk: 3
		    do:
		      - shell: 'echo "\$item \$SLURM_MEM_PER_NODE" >>effects; [ "\$item" != 2 ] || python3 -c "x = b\"x\" * 200000000"'
		        env: { item: "\${item}" }
		        idempotent: true
	YAML
	call workflow run flow.yaml --timeout 2m
	slurm down
	CLUSTER=$whole
	find /sys/fs/cgroup/*/slurm_n1 -depth -type d -exec rmdir {} + || true
	envelope 0
	[ "$(xargs <effects)" = '1 100 2 100 2 600 3 600' ]
}

@test "an item that has to wait for minutes gives its node back until then" {
	seq 2 >items.txt
	cat >item.sh <<-SH
		echo "\$item \$SLURM_JOB_ID" >>'$PWD/effects'
		[ "\$item" = 2 ] || [ -e '$PWD/asked' ] || { touch '$PWD/asked'; exit 75; }
	SH
	workflow flow <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: c
		    chunk: 2
		    do:
		      - shell: . '$PWD/item.sh'
		        retry: { max_attempts: 2, initial_delay: 65s, max_delay: 65s, jitter: 0, retry_on: [{ exit: 75 }] }
		        env: { item: "\${item}" }
	YAML
	call workflow run flow.yaml --timeout 10m
	envelope 0
	[ "$(cut -d' ' -f1 effects | sort | tr '\n' ' ')" = "1 1 2 " ]
	[ "$(cut -d' ' -f2 effects | sort -u | wc -l)" -eq 2 ]
}
