#!/usr/bin/env bats
# One thread in each process: nothing of ours is shared, so nothing of ours can race
# (and ThreadSanitizer has nothing to look at). The one exception is a library's own.

load lib/helper

@test "the executable, its libraries inside, imports nothing that makes a thread" {
	[ -z "${ASAN_OPTIONS:-}" ] || skip "a sanitizer brings its own"
	dynamic_only "imports nothing, and libcurl is inside"
	local imports
	imports=$(nm -D --undefined-only "$RUNNER")
	grep -q ' fork@' <<<"$imports"
	[ -z "$(grep -E ' (pthread_create|thrd_create|clone3|timer_create|mq_notify|getaddrinfo_a|aio_[a-z_]+|lio_listio)(@|$)' <<<"$imports" || true)" ]
	# clone(2) borrows our memory for a moment before exec, as vfork does; it makes no thread
	[ -z "$(grep -rn CLONE_THREAD "$ROOT/src" || true)" ]
}

# tasks_of PIDS…: "NAME THREADS" of each.
tasks_of() {
	local pid
	for pid; do
		echo "$(<"/proc/$pid/comm") $(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)"
	done
}

@test "while a command runs, each process of ours is one thread" {
	[ -e /proc/self/task ] || skip "no /proc here"
	body busy 'retry = { retries = 2, delay = "1ms" }, idle_timeout = "20s",' <<-'LUA'
		if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "503") end
		pcall(require, "lpeg") -- a C module: its guard
		io.open(ctx.tempdir .. "/x", "w"):close()
		ctx:run { "true" }
		ctx:http { url = "http://127.0.0.1:1/", check = false }
		io.open("ready", "w"):close()
		ctx:sleep(20)
	LUA
	env -i "${CLEAN_ENV[@]}" "${RUNNER:?}" busy >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$! pids
	until_true [ -e ready ]
	mapfile -t pids < <(processes_left | cut -d/ -f3)
	tasks_of "${pids[@]}" >tasks.txt
	kill -TERM "$supervisor"
	wait "$supervisor" || [ $? -eq 143 ]
	cat tasks.txt
	local processes=3 # supervisor, worker, guard
	! is_static || processes=2
	[ "$(wc -l <tasks.txt)" -eq "$processes" ]
	[ "$(sort -u tasks.txt)" = "$(head -1 tasks.txt)" ]
	grep -q ' 1$' tasks.txt
}

# A name that the system knows without asking the network, and libcurl does not by itself.
own_name() {
	awk '!/^ *#/ { for (i = 2; i <= NF; i++) if ($i !~ /localhost/) { print $i; exit } }' /etc/hosts
}

@test "libcurl looks a name up in a thread, which is gone when the request is over" {
	ldconfig -p | grep -q 'libcurl\(-gnutls\)\?\.so\.4' || skip "no libcurl here"
	local name
	name=$(own_name)
	[ -n "$name" ] || skip "/etc/hosts knows no name but localhost"
	body ask <<-LUA
		local function threads()
			local n = 0
			for _ in ctx:run({ "ls", "/proc/" .. io.open("/proc/self/stat"):read("n") .. "/task" }).stdout:gmatch("%d+") do n = n + 1 end
			return n
		end
		local before = threads()
		local ok, e = pcall(ctx.http, ctx, { url = "http://$name:1/" })
		return { before = before, after = threads(), ok = ok, code = e.code }
	LUA
	if strace -f -o /dev/null true 2>/dev/null && [ -z "${ASAN_OPTIONS:-}" ]; then
		env -i "${CLEAN_ENV[@]}" strace -f -qq -e trace=clone,clone3 -o trace.txt "$RUNNER" ask >out.txt 2>err.txt </dev/null
		[ "$(grep -c CLONE_THREAD trace.txt)" -ge 1 ]
	fi
	call ask
	assert_envelope
	expect 'e.data == {"before": 1, "after": 1, "ok": False, "code": "NETWORK_ERROR"}'
}
