#!/usr/bin/env bats
# A person at a terminal: text instead of JSON, questions, Ctrl+C, Ctrl+Z and fg.
# A pty by terminal.py where runner stands alone; tmux with an interactive bash where
# job control is at work.

load lib/helper
load lib/tmux

on_terminal() {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" "$1"
	assert_no_process_left
}

# --- words -------------------------------------------------------------------------

@test "a result is text on a terminal" {
	on_terminal result_is_text
}

@test "an error is text on stderr with code, exit code, retryable, wait and hint" {
	on_terminal error_is_text_on_stderr
}

@test "an error shows the last lines of the program that failed: of stderr, else of stdout" {
	on_terminal error_shows_the_last_lines_of_the_program
}

@test "an error shows its place in the script, with the line of source, unless the script meant it" {
	on_terminal error_shows_the_place_in_the_script
}

@test "the data of a failure is shown, in the format that was chosen" {
	on_terminal data_of_a_failure_is_shown
}

@test "any failure shows the table of steps" {
	on_terminal steps_of_a_failure_are_shown
}

@test "a fix of the registry is shown, as the envelope has it" {
	on_terminal fix_of_the_registry_is_shown
}

@test "every problem with the arguments is shown, not only their number" {
	on_terminal error_lists_every_problem
}

@test "exhausted retries are reported: in the notices and in the error" {
	on_terminal error_says_that_retries_are_used_up
}

@test "colour only without NO_COLOR, TERM=dumb and --no-color, also before a command is known" {
	on_terminal error_in_colour_only_where_it_is_wanted
}

@test "CI, --format json and RUNNER_FORMAT give the envelope on a terminal" {
	on_terminal json_where_it_is_asked_for
}

@test "a timeout shows the table of steps on stdout" {
	on_terminal timeout_shows_the_steps
}

@test "a command of a group is called as it is typed" {
	on_terminal group_is_written_in_words
}

@test "a timeout of a command without steps leaves stdout not empty" {
	on_terminal timeout_without_steps_leaves_stdout_not_empty
}

@test "warnings are seen on a terminal, but with --quiet" {
	on_terminal warnings_are_seen
}

@test "steps, logs and progress are lines that do not run into each other" {
	on_terminal steps_logs_and_progress_are_lines
}

@test "progress is a bar with a total and turns without, and nothing of it where no line can be drawn again" {
	on_terminal progress_is_a_bar
}

# --- questions ---------------------------------------------------------------------

@test "a prompt and a confirmation are answered at the terminal" {
	on_terminal prompt_and_confirm
}

@test "a prompt of several lines ends with an empty line or Ctrl+D, and takes a pasted text whole; no secret has several" {
	on_terminal prompt_of_several_lines
}

@test "a prompt in the editor shows the default, and comes again until the answer is valid" {
	on_terminal prompt_in_the_editor
}

@test "one of a list is chosen by its number or the beginning of its name" {
	on_terminal select_one_of_a_list
}

@test "ctx:exec gives a program the terminal" {
	on_terminal exec_hands_over_the_terminal
}

@test "where nobody is, ctx:exec and ctx:select are INPUT_REQUIRED and start nothing" {
	body work 'interactive = true,' <<<'ctx:exec { "touch", "bad" }'
	call work
	expect 'e.error.code == "INPUT_REQUIRED"'
	body many 'interactive = true,' <<<'return ctx:prompt("Text", { multiline = true, arg = "text" })'
	call many
	expect 'e.error.code == "INPUT_REQUIRED" and "--text" in e.error.suggestion'
	body pick 'interactive = true,' <<<'return ctx:select("Where?", { "a" }, { arg = "place" })'
	call pick
	expect 'e.error.code == "INPUT_REQUIRED" and "--place" in e.error.suggestion'
	body wrong 'interactive = true,' <<<'return ctx:select("Where?", {})'
	call wrong
	expect '"list of choices" in e.error.message'
	[ ! -e bad ]
}

@test "echo = true shows the lines of a program at once and captures them" {
	body build <<-'LUA'
		local seen = 0
		local r = ctx:run { "sh", "-c", "echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2", echo = true,
			on_line = function() seen = seen + 1 end }
		return { out = r.stdout, err = r.stderr, seen = seen }
	LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" build >out.txt 2>err.txt </dev/null &
	until_true grep -q one err.txt
	: >go
	wait $!
	# shellcheck disable=SC2034 # expect reads them
	stdout=$(<out.txt) status=0
	expect 'e.data == {"out": "one\n", "err": "two\n", "seen": 2}'
	[ "$(cat err.txt)" = $'one\ntwo' ]
	call build --quiet
	[ -z "$stderr" ]
	body both <<<'ctx:run { "true", echo = true, capture = false }'
	call both
	expect '"echo gets no lines" in e.error.message'
}

