-- The scheduler of workflows against real processes: limits, order, time, errors.

local errors = require "runner.core.errors"
local host = require "runner.host"
local process = require "runner.process"
local scheduler = require "runner.task.scheduler"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local elapsed_ms, exists, open_fds, raised = help.elapsed_ms, help.exists, help.open_fds, help.raised

local function sh(script, more)
	local options = more or {}
	options.argv = { "sh", "-c", script }
	return scheduler.process(options)
end

-- The result of one command in a run of its own.
local function run_sh(script, more)
	return scheduler.run(function()
		return sh(script, more)
	end)
end

local function numbers(n, fn)
	local list = {}
	for i = 1, n do
		list[i] = function()
			return fn(i)
		end
	end
	return list
end

describe("scheduler.run", function()
	it("returns what the function returns, nils included", function()
		assert.same({ n = 3, 1, nil, 3 }, table.pack(scheduler.run(function()
			return 1, nil, 3
		end)))
		assert.same({ n = 0 }, table.pack(scheduler.run(function() end)))
	end)

	it("keeps no result that its task has dealt with", function()
		local results, kept = setmetatable({}, { __mode = "v" }), 0
		scheduler.run(function()
			for i = 1, 10 do
				results[i] = sh "true"
			end
			collectgarbage()
			collectgarbage()
			for _ in next, results do
				kept = kept + 1
			end
		end)
		assert.is_true(kept <= 2, kept)
	end)

	it("raises an error object as it is", function()
		local mine = errors.new("CONFLICT", "two of them")
		assert.equal(mine, raised(scheduler.run, function()
			error(mine)
		end))
	end)

	it("raises a Lua error with its place and the traceback of its task", function()
		local function deep()
			return _G.no_such_table.field
		end
		local e = raised(scheduler.run, function()
			scheduler.sleep(1)
			deep()
		end)
		assert.truthy(e.message:find("scheduler_spec.lua:%d+: attempt to index a nil value"))
		assert.truthy(e.detail:find("upvalue 'deep'", 1, true))
	end)

	it("calls the function at once where it is a task already", function()
		assert.equal("sh", scheduler.run(function()
			return scheduler.run(function()
				return sh("echo sh").stdout:sub(1, 2)
			end)
		end))
		assert.is_true(scheduler.run(function()
			local task = coroutine.running()
			return scheduler.run(function()
				return coroutine.running() == task
			end)
		end))
	end)

	it("can be run again after an error", function()
		raised(scheduler.run, error, "no")
		assert.is_true(run_sh("true").ok)
	end)

	it("refuses calls from outside a task", function()
		for _, name in ipairs { "process", "sleep", "all" } do
			assert.truthy(raised(scheduler[name], {}):find("scheduler." .. name .. ": call it inside scheduler.run", 1, true))
		end
		local e = raised(scheduler.run, function()
			coroutine.wrap(function()
				scheduler.sleep(1)
			end)()
		end)
		assert.truthy(e.message:find("not from a coroutine of your own", 1, true))
	end)

	it("says so when a task is waiting for nothing", function()
		assert.truthy(tostring(raised(scheduler.run, coroutine.yield)):find("is waiting for nothing", 1, true))
	end)

	it("closes what a task holds that never goes on", function()
		local closed = false
		raised(scheduler.run, function()
			local _ <close> = setmetatable({}, { __close = function() closed = true end })
			coroutine.yield()
		end)
		assert.is_true(closed)
	end)
end)

