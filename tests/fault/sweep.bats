#!/usr/bin/env bats
# Faults from below (sweep.py): each call of each libc function fails in turn, in the
# supervisor, in the worker and in its children. The run answers, ends and doesn't lie.

RUNNER=${RUNNER:-$BATS_TEST_DIRNAME/../../build/runner}
export RUNNER PYTHONPATH=$BATS_TEST_DIRNAME

setup() {
	local why
	why=$(python3 -c 'import harness; print(harness.why_no_faults() or "")')
	[ -z "$why" ] || skip "$why"
}

dynamic_only() {
	[[ $("$RUNNER" --version --verbose) != *"build: static"* ]] || skip "the static build $1"
}

sweep() {
	python3 "$BATS_TEST_DIRNAME/sweep.py" "$1" >output.txt 2>&1 || {
		cut -c1-700 output.txt >&2
		return 1
	}
	head -n 1 output.txt >&3
}

@test "hello survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep hello
}

@test "a run with a retry survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep flaky
}

@test "a run with a C module, and so with a guard, survives every fault of every call" {
	dynamic_only "loads no C module"
	cd "$BATS_TEST_TMPDIR"
	sweep native
}

@test "a run with children survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep command
}

@test "a server of warm calls survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep warm
}

@test "a run with Lua's own files and programs survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep library
}

@test "a workflow survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep workflow
}

@test "a run that is profiled survives every fault of every call" {
	cd "$BATS_TEST_TMPDIR"
	sweep profile
}

@test "every call to libc that can fail is one that the sweep can make fail" {
	dynamic_only "imports nothing: its calls are those of the same sources"
	python3 "$BATS_TEST_DIRNAME/calls.py" >&2
}

@test "a deploy survives every fault of every call, and the next one succeeds" {
	cd "$BATS_TEST_TMPDIR"
	sweep deploy
}
