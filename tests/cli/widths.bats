#!/usr/bin/env bats
# widths: what a person sees at 40, 80 and 200 columns, under tmux.

load lib/helper
load lib/tmux

prepare() {
	body wide <<-'LUA'
		local row = {}
		for i = 1, 12 do row[("c%02d"):format(i)] = "value " .. i end
		return { row, row }
	LUA
	body people "rows = true," <<-'LUA'
		return { { name = "日本 " .. ("n"):rep(60), n = 12345, message = ("word "):rep(30) }, { name = "e\u{301}", n = 1, message = "short" } }
	LUA
	known
}

clean_up() {
	end_shell
}

# longest_shown: characters of the longest line on the screen, without what the shell prints
longest_shown() {
	mux capture-pane -p -J -S - | grep -v 'ready>' | python3 -c '
import sys, unicodedata
wide = lambda c: 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
print(max([sum(map(wide, line.rstrip("\n").rstrip())) for line in sys.stdin] or [0]))'
}

@test "help, tables and records keep to 40, 80 and 200 columns of the terminal" {
	local width shown
	for width in 40 80 200; do
		start_shell "$width" 60
		type_line "clear; \$R; \$R people; echo '=='end"
		on_screen '^==end'
		[ "$(longest_shown)" -le "$width" ]
		shown=$(mux capture-pane -p -S -)
		[[ $shown == *"Built-in commands:"*"…"* ]]
		[[ $shown == *"12345"* ]]
		mux clear-history
		type_line "clear; \$R wide; echo '=='done"
		on_screen '^==done'
		[ "$(longest_shown)" -le "$width" ]
		if [ "$width" -eq 200 ]; then
			on_screen '^c01 +c02 .*c12'
		else
			on_screen '^c12: value 12'
		fi
		end_shell
	done
}

@test "a terminal that was resized while the command ran has the width that it has then" {
	body slow 'timeout = "5m",' <<-'LUA'
		io.open("began", "w"):close()
		while not io.open("go") do ctx:sleep(0.02) end
		return { { name = ("n"):rep(70), message = ("m"):rep(70) } }
	LUA
	start_shell 160 20
	type_line "\$R slow; echo '=='end"
	until_true [ -e began ]
	mux resize-window -x 60 -y 20
	until_true eval '[ "$(stty size <"$(mux display-message -p "#{pane_tty}")")" = "20 60" ]'
	: >go
	on_screen '^==end'
	[ "$(longest_shown)" -le 60 ]
	on_screen '^n+…  m+…'
}

@test "COLUMNS goes before the terminal, and a file gets every character" {
	start_shell 120 40
	type_line "clear; COLUMNS=50 \$R people; echo '=='end"
	on_screen '^==end'
	[ "$(longest_shown)" -le 50 ]
	call people --format table
	grep -q "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn  " out.txt
	[[ $stdout != *…* ]]
}
