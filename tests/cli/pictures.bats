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

# How many lines of the screen match. (tmux keeps in its history what was erased from a whole screen.)
count_of() {
	mux capture-pane -p | grep -cE -- "$1" || true
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
	body work 'timeout = "5m",' "$2" <<-LUA
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
		io.stderr:write("in pie", "ces\n")
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

# --- plain lines -------------------------------------------------------------------------

# on_script COMMAND [VARIABLE…]: what a terminal gets, in `seen`
on_script() {
	env -i "${CLEAN_ENV[@]}" TERM=xterm "${@:2}" script -qec "$1" /dev/null </dev/null | tr -d '\r' >seen
	! grep -aq $'\033' seen
}

@test "--plain and RUNNER_PLAIN=1: steps, progress and logs are a line each, and nothing moves or has a colour" {
	body work 'steps = { "fetch", "unpack" },' <<-'LUA'
		ctx:step "fetch"
		for i = 0, 100 do ctx:progress { done = i, total = 100, unit = "files" } end
		ctx:step "unpack"
		ctx:progress("looking")
		ctx:log("warn", "careful")
		os.execute("echo plain is $RUNNER_PLAIN, no colour is $NO_COLOR")
		return { all = "done" }
	LUA
	local how
	for how in "$RUNNER work --plain" "env RUNNER_PLAIN=1 $RUNNER work"; do
		on_script "$how"
		grep -qx 'work: fetch' seen
		[ "$(grep -c 'files$' seen)" -eq 11 ]
		grep -qx '50/100 files' seen
		grep -qx 'work: unpack' seen
		grep -qx 'looking' seen
		grep -qx 'warn: careful' seen
		grep -qx 'plain is 1, no colour is 1' seen
		grep -qx 'all: done' seen
	done
	on_script "$RUNNER work --plain --quiet"
	[ "$(grep -c -e files -e looking -e fetch seen)" -eq 0 ]
	# off a terminal it says no more than without
	call work --plain
	expect 'e.ok'
	[[ $stderr != *files* ]]
	! on_script "$RUNNER work" RUNNER_PLAIN=0 || false
	grep -aq '1/2 fetch' seen
}

@test "--plain: an error has no colour, also where the command is unknown; a command's own --plain goes before it" {
	body work <<<'ctx:fail("CONFLICT", "no")'
	! on_script "$RUNNER work" || false
	on_script "$RUNNER work --plain; $RUNNER nothing --plain"
	grep -q 'work: error: no' seen
	grep -q 'Unknown command' seen
	body own 'args = { { "plain", "boolean", description = "x" } },' <<<'ctx:progress("moving") return { plain = args.plain or false }'
	! on_script "$RUNNER own --plain" || false
	grep -q 'plain: true' seen
}

@test "--plain: select and prompts are lines that are answered as ever" {
	body work 'interactive = true,' <<-'LUA'
		ctx:progress("looking")
		return { where = ctx:select("Where to?", { "prod", "dev" }), name = ctx:prompt("Name") }
	LUA
	start_shell 40 20
	mux pipe-pane -o "cat >>$PWD/bytes"
	type_line "clear; echo =='=here'; \$R work --plain; echo '=='end"
	on_screen 'Number or name:'
	type_line 'de'
	on_screen '^Name:'
	type_line 'Ada'
	on_screen '^==end'
	now_on_screen '^where: +dev'
	on_screen '^looking$'
	until_true grep -q '==end.*$' bytes
	! sed '1,/===here/d' bytes | grep -aqE $'\033\\[[0-9;?]*([ABCDHJKfsu]|[0-9]m)|⠋' || false
}

@test "--plain: a workflow run is a line for each change, and so is show --watch" {
	cat >two.yaml <<-'YAML'
		name: two
		commands:
		  - { shell: "true", id: first }
		  - { shell: "touch began; until [ -e go ]; do sleep 0.02; done", id: second }
	YAML
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	start_shell 80 40
	type_line "export XDG_STATE_HOME=$PWD/state RUNNER_PLAIN=1; clear; \$R workflow run two.yaml >run.txt; echo run=\$?"
	on_screen '^Step first: '
	on_screen '^Step second: '
	until_true [ -e began ]
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER workflow show @last --watch --plain" /dev/null >watched </dev/null &
	local watcher=$!
	until_true grep -q 'Step second: running' watched
	grep -q 'Step first: completed' watched
	: >go
	on_screen '^run=0'
	wait "$watcher"
	grep -q 'Step second: completed' watched
	! grep -aqE $'\033\\[[0-9;?]*([ABCDHJKfsu]|[0-9]m)' watched || false
	[ "$(count_of '✓|▸')" -eq 0 ]
}

# --- the steps of a command -------------------------------------------------------------

# Three declared steps: the second waits for `go`, and fails if `bad` is there.
three_steps() {
	body work 'timeout = "5m", steps = { "fetch", "unpack", "activate" },' <<-'LUA'
		ctx:step "fetch"
		ctx:step "unpack"
		for i = 1, 3 do ctx:progress { done = i, total = 4, unit = "files" } end
		ctx:log("info", "a line above")
		while not io.open("go") do ctx:sleep(0.02) end
		ctx:run { "sh", "-c", "[ ! -e bad ] || { echo it stopped >&2; echo disk full >&2; exit 3; }" }
		ctx:step "activate"
		return { all = "done" }
	LUA
}

@test "each step is a line with its number, state, time and progress, and the list stays: 40, 80 and 200 columns" {
	local width bar
	three_steps
	for width in 40 80 200; do
		rm -f go
		bar='[█░]+ +75%  3/4 files'
		[ "$width" -gt 40 ] || bar='█+░*…?'
		start_shell "$width" 20
		type_line "clear; \$R work; echo '=='end"
		now_on_screen '^a line above$' '^✓ 1/3 fetch +[0-9.]+s$' "^▸ 2/3 unpack +[0-9]+s +$bar" '^· 3/3 activate$'
		: >go
		on_screen '^==end'
		now_on_screen '^a line above$' '^✓ 1/3 fetch +[0-9.]+s$' '^✓ 2/3 unpack +[0-9.]+s$' '^✓ 3/3 activate +[0-9.]+s$' '^all: done$' '^==end'
		[ "$(count_of 'fetch')" -eq 1 ]
		end_shell
	done
}

@test "the step that failed is marked in the list, with why; what the program said last is below" {
	three_steps
	: >go
	: >bad
	start_shell 80 30
	type_line "clear; \$R work; echo '=='end"
	on_screen '^==end'
	now_on_screen '^✓ 1/3 fetch' '^✗ 2/3 unpack +[0-9.]+s +sh exited with status 3: disk full$' '^· 3/3 activate$' '^work: error: '
	on_screen '^    it stopped$'
	[ "$(count_of '^ +disk full')" -eq 0 ] # the list and the error have said it
	[ "$(count_of '^(completed|failed|pending)')" -eq 0 ]
}

@test "a resize, Ctrl+Z and Ctrl+C keep the list of steps tidy" {
	three_steps
	start_shell 100 20
	type_line "clear; \$R work; echo '=='end"
	now_on_screen '^✓ 1/3 fetch' '^▸ 2/3 unpack' '^· 3/3 activate'
	mux resize-window -x 30 -y 12
	now_on_screen '^✓ 1/3 fetch' '^▸ 2/3 unpa.* +[0-9]+s +.*…$' '^· 3/3 acti'
	mux resize-window -x 100 -y 20
	now_on_screen '^✓ 1/3 fetch' '^▸ 2/3 unpack +[0-9]+s +.*3/4 files' '^· 3/3 activate'
	[ "$(count_of unpack)" -eq 1 ]
	press C-z
	on_screen Stopped
	[ "$(count_of 'unpack|fetch')" -eq 0 ]
	type_line 'fg'
	now_on_screen '^✓ 1/3 fetch' '^▸ 2/3 unpack' '^· 3/3 activate'
	press C-c
	on_screen 'CANCELLED'
	now_on_screen '^✓ 1/3 fetch' '^✗ 2/3 unpack' '^· 3/3 activate'
	[ "$(count_of unpack)" -eq 1 ]
}

@test "each attempt has a list of its own; steps that are not declared have no number" {
	body work 'retry = { retries = 1, delay = 0 },' <<-'LUA'
		ctx:step "one"
		ctx:step "two"
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "503") end
		return { all = "done" }
	LUA
	start_shell 80 30
	type_line "clear; \$R work; echo '=='end"
	on_screen '^==end'
	now_on_screen '^✓ one +[0-9.]+s$' '^✗ two +[0-9.]+s  503$' '^work failed \(attempt 1/2\)'
	now_on_screen '^✓ one +[0-9.]+s$' '^✓ two +[0-9.]+s$' '^work succeeded on attempt 2' '^all: done'
}

