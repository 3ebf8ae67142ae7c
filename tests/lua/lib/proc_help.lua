-- proc_help: what the specs of ctx:run, ctx:spawn and ctx:pipeline share.

local assert = require "luassert"

local errors = require "runner.core.errors"
local host = require "runner.host"
local proc = require "runner.ctx.process"

local M = { MIB = 1 << 20 }

-- What a program did is what most specs ask about: a failure is a result here, unless
-- the spec itself says otherwise.
function M.unchecked(spec)
	if type(spec) == "table" and spec.check == nil then
		spec.check = false
	end
	return spec
end

function M.run(spec)
	return proc.run({}, M.unchecked(spec))
end

function M.sh(script, spec)
	spec = spec or {}
	table.insert(spec, 1, "sh")
	table.insert(spec, 2, "-c")
	table.insert(spec, 3, script)
	return M.run(spec)
end

function M.raised(f, ...)
	local ok, e = pcall(f, ...)
	assert.is_false(ok)
	return e
end

-- The error object that f raises.
function M.failure(f, ...)
	local e = M.raised(f, ...)
	assert.is_true(errors.is(e), "not an error object: " .. tostring(e))
	return e
end

-- The message of a wrong use of ctx: a bug of the script, so not retryable, with a fix.
function M.misused(f, ...)
	local e = M.failure(f, ...)
	local code = e.message:find("must be a duration", 1, true) and "INVALID_ARGUMENT" or "INTERNAL_ERROR"
	assert.same({ code, false, "string" }, { e.code, e.retryable, type(e.fix_required) })
	return e.message
end

function M.elapsed_ms(f)
	local before = host.now()
	f()
	return host.now() - before
end

-- f(ms) with a limit as short as this machine allows for the program to have said something.
function M.in_time(f)
	for _, ms in ipairs { 200, 2000, 10000 } do
		local r = f(ms)
		if r.stdout ~= "" then
			return r
		end
	end
	error("it said nothing within 10 s")
end

function M.exists(pid)
	local stat = io.open("/proc/" .. pid .. "/stat")
	if not stat then
		return false
	end
	local state = (stat:read("a") or ""):match("%) (%a)") -- what ends meanwhile has no more to read
	stat:close()
	return state ~= nil and state ~= "Z"
end

function M.gone_soon(pid)
	for _ = 1, 1500 do
		if not M.exists(pid) then
			return true
		end
		M.run { "sleep", "0.02" }
	end
	return false
end

-- Counted by a child that shares no pipe with us.
function M.open_fds()
	local path = os.tmpname()
	os.execute("ls /proc/$PPID/fd | wc -l >" .. path)
	local file = assert(io.open(path))
	local n = file:read("n")
	file:close()
	os.remove(path)
	return n
end

function M.our_pid()
	local stat = assert(io.open("/proc/self/stat"))
	local pid = stat:read("a"):match("^%d+")
	stat:close()
	return pid
end

return M
