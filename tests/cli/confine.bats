#!/usr/bin/env bats
# confine: what a command and all that it starts may reach, and every way out that we know.

load lib/helper
load lib/confine

prepare() {
	mkdir -p out data
	echo inside >data/in
	echo outside >secret
}

# as_kernel RESULT TIMES ARGS…: the first so many questions for the version get this answer; $CALL is another question
as_kernel() {
	local result=$1 times=$2 call=${CALL:-landlock_create_ruleset}
	shift 2
	command -v strace >/dev/null || skip "no strace here"
	status=0
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e "trace=$call" \
		-e "inject=$call:$result:when=1..$times" "$RUNNER" "$@" >out.txt 2>err.txt </dev/null || status=$?
	stdout=$(<out.txt)
	assert_envelope
}

# sh_command NAME KEYS <<<SCRIPT: a command that runs a shell script, and returns what it prints
sh_command() {
	body "$1" "$2" <<-LUA
		local r = ctx:run{ "sh", "-c", [==[
$(cat)
]==], check = false }
		return { status = r.status, out = r.stdout, err = r.stderr }
	LUA
}

@test "what may not be written to stays as it is, whichever way a program tries" {
	needs 3
	echo old >kept
	echo victim >victim
	sh_command ways 'confine = { write = { "out" } },' <<-'SH'
		try() { name=$1; shift; if "$@" 2>/dev/null; then echo "$name"; fi; }
		try inside sh -c 'echo x >out/a'
		try subfolder mkdir -p out/b/c
		try rename-inside mv out/a out/b/a
		try create sh -c 'echo x >made'
		try above sh -c 'echo x >out/../made'
		try append sh -c 'echo x >>kept'
		try overwrite sh -c 'echo x >kept'
		try truncate truncate -s 0 kept
		try remove rm -f kept
		try mkdir mkdir made
		try fifo mkfifo made
		try symlink ln -s out made
		try rename-out mv out/b/a made
		try rename-in mv -n victim out/victim
		try exchange sh -c 'ln -s ../kept out/link && echo x >out/link'
		try hard-link sh -c 'ln kept out/hard && echo x >out/hard'
		try descriptor sh -c 'exec 5<kept; echo x >/proc/self/fd/5'
		try background sh -c 'setsid sh -c "echo x >made"'
		try exec sh -c 'exec cp data/in made'
		try tmp sh -c 'echo x >/tmp/confined-$$'
		try shm sh -c 'echo x >/dev/shm/confined-$$'
		try device mknod out/device c 1 3
		try oom sh -c 'echo 5 >/proc/self/oom_score_adj'
		try null sh -c 'echo x >/dev/null'
		try mktemp sh -c 'echo x >"$(mktemp)"'
		try read cat secret
	SH
	answers 0 ways
	expect 'e.data["out"].split() == ["inside", "subfolder", "rename-inside", "null", "mktemp", "outside", "read"]'
	[ "$(cat kept)" = old ]
	[ "$(cat victim)" = victim ]
	[ ! -e made ]
	expect 'e.meta["confined"]["landlock"] >= 3 and "write" in e.meta["confined"]["holds"] and "truncate" in e.meta["confined"]["holds"]'
}

@test "the Lua of a command is as confined as its programs, in run, in what it defers and in cleanup" {
	needs 1
	body lua 'confine = { write = { "out" } }, cleanup = function() local f = io.open("by-cleanup", "w") if f then f:close() end end,' <<'LUA'
ctx:defer(function() local f = io.open("by-defer", "w") if f then f:close() end end)
local fs = require "fs"
local out = {}
out.io = io.open("made", "w") ~= nil
out.fs = fs.write("made", "x") or false
out.rename = os.rename("secret", "out/secret") or false
out.shell = os.execute "echo x >made 2>/dev/null" or false
out.inside = fs.write("out/x", "x") or false
fs.write(ctx.tempdir .. "/x", "kept")
out.tempdir = fs.read(ctx.tempdir .. "/x")
local lock = ctx:lock("name")
out.lock = lock ~= nil
lock:release()
return out
LUA
	answers 0 XDG_STATE_HOME="$PWD/state" lua
	expect 'e.data == { "io": False, "fs": False, "rename": False, "shell": False, "inside": True, "tempdir": "kept", "lock": True }'
	[ ! -e made ]
	[ ! -e by-cleanup ]
	[ ! -e by-defer ]
	[ ! -e "$(field 'e.meta["session_tmp_dir"]')" ]
}

