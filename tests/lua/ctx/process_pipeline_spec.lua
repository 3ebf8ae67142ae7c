-- ctx:pipeline against real programs.

local proc = require "runner.ctx.process"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local failure, misused, open_fds = help.failure, help.misused, help.open_fds
local MIB = help.MIB
local ctx = {}

describe("ctx:pipeline", function()
	local function pipe(spec)
		return proc.pipeline(ctx, help.unchecked(spec))
	end

	it("connects the stages and gives the last one's output", function()
		local r = pipe { { "printf", "b\\na\\nb\\n" }, { "sort", "-u" }, { "tr", "a-z", "A-Z" } }
		assert.is_true(r.ok)
		assert.equal(0, r.status)
		assert.equal("A\nB\n", r.stdout)
		assert.equal(3, #r.stages)
		assert.is_nil(r.failed_stage)
	end)

	it("fails when any stage fails, and says which", function()
		for at = 1, 3 do
			local spec = { { "true" }, { "cat" }, { "cat" } }
			spec[at] = { "sh", "-c", "cat >/dev/null; echo why >&2; exit 9" }
			local r = pipe(spec)
			assert.is_false(r.ok)
			assert.equal(at, r.failed_stage)
			assert.equal(9, r.status)
			assert.equal("why\n", r.stderr)
			for i = 1, 3 do
				assert.equal(i == at and 9 or 0, r.stages[i].status)
			end
		end
	end)

	it("raises by default, naming the stage", function()
		local e = failure(proc.pipeline, ctx, { { "sh", "-c", "echo why >&2; exit 9" }, { "cat" } })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.equal("stage 1 of 2: sh exited with status 9: why", e.message)
	end)

	it("takes the statuses that are fine from the stage, else from the pipeline", function()
		local found = { "sh", "-c", "exit 1", ok_statuses = { 0, 1 } }
		assert.is_true(proc.pipeline(ctx, { { "true" }, found }).ok)
		assert.is_true(proc.pipeline(ctx, { { "sh", "-c", "exit 1" }, { "cat" }, ok_statuses = { 0, 1 } }).ok)
		assert.equal("stage 2 of 2: sh exited with status 2",
			failure(proc.pipeline, ctx, { found, { "sh", "-c", "exit 2" } }).message)
	end)

	it("says what to do about a stage whose reader ended first", function()
		local e = failure(proc.pipeline, ctx, { { "yes" }, { "head", "-n1" } })
		assert.equal("stage 1 of 2: yes was killed by SIGPIPE", e.message)
		assert.truthy(e.suggestion:find("let it read to the end, or set check = false", 1, true))
	end)

	it("raises under check, naming the stage", function()
		local e = failure(pipe, { { "true" }, { "sh", "-c", "echo why >&2; exit 9" }, check = true })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.equal("stage 2 of 2: sh exited with status 9: why", e.message)
		assert.equal(9, e.context.status)
	end)

	it("reports a stage that died because its reader ended", function()
		local r = pipe { { "yes" }, { "head", "-n1" } }
		assert.equal("y\n", r.stdout)
		assert.equal("SIGPIPE", r.stages[1].signal)
		assert.equal(1, r.failed_stage)
		assert.is_false(r.ok)
	end)

	it("blames the stage that failed, not the one that it left without a reader", function()
		local r = pipe { { "yes" }, { "sh", "-c", "exit 4" } }
		assert.equal(2, r.failed_stage)
		assert.equal(4, r.status)
		assert.equal("SIGPIPE", r.stages[1].signal)
	end)

	it("carries 64 MiB and stdin through", function()
		local data = ("0123456789abcdef"):rep(4 * MIB)
		local r = pipe { { "cat" }, { "cat" }, { "wc", "-c" }, stdin = data, timeout = "60s" }
		assert.equal(#data, tonumber(r.stdout))
	end)

	it("gives stages a blocking stdin", function()
		local r = pipe { { "sh", "-c", "sleep 0.2; echo late" }, { "cat" } }
		assert.equal("late\n", r.stdout)
	end)

	it("takes more stages than can be polled at once", function()
		local spec = { stdin = ("x"):rep(MIB) }
		for i = 1, 20 do
			spec[i] = { "cat" }
		end
		local r = pipe(spec)
		assert.is_true(r.ok)
		assert.equal(MIB, #r.stdout)
	end)

	it("gives a stage its own cwd and variables", function()
		local r = pipe { { "true" }, { "sh", "-c", "pwd; echo $A$B", cwd = "/", env = { B = 2 } }, env = { A = 1 } }
		assert.equal("/\n2\n", r.stdout)
	end)

	it("ends every stage at the timeout", function()
		local r = pipe { { "sleep", "30" }, { "cat" }, { "sleep", "30" }, timeout = "100ms" }
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
		assert.equal("SIGTERM", r.stages[1].signal)
		assert.equal("SIGTERM", r.stages[3].signal)
	end)

	it("ends the other stages when one can't start", function()
		local r = pipe { { "sleep", "30" }, { "/no/such/program" }, { "cat" } }
		assert.is_false(r.ok)
		assert.equal(2, r.failed_stage)
		assert.equal("ENOENT", r.errno)
		assert.equal("SIGTERM", r.stages[1].signal)
		assert.truthy(r.stages[3].error:find("not started"))
		local e = failure(pipe, { { "true" }, { "/no/such/program" }, check = true })
		assert.equal("stage 2 of 2: exec: /no/such/program: No such file or directory", e.message)
	end)

	it("hands out the lines of its end", function()
		local seen = {}
		pipe { { "printf", "b\\na\\n" }, { "sort" }, on_line = function(line, stream)
			seen[#seen + 1] = stream .. ":" .. line
		end }
		assert.same({ "stdout:a", "stdout:b" }, seen)
	end)

	it("refuses a spec that is no list of stages", function()
		assert.truthy(misused(pipe, { 1, 2 }):find("stage 1 must be a table", 1, true))
		assert.truthy(misused(pipe, { { "ls" } }):find("needs two stages or more", 1, true))
		assert.truthy(misused(pipe, { { "ls" }, { "wc", timeout = 1 } }):find("unknown key 'timeout'", 1, true))
	end)

	it("leaves no descriptor behind", function()
		local before = open_fds()
		for _ = 1, 50 do
			pipe { { "echo" }, { "cat" } }
			pipe { { "echo" }, { "/no/such/program" } }
		end
		assert.equal(before, open_fds())
	end)
end)
