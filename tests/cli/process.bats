#!/usr/bin/env bats
# Workers that misbehave: one valid envelope, the right code, in time, nothing left
# alive (docs/design.md#ending-a-run).

load lib/helper

@test "a worker killed by any signal answers COMMAND_CRASHED with that signal" {
	body die 'args = { { "signal", "string", positional = true, required = true } },' <<'LUA'
		-- the shell's own parent is the worker
		io.popen("kill -" .. args.signal .. " $PPID"):close()
		while true do end
LUA
	# every signal whose default is to kill, real-time ones included, but TERM and
	# INT (a request to stop) and the one that announces the supervisor's death
	local n
	for n in $(seq 1 64); do
		case $n in
		2 | 15 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 28 | 32 | 33 | 35) continue ;;
		esac
		call die "$n"
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code == "COMMAND_CRASHED" and e.error.retryable == "maybe"'
		expect 'e.error.context.signal.startswith("SIG")'
		[ "$n" -ne 11 ] || expect 'e.error.context.signal == "SIGSEGV"'
	done
}

@test "a crash reports how far the command got, if it declared or reported anything" {
	body half 'steps = { "fetch", "build" },' <<<'ctx:step "fetch" ctx:step "build" ctx:progress { run = "r1" } os.exit(3)'
	call half
	assert_envelope
	expect "e.error.code == 'COMMAND_CRASHED' and e.data.completed_steps == ['fetch'] and e.data.failed_step == 'build'"
	expect "e.data.progress == {'run': 'r1'}"
}

@test "a run that is cut off suggests how to resume, if its progress said so" {
	body half <<<'ctx:progress(0.1, "Continue: half --from 1") ctx:progress(0.2) io.open("marker", "w"):close() ctx:sleep(30)'
	reaching marker half
	assert_envelope
	[ "$status" -eq 10 ]
	expect "e.error.suggestion == 'Continue: half --from 1' and e.data.progress == 0.2"
	rm marker
	cancel INT half
	assert_envelope
	[ "$status" -eq 130 ]
	expect "e.error.suggestion == 'Continue: half --from 1'"
	body half <<<'ctx:progress(0.1, "Continue: half --from 1") ctx:fail("CONFLICT", "it is there")'
	call half
	assert_envelope
	[ "$status" -eq 6 ]
	expect "'suggestion' not in e.error"
}

@test "os.exit is a crash with its exit status, 0 included" {
	body leave 'args = { { "status", "integer", positional = true } },' <<<'os.exit(args.status)'
	local n
	for n in 0 1 2 7 10 130 255; do
		call leave $n
		assert_envelope
		[ "$status" -eq 1 ]
		expect "e.error.code == 'COMMAND_CRASHED' and e.error.context.exit_status == $n"
	done
}

@test "a script that overwrites print and the library's tables still gets its envelope" {
	body vandal '' <<'LUA'
		print, error, pcall, type, tostring, pairs, ipairs, next, setmetatable, require = nil
		table.concat, os.getenv, coroutine.wrap, math.floor = nil
		package.loaded = {}
		return { survived = true }
LUA
	call vandal
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"survived": True}'
}

@test "text on stdout never reaches stdout; it goes to stderr and becomes a warning" {
	body noisy '' <<'LUA'
		print("{\"ok\":true}")
		io.write("written\n")
		os.execute("echo from a child")
		return { fine = true }
LUA
	call noisy
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["THIRD_PARTY_STDOUT"]'
	expect '"from a child" in e.warnings[0]["context"]["text"]'
	[[ $stderr == *written* ]]
}

