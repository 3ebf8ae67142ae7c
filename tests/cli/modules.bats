#!/usr/bin/env bats
# C modules in scripts: Debian's own load and work, and a hostile one can't reach
# the supervisor.

load lib/helper

prepare() {
	if [ ! -e "$BATS_FILE_TMPDIR/misbehave.so" ]; then
		# shellcheck disable=SC2046
		${CC:-cc} -shared -fPIC -w -D_GNU_SOURCE $(pkg-config --cflags lua5.4) -o "$BATS_FILE_TMPDIR/misbehave.so" \
			"$ROOT/tests/fault/misbehave.c"
	fi
}

hostile() {
	dynamic_only "loads no C module"
	{
		echo 'return { description = "x", danger_level = "safe", grace = "300ms", run = function(args, ctx)'
		echo "local hostile = package.loadlib('$BATS_FILE_TMPDIR/misbehave.so', 'luaopen_misbehave')()"
		cat
		echo 'end }'
	} | command_file hostile
}

@test "Debian's lpeg and lua-filesystem load and work" {
	dynamic_only "loads no C module"
	command_file native <<'LUA'
return { description = "x", danger_level = "safe", run = function()
	local lpeg, lfs = require "lpeg", require "lfs"
	local word = lpeg.C(lpeg.R("az") ^ 1)
	return { word = word:match("abc123"), here = lfs.attributes("commands", "mode") }
end }
LUA
	call native
	assert_envelope
	expect 'e.data == {"word": "abc", "here": "directory"}'
}

@test "cjson and cjson.safe are there for scripts" {
	command_file codec <<'LUA'
return { description = "x", danger_level = "safe", run = function()
	local cjson, safe = require "cjson", require "cjson.safe"
	local value, why = safe.decode("{bad")
	return { text = cjson.encode { 1, 2, 3 }, n = cjson.decode("[7]")[1], failed = value == nil and why ~= nil }
end }
LUA
	call codec
	assert_envelope
	expect 'e.data == {"text": "[1,2,3]", "n": 7, "failed": True}'
}

@test "a worker that closes every descriptor is a crash with an envelope" {
	hostile <<<'hostile.close_all() return { lost = true }'
	call hostile
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "COMMAND_CRASHED"'
}

@test "a worker that closes every descriptor and carries on ends at its limit" {
	hostile <<<'hostile.close_all() while true do end'
	call hostile --timeout 300ms
	assert_envelope
	[ "$status" -eq 10 ]
}

@test "a worker that blocks every signal is killed after the grace" {
	hostile <<<'hostile.block() while true do end'
	call hostile --timeout 200ms
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$elapsed_ms" -lt 20000 ]
}

@test "a stack overflow in C is a crash by signal" {
	hostile <<<'hostile.overflow_stack()'
	call hostile
	assert_envelope
	expect 'e.error.code == "COMMAND_CRASHED" and e.error.context.signal in ("SIGSEGV", "SIGBUS", "SIGABRT")'
}

@test "a CONT ends neither a worker whose supervisor lives nor what a C module has forked" {
	[ -e "/proc/$$/task/$$/children" ] || skip "the kernel lists no children"
	hostile <<'LUA'
		local function of(pid, n)
			local pids = {}
			while #pids < n do
				pids = {}
				local f <close> = io.open(("/proc/%d/task/%d/children"):format(pid, pid))
				for child in (f and f:read "a" or ""):gmatch "%d+" do pids[#pids + 1] = child end
			end
			return pids
		end
		local worker <const> = io.open("/proc/self/stat"):read "n"
		hostile.crowd(1) -- a child, with a child of its own
		local child = of(worker, 1)[1]
		local grandchild = of(child, 1)[1]
		os.execute(("kill -CONT %d %s; sleep 0.3"):format(worker, child))
		return { child = os.execute("kill -0 " .. child), grandchild = os.execute("kill -0 " .. grandchild) }
LUA
	call hostile
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"child": True, "grandchild": True}'
	assert_no_process_left
}

@test "a forked child that keeps the frame socket open delays nothing" {
	hostile <<<'hostile.fork_and_sleep(60) return { done = true }'
	call hostile
	assert_envelope
	[ "$status" -eq 0 ]
	[ "$elapsed_ms" -lt 30000 ]
	expect '[w["code"] for w in e.warnings] == ["PROCESS_LEFT"]'
	assert_no_process_left
}

@test "a forked child that keeps the frame socket when the worker dies delays nothing" {
	hostile <<<'hostile.fork_and_sleep(60) os.exit(5)'
	call hostile
	assert_envelope
	[ "$status" -eq 1 ]
	[ "$elapsed_ms" -lt 30000 ]
	assert_no_process_left
}

@test "forged, malformed and half frames end the attempt, not the supervisor" {
	local forged
	for forged in '"garbage garbage garbage"' '("R F"):rep(100000)' '"RF\1\1\255\255\255\127"' \
		'"RF\14\1\40\0\0\0" .. ("\255"):rep(40)' '("\0"):rep(100)'; do
		hostile <<<"hostile.forge($forged) ctx:sleep(50) return {}"
		call hostile --timeout 40s
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code in ("COMMAND_CRASHED", "OUTPUT_TOO_LARGE")'
		[ "$elapsed_ms" -lt 30000 ]
	done
	hostile <<<'hostile.forge("RF\14\1\200\0\0\0half") os.exit(0)'
	call hostile
	assert_envelope
	expect 'e.error.code == "COMMAND_CRASHED"'
}

