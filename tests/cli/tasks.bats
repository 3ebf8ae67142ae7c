#!/usr/bin/env bats
# Many commands in one file, tasks.lua, and commands that are scripts (docs/reference/tasks.md).

bats_require_minimum_version 1.5.0

load lib/helper
load lib/mcp
load lib/tasks

example() {
	mkdir -p src target/debug bin sub/deeper
	printf '#!/bin/sh\necho "cargo $*" >>"$LOG"; echo made >target/debug/app\n' >bin/cargo
	printf '#!/bin/sh\necho check "$filter" "$RUST_BACKTRACE" >>"$LOG"\n' >check.sh
	chmod +x bin/cargo check.sh
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH" LOG="$PWD/log")
	touch src/main.rs Cargo.toml
	cat >tasks.lua <<-'LUA'
		return {
			env = { RUST_BACKTRACE = "1" },
			tasks = {
			build = { "Build it", shell = 'cargo build "$@"', args = { { "flags", "string", variadic = true } },
				sources = { "src/**", "Cargo.toml" }, generates = { "target/debug/app" } },
			test = { "Run the tests", needs = { "build" }, args = { { "filter", "string", default = "" } }, shell = [[
				cargo test "$filter"
				./check.sh ]] },
			plot = { "Plot the figures", shell = [[
				#!/usr/bin/env python3
				import os; print(os.environ["filter"]) ]], args = { { "filter", "string", default = "all" } } },
			},
		}
	LUA
}

@test "a file of tasks does what it says, from every folder below it" {
	needs_library libmd.so.0
	example
	for dir in . sub sub/deeper; do
		cd "$dir"
		rm -f "$OLDPWD/log" "$BATS_TEST_TMPDIR/log"
		call test --filter "a b" --rebuild 2>&1 || true
		call build --rebuild -- --release x
		assert_envelope
		call test --filter "a b"
		assert_envelope
		expect 'e.ok and e.data is None and e.warnings == []'
		cd "$BATS_TEST_TMPDIR"
		[ "$(cat log)" = "$(printf 'cargo build --release x\ncargo build\ncargo test a b\ncheck a b 1')" ]
		call test
		[ "$(tail -n +5 log)" = "$(printf 'cargo test \ncheck  1')" ]
		rm -rf log "$BATS_TEST_TMPDIR.state"
	done
	call plot
	assert_envelope
	[ "$stderr" = all ]
}

@test "what a task does not say has a default that fits it" {
	tasks <<<'a = { "One", shell = "true" }, b = { "Two", shell = "exit 3" }, c = { "Three", shell = "sleep 100" },
		d = { "Four", needs = { "a" } }, e = { "Five", run = function(args, ctx) return { x = 1 } end }'
	call a
	assert_envelope
	expect 'e.ok and e.data is None and not e.warnings and e.meta.timeout_ms == 3600000 and e.meta.max_attempts == 1'
	call b
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.status == 3 and e.error.retryable is False'
	call c --timeout 100ms
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.retryable is False and e.error.side_effects == "partial"'
	call d
	expect 'e.ok and not e.warnings'
	call e
	expect 'e.data == {"x": 1} and not e.warnings'
	call a --schema --format json
	expect 'e.data.danger_level == "mutating"'
	echo 'return { timeout = "5s" }' >runner.lua
	call a
	expect 'e.meta.timeout_ms == 5000'
	call a --timeout 9s
	expect 'e.meta.timeout_ms == 9000'
}

@test "no value can become code, by whatever way it comes" {
	tasks <<<'show = { "Show", args = { { "one", "string", default = "" }, { "rest", "string", variadic = true } },
		shell = [[printf "%s\\0" "$one" "$@" >got]] }'
	cat >values.py <<-'PY'
		import json, os, subprocess, sys
		runner = os.environ["RUNNER"]
		hostile = ["$(touch hacked)", "`touch hacked`", "'; touch hacked; '", '"; touch hacked; "', "a\nb\ntouch hacked\n", "-e", "--", "-c",
		    "${PATH}", "\\", "*", "~", "a  b", "", "x" * 100000, "\u00e9\u2028", "%s%n", "!!", "#", "&& touch hacked", "| touch hacked"]
		def check(value, how):
		    got = open("got", "rb").read()
		    assert got == (value + "\0" + value + "\0").encode(), (how, value[:50], got[:200])
		    assert not os.path.exists("hacked"), (how, value[:50])
		    os.unlink("got")
		for v in hostile:
		    subprocess.run([runner, "show", "--one=" + v, "--", v], check=True, capture_output=True)
		    check(v, "argv")
		    if len(v) > 50000: continue
		    subprocess.run([runner, "show", "--raw-payload", json.dumps({"one": v, "rest": [v]})], check=True, capture_output=True)
		    check(v, "payload")
		    r = subprocess.run([runner, "exec"], input=json.dumps({"_cmd": "show", "one": v, "rest": [v]}) + "\n",
		        text=True, capture_output=True)
		    assert r.returncode == 0, r
		    check(v, "exec")
	PY
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" timeout 120 python3 values.py
	session <<-'PY'
		with Server() as s:
		    for v in ["$(touch hacked)", "'; touch hacked; '", "a\nb", "-e", "x" * 100000]:
		        assert not s.call("show", {"one": v, "rest": [v]})["isError"]
		        assert open("got", "rb").read() == (v + "\0" + v + "\0").encode()
		        os.unlink("got")
		    refused = s.call("show", {"one": "a\0b"})
		    assert "NUL" in refused["message"], refused
		    s.close()
	PY
	[ ! -e hacked ]
	call show --raw-payload '{"one": "a\u0000b"}'
	assert_envelope
	[ "$status" -eq 2 ]
	expect '"NUL" in e.error.message'
	call show --raw-payload "{\"rest\": [\"a\", \"b\\u0000\"]}"
	[ "$status" -eq 2 ]
	python3 -c 'import json; print(json.dumps({"_cmd": "show", "one": "x" * 200000}))' >big
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <big >out.txt 2>err.txt || true
	grep -q "longer than a program can be given" out.txt
	[ ! -e got ]
}

