#!/usr/bin/env bats
# What the caller's process hands us: descriptors, signals, children, a terminal
# that is not there. The answer is the same.

load lib/helper

prepare() {
	command_file hello <<'LUA'
return { description = "Say hello", danger_level = "safe",
	args = { { "name", "string", positional = true, default = "world" } },
	run = function(args) return { greeting = "Hello, " .. args.name } end }
LUA
	command_file rows <<'LUA'
return { description = "Many rows", danger_level = "safe",
	run = function() local t = {} for i = 1, 50000 do t[i] = { n = i, text = ("x"):rep(40) } end return t end }
LUA
}

# Run under python with the given preparation of the calling process.
from_caller() {
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 600 python3 "$ROOT/tests/cli/lib/caller.py" "$@"
}

@test "each of fds 0, 1 and 2 closed, in every combination" {
	from_caller closed_descriptors
}

@test "SIGCHLD ignored by the caller does not lose the worker" {
	from_caller ignored_sigchld
}

@test "signals that the caller blocked still end a run" {
	from_caller blocked_signals
}

@test "children that the caller left us are neither waited for nor killed" {
	from_caller inherited_children
}

@test "INT ignored at entry (a background job) stays ignored" {
	from_caller ignored_int
}

@test "INT, TERM, HUP and QUIT cancel: one envelope, 130 or 143" {
	from_caller cancelling_signals
}

@test "INT in a backoff wait ends within 50 ms with one envelope and 130" {
	from_caller cancel_in_backoff
}

@test "a second INT kills immediately what ignores the first" {
	from_caller second_int
}

@test "flags of the caller's descriptors are never changed" {
	from_caller flags_untouched
}

@test "sockets as stdout and stderr work" {
	from_caller socket_stdio
}

@test "a slow reader gets a 2 MB result whole" {
	from_caller slow_reader
}

@test "a thousand runs leave no descriptor, process or file behind" {
	from_caller many_runs
}

@test "as pid 1 of a namespace" {
	unshare --user --map-root-user --pid --fork true 2>/dev/null || skip "no pid namespaces here"
	status=0
	env -i "${CLEAN_ENV[@]}" unshare --user --map-root-user --pid --fork --mount-proc \
		"$RUNNER" hello >out.txt 2>err.txt </dev/null || status=$?
	assert_envelope
	[ "$status" -eq 0 ]
}

@test "a full stdout turns a success into 1 and leaves a failure its number" {
	[ -w /dev/full ] || skip "no /dev/full"
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" hello >/dev/full 2>err.txt || status=$?
	[ "$status" -eq 1 ]
	grep -q OUTPUT_FAILED err.txt
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" nothing-here >/dev/full 2>err.txt || status=$?
	[ "$status" -eq 2 ]
	grep -q OUTPUT_FAILED err.txt
}

@test "a stdout that may not grow is a write that fails, not a supervisor that dies" {
	body large <<<'return { text = ("x"):rep(100000) }'
	status=0
	(ulimit -f 8 && exec env -i "${CLEAN_ENV[@]}" "$RUNNER" large >out.txt 2>err.txt) || status=$?
	[ "$status" -eq 1 ]
	[[ "$(<err.txt)" == "runner: OUTPUT_FAILED: "* ]]
}

@test "a reader that leaves after some rows of a safe command is not a failure" {
	local format
	for format in jsonl tsv plain; do
		(
			status=0
			env -i "${CLEAN_ENV[@]}" "$RUNNER" rows --format $format 2>err.txt || status=$?
			echo "$status" >status.txt
		) | head -1 >first.txt
		[ "$(<status.txt)" -eq 0 ]
		[ -s first.txt ]
		[ ! -s err.txt ]
	done
}

@test "a reader that leaves a JSON envelope is a failure" {
	(
		status=0
		env -i "${CLEAN_ENV[@]}" "$RUNNER" rows 2>err.txt || status=$?
		echo "$status" >status.txt
	) | head -c 1 >/dev/null
	[ "$(<status.txt)" -eq 1 ]
	grep -q OUTPUT_FAILED err.txt
}

@test "no HOME, no PATH, no environment at all" {
	status=0
	env -i "$RUNNER" hello >out.txt 2>err.txt </dev/null || status=$?
	assert_envelope
	[ "$status" -eq 0 ]
}

@test "stdin is /dev/null unless declared; declared, a file is read again by each attempt" {
	command_file reads <<'LUA'
return { description = "x", danger_level = "safe", stdin = true, retry = { retries = 1, delay = "1ms" },
	run = function(_, ctx)
		local text = io.read("a")
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", text) end
		return { text = text }
	end }
LUA
	command_file blind <<'LUA'
return { description = "x", danger_level = "safe", run = function() return { text = io.read("a") } end }
LUA
	echo skipped >input.txt
	echo data >>input.txt
	status=0
	{ read -r _; env -i "${CLEAN_ENV[@]}" "$RUNNER" reads >out.txt 2>err.txt || status=$?; } <input.txt
	assert_envelope
	expect 'e.data["text"] == "data\n" and e.meta.retries == 1' # from where the caller had read to
	echo data >input.txt
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" reads >out.txt 2>err.txt <input.txt || status=$?
	assert_envelope
	expect 'e.data["text"] == "data\n" and e.meta.retries == 1'
	status=0
	echo data | env -i "${CLEAN_ENV[@]}" "$RUNNER" reads >out.txt 2>err.txt || status=$?
	assert_envelope
	[ "$status" -eq 12 ]
	expect '[w["code"] for w in e.warnings] == ["STDIN_CONSUMED"] and e.error.retryable is True'
	echo data | env -i "${CLEAN_ENV[@]}" "$RUNNER" blind >out.txt 2>err.txt
	expect 'e.data["text"] == ""'
}

@test "an undeclared pipe on stdin stays unread for the caller" {
	printf 'one\ntwo\n' | (
		env -i "${CLEAN_ENV[@]}" "$RUNNER" hello >out.txt 2>err.txt
		read -r line
		[ "$line" = one ]
	)
}
