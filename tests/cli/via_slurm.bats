#!/usr/bin/env bats
# A real Slurm that ssh reaches (`via: ssh HOST`): a cluster and an sshd of this test's own.

load lib/slurm
load lib/ssh

setup_file() {
	serve_envelopes
	cluster 2 4 <<<''
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	CLEAN_ENV=("${CLEAN_ENV[@]/#SLURM_CONF=*/NO_CONF=}" XDG_STATE_HOME="$PWD/state") # what is here knows no cluster
	# shellcheck disable=SC2034 # for lib/ssh.bash
	SERVER_ENV=(TOKEN="$TOKEN" LC_ALL=C.UTF-8 SLURM_CONF="$SLURM_CONF")
}

clean_up() {
	sshd_down
	[ -n "${NO_SLURM:-}" ] || scancel --quiet --user "$(id -un)" || true
	kill_all
}

@test "a loop runs on the Slurm that ssh leads to, through a line that breaks, and cancel reaches it" {
	sshd_up link
	seq "${ITEMS:-12}" >items.txt
	cat >flow.yaml <<-YAML
		name: flow
		executors:
		  c: { kind: slurm, via: ssh node, directory: $PWD/ssh/home/work, poll: 200ms, submit_rate: 100, at_once: 4 }
		commands:
		  - foreach: { file: items.txt }
		    on: c
		    chunk: ${CHUNK:-2}
		    do: [ { shell: 'echo "\$item" >>$PWD/did; sleep 0.1', env: { item: "\${item}" }, idempotent: false } ]
	YAML
	mkdir -p ssh/home/work
	call executor check c --file flow.yaml
	envelope 0
	echo "${CUTS:-6}" >link/cuts
	call workflow run flow.yaml
	envelope 0
	[ "$(sort -n did)" = "$(seq "${ITEMS:-12}")" ]
	[ "$(cat link/done)" -ge "$((${CUTS:-6} / 2))" ]
	echo 0 >link/cuts
	[ -z "$(tasks_left)" ]
	[ "$(squeue -h -t all -o '%j %F' --name="$(sql "select group_concat(token) from placements")" | sort -u | wc -l)" -eq "$(sql 'select count(*) from placements')" ]
	[ -z "$(find ssh/home/work -mindepth 2)" ]
	sed -i -e 's/sleep 0.1/sleep 600.25/' -e 's/, at_once: 4//' flow.yaml
	: >did
	begin workflow run flow.yaml
	until_true [ -s did ]
	call workflow cancel @last
	[ "$status" -eq 0 ]
	finish
	until_true eval '[ -z "$(tasks_left)" ]'
}
