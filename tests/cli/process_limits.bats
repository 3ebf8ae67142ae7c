#!/usr/bin/env bats
# What ends a command that doesn't end by itself, and that its cleanup runs all the same
# (docs/design.md#ending-a-run).

load lib/helper

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

@test "a coroutine with more results than fit fails as in plain Lua" {
	body many '' <<'LUA'
		local co = coroutine.create(function() return table.unpack({}, 1, 600000) end)
		local function full(...) local ok, message = coroutine.resume(co) return { ok = ok, message = message } end
		return full(table.unpack({}, 1, 500000))
LUA
	call many
	assert_envelope
	expect 'e.data == {"ok": False, "message": "too many results to resume"}'
}

@test "a coroutine resumed with more arguments than fit fails as in plain Lua" {
	body many '' <<'LUA'
		local function hold(...) coroutine.yield() return ... end
		local co = coroutine.create(function() hold(table.unpack({}, 1, 600000)) end)
		coroutine.resume(co)
		local ok, message = coroutine.resume(co, table.unpack({}, 1, 500000))
		return { ok = ok, message = message }
LUA
	call many
	assert_envelope
	expect 'e.data == {"ok": False, "message": "too many arguments to resume"}'
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

# taken SIGNAL PID: the process has none of it left to take
taken() {
	local bit=$((1 << ($(kill -l "$1") - 1))) name mask
	while read -r name mask; do
		case $name in
		SigPnd: | ShdPnd:) (((0x$mask & bit) == 0)) || return 1 ;;
		esac
	done <"/proc/$2/status"
}

@test "a signal during os.execute: its program is waited for, and cleanup runs" {
	body patient 'cleanup = function() io.open("cleaned", "w"):close() end,' \
		<<<"os.execute([[trap '' TERM; : >started; while [ ! -e go ]; do sleep 0.02; done; sleep 0.2]])"
	env -i "${CLEAN_ENV[@]}" "$RUNNER" patient --grace 20s >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	until_true [ -e started ]
	kill -TERM "$supervisor"
	until_true taken TERM "$supervisor"
	: >go
	status=0
	wait "$supervisor" || status=$?
	# shellcheck disable=SC2034 # for assert_envelope
	stdout=$(<out.txt)
	[ "$status" -eq 143 ]
	assert_envelope
	expect 'e.warnings == []'
	[ -e cleaned ]
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