@test "an argument that wasn't given is empty, whatever the caller's environment has; a flag is true or empty" {
	tasks <<<'show = { "Show", args = { { "filter", "string" }, { "dry-run-it", "boolean" }, { "n", "integer" }, { "list", "array", items = "string" },
		{ "rest", "string", variadic = true } }, shell = [[echo "[$filter] [$dry_run_it] [$n] [$list] [${rest-unset}] [$#]"]] }'
	call filter=caller rest=caller show
	[ "$stderr" = '[] [] [] [[]] [unset] [0]' ]
	call show --filter x --dry-run-it --n 3 --list a --list 'b c' y z
	[ "$stderr" = '[x] [true] [3] [["a","b c"]] [unset] [2]' ]
}

@test "a variable that programs obey is no name of an argument" {
	for name in PATH IFS BASH_ENV LD_PRELOAD http_proxy; do
		tasks <<<"a = { 'A', args = { { '$name', 'string' } }, shell = 'true' }"
		call a
		assert_envelope
		[ "$status" -eq 70 ] || [ "$status" -ne 0 ]
		expect 'e.error.code == "COMMAND_INVALID"'
		call lint
		[ "$status" -ne 0 ]
	done
	expect '"Rename the argument" in e.error.message'
}

@test "an interpreter or a first line chooses what runs the script, and its lines have the numbers of the file" {
	tasks <<-'LUA'
		py = { "Python", args = { { "n", "integer", positional = true } }, shell = [[
			#!/usr/bin/env python3
			import os, sys
			if os.environ["n"] == "1":
			    raise Exception("no")
			print("fine", sys.argv[1:]) ]] },
		bash = { "Bash", interpreter = "bash -euo pipefail", shell = [[
			set -o | grep -q 'pipefail.*on'
			x=(1 2 3); echo "${#x[@]}" ]] },
		missing = { "Missing", shell = [[
			echo one
			no-such-program-here
			echo three ]] },
		unset = { "Stops", shell = [[
			false
			echo not reached ]] },
		wrong = { "Wrong", shell = "if true" },
		one = { "A program", args = { { "rest", "string", variadic = true } }, run = { "printf", "<%s>" } },
		none = { "No program", run = { "no-such-program-here" } },
	LUA
	call py 0
	assert_envelope
	[ "$stderr" = "fine []" ]
	call py 1
	assert_envelope
	expect 'e.error.context.line == 6 and e.error.context.status == 1'
	call bash
	[ "$stderr" = 3 ]
	call missing
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.context.line == 13 and e.error.context.status == 127 and "tasks.lua:13: no-such-program-here is not in PATH" == e.error.message'
	call unset
	[ "$status" -eq 1 ]
	[[ $stderr != *reached* ]]
	call wrong
	[ "$status" -eq 1 ]
	expect 'e.error.context.line == 18'
	call one 'a b' '$x'
	[ "$stderr" = '<a b><$x>' ]
	call none
	assert_envelope
	[ "$status" -ne 0 ]
	expect '"no-such-program-here" in e.error.message'
}

@test "its output goes to stderr as it comes, stays away with quiet, and is the data with output" {
	tasks <<<'loud = { "Loud", shell = "echo out; echo err >&2" }, still = { "Still", quiet = true, shell = "echo out; echo err >&2; exit ${code:-0}",
		args = { { "code", "integer" } } }, json = { "JSON", danger_level = "safe", output = "data", shell = [[echo "{\"a\": [1, 2]}"; echo seen >&2]] },
		no = { "No", danger_level = "safe", output = "data", shell = "echo false" }, text = { "Text", danger_level = "safe", output = "data", shell = "echo one; echo two" },
		slow = { "Slow", shell = "echo begun; until [ -e go ]; do sleep 0.05; done" }'
	call loud
	[ "$(sort <<<"$stderr")" = "$(printf 'err\nout')" ]
	call loud --quiet
	[ -z "$stderr" ]
	call still
	[ -z "$stderr" ]
	call still --code 4
	[ "$status" -eq 1 ]
	[[ $stderr == *out*err* ]]
	call json
	assert_envelope
	expect 'e.data == {"a": [1, 2]}'
	[ "$stderr" = seen ]
	call no
	expect 'e.data == {"value": False}'
	call text
	expect 'e.data == {"value": "one\ntwo"}'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow >out.txt 2>err.txt 3>&- &
	until_true grep -q begun err.txt
	touch go
	wait $!
}

@test "a terminal is the program's own: what it writes there is not in the way of the answer" {
	tasks <<<'tty = { "Tty", shell = "test -t 1 && test -t 2 && echo on a terminal" }'
	at_terminal "" tty
	[ "$(cat shown)" = "$(printf 'on a terminal\nstatus 0')" ]
}

@test "a task that is killed, or has no time left, leaves no process" {
	tasks <<<'hang = { "Hang", shell = "(trap \"\" TERM; touch marker; while :; do sleep 60; done) & sleep 1000" }'
	cancel TERM hang
	[ "$status" -eq 143 ]
	assert_envelope
	rm -f marker
	reaching marker hang --grace 100ms
	[ "$status" -eq 10 ]
	assert_envelope
	assert_no_process_left
}

