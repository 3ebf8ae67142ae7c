#!/usr/bin/env bats
# Workflows whose runners are killed (workflow_crash.py does the work), that share a store
# with others (workflow_shared.py), or whose calls fail now and then (workflow_metrics.py).

setup() {
	python3 -c 'import sqlite3' 2>/dev/null || skip "needs libsqlite3.so.0"
}

fault() {
	local status=0
	python3 "$BATS_TEST_DIRNAME/$1.py" "${@:2}" >"$BATS_TEST_TMPDIR/output.txt" 2>&1 || status=$?
	[ $status -ne 77 ] || skip "$(<"$BATS_TEST_TMPDIR/output.txt")"
	[ $status -eq 0 ] || cut -c1-700 "$BATS_TEST_TMPDIR/output.txt" >&2
	return $status
}

@test "a run killed at random moments, again and again, ends as if undisturbed" {
	fault workflow_crash instants
}

@test "nested loops and hooks, ended by signals, limits, kills and lost shepherds: nothing is lost, nothing comes twice" {
	fault workflow_torture
}

@test "repair loops killed at random instants: each repair has its effect once, and there are no more than max" {
	fault workflow_repairs
}

@test "runs that ask, and those who decide, killed at random instants: each gate is decided once, and nothing passes it before" {
	fault workflow_approvals
}

@test "calls that wait for a person, killed at random instants with whoever asks and decides: each runs once for each yes, or not at all" {
	fault pending_calls
}

@test "files within files and last steps, killed at random instants: each step has its effect once, each end its last steps" {
	fault workflow_parts
}

@test "runs that are put back, killed at random instants: what succeeded stays, and what is put back runs once more" {
	fault workflow_again
}

@test "worktrees of agents side by side, killed at random instants: each branch is merged once, and nothing of ours is left" {
	fault workflow_worktrees
}

@test "runs with one key, killed at random instants: never two at the same time, and those that wait go on" {
	fault workflow_concurrency
}

@test "a run killed at any write, sync, truncate or rename of a commit resumes where it was" {
	fault workflow_crash commits
}

@test "a run killed at any fork, wait or frame to its supervisor resumes where it was" {
	fault workflow_crash others
}

@test "a run whose supervisor is killed at any line it prints resumes where it was" {
	fault workflow_crash supervisor
}

@test "a step that outlives its killed runner for a while is waited for, never doubled" {
	fault workflow_crash orphan
}

@test "of runs that fail in one of five calls, retries save at least nine in ten, within 3 attempts on average" {
	fault workflow_metrics failures
}

@test "where nothing fails, retries take less than 1 % more time" {
	fault workflow_metrics overhead
}

@test "the default waits stay below five minutes whatever the jitter" {
	fault workflow_metrics waits
}

@test "20 runs at once on a new store, with readers beside them: each ends as it should, and is always shown whole" {
	fault workflow_shared at_once
}

@test "of several resumes at once one runs, and the others name its process" {
	fault workflow_shared resumes
}

@test "a store whose schema was being made when its maker was killed is made whole by the next" {
	fault workflow_shared migration
}

@test "a store of runner 0.1 whose migration was killed is migrated by the next, and its runs keep 0.1's shell options" {
	fault workflow_shared upgrade
}
