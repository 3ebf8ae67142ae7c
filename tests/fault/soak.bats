#!/usr/bin/env bats
# Many runs, and runs where something is scarce (soak.py does the work).

setup() {
	[ -z "${ASAN_OPTIONS:-}" ] || skip "a sanitizer needs more descriptors, memory and time than these leave"
}

soak() {
	local status=0
	python3 "$BATS_TEST_DIRNAME/soak.py" "$1" >"$BATS_TEST_TMPDIR/output.txt" 2>&1 || status=$?
	[ $status -ne 77 ] || skip "$(<"$BATS_TEST_TMPDIR/output.txt")"
	[ $status -eq 0 ] || cut -c1-700 "$BATS_TEST_TMPDIR/output.txt" >&2
	return $status
}

@test "200 runners at once: each has its own answer" {
	soak at_once
}

@test "thousands of runs: no descriptor, process or file more than before" {
	soak sequential
}

@test "50 deploys on one target at once: each succeeds or reports LOCKED, current is always whole" {
	soak deploys
}

@test "a wall clock that jumps an hour either way moves no limit, wait or lock" {
	soak clock
}

@test "with 3 to 20 descriptors: a whole success or an error that says so" {
	soak descriptors
}

@test "with no process left for the user: RESOURCE_EXHAUSTED, not a hang" {
	soak processes
}

@test "a disk that fills up: what is live stays live, and the error says why" {
	soak full_disk
}

@test "a read-only home: only a lock that would live there fails" {
	soak read_only_home
}

@test "without /proc: runs work, limits hold, survivors are named" {
	soak no_proc
}