@test "what may not be read is out of reach, while programs and modules still load" {
	needs 1
	mkdir -p lib
	echo 'return "loaded"' >lib/later.lua
	sh_command look 'confine = { read = { "data" } },' <<-'SH'
		cat data/in
		cat secret 2>/dev/null && echo file
		ls . 2>/dev/null && echo folder
		cat /proc/$$/environ >/dev/null 2>&1 && echo relative
		cat /proc/$PPID/environ >/dev/null 2>&1 && echo runner
		cp /bin/true ./mine 2>/dev/null && ./mine 2>/dev/null && echo executed
		echo done
	SH
	answers 0 look
	expect 'e.data["out"].split() == ["inside", "relative", "done"]'
	body module 'confine = { read = {} },' <<<'return { later = require "later", file = io.open("secret") ~= nil }'
	answers 0 module
	expect 'e.data == { "later": "loaded", "file": False }'
	sh_command ways 'confine = { read = { "data" } },' <<-'SH'
		outer=$(cut -d' ' -f4 "/proc/$PPID/stat")
		for way in "/proc/$outer/cwd/secret" "/proc/$outer/root$PWD/secret" /proc/self/cwd/secret "/proc/$outer/mem" data/../secret; do
			head -c 1 "$way" >/dev/null 2>&1 && echo "$way"
		done
		ln secret data/hard 2>/dev/null && cat data/hard
		ln -s ../secret data/link && cat data/link 2>/dev/null
		echo done
	SH
	answers 0 ways
	expect 'e.data["out"].split() == ["done"]'
}

@test "without a network neither runner nor a program connects or listens" {
	needs_library libcurl.so.4
	needs 4
	body client 'confine = { network = false }, exit_codes = {},' <<'LUA'
local out = {}
local ok, e = pcall(ctx.http, ctx, { url = "http://127.0.0.1:" .. os.getenv "PORT" .. "/" })
out.http = ok or e.code
local r = ctx:run{ "python3", "-c", [[
import socket, os
def way(name, f):
    try:
        f(); print(name)
    except OSError as e:
        print(name, e.errno)
way("connect", lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 5))
way("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
]] }
out.ways = r.stdout
return out
LUA
	# -u: its port is written at once; it ends by itself where this test fails before
	timeout 120 python3 -u -m http.server -b 127.0.0.1 0 >server.txt 2>&1 3>&- &
	echo $! >server.pid
	until_true grep -q 'port [0-9]' server.txt
	local port
	port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.txt)
	call PORT="$port" client
	kill "$(cat server.pid)"
	expect 'e.data["http"] == "NETWORK_ERROR" and e.data["ways"].split() == ["connect", "13", "bind", "13"]'
	expect '"tcp" in e.meta["confined"]["holds"]'
}

@test "a confined command can neither signal nor trace what is outside, and ends with its tree" {
	needs 6
	body signals 'confine = { write = {} }, exit_codes = {},' <<'LUA'
local r = ctx:run{ "python3", "-c", [[
import ctypes, os, signal, sys
worker = os.getppid()
for pid in sys.argv[1:]:
    try:
        os.kill(int(pid), 0); print("signalled")
    except OSError as e:
        print(e.errno)
    libc = ctypes.CDLL(None, use_errno=True)
    print("traced" if libc.ptrace(16, int(pid), 0, 0) == 0 else ctypes.get_errno())
]], os.getenv "SUPERVISOR_OF_TEST" }
ctx:spawn{ "sleep", "60" }
return { out = r.stdout }
LUA
	call SUPERVISOR_OF_TEST="$$" signals
	expect 'e.data["out"].split() == ["1", "1"] and e.ok'
	assert_no_process_left
}

