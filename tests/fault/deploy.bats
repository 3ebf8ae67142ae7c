#!/usr/bin/env bats
# Deploys that are killed (deploy_kill.py does the work): `current` always leads to
# a whole release, and the next run succeeds and leaves nothing behind.

KILL=$BATS_TEST_DIRNAME/deploy_kill.py

needs_strace() {
	strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
}

@test "a worker killed at random instants leaves a whole release live" {
	python3 "$KILL" worker
}

@test "a supervisor killed at random instants leaves a whole release live" {
	python3 "$KILL" supervisor
}

@test "all processes killed at random instants leave a whole release live" {
	python3 "$KILL" tree
}

@test "a kill at any change to the file system leaves a whole release live" {
	needs_strace
	python3 "$KILL" changes
}

@test "a kill at any change of the first deploy leaves nothing or a whole release live" {
	needs_strace
	python3 "$KILL" first
}

@test "a kill at other system calls, children included, leaves a whole release live" {
	needs_strace
	python3 "$KILL" others
}

@test "a kill while an archive is unpacked leaves a whole release live" {
	needs_strace
	python3 "$KILL" archive
}

@test "a kill while a sick release is live still ends with the good one" {
	needs_strace
	python3 "$KILL" sick
}
