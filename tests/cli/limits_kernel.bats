#!/usr/bin/env bats
# What a command may use of the machine (`limits`): enforced by the kernel for the
# worker and all that it starts, reported in the envelope, nothing left alive. Most
# tests run twice: where we may make cgroups, and as a user who may not.

load lib/helper

# cgroup v2 as our own processes see it, where new groups can be made here
cgroup_site() {
	local root path
	path=$(sed -n 's/^0:://p' /proc/self/cgroup)
	for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ -e $root/cgroup.controllers ] || continue
		[ -w "$root$path/cgroup.procs" ] && [ "$path" = / ] && [ "$(id -u)" -eq 0 ] && echo "$root" && return
	done
	return 1
}

# A user that nobody else runs as: its processes are counted.
OTHER=$((20000 + $$ % 40000))

# call, as a user without a cgroup of its own where this is root
as_user() {
	if [ "$(id -u)" -ne 0 ]; then
		call "$@"
	else
		call_as "$OTHER" "$@"
	fi
}

no_group_left() {
	local site
	site=$(cgroup_site) || return 0
	[ -z "$(find "$site" -maxdepth 1 -name "runner-$(field e.meta.request_id)")" ]
}

# A sanitizer's shadow memory fits into no limit, and its leak check into no tracer.
needs_plain_build() {
	case $RUNNER in */sanitize/*) skip "not under a sanitizer" ;; esac
}

# within FROM TO: the call took that many ms
within() {
	[ "$elapsed_ms" -ge "$1" ] && [ "$elapsed_ms" -le "$2" ]
}

@test "a loop in Lua ends at its CPU limit: CPU_LIMIT, with what was used" {
	body spin 'limits = { cpu = "1s" }, timeout = "5m",' <<<'while true do end'
	call spin
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "CPU_LIMIT" and e.error.retryable is False and e.error.phase == "execution"'
	expect 'e.error.context.limit_ms == 1000 and 500 <= e.error.context.used_ms < 2500'
	expect 'e.error.context.mechanism == e.meta.limits.cpu'
	within 900 200000
	assert_no_process_left
	no_group_left
}

@test "without a cgroup the CPU limit is the kernel's signal, and still CPU_LIMIT" {
	body spin 'limits = { cpu = "1s" }, timeout = "5m",' <<<'while true do end'
	as_user spin
	assert_envelope
	expect 'e.error.code == "CPU_LIMIT" and e.meta.limits == {"cpu": "rlimit"}'
	expect '500 <= e.error.context.used_ms < 2500'
	within 900 200000
}

@test "a loop in a child ends at the CPU limit, with and without a cgroup" {
	body spin 'limits = { cpu = "1s" }, timeout = "5m",' <<<'ctx:run{ "sh", "-c", "while :; do :; done", check = true }'
	local how
	for how in call as_user; do
		$how spin
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code == "CPU_LIMIT" and e.error.context.limit_ms == 1000'
		within 900 200000
		assert_no_process_left
	done
}

@test "with a cgroup the CPU limit holds for all processes together, and cleanup runs" {
	cgroup_site >/dev/null || skip "no cgroup v2 that we may make groups in"
	cat >commands/crowd.lua <<'LUA'
		return { description = "x", danger_level = "safe", limits = { cpu = "1s" }, timeout = "5m", steps = { "spin" },
			run = function(_, ctx)
				ctx:step "spin"
				for _ = 1, 4 do
					ctx:spawn{ "sh", "-c", "while :; do :; done" }
				end
				ctx:sleep(200)
			end,
			cleanup = function()
				io.open("cleaned", "w"):close()
			end }
LUA
	call crowd
	assert_envelope
	expect 'e.error.code == "CPU_LIMIT" and e.error.context.mechanism == "cgroup"'
	expect 'e.data.failed_step == "spin"'
	expect '1000 <= e.error.context.used_ms < 3500'
	[ -e cleaned ]
	[ "$elapsed_ms" -lt 150000 ]
	assert_no_process_left
	no_group_left
}

@test "memory in Lua ends at its limit: MEMORY_LIMIT by lua, with and without a cgroup" {
	needs_plain_build
	body eater 'limits = { memory = "64MB" },' <<<'local t = {} while true do t[#t + 1] = ("x"):rep(65536) .. #t end'
	local how
	for how in call as_user; do
		$how eater
		assert_envelope
		[ "$status" -eq 1 ]
		expect 'e.error.code == "MEMORY_LIMIT"'
		expect 'e.error.context.limit_bytes == 64000000 and e.error.context.by in ("lua", "kernel")'
		expect 'e.meta.limits.memory in ("rlimit", "cgroup")'
	done
}

@test "a command that stays below its memory limit may fill it with blocks of one size after another" {
	needs_plain_build
	body phases 'limits = { memory = "64MB" },' <<'LUA'
		for _, n in ipairs{ 20, 100, 300, 1000 } do
			collectgarbage()
			local held = {}
			while collectgarbage("count") < 44000 do held[#held + 1] = ("x"):rep(n) .. #held end
			held = nil
		end
		return {}
LUA
	local how
	for how in call as_user; do
		$how phases
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.meta.limits.memory in ("rlimit", "cgroup")'
	done
}

@test "memory in a child ends at the limit, and the error says what limits it had" {
	needs_plain_build
	body eater 'limits = { memory = "64MB" },' \
		<<<'ctx:run{ "python3", "-c", "x = bytearray(300000000); print(len(x))", check = true }'
	local how
	for how in call as_user; do
		$how eater
		assert_envelope
		[ "$status" -eq 1 ]
		# refused by an rlimit, the child fails as it likes; killed in a cgroup, it is ours to say
		if [ "$(field e.meta.limits.memory)" = cgroup ]; then
			expect 'e.error.code == "MEMORY_LIMIT" and e.error.context.by == "kernel"'
		else
			expect 'e.error.code == "SUBPROCESS_FAILED" and "MemoryError" in e.error.message'
			expect 'e.error.context.limits.memory_bytes == 64000000'
		fi
		assert_no_process_left
	done
	body modest 'limits = { memory = "64MB" },' <<<'ctx:run{ "python3", "-c", "x = bytearray(30000000)", check = true }'
	call modest
	[ "$status" -eq 0 ]
}

@test "a fork bomb stops at its number of processes and none of it is left" {
	body bomb 'limits = { processes = 32 }, timeout = "5m",' <<'LUA'
		ctx:run{ "python3", "-c", [[
import os, sys, time
for n in range(500):
    try:
        pid = os.fork()
    except OSError:
        sys.exit("refused after %d" % n)
    if pid == 0:
        time.sleep(300)
        os._exit(0)
]], check = true }
LUA
	as_user bomb
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.code == "SUBPROCESS_FAILED" and e.error.context.limits.processes == 32'
	expect 'e.meta.limits.processes in ("rlimit", "cgroup")'
	# an rlimit counts a user's other processes, too: of a user that has others, some may have ended meanwhile
	local most=32
	[ "$(id -u)" -eq 0 ] || [ "$(field e.meta.limits.processes)" = cgroup ] || most=96
	expect "0 < int(e.error.message.split('refused after ')[1]) <= $most"
	[ "$elapsed_ms" -lt 100000 ]
	assert_no_process_left
}

@test "ctx:run that can't fork at the limit of processes says so with its limits" {
	body forks 'limits = { processes = 3 },' <<'LUA'
		local kept = {}
		for i = 1, 10 do
			kept[i] = ctx:spawn{ "sleep", "60" }
		end
LUA
	as_user forks
	assert_envelope
	expect 'e.error.code == "RESOURCE_EXHAUSTED" and e.error.context.limits.processes == 3'
	expect 'e.error.context.errno == "EAGAIN"'
	assert_no_process_left
}

@test "what can't be enforced is not claimed: root and processes without a cgroup" {
	[ "$(id -u)" -eq 0 ] || skip "root only"
	grep -qw pids "$(cgroup_site || echo /nonexistent)/cgroup.controllers" 2>/dev/null && skip "a cgroup can count processes"
	body idle 'limits = { processes = 3 },' <<<'return {}'
	call idle
	assert_envelope
	expect 'e.ok and e.meta.limits == {"processes": "none"}'
}

@test "opening 1000 files under open_files fails and names the limit" {
	body opener 'limits = { open_files = 64 },' <<'LUA'
		local kept = {}
		for i = 1, 1000 do
			kept[i] = assert(io.open("/dev/null"))
		end
LUA
	call opener
	assert_envelope
	[ "$status" -eq 1 ]
	# (glibc, musl)
	expect 'e.error.code == "INTERNAL_ERROR" and e.error.message.endswith(("Too many open files", "No file descriptors available"))'
	expect 'e.error.context.limit == "open_files" and e.error.context.open_files == 64'
	expect '"limits.open_files" in e.error.fix_required'
	body child 'limits = { open_files = 64 },' <<<'return { n = ctx:run{ "sh", "-c", "ulimit -n" }.stdout }'
	call child
	expect 'e.data.n.strip() == "64"'
}

@test "each attempt has its limits anew" {
	body spin 'limits = { cpu = "1s" }, timeout = "5m", retry = { retries = 1, delay = 0, on = { "CPU_LIMIT" } },
		exit_codes = { CPU_LIMIT = { retryable = true, side_effects = "none", retry_after_ms = 0, retry_strategy = "immediate" } },' \
		<<<'while true do end'
	call spin
	assert_envelope
	expect 'e.error.code == "CPU_LIMIT" and e.meta.attempt == 2'
	expect '500 <= e.error.context.used_ms < 1900'
	within 1800 200000
	no_group_left
}

@test "a nested run stays inside the limits of the outer one" {
	body inner 'limits = { cpu = "200s" }, timeout = "5m",' <<<'while true do end'
	body outer 'limits = { cpu = "1s" }, timeout = "5m",' <<<'ctx:run{ args.runner, "inner", check = true }'
	sed -i 's/limits/args = { { "runner", "path", positional = true } }, limits/' commands/outer.lua
	call outer "$RUNNER"
	assert_envelope
	expect 'e.error.code == "CPU_LIMIT" or e.error.context.status == 1'
	[ "$elapsed_ms" -lt 150000 ]
	assert_no_process_left
	no_group_left
}

@test "a killed supervisor leaves an empty group that the next run removes" {
	local site left
	site=$(cgroup_site) || skip "no cgroup v2 that we may make groups in"
	body sleeper 'limits = { cpu = "20s" },' <<<'io.open("ready", "w"):close() ctx:sleep(600)'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" sleeper >/dev/null 2>&1 </dev/null &
	local pid=$!
	until_true [ -e ready ]
	# ours among those of other tests: the worker is in it
	left=$(grep -lxf <(processes_left | cut -d/ -f3) "$site"/runner-req_*/cgroup.procs)
	left=${left%/cgroup.procs}
	[ -d "$left" ]
	kill -KILL $pid
	wait $pid || true
	until_true assert_no_process_left
	body idle 'limits = { cpu = "20s" },' <<<'return {}'
	until_true removed_by_the_next_run "$left" # the dead may be counted for a moment
	expect 'e.ok and e.meta.limits == {"cpu": "cgroup"}'
}