@test "off a terminal, with --quiet, NO_COLOR or TERM=dumb there is no list of steps" {
	three_steps
	: >go
	call work
	[ -z "$stderr" ]
	local how
	for how in '--quiet:X=1' ':NO_COLOR=1' ':TERM=dumb' '--plain:X=1'; do
		on_script "$RUNNER work ${how%%:*}" "${how#*:}"
		[ "$(grep -c -e '[✓▸·]' -e '2/3' seen)" -eq 0 ]
	done
}

# --- ctx:parallel --------------------------------------------------------------------------

lanes() {
	body work 'timeout = "5m", steps = { "build", "publish" },' <<-'LUA'
		ctx:step "build"
		local function waits(name) return "echo compiling " .. name .. "; until [ -e go ]; do sleep 0.02; done" end
		local got = ctx:parallel({
			left = { run = { "sh", "-c", waits "one" } },
			right = { run = { "sh", "-c", waits "two" } },
			quick = { run = { "true" } },
			wrong = { run = { "sh", "-c", "echo no good >&2; exit 3" } },
			zero = function() ctx:sleep(0.01) return 0 end,
		}, { collect = true, limit = 4 })
		ctx:step "publish"
		return { left = got.left.value.stdout, ok = got.wrong.ok }
	LUA
}

