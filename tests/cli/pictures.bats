#!/usr/bin/env bats
# pictures: what a person watches at the bottom of the terminal while a command runs, under tmux.

load lib/helper
load lib/tmux

clean_up() {
	end_shell
}

# The screen as it is, without what scrolled away, has these lines, one below the other.
now_on_screen() {
	until_true below_each_other "$@" && return
	mux capture-pane -p >&2
	return 1
}

below_each_other() {
	mux capture-pane -p | python3 -c '
import re, sys
lines = sys.stdin.read().rstrip("\n").split("\n")
n = len(sys.argv) - 1
sys.exit(not any(all(re.search(p, l) for p, l in zip(sys.argv[1:], lines[i:i + n]))
                 for i in range(len(lines) - n + 1)))' "$@"
}

# How many lines of the screen match, with what scrolled away.
count_of() {
	mux capture-pane -p -S - | grep -cE -- "$1" || true
}

# turns TEXT: two different pictures of its spinner are seen
turns() {
	on_screen "^(⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏) .*$1" || return 1
	local first
	first=$(line_of "$1")
	until_true is_another "$first" "$1"
}

line_of() {
	mux capture-pane -p | grep -aE "^.* .*$1"
}

is_another() {
	local now
	now=$(line_of "$2")
	[ -n "$now" ] && [ "$now" != "$1" ]
}

# Work that says once what it does, and then computes, or waits for a child, until `go` is there.
busy() {
	body work "$2" <<-LUA
		ctx:progress($1)
		$3
		return { all = "done" }
	LUA
}

COMPUTES='while not io.open("go") do end'
WAITS='ctx:run { "sh", "-c", "until [ -e go ]; do sleep 0.02; done" }'

# --- a spinner ------------------------------------------------------------------------

@test "a spinner turns while Lua computes and while a child runs, at 40, 80 and 200 columns" {
	local width how
	for width in 40 80 200; do
		for how in "$COMPUTES" "$WAITS"; do
			rm -f go
			busy '"looking for files"' '' "$how"
			start_shell "$width" 20
			type_line "clear; \$R work; echo '=='end"
			turns 'looking for files'
			: >go
			on_screen '^==end'
			now_on_screen '^all: done' '^==end'
			[ "$(count_of looking)" -eq 0 ]
			end_shell
		done
	done
}

@test "what a command and its children write goes above the spinner, whole, in its order" {
	busy '{ done = 7, unit = "rows" }' '' '
		ctx:log("info", "logged") print("printed")
		ctx:sleep(0.2)
		io.stderr:write("to ", "stderr\n")
		os.execute("echo by a shell >&2")
		ctx:run { "sh", "-c", "echo by a program >&2", capture = false }
		ctx:run { "sh", "-c", "echo echoed", echo = true }
		io.stderr:write("in pie")
		ctx:sleep(0.3)
		io.stderr:write("ces\n")
		'"$WAITS"
	start_shell 80 20
	type_line "clear; \$R work; echo '=='end"
	on_screen '^echoed$'
	now_on_screen '^to stderr$' '^by a shell$' '^by a program$' '^echoed$' '^in pieces$' '^. +7 rows$'
	turns '7 rows'
	: >go
	on_screen '^==end'
	now_on_screen '^all: done' '^==end'
	on_screen '^printed$' # and the warning of it
	on_screen '^logged$'
	[ "$(count_of '7 rows')" -eq 0 ]
}

@test "a question has the terminal for itself: the spinner is away until it is answered" {
	busy '"looking"' 'interactive = true,' 'local name = ctx:prompt("Name") while not io.open("go") do ctx:sleep(0.02) end'
	start_shell 80 20
	type_line "clear; \$R work; echo '=='end"
	on_screen '^Name:'
	[ "$(count_of looking)" -eq 0 ]
	type_line 'Ada'
	now_on_screen '^Name: Ada$' '^. +looking$'
	turns looking
	press C-z
	on_screen 'Stopped'
	[ "$(count_of looking)" -eq 0 ]
	type_line 'fg'
	turns looking
	: >go
	on_screen '^==end'
}

@test "off a terminal, with --quiet, NO_COLOR or TERM=dumb nothing of a spinner is written" {
	busy '"looking"' '' 'io.stderr:write("its own\n")'
	call work
	[ "$stderr" = 'its own' ]
	local how
	for how in '--quiet:X=1' ':NO_COLOR=1' ':TERM=dumb' ':CI=1'; do
		rm -f seen
		env -i "${CLEAN_ENV[@]}" TERM=xterm "${how#*:}" script -qec "$RUNNER work ${how%%:*}" /dev/null >seen </dev/null
		grep -q 'its own' seen
		! grep -aq -e looking -e $'\033\\[[0-9]*[AGJK]' seen || false
	done
}
