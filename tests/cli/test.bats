#!/usr/bin/env bats
# test: `runner test` calls commands of the project through the real engine; what stands in for programs,
# servers and time does so for its calls alone.

load lib/helper

prepare() {
	mkdir -p tests
	command_file greet <<'LUA'
return { description = "Greet", danger_level = "safe",
	args = { { "name", "string", default = "world", description = "Whom" } },
	run = function(args, ctx)
		if args.name == "nobody" then
			ctx:fail("NOT_FOUND", "There is nobody")
		end
		return { greeting = "Hello, " .. args.name .. "!" }
	end,
}
LUA
}

# test_file NAME <<body: tests/NAME_test.lua
test_file() {
	{ echo 'local test = require "test"' && cat; } >"tests/$1_test.lua"
}

# one <<body: a file with one test of this body; it runs
one() {
	{ echo 'test("it", function(t)' && cat && echo 'end)'; } | test_file one
	call test
}

# passes <<body / says TEXT <<body
passes() {
	one
	assert_envelope
	[ "$status" -eq 0 ] || { echo "$stdout"; return 1; }
}

says() {
	one
	assert_envelope
	[ "$status" -eq 1 ]
	[ "$(field 'e.error.code')" = TESTS_FAILED ]
	local message
	message=$(field 'e.data["tests"][0]["message"]')
	[[ $message == *"$1"* ]] || { echo "$message"; return 1; }
}

@test "a new command's own tests pass, and their results are data" {
	call new hello --with-test
	assert_envelope
	expect 'e.data["test"] == "tests/hello_test.lua"'
	call test
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["passed"] == 2 and e.data["failed"] == 0'
	expect 'e.data["tests"][0]["file"] == "tests/hello_test.lua" and e.data["tests"][0]["ok"] is True'
	call new hello --with-test
	[ "$status" -eq 6 ]
	call new db.dump --with-test
	expect 'e.data["test"] == "tests/db_dump_test.lua"'
	call test "db dump"
	expect 'e.data["passed"] == 2'
}

@test "a failed test says where, what it got and what it wanted" {
	test_file greet <<'LUA'
test("passes", function(t) t:equal(1, 1) end)
test("fails", function(t)
	local answer = t:call("greet", { name = "Ada" })
	t:equal(answer.data, { greeting = "Hello, Bob!" })
end)
test("is not stopped by the one before", function(t) t:fails(t:call("greet", { "--name", "nobody" }), "NOT_FOUND") end)
LUA
	call test
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.data["passed"] == 2 and e.data["failed"] == 1'
	expect 'e.data["tests"][1]["line"] == 5'
	expect 'e.data["tests"][1]["message"] == "greeting: got \"Hello, Ada!\", wanted \"Hello, Bob!\""'
	call test --filter "not stopped"
	[ "$status" -eq 0 ]
	expect 'e.data["passed"] == 1'
}

@test "no test at all, a broken file and a file without tests are failures" {
	call test
	[ "$status" -eq 1 ]
	expect 'e.error.message == "There is no test"'
	echo 'this is not Lua' >tests/a_test.lua
	echo 'return 1' >tests/b_test.lua
	printf '\033Lua' >tests/c_test.lua
	call test
	[ "$status" -eq 1 ]
	expect 'e.data["failed"] == 3'
	call test nothing
	[ "$status" -eq 2 ]
	expect 'e.error.errors[0]["message"] == "There are no tests '"'nothing'"'"'
}

@test "a test file that another user may change is not run" {
	test_file greet <<<'io.open("ran", "w")'
	chmod o+w tests/greet_test.lua
	call test
	[ "$status" -eq 1 ]
	expect '"world-writable" in e.data["tests"][0]["message"]'
	[ ! -e ran ]
}

@test "what a test raises, and of whatever type, is its failure" {
	says "attempt to index a nil value" <<<'local x = nil; return x.y'
	says "boom" <<<'error { message = "boom" }'
	says "not inside of another test" <<<'require("test")("x", function() end)'
	says 'greet --name=nobody failed: NOT_FOUND: There is nobody' <<<'t:succeeds(t:call("greet", { name = "nobody" }))'
	says 'greet succeeded with {"greeting":"Hello, world!"}' <<<'t:fails(t:call "greet")'
	says 'not with CONFLICT but with NOT_FOUND' <<<'t:fails(t:call("greet", { name = "nobody" }), "CONFLICT")'
	says 'the options are env, cwd, stdin, terminal and real_time, not clock' <<<'t:call("greet", {}, { clock = "x" })'
}

