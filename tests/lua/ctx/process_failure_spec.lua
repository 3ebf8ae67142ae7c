-- ctx:run that fails, and specs that are wrong.

local proc = require "runner.ctx.process"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/proc_help.lua")
local failure, misused, run, sh = help.failure, help.misused, help.run, help.sh
local ctx = {}

describe("ctx:run that fails", function()
	it("raises, unless check is false", function()
		assert.equal("SUBPROCESS_FAILED", failure(proc.run, ctx, { "false" }).code)
		assert.equal("false exited with status 1", failure(proc.run, ctx, { "false" }).message)
		assert.equal("ENOENT", failure(proc.run, ctx, { "/no/such/program" }).context.errno)
		assert.equal("TIMEOUT", failure(proc.run, ctx, { "sleep", "30", timeout = "50ms" }).code)
		assert.is_false(proc.run(ctx, { "false", check = false }).ok)
	end)

	it("takes the statuses that ok_statuses names, and no other", function()
		local function ends(status, fine)
			return proc.run(ctx, { "sh", "-c", "exit " .. status, ok_statuses = fine })
		end
		assert.same({ true, 1 }, { ends(1, { 0, 1 }).ok, ends(1, { 0, 1 }).status })
		assert.is_true(ends(3, 3).ok)
		assert.equal(2, failure(ends, 2, { 0, 1 }).context.status)
		assert.equal(0, failure(ends, 0, { 1 }).context.status)
		assert.equal("SIGKILL", failure(proc.run, ctx, { "sh", "-c", "kill -9 $$", ok_statuses = { 0, 137 } }).context.signal)
		assert.is_false(run({ "false", ok_statuses = { 0, 2 } }).ok)
	end)

	it("gives a result with check = false", function()
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
		assert.equal("no-such-program-here is not in PATH", e.message)
		assert.equal("ENOENT", e.context.errno)
		assert.equal("Install no-such-program-here, or add its directory to PATH", e.suggestion)
		assert.equal("Make /etc/passwd executable: chmod +x", run({ "/etc/passwd" }).suggestion)
		assert.equal("Name a program: /tmp is a directory", run({ "/tmp" }).suggestion)
		assert.equal("Fix the path ./nowhere; if it is a script, check its first line", run({ "./nowhere" }).suggestion)
		assert.equal("Fix the path /etc/passwd/x; if it is a script, check its first line",
			run({ "/etc/passwd/x" }).suggestion)
	end)

	it("explains that there is no shell to one string that holds a whole command line", function()
		local r = run { "git status --short" }
		assert.equal('"git status --short" is one word, and no program has that name', r.error)
		assert.equal('Write ctx:run{ "git", "status", "--short" }', r.suggestion)
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
		{ { "ls", ok_statuses = { 256 } }, "'ok_statuses' must be a list of exit statuses from 0 to 255" },
		{ { "ls", ok_statuses = {} }, "'ok_statuses' must be a list of exit statuses" },
		{ { "ls", ok_statuses = { ok = 1 } }, "'ok_statuses' must be a list of exit statuses" },
		{ { "ls", cap = -1 }, "'cap' must be a number of bytes" },
		{ { "ls", on_line = "print" }, "'on_line' must be a function" },
		{ { "ls", on_line = print, capture = false }, "on_line gets no lines with capture = false" },
		{ { "ls", retry_on = { exit = { 0 } } }, "exit = a list of statuses from 1 to 255" },
		{ { "ls", retry_on = { exits = { 1 } } }, "made of exit, stderr, pattern" },
		{ { "ls", retry_on = { pattern = "%" } }, "pattern = a Lua pattern" },
		{ { "ls", retry_on = { code = "X1" } }, "a condition" },
		{ 5, "takes one table" },
	}

	it("has a code of its own for a shell string", function()
		local e = failure(run, "ls -l")
		assert.same({ "SHELL_STRING_PROHIBITED", false, "string" }, { e.code, e.retryable, type(e.fix_required) })
	end)

	it("is refused with what was found and what to write", function()
		for _, case in ipairs(WRONG) do
			local e = misused(run, case[1])
			assert.is_truthy(e:find(case[2], 1, true), e .. "\nlacks: " .. case[2])
		end
	end)

	it("names the line of the script", function()
		local line = debug.getinfo(1, "l").currentline + 1
		local e = misused(function() proc.run(ctx, { "ls", nope = 1 }) end)
		assert.truthy(e:find("process_failure_spec.lua:" .. line .. ": ctx:run: ", 1, true), e)
	end)
end)
