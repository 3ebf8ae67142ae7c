#!/usr/bin/env bats
# The example programs for queues (examples/executors), against stand-ins of what they call, which behave as the real ones
# do by their manuals (tests/cli/lib/queue_programs.py).

load lib/workflow

# queue KIND: the queue runs, its programs come first in PATH, and flow.yaml has the executor q and the steps on stdin
queue() {
	local as kind=$1 arguments="" programs="$ROOT/examples/executors/$1"
	mkdir -p queue bin shared
	for name in qsub qstat qacct qdel kubectl bsub bjobs bkill qselect condor_submit condor_q condor_history condor_rm flux; do
		as=$name
		case $kind/$name in pbs/qsub | pbs/qstat | pbs/qdel) as=pbs_$name ;; esac
		printf '#!/bin/sh\nexec python3 "%s/tests/cli/lib/queue_programs.py" %s "$@"\n' "$ROOT" "$as" >bin/$name
		chmod +x bin/$name
	done
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH" QUEUE="$PWD/queue" PYTHONDONTWRITEBYTECODE=1)
	env -i "${CLEAN_ENV[@]}" python3 "$ROOT/tests/cli/lib/queue_programs.py" serve >serve.txt 2>&1 </dev/null 3>&- &
	[ "$kind" != kubernetes ] || arguments=", image, claim, $PWD/shared"
	{
		printf 'name: flow\nexecutors:\n  q: { kind: command, directory: %s/shared, poll: 100ms, submit_rate: 100,\n' "$PWD"
		printf '    environment: { WORD: "it%ss" },\n' "'"
		printf '    submit: [%s/submit%s], states: [%s/states], cancel: [%s/cancel] }\ncommands:\n' \
			"$programs" "$arguments" "$programs" "$programs"
		printf '  - id: each\n    foreach: { file: items.txt }\n    on: q\n    chunk: 3\n    do:\n'
		sed 's/^/      /'
	} >flow.yaml
}

# jobs_are N: so many were submitted in all
jobs_are() {
	[ "$(find queue -name '*.job' ! -name '.*' | wc -l)" -eq "$1" ]
}

loop_with_retries() {
	seq 8 >items.txt
	queue "$1" <<-'YAML'
		- shell: echo x >>"ran-$item"; test "$(wc -l <"ran-$item")" -gt 1 || exit 75; echo "$((item * 2)) $WORD"
		  env: { item: "${item}" }
		  retry: { max_attempts: 2, initial_delay: 20ms }
	YAML
	call workflow run flow.yaml
	envelope 0
	expect '[i.output for i in e.data.steps[0].data] == ["%d it'"'"'s" % (2 * n) for n in range(1, 9)]'
	[ "$(cat ran-* | wc -l)" -eq 16 ]
	call executor check q --file flow.yaml
	envelope 0
}

a_lost_job() {
	seq 2 >items.txt
	queue "$1" <<-YAML
		- shell: echo "\$item" >>began; until [ -e '$PWD/go' ]; do sleep 0.02; done; echo done
		  env: { item: "\${item}" }
		  idempotent: true
	YAML
	begin workflow run flow.yaml
	until_true grep -q 1 began
	touch queue/1.lose
	until_true [ ! -e queue/1.lose ]
	touch go
	finish
	[ "$status" -eq 0 ]
	[ "$(sql 'select generation, state from chunks')" = "2|completed" ]
	[ "$(grep -c 2 began)" = 1 ]
}

cancel() {
	seq 6 >items.txt
	queue "$1" <<-YAML
		- shell: touch '$PWD/began'; sleep 600.25
	YAML
	begin workflow run flow.yaml
	until_true [ -e began ]
	call workflow cancel @last
	[ "$status" -eq 0 ]
	finish
	[ "$status" -ne 0 ]
	[ -z "$(pgrep -f "workflow chunk $PWD/" || true)" ]
	[ "$(sql 'select count(*) from placements where state <> "over"')" = 0 ]
}

# What a submission can come to, one after the other, with one loop.
faults() {
	seq 8 >items.txt
	queue "$1" <<-'YAML'
		- shell: echo "$item" >>effects
		  env: { item: "${item}" }
	YAML
	touch queue/answer-lost queue/hold
	begin workflow run flow.yaml
	until_true [ ! -e queue/answer-lost ]
	until_true jobs_are 1
	touch queue/unreachable
	rm queue/hold
	until_true test -s effects
	rm queue/unreachable
	finish
	[ "$status" -eq 0 ]
	diff <(sort -n effects) items.txt
	jobs_are 1
	rm effects
	touch queue/busy
	call workflow run flow.yaml
	envelope 0
	diff <(sort -n effects) items.txt
	[ ! -e queue/busy ]
}

