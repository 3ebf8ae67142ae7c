#!/usr/bin/env bats
# Trees that are hard to end, and the bystanders beside them: hostile_tree.py is the table
# and does the work, once for the whole file; each test here looks at its row.

setup_file() {
	export TOLD=$BATS_FILE_TMPDIR/rows.tap
	python3 "$BATS_TEST_DIRNAME/hostile_tree.py" >"$TOLD" 2>&1 || true
}

# row: the one that is named as this test holds (a skipped one is shown).
row() {
	local name=$BATS_TEST_DESCRIPTION
	grep -F " - $name # skip" "$TOLD" | sed 's/^ok [0-9]*/# skipped/' >&3 || true
	if grep -A 3 -F " - $name" "$TOLD" | grep -A 3 "^not ok" >&2; then return 1; fi
	grep -qF " - $name" "$TOLD" || {
		tail -n 20 "$TOLD" >&2
		return 1
	}
}

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

@test "what a detached program starts outlives the run, however far it is with daemonising" {
	row
}

@test "a stack of 32 KiB is enough to end a tree" {
	row
}

@test "a run that waits sleeps, whatever is taken away from it" {
	row
}

@test "every row of the table of trees has its test here" {
	local name
	while read -r name; do
		grep -qxF "@test \"$name\" {" "$BATS_TEST_FILENAME" || {
			echo "no test: $name" >&2
			return 1
		}
	done < <(sed -n 's/^\(not \)\{0,1\}ok [0-9]* - \([^#]*[^# ]\).*/\2/p' "$TOLD")
}
