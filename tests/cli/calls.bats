#!/usr/bin/env bats
# What `exec` and `mcp serve` stand on: lines over our own stdin and stdout in tasks
# (lua/task/channel.lua), and calls of our own commands (lua/calls).

load lib/helper

# serving <<'LUA': a server named `server` whose tasks have `client`, `calls` and `scheduler`.
serving() {
	{
		echo 'local channel, scheduler = require "runner.task.channel", require "runner.task.scheduler"'
		echo 'local calls, json = require "runner.calls.calls", require "json"'
		echo 'return { description = "x", danger_level = "safe", stdout = "protocol", protocol = "test", run = function(args, ctx)'
		echo 'return scheduler.run(function()'
		echo 'local client <close> = channel.open { max_line = 10 }'
		echo 'local function say(...) client:write(table.concat(table.pack(...), " ") .. string.char(10)) end'
		cat
		echo 'end) end }'
	} | command_file server
}

# serve INPUT ARGS…: runs it with these bytes on stdin
serve() {
	local input=$1
	shift
	status=0
	printf '%b' "$input" | env -i "${CLEAN_ENV[@]}" "$RUNNER" server "$@" >out.txt 2>err.txt || status=$?
	stdout=$(<out.txt)
}

@test "lines are read as they come, the last without its newline; one that is too long is skipped whole" {
	serving <<'LUA'
		for _ = 1, 9 do
			local line, why = client:read_line()
			say(line and #line .. ":" .. line:gsub("%c", "?") or why)
			if why == "end" then break end
		end
LUA
	serve 'a\n\n0123456789\n0123456789x\nb\0c\r\n'"$(printf %0100000d 0)"'\nlast'
	[ "$status" -eq 0 ]
	[ "$stdout" = '1:a
0:
10:0123456789
long
4:b?c?
long
4:last
end' ]
	serve "$(printf %0100000d 0)"
	[ "$stdout" = 'long
end' ]
	serve ''
	[ "$stdout" = end ]
}

@test "lines come from a pipe, a file, a socket and a device alike" {
	serving <<<'repeat local line, why = client:read_line() say(line or why) until not line'
	printf 'a\nb' >input
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" server <input >out.txt
	[ "$(<out.txt)" = 'a
b
end' ]
	env -i "${CLEAN_ENV[@]}" "$RUNNER" server </dev/null >out.txt
	[ "$(<out.txt)" = end ]
	env -i "${CLEAN_ENV[@]}" python3 -c '
import socket, subprocess, sys
ours, theirs = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "server"], stdin=theirs, stdout=theirs)
theirs.close()
ours.sendall(b"a\nb"); ours.shutdown(socket.SHUT_WR)
print(ours.makefile().read(), end=""); sys.exit(p.wait())' "$RUNNER" >out.txt
	[ "$(<out.txt)" = 'a
b
end' ]
}

@test "a task that waits for a line, or for the reader of a large text, keeps nobody else waiting" {
	serving <<'LUA'
		local ticks, done = 0, false
		scheduler.all {
			function() client:write(("x"):rep(3 << 20) .. "\n") done = true end,
			function() say(client:read_line()) end,
			function() repeat ticks = ticks + 1 scheduler.sleep(1) if ticks == 20 then io.open("marker", "w"):close() end until done and ticks >= 20 end,
		}
LUA
	mkfifo in out
	env -i "${CLEAN_ENV[@]}" "$RUNNER" server <in >out 2>err.txt &
	exec 5>in 6<out
	until_true [ -e marker ]
	echo hello >&5
	exec 5>&-
	[ "$(wc -c <&6)" -eq $(((3 << 20) + 1 + 6)) ]
	exec 6<&-
	wait $!
}

@test "the flags of the caller's descriptors stay as they were" {
	serving <<<'say(client:read_line())'
	mkfifo in out
	exec 5<>in 6<>out
	echo hello >&5
	env -i "${CLEAN_ENV[@]}" "$RUNNER" server <&5 >&6
	for fd in 5 6; do
		flags=$(awk '/flags/ { print $2 }' /proc/$BASHPID/fdinfo/$fd)
		[ $((0$flags & 04000)) -eq 0 ]
	done
	exec 5>&- 6>&-
}

@test "a reader that has left is a failure of write, and ends who waits for that" {
	serving <<'LUA'
		scheduler.all {
			function() ctx:log("info", "gone " .. tostring(client:wait_gone())) end,
			function()
				local line = client:read_line()
				local ok, why = client:write("x\n")
				ctx:log("info", tostring(ok) .. " " .. tostring(why) .. " " .. select(2, client:write "y\n"))
			end,
		}
LUA
	mkfifo in
	{ env -i "${CLEAN_ENV[@]}" "$RUNNER" server --verbose <in 2>err.txt || true; } | true &
	exec 5>in
	until_true grep -q 'gone true' err.txt
	echo >&5
	exec 5>&-
	until_true grep -q 'nil Broken pipe Broken pipe' err.txt
	wait $!
}

@test "a call is a run of its own: its data, its exit code, its line" {
	body inner 'args = { { "n", "integer" }, { "list", "array", items = "string" } }, exit_codes = { NOT_FOUND = { description = "x" } },' <<'LUA'
		if args.n == 3 then ctx:fail("NOT_FOUND", "no three") end
		return { n = args.n, list = args.list }
LUA
	serving <<'LUA'
		local function call(request)
			local envelope, code, line = calls.run(request)
			say(code, tostring(envelope.ok), json.encode(json.decode(line).data), envelope.error ~= json.null and envelope.error.code or "-")
		end
		call { command = "inner", arguments = { n = 9007199254740993, list = { "-x", "a b" } } }
		call { command = { "inner" }, arguments = { n = 3 } }
		call { command = "inner", arguments = { n = "x" } }
		call { command = "in.ner" }
		call { command = "inner", timeout_ms = 5000, flags = { "--retries=0" } }
		say(tostring(calls.words "--yes"), tostring(calls.words ""), #calls.words "a.b c-d")
LUA
	serve ''
	[ "$stdout" = '0 true {"list":["-x","a b"],"n":9007199254740993} -
5 false null NOT_FOUND
2 false null VALIDATION_ERROR
2 false null COMMAND_NOT_FOUND
0 true {"list":[]} -
nil nil 3' ]
}

@test "what a call is given is in nobody's argv or environment, and its stdin is its own" {
	secret_of_its_own
	body inner 'stdin = true, retry = { retries = 1, delay = 0 }, args = { { "token", "string", secret = true } },' <<'LUA'
		local seen = ctx:run { "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c \"$LOOKED_FOR\"",
			ok_statuses = { 0, 1 } }.stdout
		os.execute "cat /proc/self/fd/0 >child"
		local rest = io.read "a"
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "again", { retryable = true }) end
		return { seen = seen, length = #args.token, rest = rest, attempt = ctx.attempt, nested = os.getenv "RUNNER_ARGUMENTS" }
LUA
	serving <<LUA
		for _, stdin in ipairs { "some\nlines", "" } do
			local envelope = calls.run { command = "inner", arguments = { token = "$secret" }, stdin = stdin }
			say(json.encode(envelope.data))
		end
LUA
	serve ''
	[ "$stdout" = '{"attempt":2,"length":'${#secret}',"rest":"some\nlines","seen":"0\n"}
{"attempt":2,"length":'${#secret}',"rest":"","seen":"0\n"}' ]
	[ ! -s child ]
	body plain 'args = { { "token", "string", secret = true } },' <<<'os.execute "cat /proc/self/fd/0 >child" return { stdin = io.read "a" }'
	serving <<<"say(json.encode(calls.run({ command = 'plain', arguments = { token = '$secret' } }).data))"
	serve ''
	[ "$stdout" = '{"stdin":""}' ]
	[ ! -s child ]
}

@test "a call that passes its arguments on takes none, and a server is no call" {
	body other 'arguments = "passthrough",' <<<'return ctx:delegate { "echo", table.unpack(args.argv) }'
	serving <<'LUA'
		for _, name in ipairs { "other", "server" } do
			local envelope = calls.run { command = name, arguments = { a = 1 } }
			say(envelope.error.code, envelope.meta.exit_code)
		end
LUA
	serve ''
	[ "$stdout" = 'VALIDATION_ERROR 2
VALIDATION_ERROR 2' ]
}

no_process_left() {
	[ -z "$(processes_left)" ]
}

@test "a cancelled call cleans up, answers, and leaves nothing; one whose supervisor is killed has an answer too" {
	body inner 'cleanup = function() io.open("cleaned", "w"):close() end, args = { { "kill", "boolean" } },' <<'LUA'
		if args.kill then os.execute "kill -KILL $(awk '/PPid/ { print $2 }' /proc/$PPID/status)" end
		ctx:spawn { "sh", "-c", "echo $$ >pid; exec setsid sleep 600" }
		ctx:sleep "600s"
LUA
	serving <<'LUA'
		local function shown(envelope, code) return envelope.error.code .. " " .. code end
		local handle
		scheduler.all {
			function() say(shown(calls.run { command = "inner", on_start = function(h) handle = h end })) end,
			function() while not io.open "pid" do scheduler.sleep(5) end handle:cancel() handle:cancel() end,
		}
		local envelope, code, line = calls.run { command = "inner", arguments = { kill = true } }
		say(shown(envelope, code))
		ctx:log("info", line)
		local copy = io.open("line", "w") copy:write(line) copy:close()
LUA
	serve '' --verbose
	[ "$stdout" = 'CANCELLED 143
SUBPROCESS_FAILED 1' ]
	[ -e cleaned ]
	until_true no_process_left # (a zombie is init's)
	cp line out.txt
	status=1
	assert_envelope
}
