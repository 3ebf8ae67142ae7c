#!/usr/bin/env bats
# Namespaces with innocents beside us: hostile_namespaces.py is the table.

export PROGRAM=hostile_namespaces.py
load rows

@test "with another namespace's /proc, a limit ends our own and hurts nobody" {
	row
}

@test "with another namespace's /proc, a cancellation hurts nobody" {
	row
}

@test "with another namespace's /proc, a killed supervisor's worker and guard hurt nobody" {
	row
}

@test "with another namespace's /proc, Ctrl+Z stops nobody else" {
	row
}

@test "with another namespace's /proc, the shepherd of a workflow's step hurts nobody" {
	row
}

@test "in a user namespace of its own, a limit ends our own and hurts nobody" {
	row
}

@test "in a user namespace of its own, a cancellation hurts nobody" {
	row
}

@test "in a user namespace of its own, a killed supervisor's worker and guard hurt nobody" {
	row
}

@test "in a user namespace of its own, Ctrl+Z stops nobody else" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
