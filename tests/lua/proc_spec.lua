-- ctx:run, ctx:spawn and ctx:pipeline against real programs.

local errors = require "runner.errors"
local host = require "runner.host"
local proc = require "runner.proc"

local MIB = 1 << 20
local ctx = {}

local function run(spec)
	return proc.run(ctx, spec)
end

local function sh(script, spec)
	spec = spec or {}
	table.insert(spec, 1, "sh")
	table.insert(spec, 2, "-c")
	table.insert(spec, 3, script)
	return run(spec)
end

local function raised(f, ...)
	local ok, e = pcall(f, ...)
	assert.is_false(ok)
	return e
end

-- The error object that f raises.
local function failure(f, ...)
	local e = raised(f, ...)
	assert.is_true(errors.is(e), "not an error object: " .. tostring(e))
	return e
end

local function elapsed_ms(f)
	local before = host.now()
	f()
	return host.now() - before
end

local function exists(pid)
	local stat = io.open("/proc/" .. pid .. "/stat")
	if not stat then
		return false
	end
	local state = stat:read("a"):match("%) (%a)")
	stat:close()
	return state ~= "Z"
end

local function gone_soon(pid)
	for _ = 1, 100 do
		if not exists(pid) then
			return true
		end
		run { "sleep", "0.02" }
	end
	return false
end

-- Counted by a child that shares no pipe with us.
local function open_fds()
	local path = os.tmpname()
	os.execute("ls /proc/$PPID/fd | wc -l >" .. path)
	local file = assert(io.open(path))
	local n = file:read("n")
	file:close()
	os.remove(path)
	return n
end

local function our_pid()
	local stat = assert(io.open("/proc/self/stat"))
	local pid = stat:read("a"):match("^%d+")
	stat:close()
	return pid
end

