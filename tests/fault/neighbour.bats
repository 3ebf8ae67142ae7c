#!/usr/bin/env bats
# Another user who may write to a folder on the way: neighbour.py has the doors, and the victims.

load ../cli/lib/helper

prepare() {
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be two other users"
	unshare -m true 2>/dev/null || skip "no mounts may be made here"
}

neighbour() {
	RUNNER="$RUNNER" python3 "$ROOT/tests/fault/neighbour.py" "$@" >answers.txt 2>&1 || {
		tail -c 3000 answers.txt
		return 1
	}
}

@test "no remover and no writer follows what another user may have put in the way, at any part of it" {
	neighbour matrix
	grep -q "^[1-9][0-9]* cells, 0 failed$" answers.txt
}

@test "what is another user's own in a folder for all stays, also as root" {
	neighbour entries
}

@test "the same holds on a kernel without openat2, and behind a filter that refuses it" {
	needs_strace
	local error
	for error in ENOSYS EPERM; do
		UNDER="strace -f -qq -o /dev/null -e inject=openat2:error=$error" neighbour matrix Cleanup Cached
	done
}

@test "another user who exchanges parts of the way, and of what goes, without a pause costs nobody a file" {
	neighbour race 5000
	[ "$(grep -c " exchanges, " answers.txt)" -eq 3 ]
}
