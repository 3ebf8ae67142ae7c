#!/usr/bin/env bats
# Waits that end at once, for ever (busy.py): runner rests between them, and says what woke it.

RUNNER=${RUNNER:-$BATS_TEST_DIRNAME/../../build/runner}
export RUNNER PYTHONPATH=$BATS_TEST_DIRNAME

@test "a wait that ends at once costs no processor, whatever poll says and whoever waits" {
	local why
	why=$(python3 -c 'import harness; print(harness.why_no_faults() or harness.is_static() and "the shim is linked into this build" or "")')
	[ -z "$why" ] || skip "$why"
	cd "$BATS_TEST_TMPDIR"
	run python3 "$BATS_TEST_DIRNAME/busy.py"
	echo "$output"
	[ "$status" -eq 0 ]
}