removed_by_the_next_run() {
	call idle
	[ ! -e "$1" ]
}

@test "a run without limits asks the kernel for none" {
	needs_plain_build
	command -v strace >/dev/null || skip "strace is not installed"
	body plain '' <<<'return { fine = true }'
	strace -f -o trace.txt env -i "${CLEAN_ENV[@]}" "$RUNNER" plain >out.txt </dev/null
	expect 'e.ok and e.meta.limits is None'
	grep -q 'write(' trace.txt
	if grep -E 'cgroup|getrusage|setrlimit|prlimit64\([^)]*, \{rlim_cur=[^}]*\}, ' trace.txt; then
		return 1
	fi
	body limited 'limits = { cpu = "9s" },' <<<'return { fine = true }'
	strace -f -o trace.txt env -i "${CLEAN_ENV[@]}" "$RUNNER" limited >out.txt </dev/null
	grep -Eq 'RLIMIT_CPU' trace.txt
}

@test "--plan shows the declared limits, and enforces nothing" {
	body all 'limits = { memory = "256MB", cpu = "10s", processes = 64, open_files = 256 },' <<<'return {}'
	call all --plan
	assert_envelope
	expect 'e.data.limits.memory == {"bytes": 256000000, "source": "command"}'
	expect 'e.data.limits.cpu == {"ms": 10000, "source": "command"}'
	expect 'e.data.limits.processes == {"count": 64, "source": "command"}'
	expect 'e.data.limits.open_files == {"count": 256, "source": "command"}'
	expect 'e.meta.limits is None'
}

@test "wrong limits are COMMAND_INVALID with the fix" {
	local row
	while IFS='|' read -r row fix; do
		body wrong "limits = { $row }," <<<'return {}'
		call wrong
		assert_envelope
		[ "$status" -eq 4 ]
		expect "e.error.code == 'COMMAND_INVALID' and 'limits.${row%% *}' in str(e.error)"
		expect "'$fix' in str(e.error)"
	done <<-'END'
		memory = "5KB"|at least 1 MiB
		cpu = "soon"|10s
		cpu = -1|10s
		processes = 0|a whole number from 1
		processes = 1.5|a whole number from 1
		open_files = 4|a whole number from 16
		disk = "1GB"|Remove it
	END
}
