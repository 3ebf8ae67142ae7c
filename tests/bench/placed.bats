#!/usr/bin/env bats
# What the coordinator of steps on an executor costs, loosely enough for a busy machine
# (placed.lua measures; the page about scale has the figures of a million items).

load ../cli/lib/helper

# placed ITEMS KEY: what placed.lua says
placed() {
	(cd "$ROOT" && lua5.4 tests/bench/placed.lua "$1") >"$1.json"
}

figure() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1.json" "$2"
}

@test "ten times the items take no more memory, and ten times the rows and questions" {
	[ -n "${RUNNER_HOST_SO:-}" ] || export RUNNER_HOST_SO=$ROOT/build/runner_host.so
	[ -e "$RUNNER_HOST_SO" ] || skip "no testhost was built: make testhost"
	placed 30000
	placed 300000
	[ "$(figure 300000 memory_kb)" -lt $(($(figure 30000 memory_kb) + 2048)) ]
	[ "$(figure 300000 database_bytes)" -lt $((11 * $(figure 30000 database_bytes))) ]
	[ "$(figure 300000 queue_calls)" -lt $((12 * $(figure 30000 queue_calls))) ]
	[ "$(figure 300000 submissions)" -lt 60 ]
}