@test "hours of backoff and sleep pass at once, in the real engine, for every clock" {
	command_of slow 'timeout = "9h", retry = { retries = 2, delay = "1h", strategy = "constant", jitter = "none" },' <<'LUA'
local before, day = os.time(), os.date "!%Y-%m-%d"
ctx:sleep(48 * 60)
assert(os.time() - before >= 2880 and #day == 10)
if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "not yet") end
return { slept = os.time() - before }
LUA
	passes <<'LUA'
local answer = t:call "slow"
t:succeeds(answer)
t:equal(answer.meta.attempt, 3)
-- (what passes in truth while a wait begins is no part of what is skipped)
local hours = (2 * 60 + 3 * 48) * 60000
t:check(answer.waited_ms <= hours and answer.waited_ms > hours - 600000, answer.waited_ms)
t:check(answer.meta.duration_ms >= answer.waited_ms)
t:check(answer.data.slept >= 2880 and answer.data.slept < 3480, answer.data.slept)
LUA
	expect 'e.data["duration_ms"] < 60000'
}

@test "a wait that the limit of the call does not leave ends it with TIMEOUT" {
	body sleepy 'timeout = "1h",' <<<'ctx:sleep(7200)'
	body patient 'timeout = "9h", attempt_timeout = "1h",' <<<'ctx:sleep(7200)'
	passes <<'LUA'
local answer = t:call "sleepy"
t:fails(answer, "TIMEOUT")
t:check(answer.waited_ms >= 3500000 and answer.waited_ms < 3700000, answer.waited_ms)
t:fails(t:call "patient", "TIMEOUT")
LUA
}

@test "while a program of the call runs, waits are real" {
	body beside '' <<'LUA'
local child = ctx:spawn { "sh", "-c", "sleep 0.3; echo done >" .. os.getenv "HOME" .. "/done" }
while not ctx.fs.exists(os.getenv "HOME" .. "/done") do ctx:sleep(0.01) end
child:wait()
return {}
LUA
	passes <<<'local answer = t:call "beside"; t:succeeds(answer); t:check(answer.waited_ms < 1000, answer.waited_ms)'
}

@test "a command that a command calls has the same clock" {
	command_of inner 'timeout = "9h",' <<<'ctx:sleep(3600) return {}'
	body outer 'timeout = "9h",' <<<'return ctx:call "inner"'
	passes <<<'local answer = t:call "outer"; t:succeeds(answer); t:check(answer.waited_ms <= 3600000 and answer.waited_ms > 3000000, answer.waited_ms)'
}

@test "with real_time a wait takes its time" {
	body nap '' <<<'ctx:sleep(0.2)'
	passes <<<'local answer = t:call("nap", {}, { real_time = true }); t:equal(answer.waited_ms, 0); t:check(answer.meta.duration_ms >= 200)'
}

@test "nobody but a test run can move the clock" {
	body nap 'timeout = "90s",' <<<'ctx:sleep(1.2)'
	cat >forge.py <<'PY'
import fcntl, mmap, os, struct, sys
maker, number, size = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
fd = os.memfd_create("runner", os.MFD_ALLOW_SEALING)
os.ftruncate(fd, size)
page = mmap.mmap(fd, size)
page[:32] = b"runner test 1\0\0\0" + struct.pack("=iiq", maker or os.getpid(), number or fd, 0)
fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
os.dup2(fd, 3)
os.set_inheritable(3, True)
if os.environ.get("BELOW"):  # our parent stays, as a caller that is no runner
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
os.execv(sys.argv[4], sys.argv[4:])
PY
	size=$(awk '/^\[size\]/ { print $2 }' <<<"[size] $((16 + 8 + 8 + 1024 + 64 * (1024 + 1024)))")
	# (real time: a moved clock would say that the wait was as long)
	for below in "" 1; do
		before=${EPOCHREALTIME/[.,]/}
		env -i "${CLEAN_ENV[@]}" BELOW=$below python3 forge.py 0 0 "$size" "$RUNNER" nap
		[ $((${EPOCHREALTIME/[.,]/} - before)) -ge 1200000 ]
	done
	# a script that names its own worker, which is a runner but has no such memory
	body forger 'timeout = "30s", args = { { "runner", "string" }, { "size", "string" } },' <<'LUA'
local me = io.open("/proc/self/stat"):read("n")
local answer = ctx:run { "python3", "forge.py", tostring(me), "3", args.size, args.runner, "nap" }
return require("json").decode(answer.stdout).ok
LUA
	call forger --runner "$RUNNER" --size "$size"
	assert_envelope
	expect 'e.data["value"] is True'
	[ "$elapsed_ms" -ge 1200 ]
}

