#!/usr/bin/env bats
# runner executor: what it says of a real Slurm cluster, and of one that is not there.

load lib/slurm

setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
	cluster 2 2
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
}

# check NAME: its row of the checks as Python sees it
row() {
	echo "[r for r in e.data.checks if r.name == '$1'][0]"
}

@test "list shows the site's executors, and those of a file over them" {
	site 'partition = "main"'
	workflow flow <<-'YAML'
		executors: { near: { kind: local }, c: { time: 5m } }
		commands: [ { shell: a } ]
	YAML
	call executor list --file flow.yaml
	envelope 0
	expect '[r.name for r in e.data] == ["c", "near"]'
	expect 'e.data[0].directory.startswith("/")'
	expect '[r.kind for r in e.data] == ["slurm", "local"] and [r.source for r in e.data] == ["runner.lua", "flow.yaml"]'
	echo 'return { executors = { half = { kind = "slurm" } } }' >runner.lua
	call executor list
	expect '"directory is missing" in e.data[0].problem'
	call executor check half
	envelope 4
	expect 'e.error.code == "PRECONDITION"'
	call executor check hafl
	envelope 5
	expect 'e.error.code == "NOT_FOUND" and "half" in str(e.error)'
}

@test "check runs two tasks, and leaves nothing" {
	site 'memory = "50M", time = "2m"'
	call executor check c
	envelope 0
	expect 'all(r.ok for r in e.data.checks)'
	expect '[r.name for r in e.data.checks] == ["controller", "request", "directory", "submission", "tasks", "runner", "clock", "lock"]'
	[ -z "$(find shared -type f)" ]
	until_true nothing_left
	[ "$(stat -c %a shared/runner-*)" = 700 ]
}

@test "check says what is wrong with the partition, the request and runner on the nodes" {
	site 'partition = "nope"'
	call executor check c
	envelope 4
	expect "not $(row request).ok and 'partition' in $(row request).remedy"
	site 'memory = { "50M", "900G" }'
	call executor check c
	expect "'no node has so much memory' in $(row request).detail"
	site 'runner = "/nowhere/runner"'
	call executor check c --wait 60s
	envelope 4
	expect "'they ended (failed)' in $(row tasks).detail and '.out' in $(row tasks).remedy"
	grep -q 'nowhere' shared/runner-*/check-*/*.out
	until_true nothing_left
}

@test "check ends its tasks when nothing has room for them" {
	site 'options = { "--exclusive" }'
	sbatch -Q -N 2 --exclusive -J full -o /dev/null --wrap 'sleep 600'
	until_true full
	call executor check c --wait 1s
	scancel -n full
	envelope 4
	expect "'0 of 2 tasks wrote into the directory within 1s' in $(row tasks).detail"
	until_true nothing_left
}

full() {
	squeue -h -n full -t running -o %i | grep -q .
}

nothing_left() {
	[ -z "$(tasks_left)" ]
}

@test "check says that a directory of somebody else's is not used" {
	site ''
	ln -s /tmp "shared/runner-$(id -u)"
	call executor check c
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "isn'"'"'t used" in e.error.message'
}

@test "check names a controller that does not answer" {
	site ''
	CLEAN_ENV+=(SLURM_CONF=/nowhere/slurm.conf)
	call executor check c
	envelope 4
	expect "not $(row controller).ok"
	CLEAN_ENV+=(PATH=/nowhere)
	call executor check c
	expect "'could not be started' in $(row controller).detail"
}
