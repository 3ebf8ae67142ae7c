#!/usr/bin/env bats
# A person watches a workflow: live progress, a countdown while it waits, Ctrl+C. A pty by
# workflow_terminal.py; tmux for what is on the screen in the end.

load lib/workflow

export NEEDS=libsqlite3.so.0

on_terminal() {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/workflow_terminal.py" "$1"
	assert_no_process_left
}

@test "live progress shows the step, the attempt and a countdown while it waits" {
	on_terminal progress_shows_step_attempt_and_countdown
}

@test "NO_COLOR, TERM=dumb and --no-color leave lines without control sequences" {
	on_terminal no_color_is_respected
}

@test "--quiet hides all but the error" {
	on_terminal quiet_hides_all_but_the_error
}

@test "Ctrl+C ends a step" {
	on_terminal ctrl_c_ends_a_step
}

@test "Ctrl+C ends a wait at once" {
	on_terminal ctrl_c_ends_a_wait
}

@test "what a step writes to stderr is seen, without its control sequences" {
	on_terminal stderr_of_a_step_is_seen_without_its_control_sequences
}

@test "what a claude program says and does is shown live: a line each, cut to the terminal, masked and cleaned" {
	on_terminal events_of_a_claude_step_are_shown_live
}

@test "--quiet hides what a claude program says and does" {
	on_terminal events_are_not_shown_with_quiet
}

@test "off a terminal what a claude program says is its log's alone" {
	workflow stream <<-'YAML'
		name: stream
		claude: { output: stream-json }
		commands: [ { claude: go, id: go } ]
	YAML
	turns 'printf "%s\n" "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"reading\"}]}}" "{\"type\":\"result\",\"is_error\":false,\"result\":\"fine\"}"'
	call workflow run stream.yaml
	envelope 0
	expect 'e.data.steps[0].output == "fine"'
	run grep -c reading err.txt
	[ "$output" = 0 ]
	call workflow logs "$(sql 'SELECT id FROM runs')" go
	expect '"reading" in e.data[0].stdout'
}

@test "on the screen the lines of the steps are gone when the run is over" {
	workflow live <<-'YAML'
		name: live
		commands:
		  - { shell: "sleep 0.2", id: first }
		  - { claude: /process-data, id: second, retry: { strategy: custom, delays: [300ms], jitter: 0 } }
	YAML
	turns 'complain "500 Internal Server Error"; exit 1' 'echo fine'
	on_screen 120 40 "$RUNNER workflow run live.yaml"
	grep -qx 'Step second: Claude command failed (attempt 1/1): 500 Internal Server Error' screen
	grep -qx 'Step second: Retrying in 0.3 seconds...' screen
	grep -qx 'Step second: Claude command succeeded on attempt 2' screen
	[ "$(grep -c '▸\|✓' screen)" -eq 0 ]
}

@test "where the answer goes elsewhere, a short tree of the steps stays: on a narrow screen a line each" {
	workflow live <<-'YAML'
		name: live
		commands:
		  - { shell: "sleep 0.3; : aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", id: quite-a-long-id-that-tells-something }
	YAML
	on_screen 30 60 "$RUNNER workflow run live.yaml >/dev/null"
	[ "$(grep -c '^✓ quite-.*…  [0-9.]*s$' screen)" -eq 1 ]
	[ "$(grep -c 'quite' screen)" -eq 1 ]
}

# on_screen COLUMNS ROWS COMMAND: it succeeds on a terminal of this size, which is then
# in `screen`.
on_screen() {
	printf '%s\n' "$3" 'echo "status $?" >over; echo the end' 'sleep 60' >script
	tmux -S tmux.sock -f /dev/null new-session -d -x "$1" -y "$2" \
		"env -i $(printf '%q ' "${CLEAN_ENV[@]}") TERM=screen sh script"
	until_true shows 'the end'
	tmux -S tmux.sock kill-server
	[ "$(<over)" = 'status 0' ]
}

# The screen has such a line; it is in `screen`.
shows() {
	tmux -S tmux.sock capture-pane -p >screen
	grep -qx "$1" screen
}
