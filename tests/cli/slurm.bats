#!/usr/bin/env bats
# Steps on a real Slurm: what comes out, and what becomes of it when the coordinator, the tasks, the nodes or
# the controller fail. The cluster is this suite's own (tests/cli/lib/slurm), and jobs of all tests share it.

load lib/slurm

bats_require_minimum_version 1.5.0

setup_file() {
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	export PATH
	serve_envelopes
	cluster 4 4
}

teardown_file() {
	uncluster
}

prepare() {
	on_cluster
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	site ''
}

# flow KEYS <<STEPS: flow.yaml, its one loop over items.txt on the cluster
flow() {
	{
		printf 'name: flow\ncommands:\n  - id: each\n    foreach: { file: items.txt }\n    on: %s\n%s\n    do:\n' "${2:-c}" "${1:+    $1}"
		sed 's/^/      /'
	} >flow.yaml
}

# each item once: effects has each line of items.txt once
once() {
	diff <(sort effects) <(sort items.txt)
}

# the run: 5 parts of one item, each of which waits for `go` once it has begun
held() {
	seq 5 >items.txt
	flow 'chunk: 1' <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; touch '$PWD'/began.\$item; until [ -e '$PWD/go' ]; do sleep 0.05; done
		  env: { item: "\${item}" }
	YAML
}

began() {
	compgen -G 'began.*' >/dev/null
}

none_left() {
	[ -z "$(tasks_left)" ]
}

@test "the same outputs, order, seeds and exit code as on one machine" {
	seq 40 >items.txt
	flow 'chunk: 7' <<-'YAML'
		- shell: echo "$((item * item)) $RUNNER_SEED"; [ "$item" != 13 ] || exit 3
		  env: { item: "${item}" }
		  on_failure: continue
	YAML
	call workflow run flow.yaml --seed 7
	envelope 0
	cp out.txt placed.txt
	sed -i 's/    on: c/    on: none/' flow.yaml
	call workflow run flow.yaml --seed 7
	envelope 0
	python3 - <<-'PY'
		import json
		one, two = (json.load(open(name))["data"]["steps"][0] for name in ("placed.txt", "out.txt"))
		assert one["data"] == two["data"] and len(one["data"]) == 40, (one["data"][:3], two["data"][:3])
		assert one.get("output") == two.get("output")
	PY
	until_true none_left
}

@test "a step that is no loop runs there, and its failure is the run's" {
	workflow flow <<-'YAML'
		commands:
		  - { id: a, shell: 'echo "$SLURM_ARRAY_TASK_ID $SLURM_JOB_PARTITION"', on: c }
		  - { id: b, shell: 'exit 9', on: c }
	YAML
	call workflow run flow.yaml
	[ "$status" -ne 0 ]
	expect 'e.data.steps[0].output == "1 main" and e.data.steps[1].state == "failed" and e.data.steps[1].status == 9'
}

@test "retries and their waits happen inside the task" {
	seq 3 >items.txt
	flow '' <<-YAML
		- shell: echo x >>'$PWD'/tried.\$item; [ "\$(wc -l <'$PWD'/tried.\$item)" -ge 3 ]
		  env: { item: "\${item}" }
		  retry: { initial_delay: 50ms, max_attempts: 4, jitter: 0, retry_on: [{ exit: 1 }] }
	YAML
	call workflow run flow.yaml
	envelope 0
	[ "$(cat tried.* | wc -l)" -eq 9 ]
}

@test "what the user's environment says to Slurm's programs changes nothing, but what is meant for submissions" {
	run -0 python3 "$ROOT/tests/fault/placed_environment.py" "$RUNNER" "$PWD/shared" all
	call SQUEUE_PARTITION=other executor check c
	envelope 0
	expect 'e.data.checks[0].detail.endswith("; not passed on from the environment: SQUEUE_PARTITION")'
}

@test "words for sbatch are judged by the options that it has, and as it reads them" {
	sbatch --help | grep -oE -- '--[a-z][a-z-]+' | sort -u >names
	[ "$(wc -l <names)" -gt 80 ]
	while read -r name; do
		grep -qE "(^|[[:space:]])${name#--}([/=?[:space:]]|$)" "$ROOT/lua/declare/sbatch_options.lua" || echo "$name"
	done <names >missing
	[ ! -s missing ]
	sbatch --job=abbreviated --hol --wra=true
	squeue -h -t pending -o %j | grep -qx abbreviated
	scancel -n abbreviated
	site 'options = { "--job=x" }'
	seq 2 >items.txt
	flow '' <<<'- shell: echo hi'
	call workflow check flow.yaml
	envelope 2
	expect '"--job=x" in e.error.errors[0].message and "--job-name, which runner itself sets" in e.error.errors[0].message'
	site 'options = { "--commen", "two words", "--ni=5", "-s" }'
	call workflow run flow.yaml
	envelope 0
}

