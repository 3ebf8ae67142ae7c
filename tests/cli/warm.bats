#!/usr/bin/env bats
# Warm starts (docs/design.md#warm-start): a call that a zygote starts is as one that is executed, has
# nothing of the calls before it, and leaves no process, whoever of them is killed.

load lib/helper

# `serve` makes calls of our own program; each of the list is { warm, word … }.
prepare() {
	mkdir -p lib
	cat >lib/calls.lua <<-'LUA'
		local process, json = require "runner.process", require "runner.json"
		local program = require("runner.fs").readlink "/proc/self/exe"
		local M = {}

		function M.start(warm, ...)
			return assert(process.start { argv = { program, ... }, warm = warm, capture = true, grace_ms = 3000 })
		end

		function M.finish(handle)
			assert(process.set { handle }:wait(false) == "done")
			local result = handle:result()
			result.answer = json.decode(result.stdout)
			return result
		end

		function M.call(warm, ...)
			return M.finish(M.start(warm, ...))
		end

		-- One after the other, like a server: the first is the one that starts the zygote.
		function M.warmed_up()
			assert(M.call(true, "hello").ok)
		end

		function M.children()
			local own = io.open("/proc/self/stat"):read("a"):match "^%d+"
			return io.open("/proc/" .. own .. "/task/" .. own .. "/children"):read "a"
		end

		function M.zygote()
			for pid in M.children():gmatch "%d+" do
				local file = io.open("/proc/" .. pid .. "/stat")
				local state = file and (file:read "a" or ""):match "^%d+ %(runner%-zygote%) (%S)"
				if state and state ~= "Z" then
					return pid
				end
			end
		end

		function M.until_true(f)
			while not f() do
				require("runner.host").sleep(5)
			end
		end

		return M
	LUA
	body hello <<<'return { hello = "world" }'
}

# What the process of a command is, and its supervisor.
facts_file() {
	body facts <<'LUA'
		local function read(path)
			local file <close> = assert(io.open(path))
			return file:read "a"
		end
		local function lines(path, names)
			local found = {}
			for name, value in read(path):gmatch "([^\n:]+):%s*([^\n]*)" do
				found[name] = names[name] and value or nil
			end
			return found
		end
		local function output(command)
			local pipe = io.popen(command)
			local text = pipe:read "a"
			pipe:close()
			return text
		end
		local own, _, _, supervisor, group, session = read "/proc/self/stat":match "^(%d+) (%b()) (%S) (%d+) (%d+) (%d+)"
		local above = read("/proc/" .. supervisor .. "/stat")
		local parent, above_group, above_session = above:match "^%d+ %b() %S (%d+) (%d+) (%d+)"
		local names = { SigIgn = true, SigBlk = true, CapEff = true, NoNewPrivs = true, Seccomp = true, Cpus_allowed = true, Umask = true, Name = true }
		local outside = setmetatable({ SigBlk = false }, { __index = names }) -- changes as it waits and goes on
		local inner = lines("/proc/self/status", names)
		return {
			worker = inner, handled = lines("/proc/self/status", { SigCgt = true }),
			supervisor = lines("/proc/" .. supervisor .. "/status", outside),
			limits = read "/proc/self/limits", supervisor_limits = read("/proc/" .. supervisor .. "/limits"),
			cgroup = read "/proc/self/cgroup", oom = read "/proc/self/oom_score_adj",
			nice = read "/proc/self/stat":match "%) (.*)$":match(("%S+ "):rep(16) .. "(%S+)"),
			leads_session = session == own and group == own, above_leads_group = above_group == supervisor,
			above_in_session_of_parent = above_session == read("/proc/" .. parent .. "/stat"):match "^%d+ %b() %S %d+ %d+ (%d+)",
			cwd = require("runner.fs").readlink "/proc/self/cwd", above_cwd = require("runner.fs").readlink("/proc/" .. supervisor .. "/cwd"),
			environment = output "env | grep -v '^_=\\|^RUNNER_DEADLINE_MS\\|^RUNNER_TEMPDIR' | sort",
			descriptors = #require("runner.fs").list "/proc/self/fd", stdin = require("runner.fs").readlink "/proc/self/fd/0",
			modules = (function() local n = 0 for _ in pairs(package.loaded) do n = n + 1 end return n end)(),
			path = package.path, cpath = package.cpath, leaked = LEAKED or false,
			command_line = read("/proc/" .. supervisor .. "/cmdline"):gsub("%z+$", ""), executed = #read("/proc/" .. supervisor .. "/cmdline") < 1000,
		}
LUA
}