@test "groups by a blank or by tables within tables; a name with _ in front is not listed" {
	tasks <<<'["db drop"] = { "Drop", shell = "echo drop" }, db = { migrate = { "Migrate", shell = "echo migrate" }, user = { add = { "Add", shell = "echo add" } } },
		_hidden = { "Hidden", shell = "echo hidden" }, all = { "All", needs = { "_hidden", "db migrate" } }'
	for words in "db drop" "db migrate" "db user add" _hidden; do
		# shellcheck disable=SC2086
		call $words
		assert_envelope
		[ "$stderr" = "${words##* }" ] || [ "$stderr" = hidden ]
	done
	call all
	[ "$(sort <<<"$stderr")" = "$(printf 'hidden\nmigrate')" ]
	call help --format json
	expect 'list(e.data.commands) == ["all", "db drop", "db migrate", "db user add"]'
	call db
	[[ $stdout == *"db migrate"* ]]
	call db migrat
	[ "$status" -eq 2 ]
	expect '"db migrate" in e.error.suggestion'
}

@test "a command file goes before a task, a task before a built-in command, self before both" {
	mkdir commands
	tasks <<<'a = { "Task", shell = "echo task" }, b = { "Task b", shell = "echo task" }, status = { "Own", shell = "echo own" }'
	body a <<<'return { from = "file" }'
	call a
	expect 'e.data == {"from": "file"}'
	call status
	[ "$stderr" = own ]
	call self status
	expect '"commands" in str(e.data) and e.meta.command == "status"'
	call b
	[ "$stderr" = task ]
}

@test "help, completion, manifest, exec and MCP know tasks as any command" {
	tasks <<<'build = { "Build it", args = { { "target", "enum", values = { "debug", "release" }, default = "debug" } }, shell = "echo $target", output = "data" },
		clean = { "Clean up", shell = "true" }'
	call build --help --format plain
	[ "$status" -eq 0 ]
	[[ $stdout == *"Build it"*"--target"* ]]
	known
	call completion bash --format plain -- ""
	[[ $stdout == *build*clean* ]]
	call completion bash --format plain -- build --target ""
	[[ $stdout == *debug*release* ]]
	call manifest
	expect 'e.data.commands.build.description == "Build it" and e.data.commands.build.danger_level == "mutating"'
	echo '{"_cmd": "build", "target": "release"}' | env -i "${CLEAN_ENV[@]}" "$RUNNER" exec >out.txt 2>err.txt
	status=0
	assert_envelope
	expect 'e.data == {"value": "release"} and e.meta.command == "build" and e.meta.timeout_ms == 3600000'
	call mcp tools
	expect '"build" in str(e.data)'
	call lint
	expect 'e.ok and e.data.warnings == [] and e.data.problems == []'
}

@test "a project whose commands nobody has called is only read for a list, and read and run for a call" {
	tasks <<<'a = { "A", shell = "true" }'
	sed -i '1i local f = io.open("touched", "w") if f then f:close() end' tasks.lua
	call
	[ ! -e touched ]
	call status
	[ ! -e touched ]
	sed -i 1d tasks.lua
	call help --format json
	expect '"a" in e.data.commands'
	call a
	expect 'e.ok'
}

@test "a file that can't be used says what to write" {
	printf 'local t = { tasks = {} }\n' >tasks.lua
	call build
	assert_envelope
	expect 'e.error.code == "COMMAND_INVALID" and "returns nothing" in e.error.message and e.error.fix_required == "Write return t as its last line"'
	echo 'return { build = { "Build", shell = "make" } }' >tasks.lua
	call build
	expect '"outside of tasks" in e.error.message and "tasks = { build = " in e.error.fix_required'
	tasks <<<'build = "make all"'
	call build
	expect '"is a text" in e.error.message and "shell = \"make all\"" in e.error.fix_required'
	tasks <<<'["a/b"] = { "X", shell = "true" }, fine = { "Fine", shell = "echo fine" }'
	call fine
	[ "$stderr" = fine ]
	call lint
	[ "$status" -ne 0 ]
	expect '"is no name" in e.error.message'
	echo 'return { tasks = {' >tasks.lua
	call lint
	[ "$status" -ne 0 ]
	assert_envelope
	call build
	expect 'e.error.code == "COMMAND_INVALID"'
	call manifest
	[ "$status" -eq 0 ]
	tasks <<<'both = { "Both", shell = "true", run = function() end }, key = { "Key", shel = "true" }'
	call both
	expect '"shell" in e.error.message and "run" in e.error.message'
	call key
	[ "$status" -ne 0 ]
	expect 'e.error.code == "COMMAND_INVALID"'
}

@test "a command file may be a script, too" {
	mkdir commands
	cat >commands/hi.lua <<<'return { description = "Hi", danger_level = "safe", args = { { "who", "string", default = "you" } }, shell = "echo hi $who" }'
	call hi --who me
	assert_envelope
	expect 'e.ok and not e.warnings'
	[ "$stderr" = "hi me" ]
}

@test "variables: of the file, of the task, of others; and a path that goes in front" {
	mkdir bin
	printf '#!/bin/sh\necho mine\n' >bin/tool
	chmod +x bin/tool
	cat >tasks.lua <<-'LUA'
		return { env = { A = "file", B = "$A/b", PATH = "$PWD/bin:$PATH", C = "$$5$5", E = 7 }, tasks = {
			show = { "Show", env = { A = "task", D = "${HOME}x", GONE = false }, shell = 'echo "$A $B $C $D ${GONE-gone} $E"' },
			tool = { "Tool", run = { "tool" } },
			fn = { "Function", run = function(_, ctx) return { text = ctx:run { "sh", "-c", "echo $B" }.stdout } end },
		} }
	LUA
	call GONE=here show
	[ "$stderr" = "task task/b \$5\$5 ${BATS_TEST_TMPDIR}.homex gone 7" ]
	call tool
	[ "$stderr" = mine ]
	call fn
	expect 'e.data.text == "file/b\n"'
}

