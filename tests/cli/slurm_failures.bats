#!/usr/bin/env bats
# What goes wrong on a real Slurm, and what becomes of the items: nodes that are drained, cut off or
# lost, a controller that forgets, tasks that the site ends or that have too little memory. What takes
# minutes is in tests/rare/slurm.bats.

load lib/slurm

bats_require_minimum_version 1.5.0

setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
	MESSAGE_TIMEOUT=5 SLURMD_TIMEOUT=3600 cluster 3 2
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	mkdir -p bin claude/turns claude/calls
	ln -s "$ROOT/tests/cli/lib/claude_standin" bin/claude
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH" XDG_STATE_HOME="$PWD/state")
	site ''
}

# The cluster as it was, for the next test.
clean_up() {
	local node
	kill_all
	[ -z "${NO_SLURM:-}" ] || return 0
	for node in ctld n1 n2 n3; do
		[ -e "$CLUSTER/run/$node.pid" ] || slurm start "$node"
	done
	until_true scancel -u "$(id -un)"
	# shellcheck disable=SC2046 # one word each
	kill -KILL $(pgrep -f "workflow chunk $PWD/") 2>/dev/null || true
	nodes resume
	until_true all_up
	until_true nothing_left
}

# --- what the tests run, and what they wait for -------------------------------------------------

# flow [KEYS] <<SHELL: flow.yaml: one loop over items.txt on the cluster, an item in each part; its script is item.sh
flow() {
	{
		# shellcheck disable=SC2016 # the script's own
		printf 'item=$item\ncd "%s"\n' "$PWD"
		cat
	} >item.sh
	cat >flow.yaml <<-YAML
		name: flow
		commands:
		  - id: each
		    foreach: { file: items.txt }
		    on: c
		    chunk: 1
		    do:
		      - shell: . '$PWD/item.sh'
		        env: { item: "\${item}" }
		        ${1:-idempotent: false}
	YAML
}

# held N [KEYS]: N items, which note themselves in effects, and in `began` who runs them where, and wait for `go`
held() {
	seq "$1" >items.txt
	flow "${2:-}" <<-'SH'
		echo "$item" >>effects
		echo "$item" >>"began.$SLURMD_NODENAME"
		until [ -e go ]; do sleep 0.05; done
	SH
}

# all_began N
all_began() {
	[ "$(cat began.* | wc -l)" -ge "$1" ]
}

once() {
	diff <(sort effects) <(sort items.txt)
}

nothing_left() {
	[ -z "$(tasks_left)" ]
}

# nodes drain|down|resume [NODE]: all of them by default
nodes() {
	scontrol update "NodeName=${2:-n[1-3]}" "State=$1" Reason=test 2>/dev/null || [ "$1" = resume ]
}

all_up() {
	[ "$(sinfo -h -N -o %t | grep -cE '^(idle|mix|alloc)$')" -eq 3 ]
}

# shows TEXT: what the run's own page says
shows() {
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow show @last --format json >shown 2>/dev/null </dev/null
	grep -q -- "$1" shown
}

# tasks_of NODE: processes of tasks that Slurm has started there
tasks_of() {
	local pid
	for pid in $(pgrep -f "workflow chunk $PWD/"); do
		if tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qx "SLURMD_NODENAME=$1"; then
			echo "$pid"
		fi
	done
}

# said STATE: a task of the last jobs is so, or ended so
said() {
	[ -n "$(squeue -h -r -t "$1" -o %i)" ]
}

# --- waits -----------------------------------------------------------------------------------------

@test "a wait that a failure asks for happens inside the task" {
	site "environment = { PATH = '$PWD/bin:$PATH' }"
	turns 'complain "429 rate_limit_error, Retry-After: 1"; echo "$SLURM_JOB_ID" >>jobs; exit 1' 'echo "$SLURM_JOB_ID" >>jobs; echo done'
	workflow flow <<-'YAML'
		name: flow
		commands:
		  - { id: a, claude: /ask, on: c, retry: { initial_delay: 10ms, jitter: 0 } }
	YAML
	call workflow run flow.yaml
	envelope 0
	[ "$(calls)" -eq 2 ]
	[ "$(waited 1)" -ge 1000 ]
	[ "$(sort -u jobs | wc -l)" -eq 1 ]
}

@test "an item that has to wait for longer leaves its node, and the others go on" {
	seq 3 >items.txt
	flow 'retry: { max_attempts: 2, initial_delay: 1h, max_delay: 1h, jitter: 0, retry_on: [{ exit: 75 }] }' <<-'SH'
		echo "$item" >>effects
		[ "$item" != 2 ] || exit 75
	SH
	begin workflow run flow.yaml --timeout 5h
	until_true recorded "select 1 from chunks where chunk = 2 and state = 'planned' and due_ms > ended_ms + 3000000"
	until_true recorded "select 1 from (select count(*) as n from chunks where state = 'completed') where n = 2"
	until_true nothing_left
	once
	call workflow cancel @last
	finish
	[ "$status" -ne 0 ]
}

# --- what the site ends ------------------------------------------------------------------------------

@test "a task that is sent SIGTERM, as at a time limit, goes on in another one" {
	held 3 'idempotent: true'
	begin workflow run flow.yaml
	until_true all_began 3
	scancel --signal=TERM --batch "$(squeue -h -r -t running -o %i | head -n 1)"
	until_true all_began 4
	touch go
	finish
	envelope 0
	[ "$(sort -u effects | wc -l)" -eq 3 ]
	[ "$(wc -l <effects)" -eq 4 ]
}

