#!/usr/bin/env bats
# Commands that only a person at a terminal may run.

load lib/helper

at_terminal() {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" "$1"
}

prepare() {
	command_file wipe <<'LUA'
return { description = "x", danger_level = "destructive", interactive = true, requires_person = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() io.open("touched", "w"):close() return { effect = "deleted" } end }
LUA
}

@test "REQ-C-036 off a terminal the call ends with PERSON_REQUIRED, whatever its flags, and nothing is done" {
	local flags
	for flags in "" "--yes" "--confirm-destructive" "--yes --confirm-destructive --non-interactive" "--no-dry-run --yes"; do
		# shellcheck disable=SC2086
		call RUNNER_DRY_RUN= wipe $flags
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error.code == "PERSON_REQUIRED" and e.error.retryable is False and e.error.phase == "validation"'
		expect '"--" not in e.error.suggestion and "fix_command" not in e.error'
		[ ! -e touched ]
	done
	call RUNNER_DRY_RUN=1 wipe --no-dry-run --confirm-destructive
	[ "$status" -eq 4 ]
	[ ! -e touched ]
}

@test "REQ-C-036 a dry run, a check of the arguments and help need no person" {
	answers 0 wipe --dry-run
	answers 0 wipe --validate-only
	answers 0 wipe --schema
	expect '{"PERSON_REQUIRED", "ATTESTATION_MISMATCH"} <= set(e.data["exit_codes"]["4"]["error_codes"])'
	[ ! -e touched ]
}

@test "REQ-C-036 at a terminal the command's name must be typed exactly; no flag answers" {
	at_terminal person_is_required
}

@test "REQ-C-036 a person is asked once, not again for a retry" {
	at_terminal person_is_asked_once
}

@test "REQ-C-036 ctx:attest asks in the middle of run" {
	at_terminal a_text_is_attested
	body sign 'interactive = true,' <<<'ctx:attest("I have read it", "I agree") return {}'
	call sign --yes
	[ "$status" -eq 4 ]
	expect 'e.error.code == "PERSON_REQUIRED"'
}

@test "REQ-C-036 requires_person needs interactive = true" {
	body bad 'requires_person = true,' <<<'return {}'
	answers 4 bad
	expect 'e.error.code == "COMMAND_INVALID" and "interactive" in e.error.message'
}