@test "a task works in the project, in a folder of it, or where its caller is" {
	mkdir -p web sub
	tasks <<<'here = { "Here", shell = "pwd" }, there = { "There", cwd = "web", shell = "pwd" }, caller = { "Caller", cwd = "caller", shell = "pwd" },
		none = { "None", cwd = "nowhere", shell = "pwd" }, file = { "File", args = { { "f", "path", positional = true } }, shell = [[cat "$f"]] }'
	echo text >sub/x
	cd sub
	call here
	[ "$stderr" = "$BATS_TEST_TMPDIR" ]
	call there
	[ "$stderr" = "$BATS_TEST_TMPDIR/web" ]
	call caller
	[ "$stderr" = "$BATS_TEST_TMPDIR/sub" ]
	call file x
	[ "$stderr" = text ]
	call none
	assert_envelope
	[ "$status" -eq 4 ]
	expect '"nowhere" in e.error.message'
}

@test "status says that there is nothing to do; with sources both must" {
	needs_library libmd.so.0
	tasks <<<'made = { "Make", status = "test -f made", shell = "touch made; echo making" },
		both = { "Both", sources = { "in" }, status = "test -f made", shell = "touch made; echo making" }'
	call made
	[ "$stderr" = making ]
	call made
	assert_envelope
	expect 'e.data == {"effect": "noop", "unchanged": True}'
	[ -z "$stderr" ]
	call made --rebuild
	[ "$stderr" = making ]
	touch in
	call both
	[ "$stderr" = making ]
	call both
	expect 'e.data["unchanged"]'
	rm made
	call both
	[ "$stderr" = making ]
	echo new >in
	call both
	[ "$stderr" = making ]
}

@test "confirm makes a task destructive: its question is asked at a terminal, and elsewhere it is refused" {
	tasks <<<'drop = { "Drop it", confirm = "Really drop it?", shell = "touch dropped", args = { { "name", "string", default = "" } } },
		wrong = { "Wrong", confirm = "Sure?", danger_level = "mutating", shell = "true" }'
	call drop
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	[ ! -e dropped ]
	call drop --confirm-destructive
	expect 'e.ok and e.data is None'
	rm dropped
	for answer in n y; do
		at_terminal "$answer" drop
		grep -q 'Really drop it? \[y/N\]' shown
		if [ "$answer" = n ]; then
			[ ! -e dropped ]
			grep -q "'drop' was not confirmed, and nothing was done" shown
			run -1 grep -q 'error:\|code:' shown
			tail -n 1 shown | grep -q ' 2$'
		else
			[ -e dropped ]
		fi
	done
	call wrong
	expect 'e.error.code == "COMMAND_INVALID" and "confirm" in e.error.message'
}

@test "parallel runs tasks at once, each line with its name; the first that fails ends the others" {
	mkfifo one two
	tasks <<<'left = { "L", shell = "echo x >one; cat two; echo left done" }, right = { "R", shell = "cat one; echo y >two; echo right done" },
		dev = { "Both", parallel = { "left", "right" } }, bad = { "Bad", shell = "until [ -e up ]; do sleep 0.05; done; exit 5" },
		server = { "Server", shell = "touch up; sleep 1000" }, fails = { "Fails", parallel = { "server", "bad" } }'
	call dev --timeout 60s
	assert_envelope
	expect 'e.ok'
	[ "$(sort <<<"$stderr")" = "$(printf 'left | left done\nleft | y\nright | right done\nright | x')" ]
	call fails --timeout 60s
	assert_envelope
	[ "$status" -eq 1 ]
	expect '"bad" in e.error.message'
	assert_no_process_left
}

@test "a cycle of needs is refused, and one that is needed twice runs once" {
	tasks <<<'a = { "A", needs = { "b" }, shell = "echo a" }, b = { "B", needs = { "a" }, shell = "echo b" },
		base = { "Base", shell = "echo base" }, x = { "X", needs = { "base" }, shell = "echo x" }, y = { "Y", needs = { "base", "x" }, shell = "echo y" }'
	call a
	expect 'e.error.code == "COMMAND_INVALID" and "a → b → a" in e.error.message'
	call y
	[ "$stderr" = "$(printf 'base\nx\ny')" ]
}

@test "a list of tasks has their order and sections, and help --show a task as it is written" {
	cat >tasks.lua <<-'LUA'
		return { tasks = {
			-- Building

			zebra = { "Z", shell = "true" },
			-- says what ape does
			ape = { "A", shell = [[
				echo "}" ]] },

			-- Data

			cat = { "C", shell = "true" }, db = { new = { "N", shell = "n" }, add = { "A", shell = "a" } },
		} }
	LUA
	known
	at_terminal ""
	[ "$(sed -n '/^Building/,/^Built-in/p' shown | tr -s '\n ' ' ')" = "Building: zebra Z ape A Data: cat C db: db new N db add A Built-in commands: " ]
	call help ape --show
	assert_envelope
	expect 'e.data.text == "ape = { \"A\", shell = [[\necho \"}\" ]] }\n"'
	call help lint --show
	[ "$status" -eq 4 ]
	assert_envelope
}

@test "a change of one task makes another with sources run no more often" {
	needs_library libmd.so.0
	touch in
	tasks <<<'a = { "A", sources = { "in" }, shell = "echo ran" }, b = { "B", shell = "true" }'
	call a
	[ "$stderr" = ran ]
	tasks <<<'b = { "Another B", shell = "echo b" }, c = { "C", shell = "true" }, a = { "A", sources = { "in" }, shell = "echo ran" }'
	call a
	tasks <<<'b = { "Another B", shell = "echo c" }, new = { "C", shell = "true" }, a = { "A", sources = { "in" }, shell = "echo ran" }'
	call a
	expect 'e.data["unchanged"]'
	sed -i 's/echo ran/echo again/' tasks.lua
	call a
	[ "$stderr" = again ]
	sed -i 's/^return {/return { env = { WHICH = "x" },/' tasks.lua # what holds for all is a part of each
	call a
	[ "$stderr" = again ]
	call a
	expect 'e.data["unchanged"]'
	local body # of a task that is a function the text counts, with what stands around the tasks
	for body in 'print "one"' 'print "two"'; do
		printf 'return { tasks = {\na = { "A", sources = { "in" }, run = function() %s end },\n}}\n' "$body" >tasks.lua
		call a
		expect 'not e.data'
		call a
		expect 'e.data["unchanged"]'
	done
}