@test "a secret stays invisible and echo comes back" {
	on_terminal prompt_of_a_secret_shows_nothing
}

@test "there is no prompt with --non-interactive, in CI or without interactive = true" {
	on_terminal prompt_needs_a_person
}

@test "Ctrl+D at a prompt is INPUT_REQUIRED" {
	on_terminal prompt_at_its_end_of_input
}

# --- keys --------------------------------------------------------------------------

@test "Ctrl+C at a prompt: 130, and echo is restored" {
	on_terminal interrupt_at_a_prompt
}

@test "Ctrl+C in a running command: 130" {
	on_terminal interrupt_of_a_running_command
}

@test "Ctrl+C in a backoff wait: 130 immediately" {
	on_terminal interrupt_in_a_backoff_wait
}

@test "Ctrl+backslash cancels as well" {
	on_terminal quit_is_a_cancellation_as_well
}

@test "a terminal that hangs up ends everything" {
	on_terminal hang_up_ends_everything
}

@test "settings that a killed command spoilt are restored" {
	on_terminal settings_that_a_killed_command_spoilt_are_restored
}

@test "a terminal stopped by Ctrl+S does not hold the watchdog" {
	on_terminal a_stopped_terminal_does_not_hold_the_watchdog
}

@test "a terminal stopped by Ctrl+S gets the answer after Ctrl+Q" {
	on_terminal a_stopped_terminal_keeps_its_answer_for_later
}

@test "Ctrl+Z does not stop a run that nobody could continue" {
	on_terminal a_stop_with_nobody_to_continue_is_no_stop
}

# --- job control: an interactive bash under tmux ----------------------------------------

clean_up() {
	end_shell
}

# A program reads a line of the terminal unseen. (A shell at its prompt reads no lines.)
reads_unseen() {
	local settings
	settings=" $(stty -aF "$(mux display-message -p '#{pane_tty}')" | tr '\n;' '  ') "
	[[ $settings == *' icanon '* && $settings == *' -echo '* ]]
}

wait_for_file() {
	until_true [ -e "$1" ]
}

# A command whose child writes a line to `ticks` 20 times a second, until `go` is there.
ticking() {
	command_file ticking <<-LUA
		return { description = "x", danger_level = "safe", run = function(_, ctx)
			$1
			return { all = "done" }
		end }
	LUA
}

TICKS='until [ -e go ]; do echo t >>ticks; sleep 0.05; done'

ticks_beyond() {
	[ "$(wc -l <ticks)" -gt "$1" ]
}

@test "Ctrl+Z stops the tree and then us; fg continues both, and limits stand still meanwhile" {
	local how
	for how in "os.execute([[$TICKS]])" "ctx:run { 'sh', '-c', [[$TICKS]], check = true, timeout = 'LIMIT' }"; do
		tries 3 continues_with_its_limits
		end_shell
	done
}

OVER='status=[0-9]{1,2}$' # 148 is that of a stopped one

# (where the machine stands still the limits may be over before the run is stopped, or after it goes on)
continues_with_its_limits() {
	local ticks limit=$((8 * nth))
	end_shell
	ticking "${how/LIMIT/${limit}s}"
	rm -f ticks go
	start_shell
	type_line "\$R ticking --timeout ${limit}s --attempt-timeout ${limit}s --idle-timeout ${limit}s; echo status=\$?"
	wait_for_file ticks && press C-z && until_true shown "Stopped|$OVER" && shown Stopped && wait_for_states T || return 1
	ticks=$(wc -l <ticks)
	sleep "$limit.5" # longer than the limits
	[ "$(wc -l <ticks)" -eq "$ticks" ] || return 1
	type_line 'fg; echo status=$?'
	until_true has_gone_on "$ticks" || return 1
	touch go
	on_screen "$OVER" && shown 'status=0' && shown 'all: +done|all +done'
}

has_gone_on() {
	ticks_beyond "$1" || shown "$OVER"
}