@test "Grid Engine: a loop with retries, and the check of the executor" {
	loop_with_retries gridengine
}

@test "Kubernetes: a loop with retries, and the check of the executor" {
	loop_with_retries kubernetes
}

@test "Grid Engine: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job gridengine
}

@test "Kubernetes: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job kubernetes
}

@test "Grid Engine: cancel ends every task" {
	cancel gridengine
}

@test "Kubernetes: cancel ends every task" {
	cancel kubernetes
}

@test "Grid Engine: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults gridengine
}

@test "Kubernetes: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults kubernetes
}

@test "LSF: a loop with retries, and the check of the executor" {
	loop_with_retries lsf
}

@test "LSF: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job lsf
}

@test "LSF: cancel ends every task" {
	cancel lsf
}

@test "LSF: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults lsf
}

@test "PBS: a loop with retries, and the check of the executor" {
	loop_with_retries pbs
}

@test "PBS: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job pbs
}

@test "PBS: cancel ends every task" {
	cancel pbs
}

@test "PBS: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults pbs
}

@test "HTCondor: a loop with retries, and the check of the executor" {
	loop_with_retries htcondor
}

@test "HTCondor: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job htcondor
}

@test "HTCondor: cancel ends every task" {
	cancel htcondor
}

@test "HTCondor: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults htcondor
}

@test "Flux: a loop with retries, and the check of the executor" {
	loop_with_retries flux
}

@test "Flux: a job that is lost is placed again, and only what had not begun runs then" {
	a_lost_job flux
}

@test "Flux: cancel ends every task" {
	cancel flux
}

@test "Flux: a submission without an answer, a queue that nobody reaches, and a busy one run every item once" {
	faults flux
}

# asks KIND PROGRAM: what submit of KIND says to PROGRAM, arguments and stdin, for a task with resources
asks() {
	mkdir -p bin
	printf '#!/bin/sh\nprintf "%%s " "$@" >said; cat >>said; echo "Job <1> is submitted to queue <q>."\n' >"bin/$2"
	chmod +x "bin/$2"
	printf '{"version": 1, "token": "rn-a-1.1", "tasks": 3, "directory": "%s", "argv": ["runner", "a b"], %s "executor": {"cpus": 4, "gpus": %s,
		"time_ms": 1801000, "at_once": 2, "partition": "long", "account": "lab", "options": ["--more"], "environment": {"A": "it is"}}}' \
		"$PWD" "${3:-}" "${4:-2}" | PATH="$PWD/bin:$PATH" "$ROOT/examples/executors/$1/submit" own >answer || true
	tr -s '\n' ' ' <said
}

@test "what a task needs is said to each queue in its words" {
	with='"memory": "4G",'
	[[ $(asks lsf bsub "$with") == *'-J rn-a-1.1[1-3]%2 '*'-q long -P lab -n 4 -R span[hosts=1] -gpu num=2 -W 31 -M 4GB -R rusage[mem=4GB] --more own '* ]]
	[[ $(<said) == *"export A='it is'"*"exec runner 'a b' \"\$LSB_JOBINDEX\""* ]]
	[[ $(asks pbs qsub "$with") == *'-J 1-3%2 -q long -A lab -l select=1:ncpus=4:mem=4GB:ngpus=2 -l walltime=1801 --more own '* ]]
	[[ $(asks htcondor condor_submit "$with") == *'request_cpus = 4 max_materialize = 2 accounting_group = lab request_gpus = 2 request_memory = 4GB '* ]]
	[[ $(<said) == *'allowed_job_duration = 1801'*$'--more\nown\nqueue 3'* ]]
	[[ $(asks flux flux) == *'--cc=1-3 --job-name=rn-a-1.1/{cc} '*'--queue=long --bank=lab --cores-per-task=4 --gpus-per-task=2 --time-limit=1801s --more own /bin/sh -c '* ]]
	rm -f said answer
	asks flux flux "$with" 2>/dev/null || true
	[[ $(<answer) == *'"refused"'*memory* ]]
	rm -f said answer
	for kind in "lsf bsub" "pbs qsub" "htcondor condor_submit" "flux flux" "gridengine qsub"; do
		asks "${kind% *}" "${kind#* }" "" '"a100:2"' 2>/dev/null || true
		[[ $(<answer) == *'"refused"'*GPU* ]]
		[ ! -e said ]
		rm answer
	done
}

@test "what the queue refuses is the step's failure, in its words" {
	seq 2 >items.txt
	queue gridengine <<<'- shell: echo never'
	sed -i 's/poll: 100ms/partition: nosuch, poll: 100ms/' flow.yaml
	call workflow run flow.yaml
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "unknown queue" in e.error.message'
	jobs_are 0
}
