#!/usr/bin/env bats
# What failed must not look done: what a script returns, what a program answers, what
# an envelope says of itself.

load lib/helper

# returns EXIT CODE BODY: the error that run's values are
returns() {
	failing back safe <<<"$3"
	answers "$1" back --retries 0
	expect "e.ok is False and e.data is None and e.error.code == '$2' and e.error.phase == 'execution'"
}

# --- what run returns -------------------------------------------------------------

@test "return nil, \"message\" is a failure that keeps the message" {
	returns 1 GENERAL_ERROR 'return nil, "the disk is odd"'
	expect 'e.error.message == "the disk is odd"'
	returns 1 GENERAL_ERROR 'return false, "the disk is odd"'
	returns 1 GENERAL_ERROR 'return json.decode("{")'
	expect '"line 1 column" in e.error.message'
}

@test "an errno name chooses the code of what run returns" {
	returns 5 NOT_FOUND 'return fs.read("missing")'
	expect 'e.error.message == "read missing: No such file or directory" and e.error.context.errno == "ENOENT"'
	returns 6 ALREADY_EXISTS 'return fs.mkdir("commands")'
	returns 7 PERMISSION_DENIED 'return nil, "no", "EACCES"'
	returns 7 PERMISSION_DENIED 'return nil, "no", "EPERM"'
	local name
	for name in ENOSPC EMFILE ENOMEM EDQUOT; do
		returns 12 RESOURCE_EXHAUSTED "return nil, 'full', '$name'"
	done
	returns 10 TIMEOUT 'return nil, "late", "ETIMEDOUT"'
	returns 1 GENERAL_ERROR 'return nil, "odd", "ELOOP"'
	expect 'e.error.context.errno == "ELOOP"'
}

@test "Lua's numeric errno counts like the name" {
	returns 5 NOT_FOUND 'return io.open("missing")'
	expect 'e.error.message == "missing: No such file or directory"'
	returns 5 NOT_FOUND 'return os.remove("missing")'
}

@test "a code of the registry in third place is taken, and pcall's error object is that error" {
	returns 6 CONFLICT 'return nil, "two at once", "CONFLICT"'
	returns 6 CONFLICT 'return pcall(ctx.fail, ctx, "CONFLICT", "two at once")'
	expect 'e.error.message == "two at once"'
}

@test "what os.execute says of a program that failed is no errno" {
	returns 1 SUBPROCESS_FAILED 'return os.execute("exit 2")'
	expect 'e.error.message == "A program exited with status 2"'
}

@test "a lone nil stays null and a lone false stays a value" {
	failing back safe <<<'return nil'
	answers 0 back
	expect 'e.data is None'
	failing back safe <<<'return false'
	answers 0 back
	expect 'e.data == {"value": False}'
	failing back safe <<<'return nil, nil, "ENOENT"'
	answers 0 back
	failing back safe <<<'return 0, "a second value"'
	answers 0 back
	expect 'e.data == {"value": 0}'
}

@test "a code derived from errno is not repeated by itself once a mutating command has begun" {
	failing back mutating <<<'return nil, "late", "ETIMEDOUT"'
	answers 10 back
	expect 'e.error.retryable is False and e.error.side_effects == "partial" and e.meta.attempt == 1'
	failing back destructive <<<'return nil, "full", "ENOSPC"'
	answers 12 back --confirm-destructive
	expect 'e.error.retryable is False and e.error.side_effects == "partial" and e.meta.attempt == 1'
	failing back safe <<<'return nil, "full", "ENOSPC"'
	answers 12 back
	expect 'e.meta.attempt == 3'
}

# --- programs ---------------------------------------------------------------------

@test "a program that fails or is missing fails the run, whichever way it was started" {
	local how
	for how in 'ctx:run { "false" }' 'ctx:run { "no-such-program" }' 'ctx:pipeline { { "true" }, { "false" } }' \
		'local p <close> = ctx:spawn { "false" } p:wait()'; do
		returns 1 SUBPROCESS_FAILED "$how return { built = true }"
	done
	failing back safe <<<'return { ok = ctx:run({ "false", check = false }).ok, found = ctx:run({ "grep", "x", ok_statuses = { 0, 1 } }).ok }'
	answers 0 back
	expect 'e.data == {"ok": False, "found": True}'
}