@test "a forged result with bad JSON is INVALID_RESULT" {
	# RESULT with ok = 1 and data = {"a":"\u001b[31m"}: ANSI must not get through
	hostile <<'LUA'
		local src = {}
		for name in io.open(os.getenv("FRAME_DEF")):read("a"):gmatch("FRAME%((%u+),") do src[#src + 1] = name end
		local ids = {}
		local text = io.open(os.getenv("FRAME_H")):read("a"):match("enum field_id {(.-)};")
		for name in text:gmatch("F_([%w_]+)") do ids[#ids + 1] = name end
		local function index(list, name) for i, v in ipairs(list) do if v == name then return i end end end
		local function field(name, bytes) return string.pack("<Bs4", index(ids, name) - 1, bytes) end
		local payload = field("ok", string.pack("<i8", 1)) .. field("data", '{"a":"\\u001b[31m"}')
		hostile.forge("RF" .. string.pack("<BBs4", index(src, "RESULT"), 1, payload))
		ctx:sleep(50)
LUA
	call FRAME_DEF="$ROOT/src/common/frame.def" FRAME_H="$ROOT/src/common/frame.h" hostile --timeout 40s
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "INVALID_RESULT"'
}

# --- the guard: what ends a tree whose supervisor was killed, also a worker that a C module has made blind ------------------

# The supervisor's children: its worker, and the guard.
CHILDREN='local function children() local n, parent = 0, io.open("/proc/self/stat"):read("a"):match(".*%) %a (%d+)")
	for _ in io.open("/proc/" .. parent .. "/task/" .. parent .. "/children"):read("a"):gmatch("%d+") do n = n + 1 end
	return n end'

@test "a command has a guard once it loads a C module or starts a process, in every attempt, and not before" {
	[ -e /proc/self/task/self/children ] || [ -e "/proc/$$/task/$$/children" ] || skip "the kernel lists no children"
	body starts 'retry = { retries = 1, delay = "1ms" },' <<<"$CHILDREN"'
		local before = children()
		os.execute("true")
		if ctx.attempt == 1 then ctx:progress { first = { before, children() } } ctx:fail("UNAVAILABLE", "no") end
		return { before, children(), ctx.previous.progress.first }'
	call starts
	assert_envelope
	expect 'e.data == [2, 2, [1, 2]]'
	dynamic_only "loads no C module"
	body native <<<"$CHILDREN"'
		local before = children()
		require "lpeg"
		local loaded = children()
		require "lfs"
		return { before, loaded, children() }'
	call native
	assert_envelope
	expect 'e.data == [1, 2, 2] and e.warnings == []'
}

@test "a C module that waits for all its children never meets the guard" {
	hostile <<<'hostile.fork_and_sleep(0) hostile.fork_and_sleep(0) return { hostile.wait_all() }'
	call hostile
	assert_envelope
	expect 'e.data == [2] and e.warnings == []'
}

@test "the guard ends with its command, however that ends, and is never reported as a process left behind" {
	local ending
	body returns '' <<<'require "lpeg" return {}'
	body raises '' <<<'require "lpeg" error("no")'
	body exits 'cleanup = function() os.exit(0) end,' <<<'require "lpeg" return {}'
	for ending in returns raises exits; do
		for _ in 1 2 3 4 5; do
			call $ending
			assert_envelope
			assert_no_process_left
			expect '"PROCESS_LEFT" not in [w["code"] for w in e.warnings]'
		done
	done
}

@test "what was detached behind a guard's back outlives a killed supervisor too" {
	[ -e "/proc/$$/task/$$/children" ] || skip "the kernel lists no children"
	hostile <<'LUA'
		io.open("pid", "w"):write(ctx:spawn({ "sleep", "100", detach = true }).pid):close()
		hostile.fork_and_sleep(100)
		hostile.block()
		io.open("ready", "w"):close()
		while true do end
LUA
	env -i "${CLEAN_ENV[@]}" "${RUNNER:?}" hostile >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	until_true [ -e ready ]
	kill -KILL "$supervisor"
	until_true only_left "/proc/$(<pid)/environ"
	kill "$(<pid)"
}

# That is what there still is of this test.
only_left() {
	[ "$(processes_left)" = "$1" ]
}

@test "whatever a script does to its globals, its answer, its cleanup and its code arrive" {
	local rows=(
		'package.searchers = nil'
		'package.searchers = {}; package.preload = {}'
		'for name in pairs(package.loaded) do package.loaded[name] = nil end; package.searchers = {}'
		'require = nil; package = nil'
		'string.find, string.sub, string.format = nil, nil, function() error "no more" end'
		'for _, t in ipairs { table, string, math, debug, os, coroutine, utf8 } do for k in next, t do t[k] = nil end end'
		'local all = _G; for k in pairs(all) do all[k] = k == "io" and io or nil end'
		'require = function() error "no more" end; package.loaded["runner.core.errors"] = {}; package.loaded["runner.project.failure"] = 1'
	) row
	for row in "${rows[@]}"; do
		body spoil 'cleanup = function() io.stderr:write("cleaned\n") end,' <<<"$row ctx:log('told') ctx:fail('CONFLICT', 'there', { suggestion = 'go' })"
		call spoil
		assert_envelope
		expect 'e.error.code == "CONFLICT" and e.error.suggestion == "go" and e.meta.exit_code == 6'
		grep -qx cleaned err.txt
		body spoil <<<"$row return { n = 1 }"
		call spoil --format table
		[ "$status" -eq 0 ]
		[ "$stdout" = $'n\n1' ]
	done
}

@test "what a script adds to the string library is a method of strings" {
	body add <<<'function string.twice(s) return s .. s end return { v = ("x"):twice():upper(), same = ("x"):rep(2) == string.rep("x", 2) }'
	call add
	assert_envelope
	expect 'e.data.v == "XX" and e.data.same'
}
