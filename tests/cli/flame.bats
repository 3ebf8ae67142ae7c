#!/usr/bin/env bats
# flame: where the time of a command goes, whatever becomes of it.

load lib/helper

# busy NAME: a command whose time goes to functions of known names.
busy() {
	command_file "$1" <<'LUA'
local function deep(n)
	local s = 0
	for i = 1, n do s = s + i % 7 end
	return s
end
local function middle(n) local s = deep(n) return s end
return { description = "x", danger_level = "safe", args = { { "n", "integer", default = 3000000, description = "x" } },
	run = function(args) local s = middle(args.n) return { s = s } end }
LUA
}

# frames TEXT: a stack of the collapsed file has it
frames() {
	grep -qF -- "$1" stacks.txt
}

@test "a command has its answer, its phases, its functions and a graph" {
	busy count
	call flame --collapsed stacks.txt count --n 4000000
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["answer"] == {"s": 11999998} and e.data["command"] == "count" and e.data["effect"] == "created"'
	expect '[p["phase"] for p in e.data["phases"]][:6] == ["start", "load", "run", "programs", "waits", "output"]'
	expect 'abs(sum(p["ms"] for p in e.data["phases"]) - e.data["ms"]) < 1'
	expect 'e.data["functions"][0]["name"] == "deep (commands/count.lua:1)" and e.data["samples"] > 10'
	frames 'count;run;function (commands/count.lua:8);middle (commands/count.lua:6);deep (commands/count.lua:1) '
	frames 'count;start '
	call flame count
	expect 'e.data["effect"] == "updated"'
	body careful <<<'ctx:warn("CAREFUL", "beware", { n = 1 }) return {}'
	call flame careful
	expect '[(w["code"], w["context"]) for w in e.warnings] == [("CAREFUL", {"n": 1})]'
}

@test "the graph asks for nothing: no script, no style sheet, no address, and names are text" {
	busy count
	call flame count
	python3 - <<'PY'
import xml.dom.minidom, re
text = open("flame.svg", encoding="utf-8").read()
tree = xml.dom.minidom.parseString(text)
names = {n.tagName for n in tree.getElementsByTagName("*")}
assert names == {"svg", "title", "rect", "text", "g"}, names
assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
assert not re.search(r'\s(on\w+|href|src|style)=', text)
widths = [float(r.getAttribute("width")) for r in tree.getElementsByTagName("rect")]
assert max(widths[1:]) <= 1200 and len(widths) > 5
PY
}

@test "at a terminal it is a table" {
	busy count
	[[ $(script -qec "env -i ${CLEAN_ENV[*]@Q} '$RUNNER' flame count" /dev/null </dev/null | tr -d '\r') == *"count: "*" ms"*"  run "*"functions, by their own time:"*"deep (commands/count.lua:1)"*"graph: flame.svg"* ]]
}

@test "waits and programs have rows of their own, with the stack that waits" {
	body mixed <<'LUA'
local function pause() ctx:sleep(0.2) end
local function program() ctx:run { "sleep", "1" } end
pause() program()
os.execute "sleep 0.5"
LUA
	call flame --collapsed stacks.txt mixed
	[ "$status" -eq 0 ]
	expect '{p["phase"] for p in e.data["phases"] if p["ms"] > 0} >= {"waits", "programs"}'
	grep -q 'pause (commands/mixed.lua:3);.*;(waiting) ' stacks.txt
	grep -q 'program (commands/mixed.lua:4);.*;(programs) ' stacks.txt
	grep -q 'execute \[C\];(programs) ' stacks.txt
}

@test "the branches of ctx:parallel and a script's own coroutines stand below what resumed them" {
	body branches <<'LUA'
local function work() local s = 0 for i = 1, 3000000 do s = s + i % 7 end return s end
local function branch() local s = work() return s end
ctx:parallel { branch, function() ctx:sleep(0.01) end }
local function generator() local s = work() coroutine.yield(s) end
local next_one = coroutine.wrap(generator)
local s = next_one()
return { s = s }
LUA
	call flame --collapsed stacks.txt branches
	[ "$status" -eq 0 ]
	grep -q '^branches;run;function (commands/branches.lua:2);.*branch (commands/branches.lua:4);work (commands/branches.lua:3) ' stacks.txt ||
		grep -q '^branches;run;function (commands/branches.lua:2);.*function (commands/branches.lua:4);work (commands/branches.lua:3) ' stacks.txt
	grep -q '^branches;run;function (commands/branches.lua:2);next_one \[C\];function (commands/branches.lua:6);work (commands/branches.lua:3) ' stacks.txt
}