# --- files: ctx.fs raises what require "fs" returns -----------------------------------

@test "ctx.fs raises with the code of the errno" {
	returns 5 NOT_FOUND 'ctx.fs.read("missing") return { read = true }'
	expect 'e.error.message == "read missing: No such file or directory" and e.error.context == {"errno": "ENOENT"}'
	returns 6 ALREADY_EXISTS 'ctx.fs.create("commands/back.lua", "x") return { made = true }'
	returns 1 GENERAL_ERROR 'ctx.fs.rmdir("commands") return { gone = true }'
	expect 'e.error.context == {"errno": "ENOTEMPTY"}'
	failing back mutating <<<'ctx.fs.copy_tree("missing", "copy")'
	answers 5 back
	expect 'e.error.retryable is False and e.error.side_effects == "partial"'
}

@test "ctx.fs has every function of fs, with its results; and exists, which only answers" {
	failing back safe <<-'LUA'
		for name in pairs(fs) do assert(type(ctx.fs[name]) == "function", name) end
		ctx.fs.mkdirs("a/b") ctx.fs.write("a/b/c", "text") ctx.fs.symlink("nowhere", "a/dangling")
		return { names = ctx.fs.list("a/b"), text = ctx.fs.read("a/b/c"), size = ctx.fs.stat("a/b/c").size,
			there = ctx.fs.exists("a/b/c"), link = ctx.fs.exists("a/dangling"), missing = ctx.fs.exists("a/x"),
			below = ctx.fs.exists("a/b/c/d"), holder = ctx.fs.locked("a/b/c") == nil }
	LUA
	answers 0 back
	expect 'e.data == {"names": ["c"], "text": "text", "size": 4, "there": True, "link": True, "missing": False, "below": False, "holder": True}'
}

@test "a lock of ctx.fs that another process holds is LOCK_HELD" {
	failing back safe <<-'LUA'
		local one = ctx.fs.lock("lock")
		ctx.fs.lock("lock")
	LUA
	answers 4 back --retries 0
	expect 'e.error.code == "LOCK_HELD" and e.error.context["lock_file"] == "lock"'
}

@test "a wrong argument of ctx.fs, or a function that it hasn't got, is a bug of the script" {
	returns 1 INTERNAL_ERROR 'ctx.fs.read(nil)'
	expect 'e.error.message.startswith("/") and "back.lua:4: ctx.fs.read: argument 1: string expected, got nil" in e.error.message'
	expect 'e.error.retryable is False'
	returns 1 INTERNAL_ERROR 'ctx.fs.raed("x")'
	expect 'e.error.fix_required == "Write ctx.fs.read"'
}

@test "the failure of a safe command has no side effects, unless it says otherwise" {
	local body_
	for body_ in 'error("boom")' 'ctx:fail("INTERNAL_ERROR", "x")' 'ctx:run { "false" }' 'os.exit(3)' 'return nil, "x"'; do
		failing back safe <<<"$body_"
		answers 1 back --retries 0
		expect 'e.error.side_effects == "none"'
	done
	failing back safe <<<'ctx:fail("CONFLICT", "x", { side_effects = "partial" })'
	answers 6 back
	expect 'e.error.side_effects == "partial"'
	failing back safe <<<'ctx:warn("ODD", "x") return 1'
	answers 1 back --warnings-as-errors
	expect 'e.error.code == "WARNINGS_AS_ERRORS" and e.error.side_effects == "none"'
	failing back mutating <<<'error("boom")'
	answers 1 back
	expect 'e.error.side_effects == "partial"'
}

# --- the cause stays visible, and how far it got ----------------------------------------