@test "a task that runs out of memory gets the next size, and the last one fails" {
	# Only with control groups, which need root, does Slurm say what this squeue says of a task that was killed.
	printf '#!/bin/sh\n%s "$@" | sed "s/|FAILED|/|OUT_OF_MEMORY|/"\n' "$(command -v squeue)" >bin/squeue
	chmod +x bin/squeue
	site 'memory = { "200M", "2G" }'
	seq 1 >items.txt
	flow 'idempotent: true' <<-'SH'
		echo "$SLURM_MEM_PER_NODE" >>effects
		until [ -e go ]; do sleep 0.05; done
	SH
	begin workflow run flow.yaml
	until_true written 1
	kill_tasks
	until_true written 2
	kill_tasks
	finish
	[ "$status" -ne 0 ]
	expect 'e.error.code == "RESOURCE_EXHAUSTED"'
	[ "$(tr '\n' ' ' <effects)" = "200 2048 " ]
	touch go
	call workflow resume @last
	envelope 0
}

# All that lives of the tasks, as the kernel does it.
kill_tasks() {
	pkill -KILL -f "workflow chunk $PWD/"
}

# --- nodes -------------------------------------------------------------------------------------------

@test "what drained nodes can't take waits, says why, and runs once they are back" {
	held 4
	touch go
	nodes drain
	begin workflow run flow.yaml
	until_true shows 'down, drained or reserved'
	[ ! -e effects ]
	nodes resume
	finish
	envelope 0
	once
}

@test "a node that is drained while it works finishes what it has, and gets nothing more" {
	held 9
	begin workflow run flow.yaml
	until_true all_began 6
	nodes drain n1
	cp began.n1 before
	touch go
	finish
	envelope 0
	once
	diff before began.n1
}

@test "tasks of a node that Slurm gave up run on, and nobody runs their items again" {
	polls
	held 2
	nodes drain 'n[2-3]'
	begin workflow run flow.yaml
	until_true all_began 2
	slurm stop n1 KILL
	nodes down n1
	until_true said NODE_FAIL
	nodes resume 'n[2-3]'
	until_true polled $(($(wc -l <polls) + 8))
	once
	touch go
	finish
	envelope 0
	once
	[ "$(sql 'select count(*) from placements')" -eq 1 ]
}

# polls: each question to the queue is a line of `polls`
polls() {
	printf '#!/bin/sh\necho >>"%s/polls"\nexec %s "$@"\n' "$PWD" "$(command -v squeue)" >bin/squeue
	chmod +x bin/squeue
}

polled() {
	[ "$(wc -l <polls)" -ge "$1" ]
}

@test "a node that is lost with its processes costs only its own items another run" {
	held 4 'idempotent: true'
	nodes drain n3
	begin workflow run flow.yaml
	until_true all_began 4
	nodes resume n3
	cp began.n1 lost
	slurm stop n1 KILL
	nodes down n1
	# shellcheck disable=SC2046 # one word each
	kill -KILL $(tasks_of n1)
	until_true all_began $((4 + $(wc -l <lost)))
	touch go
	finish
	envelope 0
	diff <(sort effects) <(sort items.txt lost)
}

# --- the controller ------------------------------------------------------------------------------------

@test "a controller that forgets a job and gives its number to another costs nothing twice" {
	held 3
	touch go
	nodes drain
	slurm stop ctld
	cp -a "$CLUSTER/state" state.before
	slurm start ctld
	begin workflow run flow.yaml
	until_true recorded "select 1 from placements where state = 'submitted'"
	# shellcheck disable=SC2046 # it looks at nothing before the number is another's
	kill -STOP "$pid" $(children "$pid")
	slurm stop ctld KILL
	rm -rf "$CLUSTER/state"
	cp -a state.before "$CLUSTER/state"
	slurm start ctld
	first=$(sql 'select job from placements order by number limit 1')
	until_true given_to_another
	# shellcheck disable=SC2046 # as above
	kill -CONT "$pid" $(children "$pid")
	nodes resume
	finish
	envelope 0
	once
	[ "$(sql 'select count(*) from placements')" -ge 2 ]
}

given_to_another() {
	sbatch --job-name=another --output=/dev/null --wrap=true && [ "$(squeue -h -t all -j "$first" -o %j)" = another ]
}

@test "what the queue doesn't know, and is placed again, is cancelled: nothing of it stays behind" {
	printf '#!/bin/sh\n[ -e "%s/lies" ] || exec %s "$@"\n' "$PWD" "$(command -v squeue)" >bin/squeue
	chmod +x bin/squeue
	held 3
	touch go lies
	nodes drain
	begin workflow run flow.yaml
	until_true recorded "select 1 from (select count(*) as n from placements where state = 'submitted') where n = 2"
	rm lies
	first=$(sql 'select token from placements order by number limit 1')
	until_true forgotten "$first"
	nodes resume
	finish
	envelope 0
	once
	nothing_left
}

# forgotten TOKEN: it has ended
forgotten() {
	[ -z "$(squeue -h -r -t pending,running,completing -n "$1" -o %i)" ]
}

# --- coordinators -----------------------------------------------------------------------------------------

@test "of two that resume a run at once, one owns it" {
	held 3
	begin workflow run flow.yaml
	until_true all_began 3
	# shellcheck disable=SC2046 # several
	kill -KILL $(children "$pid") "$pid"
	finish
	begin workflow resume @last
	one=$pid
	env -i "${CLEAN_ENV[@]}" "$RUNNER" workflow resume @last >other.txt 2>/dev/null </dev/null 3>&- &
	two=$!
	until_true either_ended
	touch go
	wait "$one" && first=0 || first=$?
	wait "$two" && second=0 || second=$?
	[ $((first == 0)) -ne $((second == 0)) ]
	grep -q '"code":"LOCK_HELD"' out.txt other.txt
	once
}

either_ended() {
	! kill -0 "$one" || ! kill -0 "$two"
}
