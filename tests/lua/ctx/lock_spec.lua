-- ctx:lock: real lock files; the rest of the attempt is played.

local fs = require "runner.fs"
local real_host = require "runner.host"

local dir, lock, budget, repeats, remaining, holds
local environment, real_getenv

-- The host and the session as an attempt would have them.
local function play_attempt()
	package.loaded["runner.host"] = setmetatable({
		remaining = function() return remaining end,
		hold = function(change) holds[#holds + 1] = change end,
	}, { __index = real_host })
	package.loaded["runner.core.retry_budget"] = {
		budget = function() return budget and math.max(budget - repeats, 0) end,
		note = function() repeats = repeats + 1 end,
		delay_ms = function() end,
	}
	package.loaded["runner.ctx.lock"] = nil
	lock = require("runner.ctx.lock").lock
end

local function path(name)
	return dir .. "/" .. name
end

local function raised(...)
	local ok, e = pcall(lock, {}, ...)
	assert.is_false(ok)
	return e
end

-- Another process that holds the lock; returns its pid and how to end it.
local function other_holder(file, seconds)
	local pipe = assert(io.popen(("echo $$; exec flock -F -x %s sh -c 'echo $PPID; exec sleep %s'"):format(file, seconds)))
	local pid = tonumber(pipe:read "l")
	pipe:read "l"
	return pid, function()
		os.execute("kill -9 " .. pid .. " 2>/dev/null")
		pipe:close()
	end
end

describe("ctx:lock", function()
	local real_budget

	before_each(function()
		dir = os.tmpname()
		os.remove(dir)
		assert(fs.mkdir(dir))
		budget, repeats, remaining, holds = nil, 0, nil, {}
		environment = { XDG_STATE_HOME = path "state", HOME = path "home", XDG_RUNTIME_DIR = path "run" }
		real_getenv = os.getenv
		os.getenv = function(name) -- luacheck: ignore
			return environment[name]
		end
		real_budget = package.loaded["runner.core.retry_budget"]
		play_attempt()
	end)

	after_each(function()
		os.getenv = real_getenv -- luacheck: ignore
		package.loaded["runner.host"] = real_host
		package.loaded["runner.core.retry_budget"] = real_budget
		package.loaded["runner.ctx.lock"] = nil
		assert(fs.remove_tree(dir))
	end)

	it("takes a free lock at once, in the state directory, for the owner alone", function()
		local handle = lock({}, "deploy-prod")
		assert.are.equal(path "state/runner/locks/deploy-prod.lock", handle.path)
		assert.are.equal(384, fs.stat(handle.path).mode) -- 0600
		assert.are.equal(448, fs.stat(path "state/runner/locks").mode) -- 0700
		assert.are.equal(0, repeats)
		handle:release()
		handle:release()
	end)

	it("falls back to HOME where that is there, then to the runtime directory", function()
		environment.XDG_STATE_HOME = nil
		assert.are.equal(path "run/runner/locks/y.lock", lock({}, "y").path)
		assert.is_nil(fs.stat(path "home"))
		assert(fs.mkdir(path "home", 448))
		assert.are.equal(path "home/.local/state/runner/locks/x.lock", lock({}, "x").path)
		environment.HOME = nil
		assert.are.equal(path "run/runner/locks/x.lock", lock({}, "x").path)
		environment.XDG_RUNTIME_DIR = nil
		local e = raised "x"
		assert.are.equal("PRECONDITION", e.code)
		assert.matches("`path`", e.suggestion)
	end)

	it("gives every name a file of its own inside the directory", function()
		local paths = {}
		for _, name in ipairs { "a/b", "a_b", "../x", "..", "ä", ("n"):rep(300), ("n"):rep(301) } do
			local handle = lock({}, name)
			assert.is_nil(paths[handle.path])
			paths[handle.path] = true
			assert.are.equal(path "state/runner/locks", handle.path:match "^(.*)/")
		end
	end)

	it("takes an explicit path as it is", function()
		assert.are.equal(path "my.lock", lock({}, "x", { path = path "my.lock" }).path)
	end)

	it("raises LOCK_HELD with the holder when it stays held", function()
		local holder = lock({}, "x", { path = path "l" })
		play_attempt()
		local e = raised("x", { path = path "l", wait = "50ms" })
		assert.are.equal("LOCK_HELD", e.code)
		assert.matches("^The lock 'x' is held by process %d+ for ", e.message)
		assert.are.equal(path "l", e.context.lock_file)
		assert.are.equal("integer", math.type(e.context.holder_pid))
		assert.is_true(e.context.holder_age_ms >= 0)
		holder:release()
	end)

	it("says so when the holder is unknown", function()
		local _, stop = other_holder(path "l", 30)
		local e = raised("x", { path = path "l", wait = 0 })
		assert.are.equal("The lock 'x' is held by another process", e.message)
		stop()
	end)

	it("raises the caller's own code", function()
		local _, stop = other_holder(path "l", 30)
		assert.are.equal("LOCKED", raised("x", { path = path "l", wait = 0, code = "LOCKED" }).code)
		stop()
	end)

	it("waits, counts each repetition, and holds idle_timeout off meanwhile", function()
		local _, stop = other_holder(path "l", 60)
		for try = 1, 100 do -- a machine that stands still repeats less often
			repeats, holds = 0, {}
			local started = real_host.now()
			raised("x", { path = path "l", wait = "350ms" })
			local took = real_host.now() - started
			assert.is_true(took >= 340 and took < 20000, took .. " ms")
			assert.are.same({ 1, -1 }, holds)
			if repeats >= 3 then
				break
			end
			assert.is_true(try < 100)
		end
		assert.is_true(repeats >= 3 and repeats <= 5, repeats .. " repetitions") -- 100 + 200 + 50 ms
		stop()
	end)

	it("gets the lock as soon as it is free", function()
		for try = 1, 100 do -- a machine that stands still may ask only when it is free
			repeats = 0
			local _, stop = other_holder(path "l", 0.4)
			local started = real_host.now()
			lock({}, "x", { path = path "l", wait = "60s" }):release()
			assert.is_true(real_host.now() - started < 20000)
			stop()
			if repeats >= 1 then
				break
			end
			assert.is_true(try < 100)
		end
	end)

	it("is woken when the holder ends, without looking in between", function()
		local quickest, tries = math.huge, 0
		while quickest >= 900 and tries < 100 do -- the quickest: a busy machine makes any of them slow
			tries = tries + 1
			local _, stop = other_holder(path "l", 0.2)
			local started = real_host.now()
			assert(fs.lock(path "l", { wait_ms = 60000 })):release()
			quickest = math.min(quickest, real_host.now() - started)
			stop()
		end
		assert.is_true(quickest < 900, quickest .. " ms") -- who only looks once a second has it after a second
	end)

	it("is woken when the lock file is removed or replaced", function()
		for _, change in ipairs { "rm %s", "echo >%s.new; mv %s.new %s" } do
			local _, stop = other_holder(path "l", 60)
			local changer = assert(io.popen("sleep 0.2; " .. change:gsub("%%s", path "l")))
			assert(fs.lock(path "l", { wait_ms = 60000 })):release()
			changer:close()
			stop()
		end
	end)

	it("does not wait at all with --retries 0, and no longer than --retries allows", function()
		local _, stop = other_holder(path "l", 100)
		budget = 0
		local started = real_host.now()
		raised("x", { path = path "l", wait = "80s" })
		assert.are.equal(0, repeats)
		budget = 2
		raised("x", { path = path "l", wait = "80s" })
		assert.are.equal(2, repeats)
		assert.is_true(real_host.now() - started < 40000)
		stop()
	end)

	it("gives up before the attempt's own deadline", function()
		local _, stop = other_holder(path "l", 30)
		remaining = 50
		raised("x", { path = path "l", wait = "20s" })
		assert.are.equal(0, repeats)
		stop()
	end)

	it("says that this very command holds it instead of waiting for itself", function()
		local handle = lock({}, "x", { path = path "l" })
		local e = raised("x", { path = path "l" })
		assert.are.equal("LOCK_HELD", e.code)
		assert.is_false(e.retryable)
		assert.matches("this very command", e.message)
		handle:release()
		lock({}, "x", { path = path "l" }):release()
	end)

	it("may be shared", function()
		local one = lock({}, "x", { path = path "l", shared = true })
		local two = lock({}, "x", { path = path "l", shared = true })
		one:release()
		assert.are.equal("held", select(2, fs.lock(path "l")))
		two:release()
		fs.lock(path "l"):release()
	end)

	it("outlives a handle that nobody keeps, until the attempt ends", function()
		lock({}, "x", { path = path "l" })
		collectgarbage()
		collectgarbage()
		assert.are.equal("held", select(2, fs.lock(path "l")))
	end)

	it("is released by <close>", function()
		do
			local _ <close> = lock({}, "x", { path = path "l" })
			assert.are.equal("held", select(2, fs.lock(path "l")))
		end
		fs.lock(path "l"):release()
	end)

	it("names what is wrong with a lock file that is invalid", function()
		local e = raised("x", { path = path "none/l" })
		assert.are.equal("PRECONDITION", e.code)
		assert.matches("No such file or directory", e.message)
		assert.are.equal("PRECONDITION", raised("x", { path = dir }).code)
	end)

	it("refuses odd names and options", function()
		for _, call in ipairs {
			{}, { "" }, { 5 }, { "x", { wiat = 1 } }, { "x", { wait = "soon" } }, { "x", { wait = -1 } },
		} do
			local e = raised(call[1], call[2])
			assert.same({ (call[2] or {}).wait and "INVALID_ARGUMENT" or "INTERNAL_ERROR", false }, { e.code, e.retryable })
		end
	end)
end)
