#!/usr/bin/env bats
# examples/ported: the task files of just and of go-task as tasks.lua. What each task runs, and where, stands in
# tests/cli/data/ported; just itself has written the table of its recipes (tests/cli/lib/ported.py).

bats_require_minimum_version 1.5.0

load lib/helper

does_as_the_table_says() {
	run env -i "${CLEAN_ENV[@]}" python3 "$ROOT/tests/cli/lib/ported.py" "$ROOT/tests/cli/data/ported/$1.txt" "$ROOT/examples/ported/$1" "$RUNNER"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"$2 calls, 0 other than the table says" ]]
}

@test "the recipes of just's justfile run what they run there, from every folder" {
	does_as_the_table_says just 43
}

@test "the tasks of go-task's Taskfiles run what they run there, from every folder" {
	does_as_the_table_says go-task 47
}

# fits NAME LINES TASKS: lint has nothing to say, and the port has no more lines than the originals, and all of their tasks
fits() {
	cp -R "$ROOT/examples/ported/$1" "$1"
	cd "$1" || return
	call RUNNER_TRUST="$PWD" self lint
	assert_envelope
	expect 'e.data.problems == [] and e.data.warnings == []'
	[ "$(cat ./*.lua | wc -l)" -le "$2" ]
	[ "$(grep -cE '^\s+(\[?"?[a-z_][a-zA-Z0-9 _-]*"?\]?) = \{ "' tasks.lua)" -ge "$3" ]
	cd .. || return
}

@test "the ported files have no more lines than theirs, all tasks, and lint has nothing to say" {
	rmdir commands
	fits just 240 40
	fits go-task 324 35
}
