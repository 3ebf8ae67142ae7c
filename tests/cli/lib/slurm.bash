# shellcheck shell=bash
# slurm.bash: what the suites share that run on a real Slurm cluster, which is one of their own.
#
#   cluster [NODES CPUS] [<MORE]   in setup_file; `on_cluster` in setup: CLEAN_ENV reaches it
#   node DIR…                      of the cluster: slurm stop, slurm start
#   site NAME KEYS                 an executor in runner.lua, its shared directory below the test's own

# shellcheck source=tests/cli/lib/workflow.bash
load "$(dirname "${BASH_SOURCE[0]}")/workflow"

cluster() {
	for program in sbatch slurmctld slurmd munged; do
		command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || {
			export NO_SLURM="there is no $program (apt-get install slurm-wlm munge)"
			return 0
		}
	done
	PATH=$PATH:/usr/sbin
	CLUSTER=$(mktemp -d "${TMPDIR:-/tmp}/slurm.XXXXXX")
	export PATH CLUSTER
	slurm up "${1:-4}" "${2:-4}" >&2
}

# slurm VERB ARGS…: tests/cli/lib/slurm on this cluster. Its daemons keep no descriptor of bats.
slurm() {
	local verb=$1
	shift
	"$ROOT/tests/cli/lib/slurm" "$verb" "$CLUSTER" "$@" 3>&- 4>&-
}

uncluster() {
	[ -z "${CLUSTER:-}" ] || {
		slurm down
		rm -rf "$CLUSTER"
	}
}

on_cluster() {
	[ -z "${NO_SLURM:-}" ] || skip "$NO_SLURM"
	export SLURM_CONF=$CLUSTER/slurm.conf
	CLEAN_ENV+=(SLURM_CONF="$SLURM_CONF")
}

evidence() {
	timeout 10 squeue -o "%i %T %r %S %N %j"
	timeout 10 sinfo -N -o "%N %T %E"
	tail -n 25 "$CLUSTER/log/ctld.log"
}

# site 'KEYS' [NAME]: describes the executor, "c" by default
site() {
	mkdir -p shared
	printf 'return { executors = { %s = { kind = "slurm", directory = "%s/shared", poll = "200ms", submit_rate = 100, %s } } }\n' \
		"${2:-c}" "$PWD" "${1:-}" >runner.lua
}

# tasks_left: of all jobs, those that are pending or running
tasks_left() {
	squeue -h -r -t pending,running,completing -o %i
}