@test "keys of other tools, and a table without return, say what to write" {
	tasks <<<'a = { "A", shell = "true", depends = { "b" } }'
	call a
	expect '"needs" in e.error.message'
	tasks <<<'a = { "A", cmd = "true" }'
	call lint
	expect "'shell' in str(e.error.errors)"
	echo '{ tasks = {} }' >tasks.lua
	call a
	expect 'e.error.fix_required == "Write return { tasks = {} }"'
}

@test "a task with retry is run again when its script fails, and others are not" {
	tasks <<<'flaky = { "F", retry = { retries = 3, delay = "10ms" }, shell = "echo x >>n; [ $(wc -l <n) -ge 3 ]" },
		once = { "O", shell = "echo x >>m; false" }'
	call flaky
	assert_envelope
	expect 'e.ok and e.meta.attempt == 3'
	call once --retries 3
	[ "$status" -eq 1 ]
	[ "$(wc -l <m)" -eq 1 ]
	call lint
	expect '[w for w in e.data.warnings if w["key"] != "shell"] == []'
}

@test "an interactive task reads the terminal" {
	tasks <<<'ask = { "Ask", interactive = true, shell = "printf \"name? \"; read name; echo got $name" }'
	QUESTION="name? " at_terminal Ada ask
	grep -q "got Ada" shown
}

@test "a bundled program has the tasks of its project, and they work where it is called" {
	mkdir away
	tasks <<<'here = { "Here", shell = "pwd" }'
	echo 'return { name = "tool" }' >runner.lua
	call here
	call bundle -o tool --yes
	expect 'e.ok'
	cd away
	RUNNER=$BATS_TEST_TMPDIR/tool call here
	[ "$stderr" = "$BATS_TEST_TMPDIR/away" ]
}

@test "a task that something else hides is said to be" {
	mkdir commands
	body build <<<'return {}'
	tasks <<<'build = { "B", shell = "true" }, other = { "O", shell = "true" }'
	call lint
	[ "$status" -ne 0 ]
	expect '"never run" in e.error.message and "commands/build.lua" in e.error.message'
	tasks <<<'workflow = { new = { "N", shell = "true" } }, other = { "O", shell = "true" }'
	call lint
	expect '"built-in command has its name" in e.error.message'
	call other
	expect 'e.ok'
}

@test "a task reads stdin where it says so" {
	tasks <<<'yes = { "Y", stdin = true, shell = "cat" }, no = { "N", shell = "cat; echo nothing" }'
	echo text | env -i "${CLEAN_ENV[@]}" "$RUNNER" yes >out.txt 2>err.txt
	[ "$(cat err.txt)" = text ]
	echo text | env -i "${CLEAN_ENV[@]}" "$RUNNER" no >out.txt 2>err.txt
	[ "$(cat err.txt)" = nothing ]
}

@test "a file that does more than return a table is run for a call, and for a list not before one" {
	tasks <<<'a = { "A", shell = "echo a" }'
	sed -i '1i local f = assert(io.popen("echo it"))\nlocal text = f:read "a" f:close()' tasks.lua
	call status
	assert_envelope
	[ "$status" -eq 0 ]
	call a
	assert_envelope
	[ "$stderr" = a ]
	call help --format json
	expect '"a" in e.data.commands'
	chmod o+w tasks.lua
	call a
	[ "$status" -ne 0 ]
	expect 'e.error.code == "COMMAND_INVALID" and "world-writable" in e.error.message'
}

@test "a policy means tasks by their names" {
	tasks <<<'build = { "B", shell = "echo b" }, drop = { "D", shell = "touch dropped" }'
	echo '{"deny": ["drop"]}' >policy.json
	call --policy policy.json build
	expect 'e.ok'
	call --policy policy.json drop
	assert_envelope
	[ "$status" -ne 0 ]
	[ ! -e dropped ]
}

@test "a server of tools sees that the file has changed" {
	tasks <<<'one = { "One", danger_level = "safe", output = "data", shell = "echo 1" }'
	call one
	session <<-'PY'
		with Server() as s:
		    assert s.call("one", {})["structuredContent"]["data"]["value"] == 1
		    open("tasks.lua", "w").write('return { tasks = { one = { "One", danger_level = "safe", output = "data", shell = "echo 2" } } }')
		    assert s.call("one", {})["structuredContent"]["data"]["value"] == 2
		    s.close()
	PY
}

@test "needs has names: a table of a task in their place is refused, and lint knows what is wrong with them" {
	local needs
	for needs in '{ build }' '{ { "build", env = { A = "1" } } }' '{ "build", { "build", n = { x = 1 } } }' '{ { description = "x" } }'; do
		{
			echo 'local build = { "build", env = { A = "1" }, shell = "echo built" }'
			echo "return { tasks = { build = build, t = { 'T', needs = $needs, shell = 'echo t' } } }"
		} >tasks.lua
		call t
		assert_envelope
		expect 'e.error.code == "COMMAND_INVALID" and "the names of commands" in e.error.message and "traceback" not in str(e)'
		[[ $stderr != *traceback* ]]
	done
	tasks <<<'build = { "Build", args = { { "mode", "string" } }, shell = "true" }, drop = { "Drop", confirm = "Really?", shell = "true" },
		db = { up = { "Up", shell = "true" } }, fine = { "Fine", needs = { { "build", mode = "fast" }, "db up", "db.up" } },
		gone = { "Gone", needs = { "bild" } }, odd = { "Odd", parallel = { { "build", node = "fast" } } }, risky = { "Risky", needs = { "drop" } }'
	call lint
	assert_envelope
	expect '[p["key"] for p in e.data.problems] == ["needs", "parallel"]'
	expect '"bild" in str(e.data.problems) and "node" in str(e.data.problems)'
	expect '"drop" in e.data.warnings[0]["message"] and len(e.data.warnings) == 1'
}