@test "a warm call is in everything that the system knows of it as one that was executed" {
	facts_file
	body both 'limits = { open_files = 200 },' <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		return { warm = calls.call(true, "facts").answer.data, cold = calls.call(false, "facts").answer.data }
	LUA
	call both
	assert_envelope
	expect "e.data.cold.pop('executed') is True and e.data.warm.pop('executed') is False"
	expect "all(e.data['warm'][name] == value for name, value in e.data['cold'].items() if name != 'executed')"
	expect "e.data.warm.leads_session and e.data.warm.above_leads_group and e.data.warm.above_in_session_of_parent"
}

@test "a warm call has nothing of the one before" {
	facts_file
	body dirty <<-'LUA'
		LEAKED, string.leaked, package.path, package.loaded.json = true, true, "/tmp/?.lua", true
		string.format, table.concat = nil, nil
		math.randomseed(1)
		io.stdin:close()
		io.stdout:write "left behind"
		return {}
	LUA
	body both <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		local before = calls.call(true, "facts")
		assert(calls.call(true, "dirty").ok)
		return { before = before.answer.data, after = calls.call(true, "facts").answer.data, stderr = before.stderr }
	LUA
	call both
	assert_envelope
	expect "e.data.before == e.data.after and e.data.after.leaked is False and e.data.stderr == ''"
}

@test "no two warm calls draw the same numbers, not even while their file loads" {
	command_file draw <<<'local early = math.random(0)
		return { description = "x", danger_level = "safe", run = function(args, ctx)
			return { early = tostring(early), late = tostring(math.random(0)), id = ctx.request_id or "" } end }'
	body both <<-'LUA'
		local calls, drawn = require "calls", {}
		for i = 1, 20 do
			drawn[i] = calls.call(true, "draw").answer.data
		end
		return { drawn = drawn }
	LUA
	call both
	assert_envelope
	expect "len({d['early'] for d in e.data['drawn']} | {d['late'] for d in e.data['drawn']}) == 40"
}