@test "a failed program leaves the last lines of both streams in the context" {
	returns 1 SUBPROCESS_FAILED 'ctx:run { "sh", "-c", "seq 3000; echo one >&2; echo two >&2; exit 3" }'
	expect 'e.error.message == "sh exited with status 3: two"'
	expect 'e.error.context.stderr == "one\ntwo\n" and e.error.context.truncated'
	expect 'e.error.context.stdout.split("\n")[-2] == "3000" and len(e.error.context.stdout) <= 4096'
	expect 'e.error.context.stdout.split("\n")[0].isdigit() and len(e.error.context.stdout.split("\n")[0]) == 4'
	returns 1 SUBPROCESS_FAILED 'ctx:run { "sh", "-c", "echo said on stdout; exit 3" }'
	expect 'e.error.message == "sh exited with status 3: said on stdout"'
}

@test "an HTTP failure keeps the head of a text body, and of no other" {
	python3 - >port.txt 3>&- <<-'PY' &
		import http.server, sys
		class Server(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        self.send_response(500)
		        self.send_header("Content-Type", "image/png" if "png" in self.path else "text/html")
		        self.end_headers()
		        self.wfile.write(b"<h1>out of order</h1>" + b"x" * 5000)
		    def log_message(self, *_):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Server)
		print(server.server_port, flush=True)
		server.timeout = 150
		server.handle_request()
		server.handle_request()
	PY
	until_true [ -s port.txt ]
	returns 12 UNAVAILABLE "ctx:http { url = 'http://127.0.0.1:$(<port.txt)/' }"
	expect 'e.error.context.body.startswith("<h1>out of order</h1>x") and len(e.error.context.body) == 1024'
	returns 12 UNAVAILABLE "ctx:http { url = 'http://127.0.0.1:$(<port.txt)/png' }"
	expect '"body" not in e.error.context'
}

@test "completed_steps survive every failure, beside the data that it has itself" {
	local how
	for how in 'ctx:fail("CONFLICT", "x", { data = { moved = 3 } })' 'error("boom")' 'ctx:run { "false" }' \
		'return nil, "x"' 'return function() end' 'os.exit(3)' 'return ("x"):rep(17 << 20)'; do
		body build 'steps = { "compile", "test", "publish" },' <<<"ctx:step 'compile' ctx:step 'test' ctx:progress { n = 7 } $how"
		call build
		assert_envelope
		expect 'e.ok is False and e.data["completed_steps"] == ["compile"] and e.data["failed_step"] == "test"'
		expect 'e.data["pending_steps"] == ["test", "publish"] and e.data["progress"] == {"n": 7}'
	done
	body build 'steps = { "compile", "test" },' <<<"ctx:step 'compile' ctx:step 'test' ctx:fail('CONFLICT', 'x', { data = { moved = 3 } })"
	answers 6 build
	expect 'e.data["moved"] == 3 and e.data["completed_steps"] == ["compile"]'
	body build 'steps = { "compile" }, args = { { "n", "integer" } },' <<<'return 1'
	answers 2 build --n x
	expect 'e.data is None'
}

@test "a login page with status 200 is not null" {
	python3 - >port.txt 3>&- <<-'PY' &
		import http.server
		class Server(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        self.send_response(200)
		        self.send_header("Content-Type", "text/html")
		        self.end_headers()
		        self.wfile.write(b"<form>Log in</form>")
		    def log_message(self, *_):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Server)
		print(server.server_port, flush=True)
		server.timeout = 150
		server.handle_request()
	PY
	until_true [ -s port.txt ]
	returns 1 GENERAL_ERROR "return ctx:http({ url = 'http://127.0.0.1:$(<port.txt)/' }).json"
	expect '"is not JSON" in e.error.message and e.error.context.body == "<form>Log in</form>"'
}

@test "a pipeline with capture = false runs, and its output goes to stderr" {
	failing back safe <<<'return { ok = ctx:pipeline({ { "echo", "b\na" }, { "sort" }, { "sh", "-c", "cat; echo said >&2" }, capture = false }).ok }'
	answers 0 back
	expect 'e.data == {"ok": True} and e.warnings == []'
	# shellcheck disable=SC2154 # call sets it
	[[ $stderr == *$'a\nb\n'*said* ]]
	returns 1 SUBPROCESS_FAILED 'ctx:pipeline { { "sh", "-c", "exit 3" }, { "cat" }, capture = false }'
	expect 'e.error.message == "stage 1 of 2: sh exited with status 3"'
}

