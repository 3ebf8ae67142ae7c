#!/usr/bin/env bats
# What tests/fault/placed.bats runs over something like NFS, many more times: `make rare`.

load ../cli/lib/helper

@test "a shared directory like NFS, seen by three machines, 40 times: every item runs once" {
	local status=0
	python3 "$BATS_TEST_DIRNAME/../fault/placed_nfs.py" "$RUNNER" "$PWD" "${NFS:-40}" ${SEED:+"$SEED"} >nfs.txt || status=$?
	[ $status -ne 77 ] || skip "nothing can be mounted here"
	echo "# $(cat nfs.txt)" >&3
	[ $status -eq 0 ]
}