@test "a warm call answers what a cold one does: results, errors, retries, attempts of their own, limits" {
	command_file flaky <<-'LUA'
		loads = (loads or 0) + 1
		return { description = "x", danger_level = "safe", retry = { retries = 2, delay = 0 },
			exit_codes = { NOT_YET = { code = 80, retryable = true, side_effects = "none" } },
			run = function(args, ctx)
				seen = (seen or 0) + 1
				if ctx.attempt < 3 then ctx:fail("NOT_YET", "Not yet") end
				return { attempt = ctx.attempt, seen = seen, loads = loads }
			end }
	LUA
	body crash <<<'os.exit(3)'
	body slow 'timeout = "100ms",' <<<'while true do end'
	body greedy <<<'local t = {} for i = 1, 1e9 do t[i] = i end'
	body prints <<<'print "a" io.stderr:write "b\n" return { args = #args }'
	body both <<-'LUA'
		local calls, pairs_of = require "calls", {}
		for _, words in ipairs { { "hello" }, { "flaky" }, { "crash" }, { "slow" }, { "prints" }, { "nothing" }, { "hello", "--nam" }, { "--version" },
			{ "hello", "--format", "text" }, { "greedy", "--timeout", "100s" } } do
			local pair = {}
			for i, warm in ipairs { true, false } do
				local r = calls.call(warm, table.unpack(words))
				local a = type(r.answer) == "table" and r.answer or {}
				if type(a.error) == "table" and a.error.context then a.error.context.elapsed_ms = nil end
				pair[i] = { status = r.status, stderr = (r.stderr:gsub('"elapsed_ms":%d+', "")), ok = a.ok, data = a.data, error = a.error,
					text = not r.answer and r.stdout or nil }
			end
			pairs_of[#pairs_of + 1] = { words = table.concat(words, " "), warm = pair[1], cold = pair[2] }
		end
		return { all = pairs_of }
	LUA
	call both --timeout 10m
	assert_envelope
	expect "[p['words'] for p in e.data['all'] if p['warm'] != p['cold']] == []"
	expect "e.data['all'][1]['warm']['data'] == {'attempt': 3, 'seen': 1, 'loads': 1}"
}

@test "a warm call may use as much memory as a cold one" {
	[ -z "${ASAN_OPTIONS:-}" ] || skip "a sanitizer's memory counts, too"
	body fill 'limits = { memory = "16MiB" },' <<-'LUA'
		-- (string.rep makes no room by a collection when its buffer finds none: how far it gets is luck)
		local kept, count, text = {}, 0, ("x"):rep(4000)
		pcall(function() while true do count = count + 1 kept[count] = text .. count end end)
		kept = nil
		return { kib = count * 4 }
	LUA
	body both <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		return { warm = calls.call(true, "fill").answer.data.kib, cold = calls.call(false, "fill").answer.data.kib }
	LUA
	call both
	assert_envelope
	expect "e.data.cold > 15000 and abs(e.data.warm - e.data.cold) < e.data.cold / 20"
}

# victim_of WHO: a warm call while which WHO is killed; then another one.
victim_of() {
	body victim <<-'LUA'
		os.execute "sleep 300 & echo $! >left"
		local own, supervisor = io.open("/proc/self/stat"):read("a"):match "^(%d+) %b() %S (%d+)"
		local file = io.open("marker.new", "w")
		file:write(own, " ", supervisor):close()
		os.rename("marker.new", "marker")
		ctx:sleep(60)
	LUA
	body serve "args = { { 'who', 'string', positional = true } }," <<-'LUA'
		local calls, host = require "calls", require "runner.host"
		calls.warmed_up()
		local handle = calls.start(true, "victim")
		calls.until_true(function() return io.open "marker" end)
		local worker, supervisor = io.open("marker"):read("a"):match "^(%d+) (%d+)$"
		local pid = ({ worker = worker, supervisor = supervisor, zygote = calls.zygote() })[args.who]
		os.execute("kill -KILL " .. pid)
		if args.who == "zygote" then
			calls.until_true(function() return not calls.zygote() end)
			handle:stop(5000)
		end
		local result = calls.finish(handle)
		local left = io.open("left"):read "n"
		local alive = os.execute(("kill -0 %d 2>/dev/null"):format(left)) or os.execute("kill -0 " .. worker .. " 2>/dev/null") or false
		local next_ones = { calls.call(true, "hello"), calls.call(true, "hello"), calls.call(true, "hello") }
		return { status = result.status, signal = result.signal, code = result.answer and result.answer.error.code, alive = alive,
			next_ok = next_ones[1].ok and next_ones[2].ok and next_ones[3].ok, zygote = calls.zygote() ~= nil }
	LUA
	call serve "$1"
	assert_envelope
	assert_no_process_left
	expect "e.data.alive is False and e.data.next_ok and e.warnings == []"
}

@test "a warm call whose worker is killed answers as any, and leaves no process" {
	victim_of worker
	expect "e.data.status == 1 and e.data.code == 'COMMAND_CRASHED'"
}

@test "a warm call whose supervisor is killed is killed by KILL, and leaves no process" {
	victim_of supervisor
	expect "e.data.signal == 'SIGKILL' and 'code' not in e.data"
}

@test "a zygote that is killed takes no call with it, and is replaced" {
	victim_of zygote
	expect "e.data.status == 143 and e.data.code == 'CANCELLED' and e.data.zygote"
}

@test "whoever kills a server leaves no process of its warm calls" {
	local who
	body victim <<<'os.execute "trap \"\" TERM; sleep 300 & echo >marker" ctx:sleep(60)'
	body serve <<<'local calls = require "calls" calls.warmed_up() calls.finish(calls.start(true, "victim"))'
	for who in supervisor worker both stopped; do
		rm -f marker
		env -i "${CLEAN_ENV[@]}" "$RUNNER" serve >out.txt 2>err.txt </dev/null 3>&- &
		local pid=$! worker
		until_true [ -e marker ]
		worker=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children")
		case $who in
		supervisor) kill -KILL "$pid" ;;
		worker) kill -KILL "$worker" ;;
		both) kill -STOP "$worker" && kill -KILL "$pid" "$worker" ;;
		stopped)
			# shellcheck disable=SC2046
			kill -STOP $(cat "/proc/$worker/task/$worker/children") && kill -KILL "$pid" "$worker"
			;;
		esac
		wait "$pid" || true
		until_true assert_no_process_left
	done
}

