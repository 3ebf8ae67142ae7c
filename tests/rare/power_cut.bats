#!/usr/bin/env bats
# Power cuts at every moment, with many more states of the disk than tests/fault/power_cut.bats has: `make rare`.

@test "power cuts in everything that promises durability, with 200 states for each moment" {
	local status=0
	POWER_CUTS=${POWER_CUTS:-200} POWER_SEED=${POWER_SEED:-$RANDOM} python3 "$BATS_TEST_DIRNAME/../fault/power_cut.py" >&3 || status=$?
	[ $status -ne 77 ] || skip "strace may not trace here"
	[ $status -eq 0 ]
}