@test "ctx:parallel is a line for each thing at once, below the step: its state and what it printed last, at 40, 80 and 200 columns" {
	local width
	lanes
	for width in 40 80 200; do
		rm -f go
		start_shell "$width" 20
		type_line "clear; \$R work; echo '=='end"
		now_on_screen '^▸ 1/2 build' '^  ▸ left +[0-9]+s +compiling one$' '^  ▸ right +[0-9]+s +compiling two$' \
			'^  ✗ wrong +[0-9.]+s +sh exited' '^  ✓ quick +[0-9.]+s$' '^  ✓ zero +[0-9.]+s$' '^· 2/2 publish$'
		: >go
		on_screen '^==end'
		now_on_screen '^✓ 1/2 build +[0-9.]+s$' '^✓ 2/2 publish +[0-9.]+s$' '^left:'
		[ "$(count_of '▸')" -eq 0 ]
		end_shell
	done
}

@test "a failure that the script catches leaves no line of ctx:parallel behind" {
	body work 'timeout = "5m",' <<-'LUA'
		local ok = pcall(ctx.parallel, ctx, { slow = { run = { "sleep", "300" } }, wrong = function()
			while not io.open("fail") do ctx:sleep(0.02) end
			error("no")
		end })
		ctx:progress("after it")
		while not io.open("go") do ctx:sleep(0.02) end
		return { ok = ok }
	LUA
	start_shell 80 20
	type_line "clear; \$R work; echo '=='end"
	on_screen '^  ▸ slow +[0-9]+s'
	: >fail
	now_on_screen '^. +after it$'
	[ "$(count_of slow)" -eq 0 ]
	: >go
	on_screen '^==end'
}

@test "off a terminal, with --quiet, --plain, NO_COLOR or TERM=dumb ctx:parallel draws nothing" {
	lanes
	: >go
	call work
	[ -z "$stderr" ]
	expect 'e.data == {"left": "compiling one\n", "ok": False}'
	local how
	for how in '--quiet:X=1' ':NO_COLOR=1' ':TERM=dumb' '--plain:X=1'; do
		on_script "$RUNNER work ${how%%:*}" "${how#*:}"
		[ "$(grep -c -e '[✓▸·]' -e '^ *right' -e quick seen)" -eq 0 ]
	done
}

# --- whoever else writes to the terminal ----------------------------------------------------

@test "when ctx:parallel is over its lines are gone, whatever comes next: nothing, a word, a failure, the prompt" {
	local next
	for next in '' 'io.stderr:write("a word") ctx:sleep(0.2) io.stderr:write(" more\n")' 'error("no")'; do
		body work 'timeout = "5m",' <<-LUA
			ctx:parallel { function() ctx:sleep(0.3) end, function() ctx:sleep(0.3) end, function() ctx:sleep(0.3) end }
			ctx:sleep(0.3)
			$next
			return { all = "done" }
		LUA
		start_shell 60 20
		type_line "clear; \$R work; echo '=='end"
		on_screen '^==end'
		[ "$(count_of '▸|#[123]')" -eq 0 ]
		[[ -z $next || $next == error* ]] || now_on_screen '^a word more$' '^all: done' '^==end'
		end_shell
	done
}