@test "lines are those of the file where the script stands in it, and of no file elsewhere" {
	tasks <<-'LUA'
		setup = { "Set up", shell = [[
			echo a
			no-such-program ]] },
		up = { "Up", shell = [[
			echo a
			no-such-program ]] },
		escaped = { "Escaped", shell = "echo a\nno-such-program" },
		made = { "Made", shell = ("echo %s\nno-such-program"):format("b") },
	LUA
	call setup
	expect 'e.error.context.line == 4'
	call up
	expect 'e.error.context.line == 7 and "tasks.lua:7: no-such-program is not in PATH" == e.error.message'
	for name in escaped made; do
		call "$name"
		assert_envelope
		expect '"line" not in e.error.context and e.error.message.endswith("no-such-program is not in PATH")'
	done
}

@test "braces in a variable's value are its own" {
	cat >tasks.lua <<-'LUA'
		return { env = { J = '{"a":$A}', A = "b", K = "$${x}$$A", L = "${NOPE:-def}$5", M = "${A}}" }, tasks = {
			show = { "Show", shell = 'printf "%s " "$J" "$K" "$L" "$M"' } } }
	LUA
	call show
	[ "$stderr" = '{"a":b} ${x}$A ${NOPE:-def}$5 b} ' ]
}

@test "stdout and stderr of a script are in order" {
	local script='for i in 1 2 3; do echo out $i; echo err $i >\&2; done; exit 3'
	tasks <<<"loud = { 'Loud', shell = '${script//\\/}' }, still = { 'Still', quiet = true, shell = '${script//\\/}' }"
	for name in loud still; do
		call "$name"
		assert_envelope
		[ "$stderr" = "$(printf 'out %s\nerr %s\n' 1 1 2 2 3 3)" ]
		expect 'e.error.context.stderr == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"'
	done
}

@test "a status that can't be run is said to be broken" {
	tasks <<<'syntax = { "S", status = "syntax ((", shell = "echo did" }, gone = { "G", status = "no-such-program", shell = "echo did" },
		two = { "T", status = "exit 2", shell = "echo did" }'
	for name in syntax gone; do
		call "$name"
		assert_envelope
		expect 'e.ok and [w["code"] for w in e.warnings] == ["STATUS_BROKEN"]'
		[ "$stderr" = did ]
	done
	call two
	expect 'e.ok and not e.warnings'
}

@test "values that are too long all together are refused, and nothing has run" {
	tasks <<<'rest = { "R", args = { { "rest", "string", variadic = true } }, shell = "echo $#" }'
	python3 -c 'import json; print(json.dumps({"rest": ["x" * 100000] * 80}))' >in.json
	call rest --input-file in.json
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.side_effects == "none"'
}

@test "what a beginner writes is answered with what a task has, and where" {
	tasks <<-'LUA'
		a = { "A", shell = "true" },
		text = { "just text" },
		second = { "Second", "echo hi" },
		unsaid = { shell = "true" },
		db = { up = { cwd = "../..", "Up", shell = "true" } },
	LUA
	call text
	assert_envelope
	expect 'e.error.code == "COMMAND_INVALID" and "tasks.lua:3: task \u0027text\u0027 has nothing to do" in e.error.message'
	expect '"shell = " in e.error.fix_required'
	call second
	expect '"tasks.lua:4: task \u0027second\u0027 has a second text" in e.error.message'
	expect 'e.error.fix_required == "Write shell = \"echo hi\""'
	call unsaid
	expect '"tasks.lua:5: task \u0027unsaid\u0027 doesn\u0027t say what it does" in e.error.message and "{ \"What it does\"" in e.error.fix_required'
	call db up
	assert_envelope
	expect 'e.error.code == "COMMAND_INVALID" and "tasks.lua:6: cwd is" in e.error.message'
}

@test "a file that raises an error says so in a list, too, without what runner did before" {
	printf 'local x = 1\nerror("boom")\n' >tasks.lua
	call RUNNER_TRUST="$PWD" b
	assert_envelope
	expect 'e.error.code == "COMMAND_INVALID" and "tasks.lua:2: boom" in e.error.message and "Correct tasks.lua" in e.error.fix_required'
	[[ $stderr != *lua/project/* ]]
	call RUNNER_TRUST="$PWD" help --format json
	assert_envelope
	expect 'e.ok and [w["code"] for w in e.warnings] == ["COMMAND_INVALID"] and "boom" in e.warnings[0]["message"]'
}

@test "lint warns where a value goes to make, which would expand it" {
	tasks <<<'ship = { "Ship", args = { { "target", "string" } }, shell = "make -s deploy" }, all = { "All", shell = "make" },
		safe = { "Safe", args = { { "target", "string", pattern = "^[a-z]+$" }, { "n", "integer" } }, shell = "make deploy" },
		prog = { "Program", args = { { "rest", "array", items = "string", variadic = true } }, run = { "make" } },
		other = { "Other", args = { { "target", "string" } }, shell = "cmake-gui x; ./make.sh; remake" }'
	call lint
	assert_envelope
	expect '[w["key"] for w in e.data.warnings] == ["args.rest", "args.target"] and all("make" in w["message"] for w in e.data.warnings)'
}

@test "what a group says holds for its tasks, under what they say themselves" {
	mkdir -p web/app
	tasks <<-'LUA'
		site = { cwd = "web", env = { A = "group", B = "group" }, interpreter = "bash -e",
			show = { "Show", env = { B = "own" }, shell = [=[[[ -n $A ]] && echo "${PWD##*/} $A $B"]=] },
			deep = { cwd = "web/app", here = { "Here", shell = 'echo "${PWD##*/} $A $B"' } } },
		env = { print = { "A group of that name", shell = "echo top" } },
	LUA
	call site show
	assert_envelope
	[ "$stderr" = "web group own" ]
	call site deep here
	[ "$stderr" = "app group group" ]
	call env print
	[ "$stderr" = top ]
	call lint
	expect 'e.data.problems == [] and e.data.warnings == []'
	call help --format json
	[[ $stdout != *'"site cwd"'* ]]
}

