#!/usr/bin/env bats
# What workflows cost, loosely enough for a busy machine (workflows.py measures; the page
# of benchmarks has the figures themselves).

load ../cli/lib/helper

MEASURE=$ROOT/tests/bench/workflows.py

prepare() {
	case $RUNNER in */sanitize/*) skip "a sanitizer's cost is not ours" ;; esac
	export RUNNER
}

# below LIMIT VALUE
below() {
	awk -v v="$2" -v l="$1" 'BEGIN { exit !(v <= l) }' || { echo "$2 is over $1" >&2; return 1; }
}

@test "a step costs at most 1.5 times the processor time of two processes" {
	local try=0
	until below 1.5 "$(STEPS=200 python3 "$MEASURE" step "$PWD")"; do
		[ $((try += 1)) -lt 8 ]
	done
}

@test "a step costs one sync, 6 locks and 10 writes of the database at most, and no fork of the worker" {
	command -v strace >/dev/null || skip "no strace here"
	local syncs writes locks forks
	read -r syncs writes locks forks < <(python3 "$MEASURE" calls "$PWD")
	below 1 "$syncs"
	below 10 "$writes"
	below 6 "$locks"
	below 0 "$forks" # shepherds are forked by a small process, not by the worker
}

@test "steps that start at once are committed at once" {
	command -v strace >/dev/null || skip "no strace here"
	local syncs rest
	read -r syncs rest < <(python3 "$MEASURE" loop-calls "$PWD") # 15 more starts, and as many ends
	below 15 "$syncs"
}

# When Lua happens to collect makes 400 bytes of difference, the same for each run of a build.
@test "an item of a loop adds 1,500 bytes of memory at most" {
	below 1500 "$(python3 "$MEASURE" loop-memory "$PWD")"
}

@test "the store grows by the same for every run, and 10,000 runs are looked at in under 100 ms" {
	local growth slowest try=0
	until
		mkdir "$PWD/$try"
		read -r growth slowest < <(python3 "$MEASURE" store "$PWD/$try")
		below 1.2 "$growth"
		below 100 "$slowest"
	do
		[ $((try += 1)) -lt 5 ]
	done
}