@test "a partition that is not there fails for good, and says so in words of the site" {
	site 'partition = "nope"'
	seq 2 >items.txt
	flow '' <<<'- shell: echo hi'
	call workflow run flow.yaml
	envelope 4
	expect 'e.error.code == "PRECONDITION" and "partition" in e.error.message'
}

@test "the environment of the caller and its secrets reach no job script" {
	export MARK=visible-$RANDOM SECRET_OF_THIS=hidden-$RANDOM
	CLEAN_ENV+=(MARK="$MARK" SECRET_OF_THIS="$SECRET_OF_THIS")
	workflow flow <<-YAML
		secrets: [SECRET_OF_THIS]
		commands:
		  - { id: a, on: c, shell: 'scontrol show job "\$SLURM_JOB_ID"; scontrol write batch_script "\$SLURM_JOB_ID" -; tr "\\\\0" "\\\\n" </proc/\$PPID/environ; echo; echo got \${#SECRET_OF_THIS}' }
	YAML
	sed -i 's/\${#SECRET_OF_THIS}/$${#SECRET_OF_THIS}/' flow.yaml
	call workflow run flow.yaml
	envelope 0
	expect "'got ${#SECRET_OF_THIS}' in e.data.steps[0].output and 'workflow chunk' in e.data.steps[0].output"
	run ! grep -q "$SECRET_OF_THIS" out.txt
	run ! grep -rq "$SECRET_OF_THIS" shared "$CLUSTER/spool" "$CLUSTER/log"
}

@test "a coordinator that is killed is resumed, and each item runs once" {
	held
	begin workflow run flow.yaml
	until_true began
	kill_all
	finish
	touch go
	mkdir elsewhere
	call --cwd elsewhere workflow resume @last
	envelope 0
	once
}

# The answer of cancel is in files of its own.
cancel() {
	mv out.txt run.txt
	mv err.txt run.err
	call workflow cancel @last
}

@test "cancel ends what runs there, with proof" {
	held
	begin workflow run flow.yaml
	until_true began
	cancel
	envelope 0
	expect 'e.data.state == "cancelled"'
	none_left
	finish
	[ "$status" -ne 0 ]
	until_true no_step_left
}

@test "cancel ends a submission whose tasks have mostly not begun, whatever has been done to them" {
	site 'at_once = 2'
	held
	begin workflow run flow.yaml
	until_true began
	cancel
	envelope 0
	none_left
	finish
	[ "$status" -ne 0 ]
	squeue -h -r -t all -o '%i %T' | grep -qE '^[0-9]+ CANCELLED' # the line without an index, which is of all that had not begun
	LATE=60 run -0 python3 "$ROOT/tests/fault/placed_cancel.py" "$RUNNER" "$PWD/state" 4 7
}

no_step_left() {
	! pgrep -f "$PWD/go" >/dev/null
}

@test "a task that is killed costs only its own items another run" {
	seq 8 >items.txt
	flow 'chunk: 1' <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'; touch '$PWD'/began.\$item; until [ -e '$PWD/go' ]; do sleep 0.05; done
		  idempotent: true
		  env: { item: "\${item}" }
	YAML
	begin workflow run flow.yaml
	until_true began
	kill -KILL "$(pgrep -o -f "workflow chunk $PWD/")"
	touch go
	finish
	envelope 0
	[ "$(sort -u effects | wc -l)" -eq 8 ]
	[ "$(wc -l <effects)" -le 9 ]
}

@test "a controller that is stopped while something is submitted gets it once" {
	seq 6 >items.txt
	flow 'chunk: 2' <<-YAML
		- shell: echo "\$item" >>'$PWD/effects'
		  env: { item: "\${item}" }
	YAML
	slurm stop ctld STOP
	begin workflow run flow.yaml
	until_true submitting
	slurm stop ctld CONT
	finish
	envelope 0
	once
}

submitting() {
	pgrep -f "sbatch --parsable .*$PWD" >/dev/null
}

# block LANGUAGE: the first one of docs/scale.md
block() {
	awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } on && /^```/ { exit } on' "$ROOT/docs/scale.md"
}

@test "the page's example runs as it stands there" {
	block lua >runner.lua
	block yaml >squares.yaml
	mkdir runner
	seq 30 >numbers.txt
	CLEAN_ENV+=(HOME="$PWD")
	call workflow check squares.yaml
	envelope 0
	call executor check cluster --file squares.yaml
	envelope 0
	call workflow run squares.yaml
	envelope 0
	expect '[int(i.output) for i in e.data.steps[0].data] == [n * n for n in range(1, 31)]'
}