describe("ctx:run", function()
	it("gives the output, the status and the time of a command", function()
		local r = sh "echo out; echo err >&2; sleep 0.05"
		assert.is_true(r.ok)
		assert.equal(0, r.status)
		assert.is_nil(r.signal)
		assert.equal("out\n", r.stdout)
		assert.equal("err\n", r.stderr)
		assert.is_true(r.duration_ms >= 50 and r.duration_ms < 2000)
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

	it("runs in cwd", function()
		assert.equal("/\n", run({ "pwd", cwd = "/" }).stdout)
	end)

	it("says which directory is missing", function()
		local r = run { "true", cwd = "/no/such/dir" }
		assert.is_false(r.ok)
		assert.is_nil(r.status)
		assert.equal("chdir: /no/such/dir: No such file or directory", r.error)
		assert.truthy(r.suggestion:find("cwd"))
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

describe("ctx:run and time", function()
	it("ends a command at its timeout", function()
		local r
		local ms = elapsed_ms(function()
			r = run { "sleep", "30", timeout = "100ms" }
		end)
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
		assert.equal("SIGTERM", r.signal)
		assert.is_true(ms >= 100 and ms < 2000)
	end)

	it("takes seconds as a number, and 0 or none as no limit", function()
		assert.is_true(run({ "sleep", "30", timeout = 0.1 }).timed_out)
		assert.is_true(run({ "sleep", "0.1", timeout = 0 }).ok)
		assert.is_true(run({ "sleep", "0.1", timeout = "none" }).ok)
	end)

	it("kills a command that ignores TERM when its grace is over", function()
		local r
		local ms = elapsed_ms(function()
			r = sh("trap '' TERM; while :; do sleep 0.05; done", { timeout = "100ms", grace = "200ms" })
		end)
		assert.equal("SIGKILL", r.signal)
		assert.is_true(ms >= 300 and ms < 3000)
	end)

	it("keeps what a command says on its way out", function()
		local r = sh("trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.02; done", { timeout = "200ms" })
		assert.equal("hi\nbye\n", r.stdout)
		assert.equal(0, r.status)
		assert.is_true(r.timed_out)
		assert.is_false(r.ok)
	end)

	it("ends a stopped command too", function()
		local r = sh("kill -STOP $$", { timeout = "100ms", grace = "1s" })
		assert.equal("SIGTERM", r.signal)
	end)

	it("ends what the command started in its group as well", function()
		local r = sh("sleep 30 & echo $!; trap '' TERM; wait", { timeout = "200ms", grace = "100ms" })
		assert.is_true(gone_soon(r.stdout:match("%d+")))
	end)

	it("kills what is left of the group when the command itself has obeyed", function()
		local r = sh("(trap '' TERM; exec sleep 30) & echo $!; wait", { timeout = "200ms" })
		assert.equal("SIGTERM", r.signal)
		assert.is_true(gone_soon(r.stdout:match("%d+")))
	end)

	it("waits at most a moment for a background process that holds the output", function()
		local r
		local ms = elapsed_ms(function()
			r = sh "sleep 5 & echo $!"
		end)
		assert.is_true(r.ok)
		assert.is_true(r.incomplete)
		assert.is_true(ms < 1500)
		assert.is_true(exists(r.stdout:match("%d+")))
		run { "kill", r.stdout:match("%d+") }
	end)

	it("reads all that the command wrote even when a background process holds on", function()
		local r = sh("sleep 2 & head -c 60000 /dev/zero", { cap = MIB })
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
		local r = run { "yes", timeout = "200ms", grace = "100ms", on_line = function() n = n + 1 end }
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
		local first
		local begun = host.now()
		local r = sh("echo now; sleep 0.5", { on_line = function() first = first or host.now() - begun end })
		assert.is_true(first < 400)
		assert.is_true(r.duration_ms >= 500)
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

describe("ctx:run that fails", function()
	it("does not raise by itself", function()
		local r = run { "/no/such/program" }
		assert.is_false(r.ok)
		assert.equal("exec: /no/such/program: No such file or directory", r.error)
		assert.equal("ENOENT", r.errno)
		assert.equal("", r.stdout)
	end)

	it("raises SUBPROCESS_FAILED with the last line of stderr under check", function()
		local e = failure(sh, "echo first >&2; echo 'fatal: no' >&2; echo >&2; exit 128", { check = true })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.equal("sh exited with status 128: fatal: no", e.message)
		assert.equal(128, e.context.status)
		assert.equal("sh", e.context.argv[1])
		assert.equal("first\nfatal: no\n\n", e.context.stderr)
		assert.is_false(e.context.truncated)
	end)

	it("carries at most 4 KiB of stderr", function()
		local e = failure(sh, "head -c 10000 /dev/zero | tr '\\0' x >&2; exit 1", { check = true })
		assert.equal(4096, #e.context.stderr)
		assert.is_true(e.context.truncated)
		assert.is_true(#e.message < 300)
	end)

	it("names the signal under check", function()
		local e = failure(sh, "kill -KILL $$", { check = true })
		assert.equal("sh was killed by SIGKILL", e.message)
		assert.equal("SIGKILL", e.context.signal)
	end)

	it("raises TIMEOUT when the timeout was reached under check", function()
		local e = failure(run, { "sleep", "30", timeout = "100ms", check = true })
		assert.equal("TIMEOUT", e.code)
		assert.equal("sleep exceeded its timeout of 100ms", e.message)
	end)

	it("says why a program can't start, and what to do", function()
		local e = failure(run, { "no-such-program-here", check = true })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.equal("exec: no-such-program-here: No such file or directory", e.message)
		assert.equal("ENOENT", e.context.errno)
		assert.equal("Install no-such-program-here, or put its directory into PATH", e.suggestion)
		assert.equal("Make /etc/passwd executable: chmod +x", run({ "/etc/passwd" }).suggestion)
	end)

	it("explains that there is no shell to one string that holds a whole command line", function()
		local r = run { "git status --short" }
		assert.equal('There is no shell: write each argument as its own string, { "git", "status", "--short" }',
			r.suggestion)
	end)

	it("turns a declared exit status into a retryable error, with or without check", function()
		for _, check in ipairs { true, false } do
			local e = failure(sh, "echo busy >&2; exit 75", { check = check, retry_on = { exit = { 74, 75 } } })
			assert.equal("UNAVAILABLE", e.code)
			assert.is_true(e.retryable)
			assert.equal("sh exited with status 75: busy", e.message)
		end
	end)

	it("turns a declared text or pattern on stderr into a retryable error", function()
		local script = "echo 'is temporarily unavailable (503)' >&2; exit 1"
		local e = failure(sh, script, { retry_on = { stderr = "temporarily unavailable" } })
		assert.is_true(e.retryable)
		e = failure(sh, script, { retry_on = { pattern = "%(50%d%)", code = "RATE_LIMITED", retry_after_ms = 1500 } })
		assert.equal("RATE_LIMITED", e.code)
		assert.equal(1500, e.retry_after_ms)
	end)

	it("takes the text of retry_on literally", function()
		assert.equal(1, sh("echo aXb >&2; exit 1", { retry_on = { stderr = "a.b" } }).status)
	end)

	it("does not retry what retry_on does not name, nor a success", function()
		assert.equal(1, sh("exit 1", { retry_on = { exit = 75, stderr = "busy" } }).status)
		assert.is_true(sh("echo busy >&2", { retry_on = { stderr = "busy" } }).ok)
		local e = failure(sh, "exit 1", { check = true, retry_on = { exit = 75 } })
		assert.equal("SUBPROCESS_FAILED", e.code)
		assert.is_nil(e.retryable)
	end)
end)

describe("a wrong spec", function()
	local WRONG = {
		{ { "ls", tiemout = 1 }, "unknown key 'tiemout': did you mean 'timeout'?" },
		{ { "ls", retry = {} }, "unknown key 'retry'" },
		{ {}, "no program given" },
		{ { "" }, "no program given" },
		{ { "echo", "a\0b" }, "argument 2 must be a string without NUL" },
		{ { "echo", {} }, "argument 2 must be a string without NUL, not a table" },
		{ { "echo", nil, "x" }, "item 2 is nil" },
		{ { "ls", cwd = "" }, "'cwd' must be a path" },
		{ { "ls", timeout = "soon" }, [['timeout' must be a duration such as "500ms"]] },
		{ { "ls", timeout = -1 }, "'timeout' must be a duration" },
		{ { "ls", check = "yes" }, "'check' must be true or false" },
		{ { "ls", env = { ["A=B"] = "c" } }, "a name without '='" },
		{ { "ls", env = { A = true } }, "A = a string without NUL, or false to unset it" },
		{ { "ls", env = { "A=B" } }, "a name without '='" },
		{ { "ls", stdin = true }, "'stdin' must be the bytes as a string, or an open file" },
		{ { "ls", cap = -1 }, "'cap' must be a number of bytes" },
		{ { "ls", on_line = "print" }, "'on_line' must be a function" },
		{ { "ls", on_line = print, capture = false }, "on_line gets no lines with capture = false" },
		{ { "ls", retry_on = { exit = { 0 } } }, "exit = a list of statuses from 1 to 255" },
		{ { "ls", retry_on = { exits = { 1 } } }, "made of exit, stderr, pattern" },
		{ { "ls", retry_on = { pattern = "%" } }, "pattern = a Lua pattern" },
		{ { "ls", retry_on = { code = "X1" } }, "told when" },
		{ "ls -l", "takes one table" },
	}

	it("is refused with what was found and what to write", function()
		for _, case in ipairs(WRONG) do
			local e = raised(run, case[1])
			assert.is_string(e)
			assert.is_truthy(e:find(case[2], 1, true), e .. "\nlacks: " .. case[2])
		end
	end)

	it("names the line of the script", function()
		local line = debug.getinfo(1, "l").currentline + 1
		local e = raised(function() proc.run(ctx, { "ls", nope = 1 }) end)
		assert.truthy(e:find("proc_spec.lua:" .. line .. ": ctx:run: ", 1, true), e)
	end)
end)

describe("ctx:pipeline", function()
	local function pipe(spec)
		return proc.pipeline(ctx, spec)
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
		assert.truthy(raised(pipe, { "ls", "wc" }):find("stage 1 must be a table", 1, true))
		assert.truthy(raised(pipe, { { "ls" } }):find("needs two stages or more", 1, true))
		assert.truthy(raised(pipe, { { "ls" }, { "wc", timeout = 1 } }):find("unknown key 'timeout'", 1, true))
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

describe("ctx:spawn", function()
	local function spawn(spec)
		return proc.spawn(ctx, spec)
	end

	it("goes on while the process runs, and waits for its result", function()
		local p <close> = spawn { "sh", "-c", "sleep 0.1; echo out; exit 3" }
		assert.is_true(p:alive())
		assert.is_true(math.type(p.pid) == "integer" and exists(p.pid))
		local r = p:wait()
		assert.equal(3, r.status)
		assert.equal("out\n", r.stdout)
		assert.is_false(p:alive())
		assert.equal(r, p:wait())
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
		local p = proc.spawn({ defer = function(_, f) deferred[#deferred + 1] = f end }, { "sleep", "30" })
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
		assert.truthy(raised(spawn, { "ls", check = true }):find("unknown key 'check'", 1, true))
		assert.truthy(raised(spawn, { "ls", detach = true, stdin = "x" }):find("detached process", 1, true))
	end)

	it("notices a death without being asked to wait", function()
		local p <close> = spawn { "true" }
		run { "sleep", "0.1" }
		assert.is_false(p:alive())
		assert.is_true(p:wait().ok)
	end)
end)