@test "a cancelled server cancels its warm calls in order" {
	body victim 'cleanup = function() io.open("cleaned", "w"):close() end,' <<<'io.open("marker", "w"):close() ctx:sleep(60)'
	body serve <<<'local calls = require "calls" calls.warmed_up() calls.finish(calls.start(true, "victim"))'
	cancel TERM serve
	[ "$status" -eq 143 ]
	assert_no_process_left
	[ -e cleaned ]
}

@test "a job that a warm call starts goes on when its server has ended" {
	body work 'timeout = "60s",' <<<'while not io.open "go" do ctx:sleep(0.01) end return { done = true }'
	body serve <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		return { job = calls.call(true, "work", "--detach").answer.data.job_id, left = calls.children() }
	LUA
	call XDG_STATE_HOME="$PWD/state" serve
	assert_envelope
	expect "e.data.job and e.warnings == []"
	local job
	job=$(field e.data.job)
	touch go
	call XDG_STATE_HOME="$PWD/state" job wait "$job"
	assert_envelope
	expect "e.data.done is True"
	until_true assert_no_process_left
}

@test "what a warm call detaches ends with it, as under a shepherd" {
	body detaches <<<'ctx:spawn { "sleep", "300", detach = true } return {}'
	body serve <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		local result = calls.call(true, "detaches")
		return { ok = result.ok, children = select(2, calls.children():gsub("%d+", "")), next_ok = calls.call(true, "hello").ok }
	LUA
	call serve
	assert_envelope
	expect "e.data.ok and e.data.next_ok and e.data.children == 1 and e.warnings == []"
	assert_no_process_left
}

@test "where a warm start isn't the same as a cold one, the call is executed" {
	facts_file
	body both 'args = { { "how", "string", positional = true } },' <<-'LUA'
		local calls, process = require "calls", require "runner.process"
		local program = require("runner.fs").readlink "/proc/self/exe"
		local more = ({ lua = { env = { "LUA_PATH=/x/?.lua" } }, library = { env = { "RUNNER_LUA=" } }, preload = { env = { "LD_PRELOAD=" } }, foreground = { foreground = true },
			large = { env = { "LARGE=" .. ("x"):rep(70000) } }, module = {} })[args.how]
		calls.warmed_up()
		if args.how == "module" then
			require "lpeg"
		end
		more.argv, more.warm, more.capture = { program, "facts" }, true, true
		local result = calls.finish(assert(process.start(more)))
		return { executed = result.answer.data.executed }
	LUA
	local how
	for how in lua library preload foreground large module; do
		[ $how != module ] || dynamic_only "loads no C module"
		call both $how
		assert_envelope
		expect "e.data.executed"
	done
}