@test "what a task needs runs in the order that it names, and stops at the first failure" {
	tasks <<<'a = { "A", shell = "sleep 0.2; echo a >>log" }, b = { "B", shell = "echo b >>log" }, no = { "No", shell = "false" },
		all = { "All", needs = { "a", "b" }, shell = "echo all >>log" }, bad = { "Bad", needs = { "no", "b" }, shell = "echo bad >>log" }'
	call all
	expect 'e.ok'
	[ "$(tr '\n' ' ' <log)" = "a b all " ]
	rm log
	call bad
	[ "$status" -eq 1 ]
	assert_envelope
	[ ! -e log ]
}

@test "a script with ]] of its own is told of longer brackets" {
	printf 'return { tasks = {\n\ta = { "A", shell = [[\n\t\tif [[ -f x ]]; then\n\t\t\techo y\n\t\tfi ]] },\n} }\n' >tasks.lua
	call a
	assert_envelope
	expect '"tasks.lua:3: the text that begins with [[ in line 2 ends at this ]]" in e.error.message and "[=[" in e.error.fix_required'
	sed -i 's/shell = \[\[/shell = [=[/; s/fi \]\]/fi ]=]/' tasks.lua
	call a --help
	[ "$status" -eq 0 ]
}

@test "lint, test, new and types are names for tasks; runner's own are behind self" {
	tasks <<<'lint = { "Lint it", shell = "echo my lint" }, test = { "T", shell = "echo my test" }, new = { "N", shell = "echo my new" },
		types = { "Y", shell = "echo my types" }'
	for name in lint test new types; do
		call "$name"
		assert_envelope
		[ "$stderr" = "my $name" ]
	done
	call self lint
	expect 'e.ok and e.meta.command == "lint" and e.data.problems == []'
	call self new foo
	[ -e commands/foo.lua ]
}

@test "what is needed one at a time has the terminal as the command itself has it, at every depth" {
	tasks <<<'size = { "Size", shell = "stty size <&2; test -t 1; echo ${CI:-seen} ${NO_COLOR:-colours} ${RUNNER_TERMINAL:-told nothing}" },
		ask = { "Ask", interactive = true, args = { { "greeting", "string" } }, shell = "printf \"name? [y/N] \"; read -r name; echo \"$greeting, $name\"" },
		both = { "Both", needs = { "size", { "ask", greeting = "Well met" } }, shell = "if (read -r _ </dev/tty) 2>/dev/null; then echo read; else echo has none; fi" },
		top = { "Top", needs = { "both" } }, drop = { "Drop", confirm = "Really?", shell = "touch dropped" }, late = { "Late", needs = { "drop" }, shell = "touch late" },
		all = { "All", confirm = "All of it?", needs = { "drop", "size" } }'
	SIZE=30x100 at_terminal Ada top
	[ "$(cat shown)" = "$(printf '30 100\nseen colours told nothing\nname? [y/N] Ada\nWell met, Ada\nhas none\nstatus 0')" ]
	at_terminal n late
	grep -q "'drop' was not confirmed, and nothing was done" shown
	[ "$(grep -c Really shown)" -eq 1 ]
	[ "$(tail -n 1 shown)" = "status 2" ]
	[ ! -e late ]
	at_terminal n --format json late
	grep -q "\"fix_required\":\"Answer y when 'drop' asks\"" shown
	at_terminal y late
	[ -e late ]
	rm dropped
	at_terminal y all
	[ -e dropped ]
	run -1 grep -q Really shown
	at_terminal "" --non-interactive top
	[ "$(tail -n 1 shown)" = "status 1" ]
}

@test "what a policy asks about is asked first where it is needed, once, and a yes to what names it is a yes to it" {
	tasks <<<'d = { "D", shell = "echo d >>runs" }, drop = { "Drop", confirm = "Really?", shell = "echo drop >>runs" }, tok = { "Tok", shell = "echo tok >>runs" }'
	local name needs="" level words
	for name in both all over; do
		case $name in all) level=destructive ;; *) level=mutating ;; esac
		case $name in over) needs='"drop", "d"' ;; *) needs='"tok", "d"' ;; esac
		command_file "$name" <<<"return { description = 'x', danger_level = '$level', needs = { $needs }, exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } },
			run = function() require('fs').append('runs', '$name\n') return { effect = 'updated' } end }"
	done
	echo '{ "confirm": ["d", "drop"], "max_danger": "destructive" }' >p.json
	echo '{ "confirm": ["d"], "confirm_by_flag": false, "max_danger": "destructive" }' >person.json
	for words in "both" "all" "all --confirm-destructive"; do
		# shellcheck disable=SC2086 # words
		at_terminal n --policy p.json $words
		[ "$(tail -n 1 shown)" = "status 2" ]
		[ ! -e runs ]
		# shellcheck disable=SC2086 # words
		at_terminal y --policy p.json $words
		[ "$(tail -n 1 shown)" = "status 0" ] || { cat shown >&2; return 1; }
		[ "$(grep -c 'y/N' shown)" -eq 1 ]
		[ "$(sort runs | tr '\n' ' ')" = "${words%% *} d tok " ]
		rm runs
	done
	at_terminal y --policy person.json all
	[ "$(tail -n 1 shown)" = "status 0" ]
	rm runs
	at_terminal y --policy p.json over
	[ "$(grep -c 'y/N' shown)" -eq 2 ]
	[ "$(tr '\n' ' ' <runs)" = "drop d over " ]
	rm runs
	for words in "both" "all --confirm-destructive"; do
		# shellcheck disable=SC2086 # words
		call --policy p.json $words
		[ "$status" -eq 2 ]
		expect 'e.error.code == "CONFIRMATION_REQUIRED" and "at a terminal" in e.error.fix_required'
		[ ! -e runs ]
	done
}

