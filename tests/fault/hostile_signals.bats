#!/usr/bin/env bats
# Every signal, wherever it goes: hostile_signals.py is the table.

export PROGRAM=hostile_signals.py
load rows

@test "every signal that would end the supervisor cancels the run" {
	row
}

@test "every signal that would end the process in front cancels the run" {
	row
}

@test "every signal that ends the worker gets an answer, and leaves nothing" {
	row
}

@test "an alarm that was set before exec cancels, pending and blocked or not; an ignored one does nothing" {
	row
}

@test "SIGKILL of the process in front ends the tree at once, and nothing is written" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