@test "a confined command ends with its tree when its supervisor is killed" {
	needs 1
	body tree 'confine = { write = { "out" }, read = {}, network = false },' <<<'ctx:run{ "sh", "-c", "setsid sleep 600 & echo x >out/marker; sleep 600" }'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" tree >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$!
	until_true [ -e out/marker ]
	kill -9 "$pid"
	wait "$pid" || true
	until_true assert_no_process_left
}

@test "a socket with an abstract name is out of reach without a network" {
	needs 6
	body abstract 'confine = { network = false }, exit_codes = {},' <<'LUA'
local r = ctx:run{ "python3", "-c", [[
import os, socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\0" + os.environ["TOKEN"]); print("connected")
except OSError as e:
    print(e.errno)
]] }
return { out = r.stdout }
LUA
	python3 -c "
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind('\0$TOKEN'); s.listen(); open('ready', 'w'); s.accept()" 3>&- &
	local server=$!
	until_true [ -e ready ]
	call abstract
	kill "$server"
	expect 'e.data["out"].split() == ["1"]'
}

@test "a TCP socket that a process outside hands over is neither connected nor bound without a network" {
	needs 4
	body handed 'confine = { network = false }, exit_codes = {},' <<'LUA'
local r = ctx:run{ "python3", "-c", [[
import os, socket
link = socket.socket(socket.AF_UNIX)
link.connect("link")
port = int(os.environ["PORT"])
for way, there in (("connect", port), ("bind", 0)):
    _, fds, _, _ = socket.recv_fds(link, 1, 1)
    s = socket.socket(fileno=fds[0])
    try:
        getattr(s, way)(("127.0.0.1", there)); print(way, "done")
    except OSError as e:
        print(way, e.errno)
]] }
return { out = r.stdout }
LUA
	timeout 120 python3 -c '
import socket
s, link = socket.socket(), socket.socket(socket.AF_UNIX)
s.bind(("127.0.0.1", 0))
s.listen()
link.bind("link")
link.listen()
open("port.new", "w").write(str(s.getsockname()[1]))
__import__("os").rename("port.new", "port")
to = link.accept()[0]
ours = socket.socket(), socket.socket()
for one in ours:
    socket.send_fds(to, [b"x"], [one.fileno()])
to.recv(1)' 3>&- &
	local server=$!
	until_true [ -e port ]
	call PORT="$(cat port)" handed
	kill "$server" 2>/dev/null || true
	expect 'e.data["out"].split() == ["connect", "13", "bind", "13"]'
}

@test "every attempt, and a job, is confined" {
	needs 1
	command_file again <<-'LUA'
		return { description = "x", danger_level = "safe", confine = { write = { "out" } }, retry = { retries = 1, delay = 0 },
			exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
			run = function(_, ctx)
				local f = io.open("made", "a")
				local g = io.open("out/made", "a") g:write(f and "out " or "in ") g:close()
				ctx:fail("TIMEOUT", "again")
			end }
	LUA
	answers 10 again
	[ "$(cat out/made)" = "in in " ]
	rm out/made
	answers 0 XDG_STATE_HOME="$PWD/state" again --detach
	local id
	id=$(field 'e.data["job_id"]')
	call XDG_STATE_HOME="$PWD/state" job wait "$id"
	[ "$(cat out/made)" = "in in " ]
}

@test "what it calls is confined with it, and may be confined further" {
	needs 1
	sh_command inner 'confine = { write = { "out" } },' <<-'SH'
		echo x >out/a && echo out
		echo x >data/a && echo data
	SH
	body outer 'confine = { write = { "data" } }, exit_codes = {},' <<<'return ctx:call("inner")'
	answers 0 outer
	expect 'e.data["out"] == ""'
	answers 0 inner
	expect 'e.data["out"].split() == ["out"]'
}

