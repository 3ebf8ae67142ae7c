#!/usr/bin/env bats
# ctx:run, ctx:spawn and ctx:pipeline inside a real run: limits, Ctrl+C, the end
# of the attempt. What they return is tested in tests/lua/ctx/process_spec.lua.

load lib/helper

@test "a limit ends ctx:run at once and the tree with it" {
	body nap <<'LUA'
		return ctx:run { "sh", "-c", "touch marker; sleep 60 & sleep 60" }
LUA
	reaching marker nap
	assert_envelope
	[ "$status" -eq 10 ]
	expect 'e.error.code == "TIMEOUT"'
	[ "$elapsed_ms" -lt 40000 ]
	assert_no_process_left
}

@test "a cancelled ctx:run leaves time for cleanup, even with a command that ignores TERM" {
	body stubborn 'cleanup = function() io.open("cleaned", "w"):close() end,' <<'LUA'
		return ctx:run { "sh", "-c", "trap '' TERM; touch marker; while :; do sleep 0.05; done" }
LUA
	tries 4 cancelled_and_cleaned
	[ "$elapsed_ms" -lt 20000 ]
	assert_no_process_left
}

# Who stands still for the grace gets no cleanup.
cancelled_and_cleaned() {
	rm -f marker cleaned
	cancel TERM stubborn
	assert_envelope && [ "$status" -eq 143 ] && [ -e cleaned ]
}

@test "Ctrl+C ends a pipeline, a flood of lines and a blocked write alike" {
	body pipe <<'LUA'
		ctx:pipeline { { "sh", "-c", "touch marker; exec yes" }, { "cat" }, { "sh", "-c", "cat >/dev/null" } }
LUA
	body lines <<'LUA'
		ctx:run { "sh", "-c", "touch marker; exec yes", on_line = function() end }
LUA
	body write <<'LUA'
		local p <close> = ctx:spawn { "sh", "-c", "touch marker; exec sleep 60", stdin = true }
		p:write(("x"):rep(1 << 20))
LUA
	local name
	for name in pipe lines write; do
		rm -f marker
		cancel INT "$name" --timeout 100s
		assert_envelope
		[ "$status" -eq 130 ]
		[ "$elapsed_ms" -lt 30000 ]
		assert_no_process_left
	done
}

@test "cleanup may run commands after the time is over" {
	body late 'cleanup = function(ctx) ctx:run { "touch", "cleaned", check = true } end,' <<'LUA'
		return ctx:run { "sh", "-c", "touch marker; exec sleep 60" }
LUA
	reaching marker late --grace 20s
	assert_envelope
	[ "$status" -eq 10 ]
	[ -e cleaned ]
	expect 'e.warnings == []'
}

@test "a spawned process ends with the attempt, without a warning" {
	body spawner <<'LUA'
		return { pid = ctx:spawn({ "sleep", "60" }).pid }
LUA
	call spawner
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.warnings == []'
	assert_no_process_left
}

@test "a detached process outlives the run in a session of its own, without our pipes" {
	body daemon <<'LUA'
		local p = ctx:spawn { "sh", "-c", "echo started; exec sleep 60", detach = true, stdout = "log" }
		return { pid = p.pid, alive = p:alive() }
LUA
	call daemon
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["BACKGROUND_UNDECLARED"]'
	local pid
	pid=$(field e.data.pid)
	[ -d "/proc/$pid" ]
	[ "$(cut -d' ' -f6 "/proc/$pid/stat")" -eq "$pid" ]
	[ "$(readlink "/proc/$pid/fd/0")" = /dev/null ]
	[ "$(readlink "/proc/$pid/fd/2")" = /dev/null ]
	until_true [ -s log ]
	kill "$pid"
	[ "$(<log)" = started ]
}

@test "a command that closes its stdin early does not end the worker" {
	body early <<'LUA'
		return { ok = ctx:run({ "true", stdin = ("x"):rep(1 << 22) }).ok }
LUA
	call early
	assert_envelope
	expect 'e.data == {"ok": True}'
}

@test "a command that failed by declaration is retried by the run's own policy" {
	body flaky 'retry = { retries = 2, delay = 0 },' <<'LUA'
		return ctx:run { "sh", "-c", "echo x >>tries; [ $(wc -l <tries) -ge 3 ] || exit 75",
			check = true, retry_on = { exit = { 75 } } }
LUA
	call flaky
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.meta.attempt == 3'
}

@test "the output of capture = false goes to stderr, never into the envelope" {
	body loud <<'LUA'
		return { ok = ctx:run({ "sh", "-c", "echo to out; echo to err >&2", capture = false }).ok }
LUA
	call loud
	assert_envelope
	expect 'e.warnings == []'
	# shellcheck disable=SC2154 # call sets it
	[[ $stderr == *"to out"* && $stderr == *"to err"* ]]
}

# Ended by the worker itself, half a second after the limit: that is no result.
@test "where the supervisor is late to say that the time is over, what was cut off is a TIMEOUT, never a success" {
	local how
	for how in 'return ctx:run(command)' 'return ctx:pipeline { command, { "cat" } }' \
		'local p <close> = ctx:spawn(command) return { p:wait() }' \
		'local p <close> = ctx:spawn(command) for _ in p:lines() do end return {}'; do
		body cut <<<"local command = { 'sh', '-c', 'echo \$\$ >marker; exec sleep 60' } $how"
		tries 4 cut_by_the_worker
	done
}

cut_by_the_worker() {
	rm -f marker out.txt
	env -i "${CLEAN_ENV[@]}" "$RUNNER" cut --timeout "$((3 ** nth - 2))s" >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	until_true begun_or_over
	[ -s marker ] || { wait "$supervisor"; return 1; }
	kill -STOP "$supervisor"
	until_true gone "$(<marker)"
	sleep 0.3 # for what the worker makes of it
	kill -CONT "$supervisor"
	status=0
	wait "$supervisor" || status=$?
	assert_envelope && [ "$status" -eq 10 ] && expect 'e.error.code == "TIMEOUT"'
}

begun_or_over() {
	[ -s marker ] || [ -s out.txt ]
}

# It has ended, and was waited for.
gone() {
	! kill -0 "$1"
}
