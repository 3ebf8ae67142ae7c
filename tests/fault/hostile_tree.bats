#!/usr/bin/env bats
# Trees that are hard to end: hostile_tree.py is the table.

export PROGRAM=hostile_tree.py
load rows

@test "60 chains of processes that fork and exit end in time" {
	row
}

@test "200 chains of processes that fork and exit end in time" {
	row
}

@test "chains below os.execute end in time" {
	row
}

@test "chains with a session for each heir end in time" {
	row
}

@test "200 chains with a session for each heir end in time" {
	row
}

@test "60 chains of processes that fork and exit end in time beside eight busy loops" {
	row
}

@test "200 orphans are reaped while the run goes on, and nobody else's children" {
	row
}

@test "a C module's own children wait for the module, orphans that prove their parent don't" {
	row
}

@test "dead orphans don't use up limits.processes" {
	row
}

@test "the child of a thread gets its TERM" {
	row
}

@test "the child of a thread ends with a supervisor that is killed, also where its worker is blind" {
	row
}

@test "what a detached program starts outlives the run, however far it is with daemonising" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
