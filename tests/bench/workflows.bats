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

@test "a step costs at most three times two syncs and two processes" {
	local try=0
	until below 3 "$(STEPS=200 python3 "$MEASURE" step "$PWD")"; do
		[ $((try += 1)) -lt 8 ]
	done
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
