#!/usr/bin/env bats
# What is taken away from a run: deprived.py is the table.

export PROGRAM=deprived.py
load rows

@test "a stack of 32 KiB is enough to end a tree" {
	row
}

@test "resource limits that the caller set before exec leave one answer, and nothing behind" {
	row
}

@test "a run that waits sleeps, whatever is taken away from it" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