@test "a command that fails keeps its code, its exit code and its attempts, and has its profile" {
	body fails 'retry = { on = { "UNAVAILABLE" }, retries = 1, delay = "50ms", jitter = "none" },' <<<'ctx:fail("UNAVAILABLE", "not there")'
	call flame fails
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error["code"] == "UNAVAILABLE" and e.data["calls"][0]["attempts"] == 2'
	expect '[p["ms"] for p in e.data["phases"] if p["phase"] == "retries"][0] > 0'
	[ -s flame.svg ]
	call flame fails --nosuch
	[ "$status" -eq 2 ]
	expect 'e.error["code"] == "VALIDATION_ERROR"'
}

@test "a command that hangs until its limit has its profile" {
	tries 3 has_the_profile_of_its_loop
}

# (a limit that the start alone takes leaves no time for the loop)
has_the_profile_of_its_loop() {
	body hangs "timeout = '$((3 * nth ** 2))s'," <<<'local function forever() while true do end end forever()'
	call flame hangs
	assert_envelope && [ "$status" -eq 10 ] && expect 'e.error["code"] == "TIMEOUT"' &&
		expect 'e.data["functions"][0]["name"].startswith("forever (commands/hangs.lua:3)")'
}

@test "a command that is killed has its profile up to then" {
	body killed <<<'ctx:sleep(0.2) os.execute "kill -9 $PPID; sleep 5"'
	call flame --collapsed stacks.txt killed
	assert_envelope
	expect 'e.error["code"] == "COMMAND_CRASHED"'
	expect '[p["ms"] for p in e.data["phases"] if p["phase"] == "waits"][0] > 0'
	grep -q ';sleep \[C\];(waiting) ' stacks.txt
	body orphaned <<<'ctx:sleep(0.2) os.execute "kill -9 $(ps -o ppid= -p $PPID); sleep 5"'
	call flame orphaned
	[ "$status" -ne 0 ]
	expect 'e.error["code"] == "SUBPROCESS_FAILED" and e.data["calls"][0]["command"] == "orphaned"'
}

@test "ending flame itself leaves the graph of what there was" {
	body waits <<<'io.stderr:write("here\n") ctx:sleep(60)'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" flame waits >out.txt 2>err.txt </dev/null &
	local pid=$!
	until_true grep -q here err.txt
	kill -TERM "$pid"
	wait "$pid" || true
	grep -q 'runner waits' flame.svg
}

@test "what it calls by ctx:call and needs is a tower of its own" {
	busy count
	body caller <<<'return ctx:call("count")'
	call flame --collapsed stacks.txt caller
	[ "$status" -eq 0 ]
	expect '[c["command"] for c in e.data["calls"]] == ["caller", "count"]'
	frames 'count;run;function (commands/count.lua:8);middle'
	body wants 'needs = { "count" },' <<<'return {}'
	call flame --collapsed stacks.txt wants
	[ "$status" -eq 0 ]
	frames 'count;run;function (commands/count.lua:8);middle'
}

@test "a hook around the command is in its stacks" {
	busy count
	cat >runner.lua <<'LUA'
local function slow() local s = 0 for i = 1, 3000000 do s = s + i % 7 end return s end
return { before = function() local s = slow() return s and nil end }
LUA
	call flame --collapsed stacks.txt count
	[ "$status" -eq 0 ]
	frames 'slow (runner.lua:1)'
}

@test "flame confirms nothing: a destructive command needs what it always needs" {
	command_file drop <<'LUA'
return { description = "x", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function() return { effect = "deleted" } end }
LUA
	for given in "" --yes; do
		call --yes flame drop $given
		expect 'e.error["code"] == "CONFIRMATION_REQUIRED"'
	done
	call flame drop --confirm-destructive
	expect 'e.data["answer"]["effect"] == "deleted"'
}

@test "no client of a server reaches it: not as a tool, not in a request of exec" {
	busy count
	known
	call mcp tools --all
	expect '[t["listing"] for t in e.data if t["command"] == "flame"] in ([], ["never"])'
	call mcp tools --all --allow flame
	expect 'not [t for t in e.data if t["command"] == "flame" and t["listed"]]'
	printf '%s\n' '{"_cmd":"flame","words":["count"]}' >requests
	call exec --allow flame --ignore-errors --input-file requests
	[[ $stdout == *PERMISSION_DENIED* ]]
	[ ! -e flame.svg ]
}

@test "a file that flame has not written stays, and the command isn't run" {
	body notes <<<'io.open("ran", "w"):close()'
	echo mine >flame.svg
	call flame notes
	[ "$status" -eq 2 ]
	[ "$(<flame.svg)" = mine ]
	[ ! -e ran ]
	call flame --svg nowhere/x.svg notes
	[ "$status" -eq 2 ]
	[ ! -e ran ]
	call flame --svg other.svg notes
	[ "$status" -eq 0 ]
	[ -s other.svg ]
}