@test "an idempotency key is kept although its database is out of reach" {
	needs 1
	failing once mutating <<<'fs.write("out/ran", "x") return { effect = "created" }'
	sed -i 's/retry =/confine = { write = { "out" } }, retry =/' commands/once.lua
	answers 0 XDG_STATE_HOME="$PWD/state" once --idempotency-key k
	expect 'e.warnings == []'
	answers 0 XDG_STATE_HOME="$PWD/state" once --idempotency-key k
	expect 'e.data["effect"] == "noop"'
}

@test "of two warm calls one is confined and the next is not" {
	needs 1
	body narrow 'confine = { write = { "out" } },' <<<'return { made = io.open("made", "w") ~= nil }'
	body wide <<<'return { made = io.open("made", "w") ~= nil }'
	printf '%s\n' '{"_cmd":"narrow"}' '{"_cmd":"wide"}' '{"_cmd":"narrow"}' >requests
	"$RUNNER" exec <requests >answers
	python3 - <<-'PY'
		import json
		answers = [json.loads(line) for line in open("answers")][:3]
		assert [a["data"]["made"] for a in answers] == [False, True, False], answers
	PY
}

@test "a path below another that may be written to gives nothing: it may have been exchanged" {
	needs 1
	mkdir out/inner elsewhere
	sh_command nested 'confine = { write = { "out/inner/", "./out/./", "out//inner" } },' <<-'SH'
		echo x >elsewhere/made && echo escaped
		echo x >out/inner/made && echo inner
	SH
	answers 0 nested
	expect 'e.data["out"].split() == ["inner"]'
	rm -r out/inner
	ln -s ../elsewhere out/inner
	answers 0 nested
	expect 'e.data["out"] == ""'
}

@test "where the kernel can't confine, a command is refused, or warns if it says so" {
	body strict 'confine = { write = { "out" } },' <<<'return { ran = true }'
	body lenient 'confine = { write = { "out" }, required = false },' <<<'return { ran = true }'
	body tcp 'confine = { network = false },' <<<'return { ran = true }'
	as_kernel error=ENOSYS 9 strict
	expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and e.meta["exit_code"] == 4 and e.error.side_effects == "none"'
	expect 'e.error.context == { "landlock": 0, "seccomp": True, "holds": ["terminal", "capabilities", "channel"],
		"lacks": ["write", "truncate", "signals", "processes"] }'
	as_kernel error=EOPNOTSUPP 9 lenient
	expect 'e.data == { "ran": True } and [w["code"] for w in e.warnings] == ["CONFINEMENT_UNAVAILABLE"]'
	expect 'e.meta["confined"]["landlock"] == 0'
	as_kernel retval=3 2 tcp
	expect 'e.ok and e.meta["confined"]["lacks"] == ["tcp", "abstract_sockets", "signals"] and "sockets" in e.meta["confined"]["holds"]'
	as_kernel error=ENOSYS 9 tcp
	expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and e.error.context["lacks"] == ["tcp", "abstract_sockets", "signals", "processes"]'
	CALL=seccomp as_kernel error=ENOSYS 9 tcp
	expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and e.error.context["lacks"] == ["sockets", "terminal", "processes", "capabilities"]'
	expect 'e.error.message.endswith("it has no seccomp filters")'
}

@test "an older kernel holds what it can, and meta says what it can't" {
	needs 2
	body strict 'confine = { write = { "out" } },' <<<'return { made = io.open("made", "w") ~= nil, inside = io.open("out/x", "w") ~= nil }'
	as_kernel retval=2 2 strict
	expect 'e.data == { "made": False, "inside": True }'
	expect 'e.meta["confined"] == { "landlock": 2, "seccomp": True, "holds": ["write", "terminal", "processes", "capabilities", "channel"],
		"lacks": ["truncate", "signals"] }'
}

