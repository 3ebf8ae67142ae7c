-- ctx:run against real programs: bytes, statuses, the child's environment.

local proc = require "runner.ctx.process"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local open_fds, our_pid, run, sh = help.open_fds, help.our_pid, help.run, help.sh
local MIB = help.MIB

describe("ctx:run", function()
	it("gives the output, the status and the time of a command", function()
		local r = sh "echo out; echo err >&2; sleep 0.05"
		assert.is_true(r.ok)
		assert.equal(0, r.status)
		assert.is_nil(r.signal)
		assert.equal("out\n", r.stdout)
		assert.equal("err\n", r.stderr)
		assert.is_true(r.duration_ms >= 50 and r.duration_ms < 20000)
		assert.is_false(r.truncated)
		assert.is_false(r.incomplete)
		assert.is_false(r.timed_out)
	end)

	it("reports every exit status from 0 to 255", function()
		for status = 0, 255 do
			local r = sh("exit " .. status)
			assert.equal(status, r.status)
			assert.equal(status == 0, r.ok)
			assert.is_nil(r.signal)
		end
	end)

	it("names every signal that kills, and gives no status then", function()
		local list = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS"
		for name in list:gmatch("%S+") do
			local r = sh("ulimit -c 0; kill -" .. name .. " $$")
			assert.equal("SIG" .. name, r.signal)
			assert.is_nil(r.status)
			assert.is_false(r.ok)
		end
	end)

	it("passes arguments as they are: blanks, newlines, quotes, empty, numbers", function()
		local r = run { "printf", "[%s]", "a b", "c\nd", "", "'$x\"", "*", 7, -1.5 }
		assert.equal("[a b][c\nd][]['$x\"][*][7][-1.5]", r.stdout)
	end)

	it("keeps binary output byte for byte", function()
		local bytes = {}
		for i = 0, 255 do
			bytes[#bytes + 1] = string.char(i)
		end
		local all = table.concat(bytes):rep(64)
		assert.equal(all, run({ "cat", stdin = all }).stdout)
	end)

	it("gives an empty stdin unless told otherwise", function()
		assert.equal("", run({ "cat" }).stdout)
		assert.equal("", run({ "cat", stdin = "" }).stdout)
	end)

	it("hands an open file on as stdin", function()
		local file = assert(io.tmpfile())
		file:write("from a file")
		file:seek("set", 0)
		assert.equal("from a file", run({ "cat", stdin = file }).stdout)
		file:close()
	end)

	it("moves 64 MiB both ways at once without a deadlock", function()
		local data = ("0123456789abcdef"):rep(4 * MIB)
		local r = run { "cat", stdin = data, cap = 80 * MIB, timeout = "60s" }
		assert.is_true(r.ok)
		assert.is_true(r.stdout == data)
		assert.is_false(r.truncated)
	end)

	it("drains stdout and stderr together while it feeds stdin", function()
		local r = sh("tee /dev/stderr", { stdin = ("x"):rep(8 * MIB), timeout = "60s" })
		assert.is_true(r.ok)
		assert.is_true(r.truncated)
		assert.equal(7 * MIB, r.stdout_dropped)
		assert.equal(7 * MIB, r.stderr_dropped)
	end)

	it("keeps head and tail of a flood and counts the middle", function()
		local r = sh "echo first; head -c 5000000 /dev/zero; echo last"
		assert.is_true(r.truncated)
		assert.equal(5000011 - MIB, r.stdout_dropped)
		assert.truthy(r.stdout:find("^first\n"))
		assert.truthy(r.stdout:find("last\n$"))
		assert.is_true(#r.stdout < MIB + 100)
	end)

	it("keeps as much as cap says, and nothing with cap = 0", function()
		assert.equal(90, run({ "head", "-c", "100", "/dev/zero", cap = 10 }).stdout_dropped)
		local none = run { "head", "-c", "100", "/dev/zero", cap = 0 }
		assert.equal(100, none.stdout_dropped)
		assert.is_false(sh("printf 1234567890", { cap = 10 }).truncated)
	end)

	it("survives a command that closes its stdin before it was fed", function()
		local r = sh("exec <&-; sleep 0.1; echo done", { stdin = ("x"):rep(MIB) })
		assert.equal("done\n", r.stdout)
		assert.is_true(r.ok)
	end)

	it("survives a command that ends before it was fed", function()
		assert.is_true(run({ "true", stdin = ("x"):rep(4 * MIB) }).ok)
	end)

	it("leaves SIGPIPE at its default in commands and in us", function()
		run { "true", stdin = ("x"):rep(MIB) }
		assert.equal("SIGPIPE", sh("kill -PIPE $$").signal)
		assert.same({ nil, "signal", 13 }, { os.execute("kill -PIPE $$") })
	end)

	it("puts stderr into stdout in order with merge", function()
		local r = sh("echo 1; echo 2 >&2; echo 3", { merge = true })
		assert.equal("1\n2\n3\n", r.stdout)
		assert.equal("", r.stderr)
	end)

	it("captures nothing with capture = false", function()
		local r = sh("exit 3", { capture = false })
		assert.equal(3, r.status)
		assert.equal("", r.stdout)
	end)

	it("sets, overrides and unsets variables, and keeps the rest", function()
		local r = sh('echo "$A|${HOME-unset}|${PATH:+path}"', { env = { A = 1, HOME = false } })
		assert.equal("1|unset|path\n", r.stdout)
		assert.equal("x=y\n", sh('echo "$A"', { env = { A = "x=y" } }).stdout)
		assert.equal("1\n", sh("env | grep -c ^HOME=", { env = { HOME = "/elsewhere" } }).stdout)
	end)

	it("looks the program up in the PATH that the command gets", function()
		local r = run { "sh", "-c", "true", env = { PATH = "/nowhere" } }
		assert.is_false(r.ok)
		assert.equal("ENOENT", r.errno)
	end)

	it("passes over a folder of PATH that has no such program, not one in which it can't be had", function()
		local dir <close> = setmetatable({ path = os.tmpname() }, { __close = function(self) os.execute("rm -rf " .. self.path) end })
		os.remove(dir.path)
		local there = dir.path .. "/there"
		assert(os.execute(("mkdir -p %s/none %s/loop %s && ln -s program %s/loop/program && printf '#!/bin/sh\\necho found\\n' >%s/program"
			.. " && chmod 755 %s/program"):format(dir.path, dir.path, there, dir.path, there, there)))
		local function program(...)
			return run { "program", env = { PATH = table.concat({ ... }, ":") } }
		end
		assert.equal("found\n", program(dir.path .. "/none", dir.path .. "/nowhere", there).stdout)
		local r = program(dir.path .. "/loop", there)
		assert.is_false(r.ok)
		assert.equal("ELOOP", r.errno)
	end)

	it("runs in cwd", function()
		assert.equal("/\n", run({ "pwd", cwd = "/" }).stdout)
	end)

	it("says which directory is missing", function()
		local r = run { "true", cwd = "/no/such/dir" }
		assert.is_false(r.ok)
		assert.is_nil(r.status)
		assert.equal("chdir: /no/such/dir: No such file or directory", r.error)
		assert.equal("Create the directory, or fix its path", r.suggestion)
	end)

	it("runs each command in a process group of its own", function()
		local r = sh "ps -o pgid= -p $$ | tr -d ' '; echo $$"
		local group, pid = r.stdout:match("(%d+)\n(%d+)")
		assert.equal(pid, group)
	end)

	it("stays in our process group when the command talks to the terminal", function()
		local script = "cut -d' ' -f5 /proc/$$/stat; echo $$"
		local group, pid = sh(script, { foreground = true }).stdout:match("(%d+)\n(%d+)")
		assert.not_equal(pid, group)
		group, pid = proc.run({ interactive = true }, { "sh", "-c", script }).stdout:match("(%d+)\n(%d+)")
		assert.not_equal(pid, group)
	end)

	it("leaks no descriptor into a command, even with 500 open", function()
		local files = {}
		for i = 1, 500 do
			files[i] = assert(io.open("/dev/null"))
		end
		local r = run { "ls", "/proc/self/fd" }
		for _, file in ipairs(files) do
			file:close()
		end
		assert.equal("0\n1\n2\n3\n", r.stdout)
	end)

	it("leaves no descriptor and no child behind after 200 runs", function()
		local before = open_fds()
		for i = 1, 200 do
			run { i % 2 == 0 and "true" or "/no/such/program", stdin = "x" }
		end
		assert.equal(before, open_fds())
		assert.is_nil(run({ "ps", "-o", "stat=", "--ppid", our_pid() }).stdout:find("Z"))
	end)
end)