@test "a runner that was started with such memory vouches for none of its descendants" {
	body nap 'timeout = "90s",' <<<'ctx:sleep(1.2)'
	body between 'timeout = "30s", args = { { "program", "string" }, { "vouching", "integer" } },' <<'LUA'
return ctx:run { "sh", "-c", 'exec 3<>"/proc/$1/fd/9" && exec "$0" nap --format json', args.program, tostring(args.vouching) }.stdout
LUA
	cat >given.py <<'PY'
import fcntl, mmap, os, struct, sys
size = int(sys.argv[1])
fd = os.memfd_create("runner", os.MFD_ALLOW_SEALING)
os.ftruncate(fd, size)
page = mmap.mmap(fd, size)
pid = os.fork()
if pid:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
page[:32] = b"runner test 1\0\0\0" + struct.pack("=iiq", os.getpid(), 9, 0)
fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
os.dup2(fd, 9)
os.set_inheritable(9, True)
os.execv(sys.argv[2], [sys.argv[2], "between", "--program", sys.argv[2], "--vouching", str(os.getpid()), "--format", "json"])
PY
	local before=${EPOCHREALTIME/[.,]/}
	env -i "${CLEAN_ENV[@]}" python3 given.py $((16 + 8 + 8 + 1024 + 64 * (1024 + 1024))) "$RUNNER" >out.txt
	[ $((${EPOCHREALTIME/[.,]/} - before)) -ge 1200000 ]
	grep -q 'command.*nap' out.txt
}