# --- what an envelope says of itself --------------------------------------------------------

@test "a single wrong argument is VALIDATION_ERROR, with the particular code in the first of errors" {
	body one 'args = { { "n", "integer" }, { "where", "string", required = true, code = "INVALID_ENVIRONMENT", pattern = "^[a-z]+$" } },' <<<'return 1'
	answers 2 one --where a --n x
	expect 'e.error.code == "VALIDATION_ERROR" and [p.code for p in e.error.errors] == ["INVALID_ARGUMENT"]'
	expect 'e.error.message == "Invalid --n \x27x\x27: expected a whole number" and "--n" in e.error.fix_required'
	answers 2 one --where a --m
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.errors[0].code == "UNKNOWN_FLAG"'
	answers 2 one
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.errors[0].code == "MISSING_ARGUMENT"'
	answers 2 one --where A
	expect 'e.error.code == "INVALID_ENVIRONMENT"'
	answers 2 two
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
}

@test "the message of used-up retries says after how many attempts" {
	body busy 'retry = { retries = 2, delay = 0 },' <<<'ctx:fail("NETWORK_ERROR", "Connection refused")'
	answers 12 busy
	expect 'e.error.message == "Connection refused after 3 attempts" and e.error.retries_exhausted == 2 and e.error.retryable is False'
	answers 12 busy --retries 0
	expect 'e.error.message == "Connection refused"'
	body loop <<<'ctx:retry(function() ctx:fail("NETWORK_ERROR", "Connection refused") end, { retries = 3, delay = 0 })'
	answers 12 loop
	expect 'e.error.message == "Connection refused after 4 attempts" and e.error.retries_exhausted == 3'
}

# --- small contradictions -----------------------------------------------------------------------

@test "error.redirect of REDIRECTED is in the envelope" {
	body moved <<<'ctx:fail("REDIRECTED", "Renamed", { redirect = { command = "runner new", permanent = true, reason = "renamed" } })'
	answers 13 moved
	expect 'e.error.redirect == {"command": "runner new", "permanent": True, "reason": "renamed"} and e.warnings == []'
	body moved <<<'ctx:fail("REDIRECTED", "Renamed", { redirect = "runner new" })'
	answers 13 moved
	expect 'e.error.redirect == {"command": "runner new", "permanent": False}'
	body moved <<<'ctx:fail("REDIRECTED", "Renamed", { redirect = { to = "x" } })'
	answers 13 moved
	expect '"redirect" not in e.error and e.warnings[0]["code"] == "FIELD_IGNORED"'
}