@test "a command that can't be confined at the last moment does not run, and neither does its cleanup" {
	body strict 'confine = { write = { "out" } }, cleanup = function() io.open("cleaned", "w"):close() end,' \
		<<<'io.open("ran", "w"):close()'
	needs 1
	as_kernel error=EMFILE 9 strict
	local fault
	for fault in landlock_restrict_self:error=E2BIG capset:error=EPERM seccomp:error=ENOMEM:when=3; do # of seccomp, two are questions
		echo "$fault"
		status=0
		env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e "trace=${fault%%:*}" -e "inject=$fault" \
			"$RUNNER" strict >out.txt 2>err.txt </dev/null || status=$?
		stdout=$(<out.txt)
		assert_envelope
		expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and e.error.side_effects == "none" and e.error.retryable is False'
		[ ! -e ran ]
		[ ! -e cleaned ]
	done
}

@test "a path to write to that does not exist is said before run, and --output has no place" {
	needs 1
	body gone 'confine = { write = { "nowhere" } },' <<<'return {}'
	answers 4 gone
	expect "e.error.code == 'PRECONDITION' and e.error.context == { 'path': '$PWD/nowhere' }"
	body fine 'confine = { write = { "out" } },' <<<'return {}'
	answers 2 fine --output out/result
	expect 'e.error.errors[0]["field"] == "output"'
	answers 0 fine --validate-only
	answers 0 fine --schema
	expect 'e.data["confine"] == { "write": ["out"], "required": True }'
	call help fine --format plain
	[[ $stdout == *"It writes only below out."* ]]
}

@test "a declaration that says nothing, or something else, is refused when it is loaded" {
	local wrong
	for wrong in '{}' 'true' '{ write = "out" }' '{ write = { 1 } }' '{ write = { "" } }' '{ write = { "a/../b" } }' '{ write = { ".." } }' \
		'{ read = { "a\0b" } }' '{ network = true }' '{ network = "no" }' '{ write = {}, wirte = {} }' '{ required = true }' '{ write = {}, required = 1 }' \
		'{ capabilities = true }' '{ capabilities = { "sys_admin" } }' '{ capabilities = { "sys_ptrace" } }' '{ capabilities = { "CAP_CHOWN" } }'; do
		body bad "confine = $wrong," <<<'return {}'
		answers 4 bad
		expect 'e.error.code == "COMMAND_INVALID" and e.error.errors[0]["field"] == "confine"'
	done
}

@test "sources work with every bound, and a confined command can vouch for no other one" {
	needs_library libmd.so.0
	needs 1
	local bounds
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	echo 'return {}' >runner.lua
	mkdir -p made read
	echo 1 >in.txt
	echo 1 >read/in.txt
	for bounds in 'write = { "made" }' 'write = { "made" }, read = {}' 'write = { "made" }, read = { "read" }, network = false' \
		'read = { "made" }' 'network = false' 'write = { "." }'; do
		rm -rf state made/*
		body make "confine = { $bounds }, sources = { \"in.txt\", \"read/*\" }, generates = { \"made/*.txt\" }," <<-'LUA'
			ctx.fs.write("made/out.txt", "x")
			return { effect = "created" }
		LUA
		echo "$bounds"
		call make
		expect 'e.ok and e.data["effect"] == "created" and e.warnings == []'
		call make
		expect 'e.ok and e.data == {"effect": "noop", "unchanged": True}'
		echo 2 >>in.txt
		call make
		expect 'e.ok and e.data["effect"] == "created" and e.warnings == []'
	done
	body other 'sources = { "in.txt" },' <<<'return { ran = true }'
	call other
	body forge 'confine = { write = {} }, sources = { "in.txt" }, args = { { "dir", "string" } },' <<-'LUA'
		local refused = 0
		for _, dir in ipairs(ctx.fs.glob(args.dir .. "/*")) do
			if not pcall(ctx.fs.write, dir .. "/forged.json", "x") then refused = refused + 1 end
		end
		return { refused = refused, all = #ctx.fs.glob(args.dir .. "/*") }
	LUA
	call forge --dir "$PWD/state/runner/unchanged"
	expect 'e.data["all"] == 3 and e.data["refused"] == 2'
}