@test "a line without an end stands as it is while nothing is drawn" {
	body work 'timeout = "5m",' <<-'LUA'
		ctx:parallel { function() ctx:sleep(0.2) end }
		io.stderr:write("Password: ")
		ctx:sleep(1.5)
		io.stderr:write("taken\n")
		return { all = "done" }
	LUA
	start_shell 60 20
	type_line "clear; \$R work; echo '=='end"
	on_screen '^==end'
	now_on_screen '^Password: taken$' '^all: done' '^==end'
}

# Each writes one whole line to the terminal while lines are drawn there, and again when the screen has changed since.
WRITERS=(
	'io.stderr:write("written\n")'
	'print("written")'
	'ctx:log("warn", "written")'
	'os.execute("echo written >&2")'
	'ctx:run { "sh", "-c", "echo written >&2", capture = false }'
	'ctx:run { "sh", "-c", "echo written", echo = true }'
	'ctx:pipeline { { "echo", "written" }, { "sh", "-c", "cat >&2" }, capture = false }'
	'local p = ctx:spawn { "sh", "-c", "sleep 0.3; echo written >&2", capture = false } p:wait()'
	'local p = ctx:spawn { "sh", "-c", "sleep 0.3; echo written >&2; echo >said; sleep 300", capture = false } repeat ctx:sleep(0.05) until io.open("said") p:close()'
	'io.popen("sleep 0.3; echo written >&2"):close()'
	'local f = io.popen("sleep 0.3; echo written >&2", "w") ctx:sleep(0.6) f:close()'
)
SHOWN=(
	'ctx:progress("looking")'
	'ctx:step("one") ctx:step("two")'
	''
)

@test "whoever writes while lines are drawn writes a line of its own, and the lines come back" {
	local writer shown body
	for writer in "${WRITERS[@]}"; do
		for shown in "${SHOWN[@]}"; do
			body="$shown ctx:sleep(0.15) $writer ctx:sleep(0.15)"
			rm -f said
			[ -n "$shown" ] || body="ctx:parallel { function() $body end, function() ctx:sleep(0.2) end }"
			body work 'timeout = "5m",' <<-LUA
				$body
				return { all = "done" }
			LUA
			start_shell 60 20
			type_line "clear; \$R work; echo '=='end"
			on_screen '^==end'
			echo "$writer with $shown"
			[ "$(mux capture-pane -p | grep -c '^\(warn: \)\?written$')" -eq 1 ]
			[ "$(count_of 'looking|▸|#[12]')" -eq 0 ]
			end_shell
		done
	done
}

@test "a program that began before there were lines keeps the terminal until it ends" {
	body work 'timeout = "5m",' <<-'LUA'
		local p = ctx:spawn { "sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo written >&2", capture = false }
		ctx:progress("looking")
		ctx:sleep(0.3)
		io.open("go", "w"):close()
		p:wait()
		while not io.open("end") do ctx:sleep(0.02) end
		return { all = "done" }
	LUA
	start_shell 60 20
	type_line "clear; \$R work; echo '=='end"
	now_on_screen '^written$' '^. +looking$'
	: >end
	on_screen '^==end'
	[ "$(count_of 'looking')" -eq 0 ]
}

@test "what a command needs has a line with its name, and what it said last; the same one twice has its arguments, too" {
	local name
	for name in fetch compile; do
		body "$name" 'timeout = "5m", args = { { "only", "string", default = "all" } },' <<-LUA
			ctx:log("info", "$name of " .. args.only)
			while not io.open("go") do ctx:sleep(0.02) end
			return {}
		LUA
	done
	body work 'timeout = "5m", needs = { "fetch", "compile", { "compile", only = "docs" } },' <<<'return { all = "done" }'
	start_shell 80 20
	type_line "clear; \$R work; echo '=='end"
	now_on_screen '^  ▸ fetch +[0-9]+s +fetch of all$' '^  ▸ compile +[0-9]+s +compile of all$' '^  ▸ compile --only=docs +[0-9]+s +compile of docs$'
	: >go
	on_screen '^==end'
	[ "$(count_of '▸|#[0-9]')" -eq 0 ]
}
