#!/usr/bin/env bats
# The protocol of coordinator, placements, fence and journal, as a model (tests/model/placement.pml):
# every order of every two faults. spin(1) comes from Debian.

bats_require_minimum_version 1.5.0

MODEL=$BATS_TEST_DIRNAME/../model/placement.pml

setup() {
	[ -z "${ASAN_OPTIONS:-}" ] || skip "nothing of runner is in the model: sanitizers have nothing to see"
	command -v spin >/dev/null || skip "there is no spin (apt-get install spin)"
	cd "$BATS_TEST_TMPDIR" || exit
}

# explored WORDS… [-- FLAGS…]: the model is compiled with these definitions, and searched with these flags
explored() {
	local words=() flags=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift || true
	flags=("$@")
	spin "${words[@]}" -a "$MODEL" >spin.txt
	if [ ${#flags[@]} -gt 0 ]; then
		cc -O2 -w -DCOLLAPSE -DNFAIR=3 -o pan pan.c
	else
		cc -O2 -w -DCOLLAPSE -DSAFETY -DNOCLAIM -o pan pan.c
	fi
	./pan -m500000 "${flags[@]}" >pan.txt
	cat pan.txt >&2
}

@test "nothing happens twice, and nothing old is believed, whatever two faults there are" {
	explored -DFAULTS=2
	grep -q 'errors: 0' pan.txt
	run ! grep -q 'max search depth too small\|out of memory' pan.txt
}

@test "the run ends, whatever two faults there are" {
	explored -DFAULTS=2 -- -a -f
	grep -q 'errors: 0' pan.txt
	run ! grep -q 'max search depth too small\|out of memory' pan.txt
}

@test "each mistake in the protocol is found" {
	for mistake in FENCE HEADER CHECK GENERATION BELIEVE; do
		explored -DFAULTS=2 "-DMISTAKE_$mistake"
		grep -q 'assertion violated' pan.txt || { echo "$mistake is not found" >&2; return 1; }
	done
}
