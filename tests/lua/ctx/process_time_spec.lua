-- ctx:run: its timeout, what outlives the command, and lines as they come.

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local elapsed_ms, exists, gone_soon, in_time = help.elapsed_ms, help.exists, help.gone_soon, help.in_time
local raised, run, sh = help.raised, help.run, help.sh
local MIB = help.MIB

describe("ctx:run and time", function()
	it("ends a command at its timeout", function()
		local r
		local ms = elapsed_ms(function()
			r = run { "sleep", "30", timeout = "100ms" }
		end)
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
		assert.equal("SIGTERM", r.signal)
		assert.is_true(ms >= 100 and ms < 20000)
	end)

	it("takes seconds as a number, and 0 or none as no limit", function()
		assert.is_true(run({ "sleep", "30", timeout = 0.1 }).timed_out)
		assert.is_true(run({ "sleep", "0.1", timeout = 0 }).ok)
		assert.is_true(run({ "sleep", "0.1", timeout = "none" }).ok)
	end)

	it("kills a command that ignores TERM when its grace is over", function()
		in_time(function(limit)
			local r
			local ms = elapsed_ms(function()
				r = sh("trap '' TERM; echo up; while :; do sleep 0.05; done", { timeout = limit / 1000, grace = "200ms" })
			end)
			assert.is_true(ms < limit + 20000)
			if r.stdout ~= "" then
				assert.equal("SIGKILL", r.signal)
				assert.is_true(ms >= limit + 200)
			end
			return r
		end)
	end)

	it("keeps what a command says on its way out", function()
		local r = in_time(function(ms)
			return sh("trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.02; done", { timeout = ms / 1000, grace = "20s" })
		end)
		assert.equal("hi\nbye\n", r.stdout)
		assert.equal(0, r.status)
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
	end)

	it("ends a stopped command too", function()
		local r = sh("kill -STOP $$", { timeout = "100ms", grace = "20s" })
		assert.equal("SIGTERM", r.signal)
	end)

	it("ends what the command started in its group as well", function()
		local r = in_time(function(ms)
			return sh("sleep 30 & echo $!; trap '' TERM; wait", { timeout = ms / 1000, grace = "100ms" })
		end)
		assert.is_true(gone_soon(r.stdout:match("%d+")))
	end)

	it("kills what is left of the group when the command itself has obeyed", function()
		local r = in_time(function(ms)
			return sh("(trap '' TERM; exec sleep 30) & echo $!; wait", { timeout = ms / 1000, grace = "4s" })
		end)
		assert.equal("SIGTERM", r.signal)
		assert.is_true(gone_soon(r.stdout:match("%d+")))
	end)

	it("waits at most a moment for a background process that holds the output", function()
		local r
		local ms = elapsed_ms(function()
			r = sh "sleep 60 & echo $!"
		end)
		assert.is_true(r.ok)
		assert.is_true(r.incomplete)
		assert.is_true(ms < 20000)
		assert.is_true(exists(r.stdout:match("%d+")))
		run { "kill", r.stdout:match("%d+") }
	end)

	it("reads all that the command wrote even when a background process holds on", function()
		local r = sh("sleep 9 & head -c 60000 /dev/zero", { cap = MIB })
		assert.equal(60000, #r.stdout)
		assert.is_true(r.incomplete)
	end)

	it("is not kept by a background process that floods the output", function()
		local r = sh("yes & echo $! >&2; sleep 0.05", { timeout = "10s" })
		assert.is_true(r.ok)
		assert.is_true(r.incomplete)
		assert.is_true(gone_soon(r.stderr:match("%d+")))
	end)

	it("ends a flood of lines at its timeout", function()
		local n = 0
		local r = in_time(function(ms)
			return run { "yes", timeout = ms / 1000, grace = "100ms", on_line = function() n = n + 1 end }
		end)
		assert.is_true(r.timed_out)
		assert.is_true(n > 0)
	end)
end)

describe("ctx:run line by line", function()
	local function lines_of(script, spec)
		local seen = {}
		spec = spec or {}
		spec.on_line = function(line, stream)
			seen[#seen + 1] = stream:sub(4, 6) .. ":" .. line
		end
		return seen, sh(script, spec)
	end

	it("hands out every line with its stream, empty ones and the last one too", function()
		local seen, r = lines_of "echo a; echo; printf end"
		assert.same({ "out:a", "out:", "out:end" }, seen)
		assert.equal("a\n\nend", r.stdout)
		seen = lines_of "echo oops >&2"
		assert.same({ "err:oops" }, seen)
	end)

	it("hands a line out before the command ends", function()
		local file = os.tmpname()
		local r = sh("echo now; until [ -s " .. file .. " ]; do sleep 0.02; done", { timeout = "30s", on_line = function()
			local f = assert(io.open(file, "w"))
			f:write("seen"):close()
		end })
		os.remove(file)
		assert.is_true(r.ok)
	end)

	it("splits a line at 64 KiB", function()
		local sizes = {}
		sh("head -c 150000 /dev/zero; echo; echo x", { on_line = function(line)
			sizes[#sizes + 1] = #line
		end })
		assert.same({ 65536, 65536, 150000 - 2 * 65536, 1 }, sizes)
	end)

	it("does not split a line of exactly 64 KiB", function()
		local sizes = {}
		sh("head -c 65536 /dev/zero; echo; echo x", { on_line = function(line)
			sizes[#sizes + 1] = #line
		end })
		assert.same({ 65536, 1 }, sizes)
	end)

	it("keeps pace with a million lines", function()
		local n = 0
		local r = run { "seq", 1000000, on_line = function() n = n + 1 end, timeout = "60s" }
		assert.is_true(r.ok)
		assert.equal(1000000, n)
	end)

	it("feeds stdin while lines come", function()
		local bytes = 0
		run { "cat", stdin = ("y"):rep(1023, "") .. "\n" .. (("z"):rep(1023) .. "\n"):rep(8191),
			on_line = function(line) bytes = bytes + #line + 1 end }
		assert.equal(8 * MIB, bytes)
	end)

	it("ends the command when on_line raises", function()
		local pid
		local e = raised(sh, "echo $$; exec sleep 30", { on_line = function(line)
			pid = line
			error("enough", 0)
		end })
		assert.equal("enough", e)
		assert.is_true(gone_soon(pid))
	end)
end)
