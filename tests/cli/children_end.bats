#!/usr/bin/env bats
# How the programs of a command end, when the attempt does (docs/reference/timeouts.md): asked once, by the signal
# that is theirs, with the time that the command's grace leaves them, and heard to their last word.

load lib/helper

ends() {
	RUNNER=$RUNNER run timeout 300 python3 "$ROOT/tests/cli/lib/children_end.py" "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a program that takes longer than a second ends by itself: each door × Ctrl+C, TERM and a limit" {
	ends matrix
}

@test "stop_signal asks a program to end in place of TERM: each door" {
	ends stop_signal
}

@test "a program's own grace, shorter than the command's, ends it sooner" {
	ends sooner_if_it_says_so
}

@test "a program that takes most of the grace is asked to end once" {
	ends asked_once
}

@test "Ctrl+C at a terminal is one INT for what has it" {
	ends at_a_terminal
}

@test "what doesn't end leaves a part of the grace to deferred functions and cleanup" {
	body deaf 'grace = "4s", cleanup = function() io.open("cleaned", "w"):close() end,' <<'LUA'
		ctx:defer(function() ctx:sleep(0.2) io.open("deferred", "w"):close() end)
		ctx:run { "sh", "-c", "trap '' TERM INT; >marker; while :; do sleep 0.05; done", foreground = false }
LUA
	local signal
	for signal in TERM INT; do
		rm -f marker deferred cleaned
		cancel $signal deaf
		assert_envelope
		[ -e deferred ]
		[ -e cleaned ]
		expect 'e.warnings == []'
	done
	assert_no_process_left
}

@test "stop_signal takes names of signals that ask a program to end" {
	body ask 'args = { { "name", "string", positional = true } },' <<<'ctx:run { "true", stop_signal = args.name }'
	call ask SIGQUIT
	[ "$status" -eq 0 ]
	call ask KILL
	assert_envelope
	expect "'must be HUP, INT, QUIT, TERM, USR1, USR2 or WINCH' in e.error.message"
}
