#!/usr/bin/env bats
# Workers that crash, and trees of processes that end: one valid envelope, the right code, in
# time, nothing left alive (docs/design.md#ending-a-run).

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

@test "REQ-F-060 text on stdout never reaches stdout; it goes to stderr and becomes a warning" {
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

@test "a program of io.popen that has long ended still has its status when it is closed" {
	body closer '' <<'LUA'
		local pipe = io.popen("echo $$; exit 3")
		local pid, ended = pipe:read("n"), nil
		repeat
			ctx:sleep("10ms")
			local f <close> = io.open("/proc/" .. pid .. "/stat")
			ended = not f or f:read("a"):find("%) Z")
		until ended
		local _, how, status = pipe:close()
		return { how = how, status = status }
LUA
	call closer
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"how": "exit", "status": 3}'
}

@test "a detached process that ends before the run does leaves no zombie" {
	body starter '' <<'LUA'
		local pid = ctx:spawn({ "sh", "-c", "until [ -e go ]; do sleep 0.02; done", detach = true }).pid
		collectgarbage() -- nobody can wait for it any more
		io.open("go", "w"):close()
		while io.open("/proc/" .. pid) do
			collectgarbage()
			ctx:sleep("10ms")
		end
		return {}
LUA
	call starter --timeout 60s
	assert_envelope
	[ "$status" -eq 0 ]
}

@test "an exhausted memory limit is MEMORY_LIMIT" {
	case $RUNNER in */sanitize/*) skip "a sanitizer needs the memory itself" ;; esac
	body eater 'limits = { memory = "64MB" },' <<<'local t = {} while true do t[#t + 1] = ("x"):rep(65536) .. #t end'
	call eater --timeout 3m
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "MEMORY_LIMIT" and e.error.retryable is False'
}

@test "a script that holds all the memory it may have is cleaned up after all the same" {
	case $RUNNER in */sanitize/*) skip "a sanitizer needs the memory itself" ;; esac
	local what='ctx:defer(function() io.stderr:write("deferred\n") end)
		held = {} for i = 1, math.huge do held[i] = ("x"):rep(100) .. i end'
	body eater 'limits = { memory = "32MB" }, cleanup = function() io.stderr:write("cleaned\n") end,' <<<"$what"
	call eater --timeout 3m
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
	TOKEN=$TOKEN RUNNER=$RUNNER timeout 150 python3 - <<'PY'
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
	expect '[w["code"] for w in e.warnings] == ["BACKGROUND_UNDECLARED"]'
	local pid
	pid=$(field 'e.data["pid"]')
	kill -0 "$pid"
	[ "$elapsed_ms" -lt 30000 ]
	kill -9 "$pid"
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