@test "an exhausted memory limit is MEMORY_LIMIT" {
	case $RUNNER in */sanitize/*) skip "a sanitizer needs the memory itself" ;; esac
	body eater 'limits = { memory = "64MB" },' <<<'local t = {} while true do t[#t + 1] = ("x"):rep(65536) .. #t end'
	call eater
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "MEMORY_LIMIT" and e.error.retryable is False'
}

@test "a script that holds all the memory it may have is cleaned up after all the same" {
	case $RUNNER in */sanitize/*) skip "a sanitizer needs the memory itself" ;; esac
	local what='ctx:defer(function() io.stderr:write("deferred\n") end)
		held = {} for i = 1, math.huge do held[i] = ("x"):rep(100) .. i end'
	body eater 'limits = { memory = "32MB" }, cleanup = function() io.stderr:write("cleaned\n") end,' <<<"$what"
	call eater
	assert_envelope
	expect 'e.error.code == "MEMORY_LIMIT" and e.error.context.by == "lua"'
	grep -qx deferred err.txt
	grep -qx cleaned err.txt
	body eater 'cleanup = function() io.stderr:write("cleaned\n") end,' <<<"$what"
	(
		ulimit -v 120000
		call eater
		assert_envelope
		expect 'e.error.code == "MEMORY_LIMIT"'
		grep -qx deferred err.txt
		grep -qx cleaned err.txt
	)
}

@test "a result that is not plain data is INVALID_RESULT and says where" {
	body wrong 'args = { { "what", "string", positional = true } },' <<'LUA'
		local cycle = {}
		cycle.self = cycle
		return ({ fn = { items = { 1, print } }, cycle = cycle, thread = { t = coroutine.create(print) },
			file = { f = io.stderr } })[args.what]
LUA
	local what
	for what in fn cycle thread file; do
		call wrong $what
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code == "INVALID_RESULT"'
	done
	call wrong fn
	expect '"items[2]" in e.error.message'
}

@test "scalars are wrapped, nil is null, [] and {} stay apart, integers keep 64 bits" {
	body shapes 'args = { { "what", "string", positional = true } },' <<'LUA'
		local json = require "json"
		return ({ int = 9223372036854775807, str = "s", bool = false, empty = {}, list = json.array {},
			big = { n = math.mininteger, f = 1.0, list = json.array {} } })[args.what]
LUA
	call shapes int
	expect 'e.data == {"value": 9223372036854775807}'
	call shapes bool
	expect 'e.data == {"value": False}'
	call shapes nothing
	expect 'e.data is None and e.ok'
	call shapes empty
	expect 'e.data == {}'
	call shapes list
	expect 'e.data == []'
	call shapes big
	expect 'e.data == {"n": -9223372036854775808, "f": 1.0, "list": []}'
}

@test "a result over 16 MiB is OUTPUT_TOO_LARGE, one just below goes through" {
	body size 'args = { { "bytes", "integer", positional = true } },' <<<'return { s = ("x"):rep(args.bytes) }'
	call size $((16 * 1024 * 1024))
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "OUTPUT_TOO_LARGE"'
	call size $((16 * 1024 * 1024 - 100))
	assert_envelope
	[ "$status" -eq 0 ]
}

@test "a Lua error keeps its file, line and traceback" {
	body broken '' <<<'local t = nil; return t.field'
	call broken
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "INTERNAL_ERROR" and "broken.lua:3" in e.error.message'
	expect '"stack traceback" in e.error.detail'
}

@test "any raised value becomes one envelope" {
	body raise 'args = { { "what", "string", positional = true } },' <<'LUA'
		local bad = setmetatable({}, { __tostring = function() error("again") end })
		error(({ tbl = { 1, 2 }, num = 42, bool = false, bad = bad, udata = io.stdout })[args.what], 0)
LUA
	local what
	for what in tbl num bool bad udata none; do
		call raise $what
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code == "INTERNAL_ERROR"'
	done
}

@test "a stack overflow in Lua and a deep recursion in C are errors, not ends" {
	body deep 'args = { { "kind", "string", positional = true } },' <<'LUA'
		if args.kind == "lua" then
			local function f() return 1 + f() end
			return f()
		end
		return string.rep("(", 300):find(string.rep("(", 300))
LUA
	call deep lua
	assert_envelope
	expect '"stack overflow" in e.error.message'
	call deep c
	assert_envelope
	[ "$status" -eq 1 ]
}

@test "an undeclared code is UNDECLARED_EXIT_CODE; a declared one has its number" {
	body own 'args = { { "code", "string", positional = true } },
	exit_codes = { DISK_FULL = { code = 97, description = "d", retryable = true, side_effects = "none",
		retry_after_ms = 1500, retry_strategy = "linear_backoff" } },' <<<'ctx:fail(args.code, "m")'
	call own DISK_FULL
	assert_envelope
	[ "$status" -eq 97 ]
	expect 'e.error.retry_after_ms == 1500 and e.error.retry_strategy == "linear_backoff"'
	call own FLOPPY_FULL
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "UNDECLARED_EXIT_CODE" and "FLOPPY_FULL" in e.error.message'
}

@test "an argument error raised by run keeps its name but not exit 2" {
	body late '' <<<'ctx:fail("VALIDATION_ERROR", "too late")'
	call late
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "VALIDATION_ERROR"'
}

@test "an infinite loop ends at its limit, in a coroutine as well" {
	body spin 'args = { { "co", "boolean" }, { "guard", "boolean" } },' <<'LUA'
		local function spin() while true do if args.guard then pcall(function() while true do end end) end end end
		if args.co then coroutine.wrap(spin)() else spin() end
LUA
	local flags
	for flags in "" --co --guard "--co --guard"; do
		# shellcheck disable=SC2086
		call spin $flags --timeout 200ms --grace 60s
		assert_envelope
		[ "$status" -eq 10 ]
		[ "$elapsed_ms" -lt 30000 ] # before the grace is over: the hook ended it
	done
}

@test "a limit reaches a loop in a coroutine's closing variable" {
	body closing '' <<'LUA'
		local co = coroutine.create(function()
			local guard <close> = setmetatable({}, { __close = function() while true do end end })
			coroutine.yield()
		end)
		coroutine.resume(co)
		coroutine.close(co)
LUA
	call closing --timeout 200ms --grace 60s
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$elapsed_ms" -lt 30000 ]
}

@test "a grace of 0 kills at a limit and lets a success end" {
	body quick 'args = { { "hang", "boolean" } },' <<<'if args.hang then while true do end end return {}'
	call quick --grace 0
	assert_envelope
	expect 'e.ok and e.warnings == []'
	call quick --hang --timeout 200ms --grace 0
	assert_envelope
	[ "$status" -eq 10 ]
}

@test "every number from 79 to 125 can be a command's own, all at once" {
	body all "exit_codes = (function() local t = {} for n = 79, 125 do t['CODE_' .. n] = { code = n, description = 'd',
		retryable = false, side_effects = 'none' } end return t end)(), args = { { 'n', 'integer', positional = true } }," \
		<<<'ctx:fail("CODE_" .. args.n, "m")'
	local n
	for n in $(seq 79 125); do
		call all "$n"
		[ "$status" -eq "$n" ]
	done
}

@test "a loop inside C is killed when the grace is over" {
	body pathological '' <<<'return { m = (("a"):rep(40)):find((".-"):rep(40) .. "b") }'
	call pathological --timeout 200ms --grace 300ms
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$elapsed_ms" -ge 480 ]
	[ "$elapsed_ms" -lt 20000 ]
}

@test "cleanup runs after success, failure and at a limit, and deferred functions before it" {
	body clean 'args = { { "how", "string", positional = true } },
	cleanup = function(ctx) require("fs").write("trace.txt", (require("fs").read("trace.txt") or "") .. "cleanup") end,' <<'LUA'
		os.remove("trace.txt")
		ctx:defer(function() require("fs").write("trace.txt", "deferred ") end)
		io.open("marker", "w"):close()
		if args.how == "fail" then ctx:fail("NOT_FOUND") elseif args.how == "hang" then while true do end end
LUA
	local how
	for how in ok fail hang; do
		if [ "$how" = hang ]; then reaching marker clean hang --grace 20s; else call clean $how; fi
		assert_envelope
		[ "$(<trace.txt)" = "deferred cleanup" ]
	done
}

@test "a cleanup that fails or hangs changes no verdict, only adds a warning" {
	body careless 'cleanup = function() error("oops") end,' <<<'return { done = true }'
	call careless
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.warnings[0]["code"] == "CLEANUP_FAILED"'
	body stuck 'grace = "200ms", cleanup = function() while true do end end,' <<<'return { done = true }'
	call stuck
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.warnings[0]["code"] == "CLEANUP_SKIPPED"'
	[ "$elapsed_ms" -lt 20000 ]
}

@test "os.exit in cleanup after a result leaves the result" {
	body quitter 'cleanup = function() os.exit(3) end,' <<<'return { done = true }'
	call quitter
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["done"] and [w["code"] for w in e.warnings] == ["WORKER_EXIT"]'
}

@test "a background process after success is ended and named by a warning" {
	body leaver '' <<<'os.execute("setsid sh -c \"sleep 60 & sleep 60\" >/dev/null 2>&1 &") return {}'
	call leaver
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["PROCESS_LEFT"]'
	assert_no_process_left
}

@test "a setsid daemon that holds stderr does not hold the caller" {
	body daemon '' <<<'os.execute("setsid sleep 60 </dev/null &") return {}'
	TOKEN=$TOKEN RUNNER=$RUNNER timeout 50 python3 - <<'PY'
import os, subprocess, time
t = time.monotonic()
done = subprocess.run([os.environ["RUNNER"], "daemon"], capture_output=True)
assert time.monotonic() - t < 30, "the caller waited for the daemon"
assert done.returncode == 0 and done.stdout.startswith(b'{"ok":true'), done
PY
	assert_no_process_left
}

@test "children that ignore or block TERM are gone when the answer comes" {
	body stubborn 'grace = "300ms",' <<'LUA'
		os.execute([[setsid sh -c 'trap "" TERM INT HUP; (trap "" TERM; sleep 61) & while :; do sleep 0.05; done' & wait]])
LUA
	call stubborn --timeout 300ms
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$elapsed_ms" -lt 20000 ]
	assert_no_process_left
}

@test "the worker's children die with a worker that is killed" {
	body martyr '' <<<'os.execute("sleep 62 & sleep 62 & kill -9 $PPID; wait")'
	call martyr
	assert_envelope
	[ "$status" -eq 1 ]
	assert_no_process_left
}

@test "a supervisor that is killed takes everything with it" {
	body orphan '' <<<'os.execute("setsid sleep 63 & sleep 63")'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" orphan >out.txt 2>err.txt &
	local pid=$!
	until_true running 4
	kill -9 $pid
	wait $pid || true
	until_true assert_no_process_left || assert_no_process_left
}

# So many processes of this test are there.
running() {
	[ "$(processes_left | wc -l)" -ge "$1" ]
}

@test "ctx:spawn{detach} is the one thing that outlives, and holds no pipe of the caller" {
	body starter '' <<<'local p = ctx:spawn { "sleep", "64", detach = true } return { pid = p.pid }'
	call starter
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.warnings == []'
	local pid
	pid=$(field 'e.data["pid"]')
	kill -0 "$pid"
	[ "$elapsed_ms" -lt 30000 ]
	kill -9 "$pid"
}

@test "idle_timeout ends silence, not work that produces output or waits in ctx:sleep" {
	body silent 'args = { { "how", "string", positional = true } }, idle_timeout = "1s",' <<'LUA'
		if args.how == "sleep" then
			ctx:sleep(1.3)
		elseif args.how == "talk" then
			for i = 1, 14 do ctx:progress(i / 14) os.execute("sleep 0.1") end
		else
			while true do end
		end
		return {}
LUA
	tries 4 answers 0 silent sleep
	tries 4 answers 0 silent talk
	call silent hush
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.context.limit == "idle" and "1000ms" in e.error.message'
}

@test "attempt_timeout bounds one attempt and is retried; the total is not" {
	body slow 'attempt_timeout = "200ms", retry = { retries = 2, delay = "10ms", jitter = "none" },' \
		<<<'io.open("marker", "w"):close() ctx:sleep(90)'
	tries 4 answers 10 slow
	expect 'e.meta.attempt == 3 and e.error.retries_exhausted == 2 and e.error.context.limit == "attempt"' || {
		# a first attempt that is cut off before run is not retried: with more time for it
		call slow --attempt-timeout 5s --timeout 60s
		expect 'e.meta.attempt == 3 and e.error.retries_exhausted == 2 and e.error.context.limit == "attempt"'
	}
	reaching marker slow --attempt-timeout none
	assert_envelope
	expect 'e.meta.attempt == 1 and e.error.context.limit == "timeout" and e.error.retryable is True'
}

@test "a file that never stops loading ends at the load limit" {
	echo 'while true do end' >commands/load.lua
	call RUNNER_LOAD_TIMEOUT=300ms load
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.context.limit == "load" and e.error.phase == "validation" and e.error.side_effects == "none"'
}

@test "a command file that changes between attempts ends the run with the earlier error" {
	body fickle 'retry = { retries = 3, delay = "10ms", jitter = "none" },' <<'LUA'
		local f = io.open("commands/fickle.lua", "a") f:write("-- more\n") f:close()
		ctx:fail("UNAVAILABLE", "first")
LUA
	call fickle
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.message == "first" and [w["code"] for w in e.warnings] == ["COMMAND_CHANGED"]'
	expect 'e.meta.attempt == 2'
}

@test "a script that is deleted between attempts ends the run with the earlier error" {
	body gone 'retry = { retries = 3, delay = "10ms", jitter = "none" },' <<'LUA'
		os.remove("commands/gone.lua")
		ctx:fail("UNAVAILABLE", "first")
LUA
	call gone
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.message == "first" and [w["code"] for w in e.warnings] == ["COMMAND_CHANGED"]'
}

@test "a flood on stdout and stderr is bounded and does not block the verdict" {
	body flood '' <<'LUA'
		local line = ("x"):rep(4095) .. "\n"
		for i = 1, 20000 do io.write(line) io.stderr:write(line) end
		return {}
LUA
	call flood
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.warnings[0]["context"]["bytes"] == 81920000 and len(e.warnings[0]["context"]["text"]) < 20000'
}

@test "a caller that never reads stderr does not stop the watchdog" {
	body chatty 'grace = "200ms",' <<<'while true do io.stderr:write(("x"):rep(1000), "\n") end'
	mkfifo pipe
	exec 7<>pipe # a reader that never reads
	local before=${EPOCHREALTIME/[.,]/} status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" chatty --timeout 300ms >out.txt 2>pipe </dev/null || status=$?
	[ $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) -lt 20000 ]
	[ $status -eq 10 ]
	assert_envelope
	exec 7>&-
}

@test "attempts draw different random numbers" {
	body lottery 'retry = { retries = 2, delay = "1ms", jitter = "none" },' <<<'ctx:fail("UNAVAILABLE", tostring(math.random(1 << 40)))'
	call lottery
	assert_envelope
	expect 'len({r["message"] for r in e.meta.retry_history}) == 3'
}

@test "the session directory is there for the run and gone after it, also when killed" {
	mkdir tmp
	body scratch 'args = { { "die", "boolean" } },' <<'LUA'
		local f = io.open(ctx.tempdir .. "/file", "w") f:write("x") f:close()
		if args.die then os.execute("kill -9 $PPID") ctx:sleep(5) end
		return { dir = ctx.tempdir }
LUA
	call TMPDIR="$PWD/tmp" scratch
	[ "$status" -eq 0 ]
	[ -z "$(ls tmp)" ]
	call TMPDIR="$PWD/tmp" scratch --die
	[ "$status" -eq 1 ]
	[ -z "$(ls tmp)" ]
}

@test "the session directory is the same in all attempts, and nobody else's" {
	mkdir tmp elsewhere
	body again 'retry = { retries = 2, delay = "1ms" },' <<'LUA'
		local f = io.open(ctx.tempdir .. "/file", "a+") f:write(ctx.attempt)
		f:seek("set", 0)
		local text = f:read("a") f:close()
		if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "503") end
		return { text = text }
LUA
	call TMPDIR="$PWD/tmp" again
	assert_envelope
	expect 'e.data["text"] == "123"'
	body lured <<'LUA'
		os.execute(("ln -s ../elsewhere tmp/runner-tmp-%s"):format(ctx.request_id:sub(5)))
		return { dir = ctx.tempdir }
LUA
	call TMPDIR="$PWD/tmp" lured
	assert_envelope
	[ "$status" -eq 12 ]
	[ -z "$(find tmp elsewhere -mindepth 1)" ]
}

@test "a nested runner ends before its outer one and does not retry by default" {
	body inner 'retry = { retries = 2, delay = "1ms" },' <<<'ctx:fail("UNAVAILABLE", "inner")'
	body outer 'retry = { retries = 1, delay = "1ms", jitter = "none" },' <<'LUA'
		local r = ctx:run { os.getenv("RUNNER_BIN"), "inner", check = false }
		local plan = ctx:run { os.getenv("RUNNER_BIN"), "inner", "--plan" }
		return { inner = require("json").decode(r.stdout), plan = require("json").decode(plan.stdout) }
LUA
	call RUNNER_BIN="$RUNNER" outer --timeout 20s
	assert_envelope
	[ "$status" -eq 0 ]
	expect '"retries" not in e.data["inner"]["meta"]'
	expect 'e.data["inner"]["meta"]["timeout_ms"] < 19900'
	expect 'e.data["plan"]["data"]["limits"]["timeout"]["source"] == "outer run"'
}

@test "a forged deadline of a process that is not an ancestor is ignored" {
	body plain '' <<<'return {}'
	call RUNNER_DEADLINE_MS=1:1:1 plain
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.meta.timeout_ms == 30000'
}
