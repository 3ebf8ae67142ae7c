#!/usr/bin/env bats
# When an answer comes: punctual.py is the table.

export PROGRAM=punctual.py
load rows

@test "a run that sleeps answers TERM at once" {
	row
}

@test "a loop in Lua answers INT at once" {
	row
}

@test "a run that waits for a program answers TERM as soon as the program has ended" {
	row
}

@test "a run that waits in os.execute answers TERM as soon as the program has ended" {
	row
}

@test "a run that waits before another attempt answers TERM at once" {
	row
}

@test "a workflow's step answers TERM as soon as it has ended" {
	row
}

@test "a worker that ignores TERM is killed when the grace is over" {
	row
}

@test "a child that ignores TERM is killed when the grace is over" {
	row
}

@test "a cleanup that doesn't end is killed when the grace is over" {
	row
}

@test "a second INT kills at once what the first didn't end" {
	row
}

@test "a timeout ends a sleep on time" {
	row
}

@test "a timeout ends a loop in Lua on time" {
	row
}

@test "a timeout ends a program that ignores TERM when limit and grace are over" {
	row
}

@test "an attempt's timeout ends a blocking read on time" {
	row
}

@test "an idle timeout ends a silent program on time" {
	row
}

@test "a program's own timeout ends it on time" {
	row
}

@test "a backoff is as long as it should be" {
	row
}

@test "what a run leaves behind is ended, and the answer follows at once" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