describe("scheduler.spawn", function()
	it("runs a function beside the one that calls", function()
		local seen = {}
		scheduler.run(function()
			local gate = scheduler.gate()
			scheduler.spawn(function(a, b)
				seen[1] = { a, b }
				gate:open()
			end, nil, 2)
			assert.is_nil(seen[1], "it begins when the caller waits")
			gate:wait()
		end)
		assert.same({ { nil, 2 } }, seen)
	end)

	it("waits for nobody: what still runs ends with the run", function()
		local closed = false
		scheduler.run(function()
			scheduler.spawn(function()
				local _ <close> = setmetatable({}, { __close = function() closed = true end })
				scheduler.sleep(60000)
			end)
			scheduler.sleep(1)
		end)
		assert.is_true(closed)
	end)

	it("ends the run when the function raises", function()
		local ok, e = pcall(scheduler.run, function()
			scheduler.spawn(function() errors.raise("NOT_FOUND", "gone") end)
			scheduler.sleep(60000)
		end)
		assert.is_false(ok)
		assert.equal("NOT_FOUND", e.code)
	end)
end)

describe("scheduler.process", function()
	it("gives what ctx:run gives", function()
		local plain, ours = help.sh "echo out; echo err >&2; exit 3", run_sh "echo out; echo err >&2; exit 3"
		plain.duration_ms, ours.duration_ms = nil, nil
		assert.same(plain, ours)
		plain, ours = help.sh "kill -9 $$", run_sh "kill -9 $$"
		plain.duration_ms, ours.duration_ms = nil, nil
		assert.same(plain, ours)
	end)

	it("never raises: a program that can't start is a result, with advice", function()
		local plain = help.run { "/no/such/program" }
		assert.same(plain, scheduler.run(function()
			return scheduler.process { argv = { "/no/such/program" } }
		end))
		assert.equal("ENOENT", plain.errno)
	end)

	it("takes environment as runner.process does", function()
		assert.equal("/ x in\n", run_sh('echo "$PWD $A $(cat)"', { cwd = "/", env = { "A=x" }, stdin = "in" }).stdout)
		assert.equal(9, run_sh("printf 1234567890; printf 123456789", { cap = 10 }).stdout_dropped)
	end)

	it("ends only when all that the program left behind has ended", function()
		local r = run_sh "setsid sh -c 'echo $$; exec sleep 60' & sleep 0.1; exit 4"
		assert.equal(4, r.status)
		assert.is_false(r.incomplete)
		assert.is_false(exists(r.stdout:match("%d+")))
	end)

	it("ends a program at its timeout, with its whole tree", function()
		local r = help.in_time(function(limit)
			local r
			local ms = elapsed_ms(function()
				r = run_sh("setsid sleep 60 & echo $!; wait", { timeout_ms = limit })
			end)
			assert.is_true(ms >= limit and ms < limit + 20000)
			return r
		end)
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
		assert.equal("SIGTERM", r.signal)
		assert.is_false(exists(r.stdout:match("%d+")))
	end)

	it("kills at a timeout what ignores TERM, after the grace", function()
		local r = help.in_time(function(limit)
			local r
			local ms = elapsed_ms(function()
				r = run_sh("trap '' TERM; echo up; while :; do sleep 0.02; done", { timeout_ms = limit, grace_ms = 200 })
			end)
			assert.is_true(ms < limit + 20000 and (r.stdout == "" or ms >= limit + 200))
			return r
		end)
		assert.equal("SIGKILL", r.signal)
		assert.is_true(r.timed_out)
	end)

	it("is no timeout when the program was done and only its tree was not", function()
		local r = run_sh("(trap '' TERM; while :; do sleep 0.02; done) & sleep 0.1; echo done",
			{ timeout_ms = 3500, grace_ms = 5000 })
		assert.is_false(r.timed_out)
		assert.is_true(r.ok)
		assert.equal("done\n", r.stdout)
	end)

	it("hands out lines as they come, before the end", function()
		local seen, file = {}, os.tmpname()
		local r = run_sh("echo a; echo b >&2; until [ -s " .. file .. " ]; do sleep 0.02; done; printf c",
			{ timeout_ms = 30000, on_line = function(line, stream)
				seen[#seen + 1] = stream .. ":" .. line
				if #seen == 2 then
					assert(io.open(file, "w")):write("seen"):close()
				end
			end })
		os.remove(file)
		table.sort(seen)
		assert.same({ "stderr:b", "stdout:a", "stdout:c" }, seen)
		assert.equal("a\nc", r.stdout)
	end)

	it("ends the program when on_line raises, then raises it in the task", function()
		local pid
		local e = raised(run_sh, "echo $$; exec sleep 60", { on_line = function(line)
			pid = line
			errors.raise("CONFLICT", "seen enough")
		end })
		assert.equal("CONFLICT", e.code)
		assert.is_false(exists(pid))
	end)

	it("keeps the lines that come while on_line itself waits", function()
		local seen = {}
		run_sh("seq 1 5", { on_line = function(line)
			seen[#seen + 1] = line
			scheduler.sleep(5)
		end })
		assert.same({ "1", "2", "3", "4", "5" }, seen)
	end)

	it("is not kept from its timeout by a flood of lines, nor another task from its end", function()
		local n, order = 0, {}
		local results = scheduler.run(function()
			return scheduler.all {
				function()
					local r = sh("exec yes", { timeout_ms = 4000, on_line = function() n = n + 1 end })
					order[#order + 1] = "flood"
					return r
				end,
				function()
					sh "sleep 0.1"
					order[#order + 1] = "quick"
				end,
			}
		end)
		assert.is_true(results[1].value.timed_out)
		assert.is_true(n > 1000)
		assert.same({ "quick", "flood" }, order)
	end)

	it("leaves no descriptor and no child behind, whatever the end", function()
		local before = open_fds()
		scheduler.run(function()
			for i = 1, 30 do
				sh(i % 3 == 0 and "kill -9 $$" or "exit " .. i % 3)
				scheduler.process { argv = { "/no/such/program" } }
			end
			scheduler.all(numbers(4, function()
				sh("sleep 60", { timeout_ms = 20 })
				error "no"
			end))
		end)
		assert.equal(before, open_fds())
		assert.equal("", help.run({ "ps", "-o", "stat=", "--ppid", help.our_pid() }).stdout:match("Z") or "")
	end)
end)

describe("a process with a shepherd", function()
	local function start(script, grace_ms)
		local handle = assert(process.start { argv = { "sh", "-c", script }, capture = true, lines = true,
			shepherd = true, grace_ms = grace_ms or 20000 })
		local set = process.set { handle }
		local _, first = set:next(true, 10000)
		return handle, set, first
	end

	it("hands its program the signals that it is sent, and KILL to the whole tree", function()
		local handle, set, pid = start [[exec 2>/dev/null; trap 'echo usr1' USR1
			setsid sh -c 'trap "" TERM; echo $$; sleep 60 & wait' & while :; do sleep 0.02; done]]
		assert.is_true(handle:signal("USR1"))
		assert.same({ "line", "usr1", "stdout", 1 }, { set:next(true, 10000) })
		assert.is_true(handle:signal("KILL"))
		assert.same({ "done", 1 }, { set:next(true, 10000) })
		assert.is_false(exists(pid))
		assert.equal("SIGKILL", handle:result().signal)
		assert.is_true(handle:was_stopped())
		assert.is_false(handle:signal("TERM"))
	end)

	it("is stopped without waiting for it, and a shorter grace told later holds", function()
		local handle, set = start "trap '' TERM; echo up; while :; do sleep 0.02; done"
		local ms = elapsed_ms(function()
			handle:stop(20000)
			handle:stop(100)
		end)
		assert.is_true(ms < 10000)
		assert.same({ "done", 1 }, { set:next(true, 10000) })
		assert.equal("SIGKILL", handle:result().signal)
	end)

	it("is ended whole when its handle is closed", function()
		local handle, _, pid = start("setsid sh -c 'echo $$; exec sleep 60' & wait", 300)
		handle:close()
		assert.is_false(exists(pid))
	end)

	it("tells of each of several once, and nothing when the time is over", function()
		local gate = os.tmpname()
		local script = "echo; until [ -s " .. gate .. ".%d ]; do sleep 0.02; done; exit %d"
		local function open(n)
			assert(io.open(gate .. "." .. n, "w")):write("go"):close()
		end
		local a, b = start(script:format(1, 1)), start(script:format(2, 2))
		local set = process.set { b, a }
		assert.same({ nil, "limit" }, { set:next(true, 1) })
		open(1)
		assert.same({ "done", 2 }, { set:next(true) })
		open(2)
		assert.same({ "done", 1 }, { set:next(true) })
		os.execute("rm " .. gate .. "*")
		assert.same({ nil, "limit" }, { set:next(true, 1) })
		assert.same({ nil, "limit" }, { process.set({}):next(true, 1) })
		assert.same({ 1, 2 }, { a:result().status, b:result().status })
	end)
end)

describe("scheduler.sleep", function()
	it("is exact to 5 ms", function()
		scheduler.run(function()
			for _, ms in ipairs { 0, 1, 5, 17.5, 50, 120 } do
				local best, tries = math.huge, 0
				while best >= 5 do -- a busy machine may delay any one of them
					tries = tries + 1
					assert.is_true(tries < 50, ("%s ms: late by %s at best"):format(ms, best))
					local took = elapsed_ms(function()
						scheduler.sleep(ms)
					end)
					assert.is_true(took >= ms, ("woke after %s of %s ms"):format(took, ms))
					best = math.min(best, took - ms)
				end
			end
		end)
	end)

	it("wakes tasks in the order of their times, however many sleep", function()
		local order, began = {}, {} -- a task sleeps from a time between its own here and that of the next one
		local ms = elapsed_ms(function()
			scheduler.run(function()
				scheduler.all(numbers(51, function(i)
					began[i] = host.now()
					if i <= 50 then
						scheduler.sleep((51 - i) * 40)
						order[#order + 1] = i
					end
				end))
			end)
		end)
		assert.equal(50, #order)
		for n = 1, 49 do
			local one, later = order[n], order[n + 1]
			assert.is_true(began[one] + (51 - one) * 40 <= began[later + 1] + (51 - later) * 40 + 1, one .. " before " .. later)
		end
		assert.is_true(ms >= 2000 and ms < 40000) -- one after the other: 51000
	end)

	it("tells each second how much is left", function()
		local function told()
			local left = {}
			local took = elapsed_ms(function()
				scheduler.run(function()
					scheduler.sleep(2500, function(ms)
						left[#left + 1] = ms
					end)
				end)
			end)
			assert.is_true(took >= 2500 and took < 20000)
			return #left == 2 and math.abs(left[1] - 1500) < 400 and math.abs(left[2] - 500) < 400
		end
		local tries = 1 -- a machine that stands still for a second misses a second
		while not told() do
			tries = tries + 1
			assert.is_true(tries <= 20)
		end
	end)

	it("goes on while processes run and talk", function()
		local took, order = nil, {}
		scheduler.run(function()
			scheduler.all {
				function()
					sh("exec yes", { timeout_ms = 4000, on_line = function() end })
					order[#order + 1] = "flood"
				end,
				function()
					took = elapsed_ms(function()
						scheduler.sleep(100)
					end)
					order[#order + 1] = "sleep"
				end,
			}
		end)
		assert.is_true(took >= 100, "slept " .. took)
		assert.same({ "sleep", "flood" }, order)
	end)
end)

describe("scheduler.all", function()
	it("gives the results in the order of the list", function()
		local results = scheduler.run(function()
			return scheduler.all(numbers(5, function(i)
				scheduler.sleep((6 - i) * 10)
				return i > 1 and i * 10
			end))
		end)
		assert.same({ ok = true, started = true, value = false }, results[1])
		for i = 2, 5 do
			assert.equal(i * 10, results[i].value)
		end
	end)

	it("runs as many at a time as the limit says, and starts them in order", function()
		local running, most, order = 0, 0, {}
		local ms = elapsed_ms(function()
			scheduler.run(function()
				scheduler.all(numbers(9, function(i)
					running = running + 1
					most, order[#order + 1] = math.max(most, running), i
					sh "sleep 0.3"
					running = running - 1
				end), 3)
			end)
		end)
		assert.equal(3, most)
		assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, order)
		assert.is_true(ms >= 900, "took " .. ms)
	end)

	it("starts no new ones after a failure, and lets those that run go on", function()
		local results = scheduler.run(function()
			return scheduler.all(numbers(5, function(i)
				scheduler.sleep(i * 20)
				if i == 1 then
					errors.raise("CONFLICT", "the first")
				end
				return i
			end), 2)
		end)
		assert.equal("CONFLICT", results[1].error.code)
		assert.same({ ok = true, started = true, value = 2 }, results[2])
		for i = 3, 5 do
			assert.same({ ok = false, started = false }, results[i])
		end
	end)

	it("goes on after failures with keep_going, and each error has its traceback", function()
		local results = scheduler.run(function()
			return scheduler.all(numbers(6, function(i)
				return i % 2 == 0 and i or error("odd " .. i)
			end), 2, { keep_going = true })
		end)
		for i = 1, 6 do
			assert.equal(i % 2 == 0, results[i].ok)
		end
		assert.truthy(results[5].error.message:find("odd 5", 1, true))
		assert.truthy(results[5].error.detail:find("scheduler_spec.lua", 1, true))
	end)

	it("raises what next_task or on_result raised, the first of several, when no task runs any more", function()
		local function two_at_once(broken_next, broken_result)
			local given, ended = 0, 0
			local e = raised(scheduler.run, function()
				scheduler.each(function()
					given = given + 1
					if given == 3 and broken_next then
						error("no next")
					end
					local n = given
					return function()
						scheduler.sleep(n * 5)
						ended = ended + 1
					end
				end, 2, function(i)
					if broken_result then
						error("no result " .. i)
					end
				end)
			end)
			return e.message, ended
		end
		local message, ended = two_at_once(true, false)
		assert.truthy(message:find("no next", 1, true), message)
		assert.equal(2, ended)
		message, ended = two_at_once(false, true)
		assert.truthy(message:find("no result 1", 1, true), message)
		assert.equal(2, ended)
	end)

	it("takes an empty list, and lists inside lists", function()
		assert.same({}, scheduler.run(function()
			return scheduler.all {}
		end))
		local sums = scheduler.run(function()
			return scheduler.all(numbers(3, function(i)
				local inner = scheduler.all(numbers(3, function(k)
					scheduler.sleep(5)
					return i * k
				end))
				return inner[1].value + inner[2].value + inner[3].value
			end), 2)
		end)
		assert.equal(6, sums[1].value)
		assert.equal(18, sums[3].value)
	end)

	it("bears 100 processes at once", function()
		local results
		local ms = elapsed_ms(function()
			results = scheduler.run(function()
				return scheduler.all(numbers(100, function(i)
					return sh(("sleep 1; echo %d; exit %d"):format(i, i % 7))
				end))
			end)
		end)
		for i = 1, 100 do
			assert.equal(i .. "\n", results[i].value.stdout)
			assert.equal(i % 7, results[i].value.status)
		end
		assert.is_true(ms < 60000, "took " .. ms) -- one after the other: 100 s
	end)
end)

describe("scheduler.abandoned", function()
	it("is empty where nothing was cut off", function()
		run_sh "true"
		assert.same({}, scheduler.abandoned())
		assert.same({}, scheduler.run(function()
			return scheduler.abandoned()
		end))
	end)
end)

describe("a gate", function()
	it("holds tasks until it is opened, and lets them go on in their order", function()
		local order, gate = {}, scheduler.gate()
		scheduler.run(function()
			local list = numbers(3, function(i)
				gate:wait()
				order[#order + 1] = i
			end)
			list[4] = function()
				scheduler.sleep(20)
				assert.same({}, order)
				gate:open()
			end
			scheduler.all(list)
		end)
		assert.same({ 1, 2, 3 }, order)
	end)

	it("is closed behind those that went through", function()
		local passed, gate = 0, scheduler.gate()
		scheduler.run(function()
			scheduler.all { function()
				gate:wait()
				passed = 1
				gate:wait()
				passed = 2
			end, function()
				scheduler.sleep(10)
				gate:open()
				scheduler.sleep(10)
				assert.equal(1, passed)
				gate:open()
			end }
		end)
		assert.equal(2, passed)
	end)
end)

describe("scheduler.settled", function()
	-- Each of n tasks notes that it was settled, after which `settle` was called.
	local function settled(n)
		local calls, seen = 0, {}
		scheduler.run(function()
			scheduler.all(numbers(n, function(i)
				scheduler.settled()
				seen[i] = calls
			end))
		end, function()
			calls = calls + 1
		end)
		return seen
	end

	it("is one call for all tasks that wait for it", function()
		assert.same({ 1, 1, 1 }, settled(3))
	end)

	it("waits until no other task can go on", function()
		local order = {}
		scheduler.run(function()
			scheduler.all {
				function()
					scheduler.settled()
					order[#order + 1] = "settled"
				end,
				function()
					scheduler.all { function() order[#order + 1] = "first" end }
					order[#order + 1] = "second"
				end,
			}
		end, function() end)
		assert.same({ "first", "second", "settled" }, order)
	end)

	it("settles what ended meanwhile in one call", function()
		local calls
		local function settle_four()
			calls = 0
			scheduler.run(function()
				scheduler.all(numbers(4, function(i)
					sh(i == 1 and "true" or "sleep 0.1")
					scheduler.settled()
				end))
			end, function()
				calls = calls + 1
				host.sleep(calls == 1 and 500 or 0) -- the others end in this time
			end)
			return calls == 2
		end
		-- (unless one of them stands still, or we do)
		assert.is_true(settle_four() or settle_four() or settle_four() or settle_four(), calls .. " calls")
	end)

	it("raises what settling raised, in each task that waits", function()
		local results = scheduler.run(function()
			return scheduler.all({ scheduler.settled, scheduler.settled }, 2, { keep_going = true })
		end, function()
			error(errors.new("RESOURCE_EXHAUSTED", "no space"))
		end)
		assert.same({ "no space", "no space" }, { results[1].error.message, results[2].error.message })
	end)

	it("is called before the process waits, too, and its failure then ends no program", function()
		local calls = 0
		local result = scheduler.run(function()
			return sh "echo it"
		end, function()
			calls = calls + 1
			error("no space", 0)
		end)
		assert.is_true(result.ok)
		assert.is_true(calls > 0)
	end)

	it("goes on by itself where nothing is to be done", function()
		assert.equal("on", scheduler.run(function()
			scheduler.settled()
			return "on"
		end))
	end)
end)

describe("process.prepare", function()
	it("changes nothing but who forks", function()
		process.prepare()
		process.prepare()
		local result = run_sh("echo out; echo err >&2; exit 3", { env = { "A=b" }, cwd = "/" })
		assert.same({ 3, "out\n", "err\n" }, { result.status, result.stdout, result.stderr })
		assert.equal("b/\n", run_sh('echo "$A$PWD"', { env = { "A=b", "PATH=/bin" }, cwd = "/" }).stdout)
		assert.equal(("x"):rep(200000), run_sh("cat", { stdin = ("x"):rep(200000) }).stdout)
		local e = run_sh("true", { cwd = "/no/such/place" })
		assert.truthy(e.error:find("/no/such/place", 1, true))
	end)
end)
