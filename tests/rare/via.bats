#!/usr/bin/env bats
# A real Slurm that ssh reaches, through a line that is cut a hundred times: `make rare`. tests/cli/via.bats and
# tests/cli/via_slurm.bats are what each check runs.

load ../cli/lib/slurm
load ../cli/lib/ssh

setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
	cluster 2 8
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	CLEAN_ENV=("${CLEAN_ENV[@]/#SLURM_CONF=*/NO_CONF=}" XDG_STATE_HOME="$PWD/state")
	# shellcheck disable=SC2034 # for lib/ssh.bash
	SERVER_ENV=(TOKEN="$TOKEN" LC_ALL=C.UTF-8 SLURM_CONF="$SLURM_CONF")
}

clean_up() {
	sshd_down
	[ -n "${NO_SLURM:-}" ] || scancel --quiet --user "$(id -un)" || true
	kill_all
}

@test "the line is cut at 100 random moments: every item runs once, every submission is made once, nothing is left" {
	local began=$SECONDS runs=0
	sshd_up link
	mkdir -p ssh/home/work
	seq "${ITEMS:-60}" >items.txt
	cat >flow.yaml <<-YAML
		name: flow
		executors:
		  c: { kind: slurm, via: ssh node, directory: $PWD/ssh/home/work, poll: 200ms, submit_rate: 100 }
		commands:
		  - foreach: { file: items.txt }
		    on: c
		    chunk: 6
		    do: [ { shell: 'echo "\$item" >>$PWD/did; sleep 0.3', env: { item: "\${item}" }, idempotent: false } ]
	YAML
	echo "${CUTS:-100}" >link/cuts
	while [ "$(cat link/done 2>/dev/null || echo 0)" -lt "${CUTS:-100}" ]; do
		runs=$((runs + 1))
		: >did
		call workflow run flow.yaml --timeout 1h
		envelope 0
		[ "$(sort -n did)" = "$(cat items.txt)" ]
		[ -z "$(tasks_left)" ]
	done
	[ "$(squeue -h -t all -o '%j %F' | sort -u | grep -c '^rn-')" -eq "$(sql 'select count(*) from placements')" ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
	echo "# $(cat link/done) cuts in $runs runs of ${ITEMS:-60} items, $((SECONDS - began)) s" >&3
}