@test "descriptors, memory and processes of a server stay as they are over hundreds of warm calls" {
	body serve <<-'LUA'
		local calls = require "calls"
		local function size()
			collectgarbage() collectgarbage()
			return { fds = #require("runner.fs").list "/proc/self/fd", kib = collectgarbage "count" // 1, children = select(2, calls.children():gsub("%d+", "")) }
		end
		for _ = 1, 20 do calls.warmed_up() end
		local before = size()
		for _ = 1, 300 do calls.warmed_up() end
		return { before = before, after = size() }
	LUA
	call serve --timeout 10m
	assert_envelope
	expect "e.data.before['fds'] == e.data.after['fds'] and e.data.before['children'] == e.data.after['children']"
	expect "e.data.after['kib'] - e.data.before['kib'] < 50"
}

@test "a warm call inherits the deadline of its server" {
	body serve 'timeout = "20s",' <<-'LUA'
		local calls = require "calls"
		calls.warmed_up()
		return { limit = calls.call(true, "hello").answer.meta.timeout_ms }
	LUA
	call serve
	assert_envelope
	expect "e.data.limit < 20000"
}

@test "a zygote loads ahead what a call of exec loads, and nothing else" {
	command -v strace >/dev/null || skip "no strace here"
	[ -z "${ASAN_OPTIONS:-}" ] || skip "LeakSanitizer can't work below a tracer"
	local of_call="$ROOT/lua/project/stdin_arguments.lua"
	body hello 'args = { { "name", "string" } },' <<<'return { name = args.name }'
	echo '{"_cmd":"hello","name":"me"}' >requests
	env -i "${CLEAN_ENV[@]}" RUNNER_LOAD_TIMEOUT= RUNNER_LUA="$ROOT/lua" strace -f -ff -qq -e "trace=?open,openat" -o trace "$RUNNER" exec <requests >out.txt 2>err.txt
	grep -q '"name":"me"' out.txt
	[ "$(sed -n "s|.*open[at]*(.*\"$ROOT/lua/\(.*\)\.lua\".* = [0-9].*|\1|p" "$(grep -l "$of_call" trace.*)" | grep -vx boot | sort)" = \
		"$(sed -n '/modules\(_of_calls\)*\[\] = {/,/};/p' "$ROOT/src/worker/worker.c" | grep -o '"[^"]*"' | tr -d '"' | sort)" ]
}

@test "what is loaded ahead for another attempt is what one with arguments loads that fails, and nothing else" {
	command -v strace >/dev/null || skip "no strace here"
	[ -z "${ASAN_OPTIONS:-}" ] || skip "LeakSanitizer can't work below a tracer"
	body flaky 'args = { { "n", "integer" } }, retry = { strategy = "constant", delay = 0, retries = 1, jitter = "none" },
		exit_codes = { NOT_YET = { code = 80, retryable = true, side_effects = "none" } },' <<<'ctx:fail("NOT_YET", "Not yet")'
	env -i "${CLEAN_ENV[@]}" RUNNER_LOAD_TIMEOUT= RUNNER_LUA="$ROOT/lua" strace -f -qq -e "trace=?open,openat" -o trace "$RUNNER" flaky --n 1 >out.txt 2>err.txt || true
	grep -q '"code":"NOT_YET"' out.txt
	[ "$(sed -n "s|.*open[at]*(.*\"$ROOT/lua/\(.*\)\.lua\".* = [0-9].*|\1|p" trace | grep -vx boot | sort -u)" = \
		"$(sed -n '/modules\(_of_retries\)*\[\] = {/,/};/p' "$ROOT/src/worker/worker.c" | grep -o '"[^"]*"' | tr -d '"' | sort)" ]
}

@test "attempts that go on from one state draw random numbers of their own, and see nothing of each other" {
	mkdir -p commands
	cat >commands/draws.lua <<-'LUA'
		local drawn = math.random(0)
		return { description = "x", danger_level = "safe", retry = { strategy = "constant", delay = 0, retries = 3, jitter = "none" },
			exit_codes = { NOT_YET = { code = 80, retryable = true, side_effects = "none" } },
			run = function(_, ctx)
				local leaked = LEAKED or string.leaked or 0
				LEAKED, string.leaked = 1, 1
				local file <close> = io.open("drawn", "a")
				file:write(("%d %d\n"):format(drawn, leaked))
				return ctx.attempt < 4 and ctx:fail("NOT_YET", "Not yet") or {}
			end }
	LUA
	call draws
	assert_envelope
	expect "e.meta.attempt == 4"
	[ "$(sort -u drawn | grep -c ' 0$')" -eq 4 ]
}

@test "no name, argument or variable makes a zygote of a runner" {
	(exec -a runner-zygote "$RUNNER" </dev/null >out.txt 2>err.txt) || true
	[ -s out.txt ] || [ -s err.txt ]
	call RUNNER_ZYGOTE=1 runner-zygote
	[ "$status" -ne 0 ]
	assert_envelope
}