@test "after fg the rest of a limit is left, and no more" {
	command_file slow <<'LUA'
return { description = "x", danger_level = "safe",
	run = function(_, ctx) local f = io.open("began", "w") f:close() os.execute("sleep 60") end }
LUA
	tries 3 has_its_rest
	wait_for_states ''
}

# (where the machine stands still the limit may be over before the run is stopped)
has_its_rest() {
	end_shell
	rm -f began
	start_shell
	type_line "\$R slow --timeout $((4 * nth))s"
	wait_for_file began && press C-z && until_true shown 'Stopped|status=|exceeded' && shown Stopped || return 1
	sleep "$((4 * nth)).5"
	local before=${EPOCHREALTIME/[.,]/} after
	type_line 'fg; echo status=$?'
	on_screen "exceeded timeout of $((4 * nth))000ms" && on_screen 'status=10' || return 1
	after=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
	[ "$after" -ge 500 ] && [ "$after" -lt 20000 ]
}

@test "Ctrl+Z in a backoff wait: fg waits for the rest" {
	cat >waits.lua <<'LUA'
return { description = "x", danger_level = "safe", retry = { retries = 1, delay = "DELAY", jitter = "none" },
	run = function(_, ctx)
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "503") end
		return { all = "done" }
	end }
LUA
	tries 3 waits_for_the_rest
}

# (where the machine stands still the wait may be over before the run is stopped)
waits_for_the_rest() {
	local delay=$((2 * nth))
	end_shell
	sed "s/DELAY/${delay}s/" waits.lua >commands/busy.lua
	start_shell
	type_line "\$R busy --timeout $((3 * delay + 1))s"
	on_screen "Retrying in $delay.0 seconds" && press C-z && until_true shown 'Stopped|attempt 2' && shown Stopped || return 1
	wait_for_states T || return 1
	sleep "$((3 * delay + 1))"
	type_line 'fg; echo status=$?'
	on_screen 'busy succeeded on attempt 2' && on_screen 'status=0'
}

@test "a stopped run continues in the background with bg" {
	ticking "os.execute([[$TICKS]])"
	start_shell
	type_line '$R ticking'
	wait_for_file ticks
	press C-z
	on_screen 'Stopped'
	local ticks
	wait_for_states T
	ticks=$(wc -l <ticks)
	type_line 'bg; wait; echo status=$?'
	until_true ticks_beyond "$ticks"
	touch go
	on_screen 'status=0'
}

@test "a run in the background leaves the terminal as the shell has it, and ends by itself" {
	ticking "os.execute([[$TICKS]])"
	start_shell
	# the shell's line editor changes the settings after the run has begun
	type_line '$R ticking & sleep 0.7'
	until_true ticks_beyond 20
	touch go
	wait_for_states ''
	stty -aF "$(mux display-message -p '#{pane_tty}')" | grep -q -- ' -icanon'
	on_screen 'all: +done|all +done'
}

@test "Ctrl+Z at a secret prompt: the shell has its echo, fg asks on without" {
	command_file ask <<'LUA'
return { description = "x", danger_level = "safe", interactive = true,
	run = function(_, ctx) return { length = #ctx:prompt("Token", { secret = true }) } end }
LUA
	start_shell
	type_line '$R ask; echo status=$?'
	on_screen 'Token:'
	until_true reads_unseen
	press C-z
	on_screen 'Stopped'
	type_line 'stty -a | tr " " "\n" | grep -x -e "-\?echo" | sed "s/^/tty:/"'
	on_screen '^tty:echo'
	type_line 'fg; echo status=$?'
	until_true reads_unseen
	type_line 'hunter2'
	on_screen 'length: +7|length +7'
	on_screen 'status=0'
	[ "$(mux capture-pane -p -S - | grep -c hunter2)" -eq 0 ]
	type_line 'stty -a | tr " " "\n" | grep -x -e "-\?echo" | sed "s/^/after:/"'
	on_screen '^after:echo'
}

@test "Ctrl+C ends a run that Ctrl+Z had stopped and fg continued" {
	ticking "os.execute('echo t >ticks; sleep 60')"
	start_shell
	type_line '$R ticking --timeout none'
	wait_for_file ticks
	press C-z
	on_screen 'Stopped'
	type_line 'fg; echo status=$?'
	wait_for_states S
	press C-c
	on_screen 'CANCELLED'
	on_screen 'exit 130'
	wait_for_states ''
}
