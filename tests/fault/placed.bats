#!/usr/bin/env bats
# Steps on an executor whose coordinator or tasks are killed at random instants
# (placed_kill.py does the work).

load ../cli/lib/helper

@test "a loop on an executor does every item once, whoever is killed at random instants" {
	needs_library libsqlite3.so.0
	python3 "$ROOT/tests/fault/placed_kill.py" "$RUNNER" "$PWD" "${TIMES:-12}"
}

@test "over a shared directory like NFS, late, stale, slow and lossy, every item of a loop is done once" {
	local status=0
	needs_library libsqlite3.so.0
	python3 "$ROOT/tests/fault/placed_nfs.py" "$RUNNER" "$PWD" "${TIMES:-2}" || status=$?
	[ $status -ne 77 ] || skip "nothing can be mounted here"
	[ $status -eq 0 ]
}