@test "Ctrl+C while a needed one has the terminal ends all, and so does a kill" {
	tasks <<<'hang = { "Hang", shell = "trap : INT; echo \"up [y/N] \"; printf \"[y/N] \"; while :; do sleep 7011; done" }, top = { "T", needs = { "hang" }, shell = "touch after" },
		kills = { "K", shell = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $(ps -o ppid= -p $PPID))); sleep 7011" }, gone = { "G", needs = { "kills" }, shell = "touch after" }'
	at_terminal $'\x03' top
	[ "$(tail -n 1 shown)" = "status 130" ]
	assert_no_process_left
	at_terminal "" gone
	until_true assert_no_process_left
	[ ! -e after ]
}

@test "side by side each writes to a terminal of its own, for colours and width; what moves the cursor is left out" {
	tasks <<<'size = { "Size", shell = "stty size <&2; printf \"\\033[32mgreen\\033[0m\\033(B\\033[1A\\n10%%\\r\\033[K100%%\\n\"; echo \"{json}\"" },
		ask = { "Ask", interactive = true, shell = "if read -r name; then echo asked; else echo nobody; fi" },
		both = { "Both", parallel = { "size", "ask" } }, out = { "Out", needs = { "size" } }'
	for words in both "+ --parallel size + ask"; do
		# shellcheck disable=SC2086
		SIZE=30x100 at_terminal "" $words
		sed -i 's/\x1b\[3[1-6]m\([a-z]* |\)\x1b\[0m/\1/' shown
		[ "$(grep '^size' shown)" = "$(printf 'size | 24 93\nsize | \033[32mgreen\033[0m\nsize | 100%%\nsize | {json}')" ]
		grep -q '^ask | nobody' shown
	done
	CLEAN_ENV+=(NO_COLOR=1)
	SIZE=30x100 at_terminal "" both
	grep -q '^size | 24 93' shown
	[ "$(grep -c $'\e\[3' shown)" -eq 1 ]
}

@test "the command of a script that has failed is named where it can be no other, and its place in any case" {
	local name says
	tasks <<-'LUA'
		one = { "One", shell = [[
			echo "it's begun" # a comment
			# false
			false
			echo done ]] },
		two = { "Two", shell = [[
			test -e .
			test -e no-such-file
			true ]] },
		quoted = { "Quoted", shell = [[
			echo "
			false
			"
			test -e no-such-file ]] },
		block = { "Block", shell = [[
			if true; then
				false
			fi ]] },
		exits = { "Exits", shell = "exit 3" },
		gone = { "Gone", shell = [[
			test -e .
			no-such-program --x ]] },
		caught = { "Caught", shell = [[
			no-such-program || true
			false ]] },
		broken = { "Broken", shell = [[
			echo begun
			fi ]] },
		python = { "Python", interpreter = "python3", shell = "raise SystemExit(4)" },
		needs = { "Needs", needs = { "one" } },
	LUA
	while read -r name says; do
		call "$name"
		assert_envelope
		expect "e.error.code == 'SUBPROCESS_FAILED' and e.error.message.startswith(\"$says\")"
	done <<-'SAYS'
		one tasks.lua:5: false exited with status 1
		two tasks.lua:8: the script of 'two' exited with status 1
		quoted tasks.lua:12: the script of 'quoted' exited with status 1
		block tasks.lua:17: the script of 'block' exited with status 1
		exits tasks.lua:20: the script of 'exits' exited with status 3
		gone tasks.lua:23: no-such-program is not in PATH
		caught tasks.lua:25: 'caught' exited with status 1
		broken tasks.lua:29: 'broken' exited with status 2
		python tasks.lua:30: the script of 'python' exited with status 4
		needs one, which this command needs: tasks.lua:5: false exited with status 1
	SAYS
	call two
	expect '"set -x" in e.error.suggestion'
}

@test "-- in front of a name runs nothing and says so, with the call that was meant" {
	printf 'return { tasks = { color = { description = "x", shell = "echo ran >>ran" }, drop = { description = "x", danger_level = "destructive", shell = "echo dropped >>ran" } } }\n' >tasks.lua
	answers 2 -- color
	expect 'e.error.code == "VALIDATION_ERROR" and "nothing was run" in e.error.message and e.error.fix_command == "runner color"'
	answers 2 --quiet -- color
	expect 'e.error.fix_command == "runner --quiet color"'
	answers 2 -- drop
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.fix_command == "runner drop"'
	answers 2 drop
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	answers 2 -- nothing
	[ ! -e ran ]
	answers 0 --help -- color
	answers 0 --
	answers 0 help -- color
}

@test "--quiet reaches what a task needs, and no argument of its own" {
	printf 'return { tasks = { inner = { description = "x", args = { { "quiet", "boolean" } }, shell = "echo from-inner; echo quiet=$quiet >got" }, outer = { description = "x", needs = { "inner" }, shell = "echo from-outer" } } }\n' >tasks.lua
	answers 0 outer
	grep -q from-inner err.txt
	answers 0 outer --quiet
	[ ! -s err.txt ]
	[[ $(cat got) != *true* ]]
}
