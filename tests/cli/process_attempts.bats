#!/usr/bin/env bats
# What one attempt leaves to the next: the script, the random numbers, the session directory.

load lib/helper

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

@test "attempts draw different random numbers" {
	body lottery 'retry = { retries = 2, delay = "1ms", jitter = "none" },' <<<'ctx:fail("UNAVAILABLE", tostring(math.random(1 << 40)))'
	call lottery
	assert_envelope
	expect 'len({r["message"] for r in e.meta.retry_history}) == 3'
}

@test "the session directory is there for the run and gone after it, also when killed or at a limit" {
	mkdir tmp
	body scratch 'args = { { "die", "boolean" }, { "wait", "boolean" } },' <<'LUA'
		local f = io.open(ctx.tempdir .. "/file", "w") f:write("x") f:close()
		if args.die then os.execute("kill -9 $PPID") ctx:sleep(5) end
		if args.wait then ctx:sleep(60) end
		return { dir = ctx.tempdir }
LUA
	call TMPDIR="$PWD/tmp" scratch
	[ "$status" -eq 0 ]
	[ -z "$(ls tmp)" ]
	call TMPDIR="$PWD/tmp" scratch --die
	[ "$status" -eq 1 ]
	[ -z "$(ls tmp)" ]
	call TMPDIR="$PWD/tmp" scratch --wait --timeout 500ms
	[ "$status" -eq 10 ]
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
