# shellcheck shell=bash
# tmux.bash: an interactive bash under tmux, for tests of what a person sees and types. Load it
# behind lib/helper, and call end_shell when the test is over.
#
#   start_shell [COLUMNS [ROWS]]   $R is runner
#   type_line TEXT ; press KEY
#   on_screen REGEX                waits for a line of the screen, with what scrolled away
#   wait_for_states STATES         of the job's processes: S, T; none: ''

end_shell() {
	[ -z "${shell_runs:-}" ] || mux kill-server
	shell_runs=
}

# (a server that is told to end still has its socket for a while: each has one of its own)
mux() {
	tmux -L "runner-$TOKEN-${shells:-0}" -f /dev/null "$@"
}

# start_shell [COLUMNS [ROWS]]
start_shell() {
	shell_runs=1 shells=$((${shells:-0} + 1))
	env -i "${CLEAN_ENV[@]}" TERM=xterm tmux -L "runner-$TOKEN-$shells" -f /dev/null new-session -d -x "${1:-120}" -y "${2:-40}" \
		"env -i $(printf '%q ' "${CLEAN_ENV[@]}") TERM=screen PS1='ready> ' TOKEN='$TOKEN.job' R='$RUNNER' \
		HISTFILE= bash --norc --noprofile -i"
	on_screen 'ready>'
}

# type_line TEXT: and Enter. press KEY: "C-z".
type_line() { mux send-keys -l "$1" && mux send-keys Enter; }
press() { mux send-keys "$1"; }

# Wait until a line of the screen matches.
on_screen() {
	until_true shown "$1" && return
	skip_without_library "$(mux capture-pane -p -J -S -)"
	mux capture-pane -p -S - >&2
	return 1
}

shown() {
	mux capture-pane -p -S - | grep -qE -- "$1"
}

# States of the job's processes: runner, worker and children, but not the shell. A
# parent that waits in vfork(2) for a stopped child is in state D.
job_states() {
	local path pid
	for path in $(grep -lzs "^TOKEN=$TOKEN.job\$" /proc/[0-9]*/environ 2>/dev/null); do
		pid=${path#/proc/} pid=${pid%/environ}
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = bash ] || sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null
	done | sort -u | tr -d '\nD'
}

in_states() {
	[ "$(job_states)" = "$1" ]
}

wait_for_states() {
	until_true in_states "$1" && return
	echo "states: $(job_states), not $1" >&2
	return 1
}
