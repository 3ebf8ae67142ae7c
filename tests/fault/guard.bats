#!/usr/bin/env bats
# A supervisor that is killed at any moment leaves nothing of its run: guard.py is the table.

export PROGRAM=guard.py
load rows

@test "while its worker waits" {
	row
}

@test "in the grace after a TERM" {
	row
}

@test "while it kills, after a second INT" {
	row
}

@test "while it ends what a success has left" {
	row
}

@test "while it ends what a crash has left" {
	row
}

@test "at once with its worker" {
	row
}

@test "at once with its worker, where there is no /proc" {
	row
}

@test "between attempts and in them" {
	row
}

@test "of a job that is being cancelled, and job wait answers when its processes are gone" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
