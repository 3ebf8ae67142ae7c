#!/usr/bin/env bats
# watch.bats: `runner watch`: a command that is run again whenever files change.

load lib/helper
load lib/tmux

prepare() {
	mkdir -p src
	echo one >src/a.txt
	# Each run notes what it saw; `hold`, while it is there, keeps a run going on.
	body build 'timeout = "none",' <<'LUA'
local f = assert(io.open(os.getenv "NOTES" or "/dev/null", "a"))
f:write(io.open("src/a.txt"):read "l", "\n")
f:close()
while require("fs").stat(os.getenv "HOLD") do ctx:sleep(0.01) end
return { saw = io.open("src/a.txt"):read "l" }
LUA
	NOTES=$BATS_TEST_TMPDIR/../notes-$BATS_TEST_NUMBER
	HOLD=$BATS_TEST_TMPDIR/../hold-$BATS_TEST_NUMBER
	rm -f "$NOTES" "$HOLD"
	CLEAN_ENV+=(NOTES="$NOTES" HOLD="$HOLD")
}

clean_up() {
	end_shell
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
	rm -f "$NOTES" "$HOLD"
}

# watching ARGS…: in the background; its rows go to ../out, so that they are no change
watching() {
	out=$BATS_TEST_TMPDIR/../out-$BATS_TEST_NUMBER err=$BATS_TEST_TMPDIR/../err-$BATS_TEST_NUMBER
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" watch "$@" >"$out" 2>"$err" </dev/null 3>&- &
	pid=$!
}

# save TEXT: as an editor does: at no moment is the file empty
save() {
	echo "$1" >src/.a.txt.swp
	mv src/.a.txt.swp src/a.txt
}

rows() { [ "$(grep -c '"run":' "$out")" -ge "$1" ]; }
noted() { [ "$(cat "$NOTES" 2>/dev/null)" = "$1" ]; }

# row N EXPR: it holds for the Nth row r (between rows a heartbeat may say that nothing has happened for 10 s)
row() {
	python3 -c 'import json, sys
r = [r for r in map(json.loads, open(sys.argv[1])) if not r.get("heartbeat")][int(sys.argv[2]) - 1]
assert eval(sys.argv[3]), r' "$out" "$1" "$2"
}

ended() {
	local wanted=$1
	status=0
	wait "$pid" || status=$?
	pid=
	[ "$status" -eq "$wanted" ]
}

@test "the command runs at once, and again after each change, and the rows say why and how" {
	watching --format jsonl --runs 3 -- build
	until_true rows 1
	save two
	until_true rows 2
	echo x >src/new.txt
	ended 0
	row 1 'r["run"] == 1 and r["changed"] == [] and r["exit_code"] == 0 and r["data"] == {"saw": "one"} and r["command"] == "build"'
	row 2 'r["changed"] == ["src/a.txt"] and r["data"] == {"saw": "two"} and not r["restarted"]'
	row 3 'r["changed"] == ["src/new.txt"] and r["changed_count"] == 1'
	row 4 'r["_summary"] and r["data"] == {"runs": 3, "failed": 0}'
}

@test "with --format json the answer is one envelope, with the rows of a counted watch" {
	call watch --runs 1 -- build
	expect 'e.ok and e.data.runs == 1 and e.data["items"][0]["data"] == {"saw": "one"}'
}

@test "a failure is told and watched on; the answer counts it" {
	command_file fails <<<'return { description = "x", danger_level = "safe", run = function(_, ctx) ctx:fail("CONFLICT", "no") end }'
	watching --format jsonl --runs 2 -- fails
	until_true rows 1
	save two
	ended 0
	row 1 'r["exit_code"] != 0 and r["code"] == "CONFLICT" and r["message"] == "no"'
	row 3 'r["data"] == {"runs": 2, "failed": 2}'
}

@test "what changes while the command runs is for one more run, when that one is over" {
	touch "$HOLD"
	watching --format jsonl --runs 2 -- build
	until_true noted one
	save two
	save three
	rm "$HOLD"
	ended 0
	noted $'one\nthree'
	row 1 'not r["restarted"]'
	row 2 'r["changed"] == ["src/a.txt"]'
}

@test "--restart ends the run that is going on, with all of its processes, and begins again" {
	body serve 'timeout = "none",' <<'LUA'
local f = io.open(os.getenv "NOTES", "a") f:write(io.open("src/a.txt"):read "l", "\n") f:close()
ctx:run { "sh", "-c", "sleep 1000 & sleep 1000", timeout = "none" }
LUA
	watching --restart --verbose --format jsonl -- serve
	until_true noted one
	save two
	until_true noted $'one\ntwo'
	until_true rows 1
	row 1 'r["restarted"] and r["exit_code"] == 143'
	[ "$(grep -c 'src/a.txt changed' "$err")" -eq 1 ]
	kill -INT "$pid"
	ended 130
	none_left
}

# Of this test's processes, those that run a program of its.
none_left() {
	local path
	for path in $(grep -lzs "^TOKEN=$TOKEN\$" /proc/[0-9]*/environ 2>/dev/null); do
		[[ $(tr '\0' ' ' <"${path%environ}cmdline" 2>/dev/null) != sleep* ]] || return 1
	done
}

@test "one Ctrl+C ends the watch and the run, with one envelope" {
	touch "$HOLD"
	watching -- build
	until_true noted one
	kill -INT "$pid"
	ended 130
	cp "$out" out.txt
	assert_envelope
	expect 'e.error.code == "CANCELLED" and e.meta.command == "watch"'
	none_left
}

