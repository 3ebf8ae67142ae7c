#!/usr/bin/env bats
# What `run` returns or raises, whatever it is, becomes one valid envelope with the right code.

load lib/helper

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
	call size $((16 * 1024 * 1024)) --timeout 3m
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "OUTPUT_TOO_LARGE"'
	call size $((16 * 1024 * 1024 - 100)) --timeout 3m
	assert_envelope
	[ "$status" -eq 0 ]
}

@test "REQ-F-006 a Lua error keeps its file and line, and its traceback goes to stderr" {
	body broken '' <<<'local t = nil; return t.field'
	call broken
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "INTERNAL_ERROR" and "broken.lua:3" in e.error.message'
	expect '"detail" not in e.error'
	[[ $stderr == *"stack traceback:"*"commands/broken.lua:3"* ]]
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