@test "without room for a page, or with a folder that is none, the call goes on unnoted" {
	busy count
	for folder in /dev/full /proc/nonexistent relative ""; do
		call RUNNER_FLAME="$folder" count --n 1000
		[ "$status" -eq 0 ]
		expect 'e.data == {"s": 3003}'
	done
	[ ! -e relative ]
}

@test "a folder holds 256 pages and no more, and each is private" {
	busy count
	mkdir pages
	for i in {0..254}; do : >"pages/$i"; done
	call RUNNER_FLAME="$PWD/pages" count --n 1000
	[ "$(stat -c %a pages/255)" = 600 ]
	call RUNNER_FLAME="$PWD/pages" count --n 1000
	[ "$status" -eq 0 ]
	[ "$(find pages -type f | wc -l)" -eq 256 ]
}

@test "stdin is the command's, and its lines on stderr are shown" {
	body reads 'stdin = true,' <<<'io.stderr:write("seen\n") return { text = io.read("a") }'
	echo hello | env -i "${CLEAN_ENV[@]}" "$RUNNER" flame reads >out.txt 2>err.txt
	stdout=$(<out.txt)
	expect 'e.data["answer"] == {"text": "hello\n"}'
	grep -qx seen err.txt
}

@test "a hook of the script's own stays, and so does the limit of a file that loads" {
	body hooked <<'LUA'
local n = 0
debug.sethook(function() n = n + 1 end, "", 1000)
local s = 0
for i = 1, 5000000 do s = s + i % 7 end
debug.sethook()
return { many = n > 5000 }
LUA
	call flame hooked
	[ "$status" -eq 0 ]
	expect 'e.data["answer"] == {"many": True}'
}

@test "functions whose names are no text, no UTF-8 or no XML are in the graph, the stacks and the table" {
	body odd '' <<'LUA'
local s = 0
for _, name in ipairs { ("\x80"):rep(300), "]]></svg>\n<script>", "\xEF\xBF\xBE\xEF\xBF\xBF", ("\u{1F525}"):rep(100), "a\0b;c" } do
	local t = { [name] = function() local x = 0 for i = 1, 2000000 do x = x + i % 7 end return x end }
	s = s + load(("local t = ... local x = t[%q]() return x"):format(name), "=" .. name)(t)
end
return { s = s }
LUA
	call flame --collapsed stacks.txt odd
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["functions"][0]["self_ms"] > 0'
	python3 - <<'PY'
import xml.dom.minidom
text = open("flame.svg", encoding="utf-8").read()
tree = xml.dom.minidom.parseString(text)
assert {n.tagName for n in tree.getElementsByTagName("*")} == {"svg", "title", "rect", "text", "g"}
for line in open("stacks.txt", encoding="utf-8"):
    stack, us = line.rstrip("\n").rsplit(" ", 1)
    assert stack.startswith("odd;") and int(us) > 0, line
PY
}

@test "a graph that would be a pipe, a folder or the file of the stacks is refused at once, and nothing is run" {
	body notes <<<'io.open("ran", "w"):close()'
	mkfifo pipe
	mkdir folder
	ln -s folder other
	for flags in "--svg pipe" "--svg folder" "--svg=" "--svg /dev/full" "--collapsed folder" "--collapsed nowhere/x" \
		"--svg x --collapsed x" "--svg ./x --collapsed x" "--svg folder/../x --collapsed $PWD//x" "--svg folder/x --collapsed other/x"; do
		# shellcheck disable=SC2086 # two words
		call flame $flags notes
		echo "$flags: $status"
		[ "$status" -eq 2 ]
		assert_envelope
		[ ! -e ran ]
		[ ! -e x ]
	done
	call flame notes
	[ "$status" -eq 0 ]
	rm ran
	ln flame.svg hard
	ln -s flame.svg soft
	for flags in hard soft ./flame.svg; do
		answers 2 flame --collapsed "$flags" notes
		expect '"is the file of the graph" in e.error.message'
		[ ! -e ran ]
	done
}

@test "a file that can't be written hides neither the answer nor the failure of the command" {
	body good '' <<<'return { word = "done" }'
	body bad 'exit_codes = { OWN = { code = 80, retryable = false, side_effects = "none", description = "x" } },' <<<'ctx:fail("OWN", "no")'
	body draws '' <<<'io.open("flame.svg", "w"):write("mine"):close() return { word = "done" }'
	call flame --collapsed /dev/full good
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED" and e.data["answer"] == {"word": "done"} and not e.warnings'
	call flame --collapsed /dev/full bad
	assert_envelope
	[ "$status" -eq 80 ]
	expect 'e.error.code == "OWN" and e.warnings[0]["code"] == "FLAME_LOST" and e.data["phases"]'
	rm flame.svg
	call flame draws
	assert_envelope
	expect 'e.error.code == "OUTPUT_FAILED" and e.data["answer"] == {"word": "done"} and e.data["effect"] == "noop"'
	[ "$(<flame.svg)" = mine ]
}
