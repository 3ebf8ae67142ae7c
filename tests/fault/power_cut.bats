#!/usr/bin/env bats
# A power cut at any moment of what each writer does that promises durability (power_cut.py does the work).

cut_power() {
	local status=0
	python3 "$BATS_TEST_DIRNAME/power_cut.py" "$1" >"$BATS_TEST_TMPDIR/output.txt" 2>&1 || status=$?
	[ $status -ne 77 ] || skip "$(<"$BATS_TEST_TMPDIR/output.txt")"
	[ $status -eq 0 ] || tail -3 "$BATS_TEST_TMPDIR/output.txt" | cut -c1-900 >&2
	return $status
}

@test "power cuts in a workflow: what began was committed, what is completed stays so, and resume goes on" {
	cut_power workflow
}

@test "power cuts while an output too long for memory is kept: what a completed step wrote is whole" {
	cut_power output
}

@test "power cuts in the audit ledger with sync: the rows of each call are there, and it goes on" {
	cut_power ledger
}

@test "power cuts between checkpoints: what they cover isn't done twice, and after a success the call begins anew" {
	cut_power checkpoint
}

@test "power cuts in a job: one that was told is known, and no answer is one that wasn't given" {
	cut_power job
}

@test "power cuts in a job that goes on where its caller's budget ends: the same" {
	cut_power budget
}

@test "power cuts in a deploy: what is live is whole, and what was said to be live is" {
	cut_power deploy
}

@test "power cuts while a library is added: runner.lock names what is there and runs" {
	cut_power library
}

@test "power cuts under a policy that counts: no more calls are made than it allows" {
	cut_power policy
}

@test "power cuts in a call with an idempotency key: it runs once, and once answered has that answer" {
	cut_power key
}

@test "power cuts between calls of runner.fs: what it says is on the disk is there, whole" {
	cut_power files
}