@test "no carriage return is in an envelope; json.encode of a script keeps them" {
	body cr <<<'ctx:warn("ODD", "a\r\nb", { c = "d\r" }) return { text = "x\r\ny\r", size = #require("json").encode("\r") }'
	answers 0 cr
	expect 'e.data == {"text": "x\ny", "size": 4}'
	[ "$(grep -cF '\r' out.txt)" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["ODD", "STRING_REPAIRED"] and e.warnings[0]["message"] == "a\nb"'
	body cr <<<'ctx:fail("CONFLICT", "x\ry", { context = { a = "b\r" } })'
	answers 6 cr
	expect 'e.error.message == "xy" and e.error.context == {"a": "b"}'
}

@test "what JSON can't hold is repaired and told: NONFINITE_NUMBER and STRING_REPAIRED count" {
	body odd <<<'return { a = 0/0, b = 1/0, c = "\27[31mred\27[0m", d = "\255", e = "fine" }'
	answers 0 odd
	expect 'e.data["a"] is None and e.data["b"] is None and e.data["c"] == "red" and e.data["e"] == "fine"'
	expect '[(w["code"], w["context"]["count"]) for w in e.warnings] == [("NONFINITE_NUMBER", 2), ("STRING_REPAIRED", 3)]'
	body odd <<<'return { a = 1.5, c = "plain" }'
	answers 0 odd
	expect 'e.warnings == []'
}

@test "JSON nested above 2,048 levels is refused with its reason, 2,048 are read" {
	body deep 'args = { { "n", "integer" } },' <<<'local v, why = require("json").decode(("["):rep(args.n) .. ("]"):rep(args.n)) return { read = v ~= nil, why = why }'
	answers 0 deep --n 2048
	expect 'e.data == {"read": True}'
	answers 0 deep --n 2049
	expect 'e.data["read"] is False and "nested too deeply (more than 2048 levels)" in e.data["why"]'
}

@test "a loop's own smaller limit wins over --retries" {
	body loop <<-'LUA'
		local calls = 0
		pcall(ctx.retry, ctx, function() calls = calls + 1 ctx:fail("UNAVAILABLE", "busy") end, { retries = 1, delay = 0 })
		return { calls = calls }
	LUA
	answers 0 loop --retries 5
	expect 'e.data == {"calls": 2}'
}

@test "process:write to a child whose stdin was given as text takes nothing, and says so" {
	body feed <<-'LUA'
		local p <close> = ctx:spawn { "cat", stdin = "abc", check = false }
		local ok, why = p:write(("x"):rep(200000))
		return { ok = ok, why = why, got = #p:wait().stdout }
	LUA
	answers 0 feed
	expect 'e.data == {"why": "stdin is closed", "got": 3}'
	body feed <<<'local p <close> = ctx:spawn { "cat", stdin = "abc" } p:write("x")'
	answers 1 feed
	expect 'e.error.code == "SUBPROCESS_FAILED" and "stdin is closed" in e.error.message'
}

@test "an override of one variable leaves others of the same length alone" {
	body env <<<'return { out = ctx:run({ "sh", "-c", "echo $ABCD,$EFGH,$IJKL", env = { ABCD = "1", IJKL = false } }).stdout }'
	answers 0 ABCD=a EFGH=e IJKL=i env
	call ABCD=a EFGH=e IJKL=i env
	expect 'e.data == {"out": "1,e,\n"}'
}

@test "a request that the attempt's deadline cuts says so, not its own limit" {
	python3 - >port.txt 3>&- <<-'PY' &
		import socket, time
		s = socket.socket()
		s.bind(("127.0.0.1", 0))
		s.listen()
		print(s.getsockname()[1], flush=True)
		time.sleep(300)
	PY
	until_true [ -s port.txt ]
	body ask <<<"io.open('marker', 'w'):close() local ok, e = pcall(ctx.http, ctx, { url = 'http://127.0.0.1:$(<port.txt)/' }) io.open('said.part', 'w'):write(e.code, ' ', e.message):close() os.rename('said.part', 'said')"
	tries 4 cut_by_the_deadline
	kill %1
}

begun_or_over() {
	[ -e marker ] || [ -s out.txt ]
}

# Told by the worker itself: its supervisor is stopped meanwhile.
cut_by_the_deadline() {
	rm -f marker said out.txt
	env -i "${CLEAN_ENV[@]}" "$RUNNER" ask --timeout "$((3 ** nth - 2))s" >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	until_true begun_or_over
	[ -e marker ] || { wait "$supervisor"; return 1; }
	kill -STOP "$supervisor"
	until_true [ -e said ]
	kill -CONT "$supervisor"
	wait "$supervisor" || true
	[ "$(sed 's/http:[^ ]*/URL/' said)" = "TIMEOUT No complete response from URL before the command's deadline" ]
}

@test "a wrong RUNNER_SEED, RUNNER_EXIT_TABLE or RUNNER_LOAD_TIMEOUT is an argument error, not ignored" {
	body plain <<<'return 1'
	local setting
	for setting in RUNNER_SEED=-5 RUNNER_SEED=x RUNNER_SEED=1.5 RUNNER_EXIT_TABLE=old RUNNER_LOAD_TIMEOUT=soon; do
		answers 2 "$setting" plain
		expect "e.error.code == 'VALIDATION_ERROR' and e.error.errors[0].field == '${setting%%=*}' and '${setting#*=}' in e.error.message"
	done
	for setting in RUNNER_SEED=5 RUNNER_SEED= RUNNER_EXIT_TABLE=classic RUNNER_EXIT_TABLE= RUNNER_LOAD_TIMEOUT=2s; do
		answers 0 "$setting" plain
	done
}

@test "confirm off a terminal says how to confirm, and makes no command of it" {
	body wipe 'interactive = true, args = { { "what", "string", positional = true, variadic = true } },' <<<'return ctx:confirm("Sure?")'
	answers 4 wipe "it's a" b
	expect 'e.error.code == "INPUT_REQUIRED" and e.error.fix_required == "Confirm with --yes"'
	expect '"fix_command" not in e.error'
	answers 0 wipe --yes -- a
}

@test "a program that is in none of PATH's directories is named as such" {
	returns 1 SUBPROCESS_FAILED 'ctx:run { "kubctl" }'
	expect 'e.error.message == "kubctl is not in PATH" and e.error.suggestion'
}

@test "a command file that requires something and changes itself is a change of the command" {
	mkdir lib
	echo 'return { word = "old" }' >lib/words.lua
	{
		echo 'local words = require "words"'
		echo 'return { description = "x", danger_level = "safe", retry = { retries = 2, delay = 0 }, run = function(_, ctx)'
		echo 'if ctx.attempt == 1 then local f = io.open("commands/speak.lua", "a") f:write("-- new") f:close() end'
		echo 'ctx:fail("UNAVAILABLE", words.word) end }'
	} | command_file speak
	answers 12 speak
	expect '[w["code"] for w in e.warnings] == ["COMMAND_CHANGED"]'
}

@test "a change of what the command file requires is a change of the command" {
	mkdir lib
	echo 'return { word = "old" }' >lib/words.lua
	{
		echo 'local words = require "words"'
		echo 'return { description = "x", danger_level = "safe", retry = { retries = 2, delay = 0 }, run = function(_, ctx)'
		echo 'if ctx.attempt == 1 then local f = io.open("lib/words.lua", "w") f:write("return { word = [[new]] }") f:close() end'
		echo 'ctx:fail("UNAVAILABLE", words.word) end }'
	} | command_file speak
	answers 12 speak
	expect 'e.error.message == "old" and [w["code"] for w in e.warnings] == ["COMMAND_CHANGED"]'
	answers 12 speak
	expect 'e.error.message == "new after 3 attempts" and e.warnings == []'
}

@test "a program that did not get all of its input has not succeeded" {
	needs_strace
	body feed 'exit_codes = {},' <<-'LUA'
		local r = ctx:run{ "wc", "-c", stdin = ("x"):rep(8 << 20), check = false }
		return { ok = r.ok, starved = r.starved, status = r.status, all = tonumber(r.stdout) == 8 << 20 }
	LUA
	printf '#!/bin/sh\nexec strace -qq -f -o /dev/null -e trace=write -e inject=write:error=EIO:when=40 "%s" "$@"\n' "$RUNNER" >traced
	chmod 755 traced
	RUNNER=$PWD/traced answers 0 ASAN_OPTIONS=detect_leaks=0 feed
	expect 'e.data == { "ok": False, "starved": True, "status": 0, "all": False }'
	answers 0 feed
	expect 'e.data == { "ok": True, "status": 0, "all": True }'
}

@test "ctx.fs.exists says that it can't know, in place of no" {
	body look <<<'return { there = ctx.fs.exists(args.path) }' 'args = { { "path", "string", positional = true } },'
	answers 0 look none/there
	expect 'e.data == {"there": False}'
	call look "$(printf 'x%.0s' {1..300})"
	assert_envelope
	[ "$status" -ne 0 ]
	expect '"ENAMETOOLONG" in str(e.error)'
}
