-- ctx:spawn against real programs.

local background = require "runner.ctx.spawn"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local exists, failure, raised, run = help.exists, help.failure, help.raised, help.run
local MIB = help.MIB
local ctx = {}

describe("ctx:spawn", function()
	local function spawn(spec)
		return background.spawn(ctx, help.unchecked(spec))
	end

	it("goes on while the process runs, and waits for its result", function()
		local p <close> = spawn { "sh", "-c", "read -r _; echo out; exit 3", stdin = true }
		assert.is_true(p:alive())
		assert.is_true(math.type(p.pid) == "integer" and exists(p.pid))
		p:close_stdin()
		local r = p:wait()
		assert.equal(3, r.status)
		assert.equal("out\n", r.stdout)
		assert.is_false(p:alive())
		assert.equal(r, p:wait())
	end)

	it("raises in wait when the process has failed, each time", function()
		local p <close> = background.spawn(ctx, { "sh", "-c", "echo why >&2; exit 3" })
		for _ = 1, 2 do
			local e = failure(p.wait, p)
			assert.same({ "SUBPROCESS_FAILED", "sh exited with status 3: why" }, { e.code, e.message })
		end
		local q <close> = background.spawn(ctx, { "sh", "-c", "exit 1", ok_statuses = { 0, 1 } })
		assert.is_true(q:wait().ok)
	end)

	it("takes for no failure in wait that a process ended as it was asked to", function()
		for _, signal in ipairs { "SIGTERM", "SIGINT", 9 } do
			local p <close> = background.spawn(ctx, { "sleep", "30" })
			p:kill(signal)
			assert.is_false(p:wait().ok)
		end
		local traps <close> = background.spawn(ctx, { "sh", "-c", "trap 'exit 143' TERM; echo up; while :; do sleep 0.02; done" })
		traps:lines()()
		traps:kill()
		assert.equal(143, traps:wait().status)
		local reloads <close> = background.spawn(ctx, { "sh", "-c", "trap 'exit 5' USR1; echo up; while :; do sleep 0.02; done" })
		reloads:lines()()
		reloads:kill "SIGUSR1"
		assert.equal(5, failure(reloads.wait, reloads).context.status)
	end)

	it("raises in write when the process reads no more", function()
		local p <close> = background.spawn(ctx, { "true", stdin = true })
		p:wait()
		assert.equal("Can't write to true: stdin is closed", failure(p.write, p, "x").message)
	end)

	it("comes back without a result when the wait was too short", function()
		local p <close> = spawn { "sleep", "30" }
		assert.is_nil(p:wait("50ms"))
		assert.is_true(p:alive())
	end)

	it("ends the process when its handle is closed", function()
		local pid
		do
			local p <close> = spawn { "sleep", "30" }
			pid = p.pid
		end
		assert.is_false(exists(pid))
	end)

	it("ends the process when an error leaves the block", function()
		local pid
		pcall(function()
			local p <close> = spawn { "sleep", "30" }
			pid = p.pid
			error("x")
		end)
		assert.is_false(exists(pid))
	end)

	it("ends the process when nobody holds its handle any more", function()
		local pid = spawn({ "sleep", "30" }).pid
		collectgarbage()
		collectgarbage()
		assert.is_false(exists(pid))
	end)

	it("is ended with the attempt", function()
		local deferred = {}
		local p = background.spawn({ defer = function(_, f) deferred[#deferred + 1] = f end }, { "sleep", "30" })
		assert.equal(1, #deferred)
		deferred[1]()
		assert.is_false(exists(p.pid))
		assert.equal("SIGTERM", p:wait().signal)
	end)

	it("sends signals, by name or number", function()
		local p <close> = spawn { "sh", "-c", "trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done" }
		assert.equal("ready", p:lines()())
		assert.is_true(p:kill("SIGUSR1"))
		assert.equal(5, p:wait().status)
		assert.is_false(p:kill())
		local q <close> = spawn { "sleep", "30" }
		q:kill(9)
		assert.equal("SIGKILL", q:wait().signal)
		assert.truthy(tostring(raised(q.kill, q, "SIGNOPE")):find("not a signal"))
	end)

	it("talks with the process line by line", function()
		local p <close> = spawn { "sh", "-c", 'while read -r l; do echo "got $l"; done; echo end', stdin = true }
		local lines = p:lines()
		for i = 1, 3 do
			assert.is_true(p:write("line " .. i .. "\n"))
			assert.equal("got line " .. i, lines())
		end
		p:close_stdin()
		assert.equal("end", lines())
		assert.is_nil(lines())
		assert.is_true(p:wait().ok)
	end)

	it("says so when the process reads no more", function()
		local p <close> = spawn { "true", stdin = true }
		p:wait()
		local ok, message = p:write("x")
		assert.is_nil(ok)
		assert.equal("stdin is closed", message)
		local q <close> = spawn { "sh", "-c", "exec <&-; sleep 30", stdin = true }
		assert.is_nil(q:write(("x"):rep(MIB)))
	end)

	it("writes more than a pipe holds while the answer comes back", function()
		local p <close> = spawn { "cat", stdin = true, cap = 4 * MIB }
		assert.is_true(p:write(("x"):rep(900000)))
		p:close_stdin()
		assert.equal(900000, #p:wait().stdout)
	end)

	it("writes output to files", function()
		local path = os.tmpname()
		local p <close> = spawn { "sh", "-c", "echo a; echo b >&2", stdout = path, stderr = path }
		assert.is_true(p:wait().ok)
		local file = assert(io.open(path))
		assert.equal("a\nb\n", file:read("a"))
		file:close()
		os.remove(path)
	end)

	it("raises when the program can't start", function()
		local e = failure(spawn, { "/no/such/program" })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.equal("ENOENT", e.context.errno)
		assert.equal("open: /no/dir/log: No such file or directory",
			failure(spawn, { "true", stdout = "/no/dir/log" }).message)
	end)

	it("refuses what makes no sense for it", function()
		assert.truthy(help.misused(spawn, { "ls", timeout = 1 }):find("unknown key 'timeout'", 1, true))
		assert.truthy(help.misused(spawn, { "ls", detach = true, stdin = "x" }):find("detached process", 1, true))
	end)

	it("notices a death without being asked to wait", function()
		local p <close> = spawn { "true" }
		for _ = 1, 500 do
			if not p:alive() then
				break
			end
			run { "sleep", "0.02" }
		end
		assert.is_false(p:alive())
		assert.is_true(p:wait().ok)
	end)
end)