@test "a stand-in answers by its arguments, in order, and tells how it was called" {
	body prog 'args = { { "words", "array", items = "string", variadic = true } },' <<'LUA'
local spec = { "git", table.unpack(args.words) }
spec.check, spec.stdin = false, "in"
local r = ctx:run(spec)
return { stdout = r.stdout, stderr = r.stderr, status = r.status, signal = r.signal }
LUA
	passes <<'LUA'
local git = t.fake.run("git", { args = { "push" }, { status = 1, stderr = "no\n" }, "pushed" })
t.fake.run("git", { args = { "push", "-f" }, stdout = "it's forced\n%s" })
t.fake.run("git", { args = { "log" }, script = 'echo "$# $2"; cat' , status = 3 })
t.fake.run("git", { args = { "die" }, signal = "KILL" })
t:equal(t:call("prog", { "push", "a b", "" }).data.stderr, "no\n")
t:equal(t:call("prog", { "push" }).data.stdout, "pushed")
t:equal(t:call("prog", { "push" }).data.stdout, "pushed")
t:equal(t:call({ "prog", "--", "push", "-f" }).data.stdout, "it's forced\n%s")
local logged = t:call("prog", { "log", "x" }).data
t:equal(logged.status, 3)
t:equal(logged.stdout, "2 x\n")
t:equal(t:call("prog", { "die" }).data.signal, "SIGKILL")
local calls = git:calls()
t:equal(#calls, 6)
t:equal(calls[1].args, { "push", "a b", "" })
t:equal(calls[1].stdin, "in")
t:equal(calls[1].cwd, t.root)
LUA
}

@test "a call that no answer of a stand-in fits fails the test" {
	body prog '' <<<'ctx:run { "git", "status", check = false } return {}'
	says "fake.run: no answer fits the call: git status" <<<'t.fake.run("git", { args = { "push" } }) t:call "prog"'
	says 'by its name' <<<'t.fake.run("/usr/bin/git", "")'
	says 'an answer of git has args' <<<'t.fake.run("git", { out = "" })'
}

@test "after fake.only nothing but stand-ins is found" {
	body prog '' <<<'return { status = ctx:run { "true" }.status }'
	passes <<<'t.fake.only() local e = t:fails(t:call "prog") t:contains(e.message, "true") t.fake.run "true" t:succeeds(t:call "prog")'
}

@test "a server answers in order, by path or by a function, and keeps what came" {
	body web 'args = { { "url", "string" }, { "method", "string", default = "GET" }, { "body", "string", default = "" } },' <<'LUA'
local r = ctx:http { url = args.url, method = args.method, body = args.body ~= "" and args.body or nil }
return { status = r.status, body = r.body, kind = r.headers["content-type"] }
LUA
	passes <<'LUA'
local s = t.fake.http { { status = 201, json = { a = { 1, 2 } } }, "plain" }
t:equal(t:succeeds(t:call("web", { url = s.url .. "/x?y=1", method = "POST", body = ("z"):rep(100000) })), { status = 201, body = '{"a":[1,2]}', kind = "application/json" })
t:equal(t:call("web", { url = s.url }).data.body, "plain")
t:equal(#s.requests, 2)
t:equal({ s.requests[1].method, s.requests[1].path, s.requests[1].query, #s.requests[1].body }, { "POST", "/x", "y=1", 100000 })
local by_path = t.fake.http { ["GET /a"] = "A", ["/b"] = { { status = 503 }, "B" } }
t:equal(t:call("web", { url = by_path.url .. "/a" }).data.body, "A")
t:fails(t:call("web", { url = by_path.url .. "/b" }), "UNAVAILABLE")
t:equal(t:call("web", { url = by_path.url .. "/b" }).data.body, "B")
local asked = t.fake.http(function(request) return { body = request.method .. request.headers.host } end)
t:contains(t:call("web", { url = asked.url }).data.body, "GET127.0.0.1:")
local gone = t.fake.http { { drop = true } }
t:fails(t:call("web", { url = gone.url }))
LUA
	says "fake.http: no answer fits GET /nowhere" <<<'local s = t.fake.http { ["/here"] = "" } t:call("web", { url = s.url .. "/nowhere" })'
	says "an answer has status, headers, body, json and drop" <<<'local s = t.fake.http(function() return { code = 200 } end) t:call("web", { url = s.url })'
}

@test "a server that nobody asks, and one that a client leaves, end with their test" {
	passes <<'LUA'
t.fake.http "x"
local s = t.fake.http "y"
local url = s.url:match "//(.*)"
local client = io.popen(("exec 3<>/dev/tcp/%s; printf 'GET / HT' >&3; echo sent"):format((url:gsub(":", "/"))), "r")
client:close()
LUA
}

@test "a person at a terminal types what the test says, when the question has come" {
	body ask 'interactive = true,' <<'LUA'
local host = ctx:prompt("Which host", { validate = function(answer) return answer ~= "bad", "No such host" end })
local word = ctx:prompt("Password", { secret = true })
return { host = host, length = #word, sure = ctx:confirm("Sure?") }
LUA
	passes <<'LUA'
local answer = t:call("ask", {}, { terminal = { { "Which host", "bad" }, { "No such host", "web1" }, { "Password", "secret" }, { "Sure?", "y" } } })
t:equal(t:succeeds(answer), { host = "web1", length = 6, sure = true })
t:contains(answer.terminal, "Which host: bad")
t:check(not answer.terminal:find "secret")
t:fails(t:call "ask", "INPUT_REQUIRED")
LUA
	says "the terminal never showed 'Nothing'" <<'LUA'
t:call("ask", {}, { terminal = { { "Which host", "web1" }, { "Password", "x" }, { "Sure?", "n" }, { "Nothing", "x" } } })
LUA
	says "terminal: it is a list of pairs" <<<'t:call("ask", {}, { terminal = { "yes" } })'
}

@test "a call inherits nothing of the environment but what it names" {
	body env '' <<<'return { a = os.getenv "SECRET", home = os.getenv "HOME", b = os.getenv "GIVEN", retries = os.getenv "RUNNER_RETRIES", tz = os.getenv "TZ" }'
	{ echo 'test("it", function(t)'; cat <<'LUA'; echo 'end)'; } | test_file one
local data = t:succeeds(t:call("env", {}, { env = { GIVEN = "1", TZ = false } }))
t:equal(data, { home = t.dir .. "/home", b = "1" })
t:equal(t:files { ["a/b.txt"] = "text" }, t.dir)
t:equal(t:read "a/b.txt", "text")
t:equal(t:read "nothing", nil)
local f = io.open("where", "w") f:write(t.dir) f:close()
LUA
	call SECRET=x RUNNER_RETRIES=3 test
	[ "$status" -eq 0 ]
	[ ! -e "$(cat where)" ]
}

@test "a snapshot is written on demand only, and a change is shown" {
	test_file snap <<'LUA'
test("greets", function(t)
	t:snapshot(t:call("greet", { name = "Ada" }))
	t:snapshot("text in " .. t.dir, "a text/../x")
end)
LUA
	call test
	[ "$status" -eq 1 ]
	expect '"there is no snapshot" in e.data["tests"][0]["message"]'
	[ ! -e tests/snapshots ]
	call test --update
	[ "$status" -eq 0 ]
	expect 'e.data["snapshots_written"] == 2'
	[ "$(cat tests/snapshots/snap/a-text-..-x.txt)" = 'text in $DIR' ]
	call test
	[ "$status" -eq 0 ]
	sed -i 's/Hello/Goodbye/' commands/greet.lua
	call test
	[ "$status" -eq 1 ]
	expect '"wanted:     \"greeting\": \"Hello, Ada!\"" in e.data["tests"][0]["message"]'
}

@test "coverage names the lines that did not run, and a minimum fails below it" {
	test_file greet <<<'test("greets", function(t) t:succeeds(t:call "greet") end)'
	call test --coverage
	[ "$status" -eq 0 ]
	expect 'e.data["coverage"]["files"] == [{"file": "commands/greet.lua", "lines": 7, "ran": 6, "percent": 85.7, "missed": "5"}]'
	call test --min-coverage 90
	[ "$status" -eq 1 ]
	expect 'e.error.message == "85.7 % of the lines of commands ran, not 90 %"'
	test_file nobody <<<'test("fails", function(t) t:fails(t:call("greet", { name = "nobody" })) end)'
	call test --min-coverage 100
	[ "$status" -eq 0 ]
}

@test "JUnit and TAP reports are well-formed, whatever a test is called" {
	test_file odd <<'LUA'
test('<a> & "b" # \27[1m\1', function(t) error("]]> <x> & \n two \1") end)
test("fine", function(t) end)
LUA
	call test --junit j.xml --tap t.tap
	[ "$status" -eq 1 ]
	python3 - <<'PY'
import xml.etree.ElementTree as ET
root = ET.parse("j.xml").getroot()
suite = root[0]
assert suite.get("tests") == "2" and suite.get("failures") == "1", suite.attrib
assert suite[0].get("name").startswith('<a> & "b"'), suite[0].attrib
assert suite[0][0].tag == "failure" and "two" in suite[0][0].text and suite[1].get("name") == "fine"
PY
	[ "$(sed -n 1,2p t.tap)" = $'TAP version 13\n1..2' ]
	[[ $(sed -n 3p t.tap) == "not ok 1 - "* ]]
	[ "$(tail -n 1 t.tap)" = "ok 2 - tests/odd_test.lua: fine" ]
	call test --tap /dev/full
	[ "$status" -eq 1 ]
	expect 'e.error.code == "OUTPUT_FAILED"'
}

@test "a call that does not end is ended at the limit of its test, and a test file that does not end at that of all" {
	body hang 'timeout = "9h",' <<<'ctx:run { "sleep", "1000" }'
	{ echo 'test("it", function(t) t:call "hang" end)'; } | test_file one
	call test --test-timeout 500ms
	[ "$status" -eq 1 ]
	expect '"did not end within the time limit of the test" in e.data["tests"][0]["message"]'
	test_file one <<<'test("it", function(t) while true do end end)'
	call test --timeout 1s
	assert_envelope
	expect 'e.error.code == "TIMEOUT"'
}

@test "watch runs the tests again when a file changes, until it is ended" {
	test_file greet <<<'test("greets", function(t) t:succeeds(t:call "greet") end)'
	env -i --default-signal=INT "${CLEAN_ENV[@]}" "$RUNNER" test --watch --timeout none >out.txt 2>err.txt </dev/null 3>&- &
	pid=$!
	until_true grep -q '^1 passed, 0 failed' err.txt
	until_true grep -q '^Waiting' err.txt
	cat >new.lua <<'LUA'
return { description = "Greet", danger_level = "safe", run = function(_, ctx) ctx:fail("CONFLICT", "no") end }
LUA
	mv new.lua commands/greet.lua
	until_true grep -q '^0 passed, 1 failed' err.txt
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 130 ]
}

@test "files run beside each other, and their results come in the order of the files" {
	body meet 'timeout = "60s",' <<'LUA'
local dir = os.getenv "MEETING"
io.open(dir .. "/" .. os.getenv "ME", "w"):close()
while #ctx.fs.list(dir) < 2 do ctx:run { "sleep", "0.01" } end
LUA
	mkdir meeting
	for name in a b; do
		test_file $name <<<"test('$name', function(t) t:succeeds(t:call('meet', {}, { env = { MEETING = t.root .. '/meeting', ME = '$name' } })) end)"
	done
	call test --parallel 2
	[ "$status" -eq 0 ]
	expect '[t["name"] for t in e.data["tests"]] == ["a", "b"]'
}

@test "a project's own command named test wins" {
	body test '' <<<'return { mine = true }'
	call test
	expect 'e.data == {"mine": True}'
	test_file greet <<<'test("greets", function(t) t:succeeds(t:call "greet") end)'
	call self test
	expect 'e.data["passed"] == 1'
}