@test "what the command writes itself in every run is set aside, and said" {
	body stamp '' <<'LUA'
local f = io.open("out.txt", "a") f:write "x" f:close()
LUA
	watching --format jsonl -- stamp
	until_true grep -q 'out.txt changes in every run' "$err"
	save two
	until_true rows 4
	row 3 'r["changed"] == ["out.txt"]'
	row 4 'r["changed"] == ["src/a.txt"]'
	kill -INT "$pid"
	ended 130
}

@test "what the command writes with the same content each time runs it once more and no further" {
	body same '' <<'LUA'
local f = io.open("out.txt", "w") f:write "x" f:close()
LUA
	watching --format jsonl -- same
	until_true rows 2
	save two
	until_true rows 3
	row 2 'r["changed"] == ["out.txt"]'
	row 3 'r["changed"] == ["src/a.txt"]'
	kill -INT "$pid"
	ended 130
}

@test "without patterns a command's sources are watched, and never what it generates" {
	body make 'sources = { "src/*.txt" }, generates = { "src/made.txt" },' <<'LUA'
local f = io.open("src/made.txt", "a") f:write "x" f:close()
LUA
	watching --format jsonl --runs 2 -- make
	until_true rows 1
	echo x >elsewhere
	save two
	ended 0
	row 2 'r["changed"] == ["src/a.txt"]'
}

@test "patterns, --ignore and .gitignore say what is watched" {
	printf '*.o\n' >.gitignore
	mkdir .git
	watching --format jsonl --runs 2 'src/**/*.{c,o}' --ignore '*_test.c' -- build
	until_true rows 1
	echo x >src/x.o
	echo x >src/x_test.c
	echo x >src/x.txt
	mkdir -p src/deep
	echo x >src/deep/x.c
	ended 0
	row 2 'r["changed"] == ["src/deep/x.c"]'
}

@test "a file that an editor saves by renaming is one run, and so are thousands of files at once" {
	watching --format jsonl --runs 3 -- build
	until_true rows 1
	save two
	until_true rows 2
	row 2 'r["changed"] == ["src/a.txt"]'
	mkdir ../many-$$ ../many-$$/{1..20}
	touch ../many-$$/{1..20}/{1..100}
	mv ../many-$$ many
	ended 0
	row 3 'r["changed_count"] == 2000 and len(r["changed"]) == 20'
}

@test "where the system watches no more folders, changes are found all the same, and that is said" {
	unshare -Ur sh -c 'echo 1 >/proc/sys/user/max_inotify_watches' 2>/dev/null || skip "this user can't set a limit of inotify"
	local RUNNER=$RUNNER limited=$BATS_TEST_TMPDIR/../limited-$BATS_TEST_NUMBER
	printf '#!/bin/sh\nexec unshare -Ur sh -c '"'"'echo 1 >/proc/sys/user/max_inotify_watches && exec "$@"'"'"' sh "%s" "$@"\n' "$RUNNER" >"$limited"
	chmod +x "$limited"
	RUNNER=$limited watching --format jsonl --runs 2 -- build
	until_true rows 1
	until_true grep -q 'ENOSPC, fs.inotify.max_user_watches' "$err"
	save two
	ended 0
	row 2 'r["changed"] == ["src/a.txt"]'
}

@test "built-in commands can be watched for, and arguments with dashes are theirs" {
	watching --format jsonl --runs 1 -- build --timeout 100s
	ended 0
	row 1 'r["exit_code"] == 0 and r["command"] == "build"'
	watching --format jsonl --runs 1 -- lint commands/build.lua
	ended 0
	row 1 'r["exit_code"] == 0'
}

@test "a watch without a command, of an unknown one, of itself or of files that aren't there is refused" {
	call watch build
	expect 'e.error.code == "REQUIRED_ARGUMENT_MISSING" and e.error.fix_required == "runner watch -- build"'
	call watch 'src/**' --
	expect 'e.error.code == "REQUIRED_ARGUMENT_MISSING"'
	call watch -- buidl
	expect 'e.meta.exit_code == 2 and "build" in e.error.suggestion'
	call watch -- make -j4
	expect 'e.meta.exit_code == 2 and "runner new make" in (e.error.get("suggestion") or e.error.fix_required)'
	call watch -- watch -- build
	expect 'e.meta.exit_code == 2 and "itself" in e.error.message'
	call watch 'scr/**' -- build
	expect 'e.meta.exit_code == 2 and "scr" in e.error.message'
	[ ! -e "$NOTES" ]
}

@test "a project's own command of that name goes before it" {
	body watch '' <<<'return { own = true }'
	call watch
	expect 'e.data.own'
	call self watch --runs 1 -- build
	expect 'e.data.runs == 1'
}

@test "at a terminal a person sees what changed, the command's own output and how it ended" {
	start_shell 100 40
	type_line "\$R watch -- build"
	on_screen '^watch: [0-9]+ files in [0-9]+ folders; Ctrl\+C ends it'
	on_screen '^saw: one'
	on_screen '^watch: build: ok after'
	save two
	on_screen '^watch: src/a.txt changed'
	on_screen '^saw: two'
	press C-c
	on_screen 'CANCELLED'
	type_line 'echo $?'
	on_screen '^130'
}

@test "completion goes on behind the dashes with commands and their arguments" {
	known
	body deploy 'args = { { "target", "enum", values = { "staging", "prod" }, positional = true, description = "x" } },' <<<'return {}'
	call completion bash --format plain -- watch 'src/**' -- bui
	[[ $stdout == $'build\t'* ]]
	call completion bash --format plain -- watch -- deploy st
	[[ $stdout == staging* ]]
	call completion bash --format plain -- watch --rest
	[[ $stdout == --restart* ]]
}
