-- proc_outcome: how a program ended: its result as scripts see it, and the error that a
-- failure raises. For ctx:run, ctx:pipeline and ctx:spawn; it starts nothing.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"

local M = {}

local TAIL = 4096 -- bytes of each stream that an error carries
local LAST_LINE = 200

---@class runner.Result
---@field ok boolean ended by itself with status 0, or one of ok_statuses
---@field status integer? nil when it was killed or never started
---@field signal string? "SIGTERM" …
---@field stdout string at most `cap` bytes: head and tail, the middle counted
---@field stderr string
---@field stdout_dropped integer bytes left out
---@field stderr_dropped integer
---@field duration_ms integer
---@field truncated boolean something was left out
---@field incomplete boolean a background process still held the output
---@field output_lost boolean? reading its output failed, or there was no memory for it (truncated is true then)
---@field starved boolean? writing to its stdin failed on our side (then ok is false)
---@field lost boolean? its shepherd was killed: nobody knows how it ended
---@field timed_out boolean
---@field error string? why it could not start
---@field errno string? "ENOENT" …
---@field suggestion string?

-- --- what happened, in words -----------------------------------------------------------

---The name of a program, for messages.
---@param argv string[]
---@return string
function M.program(argv)
	return argv[1]:match("[^/]+$") or argv[1]
end

local function last_line(text)
	local last = ""
	for line in text:sub(-TAIL):gmatch("[^\r\n]+") do
		if line:find("%S") then
			last = line
		end
	end
	return #last > LAST_LINE and last:sub(1, LAST_LINE) .. "…" or last
end

---How it ended: "exited with status 3".
---@param options table
---@param result table
---@return string
function M.ending(options, result)
	if result.timed_out == "limit" then
		return ("exceeded its timeout of %dms"):format(options.timeout_ms)
	elseif result.timed_out then
		return "was still running at the attempt's deadline"
	elseif result.signal then
		return "was killed by " .. result.signal
	elseif result.starved then
		return "did not get all of its input"
	elseif result.status then
		return "exited with status " .. result.status
	end
	return "ended, but its exit status is unknown"
end

local function describe(options, argv, result)
	if result.error then
		return result.error
	end
	local why = last_line(result.stderr)
	if why == "" then
		why = last_line(result.stdout)
	end
	return M.program(argv) .. " " .. M.ending(options, result) .. (why ~= "" and ": " .. why or "")
end

-- --- errors ------------------------------------------------------------------------------

-- The last lines: whole ones, where there are several.
local function tail(text)
	local cut = #text > TAIL and text:sub(-TAIL) or text
	return cut ~= text and cut:match "^[^\n]*\n(.+)$" or cut
end

local function context_of(options, argv, result)
	return {
		argv = argv, cwd = options.cwd,
		status = result.status, signal = result.signal, errno = result.errno,
		stdout = tail(result.stdout), stderr = tail(result.stderr),
		truncated = result.truncated or #result.stdout > TAIL or #result.stderr > TAIL,
		limits = attempt.limits(), limit_ms = attempt.cpu_limit(result.signal),
	}
end

local function wants_retry(rule, result)
	return rule.exit and rule.exit[result.status]
		or rule.stderr and result.stderr:find(rule.stderr, 1, true)
		or rule.pattern and result.stderr:find(rule.pattern)
end

local function failure_code(result)
	return attempt.cpu_limit(result.signal) and "CPU_LIMIT" or result.timed_out and "TIMEOUT" or result.code or "SUBPROCESS_FAILED"
end

-- The error of a runner that was started as any program is: its own, not that of a
-- program which exited with 5.
local function passed_through(argv, result)
	if M.program(argv) ~= "runner" or not result.status then
		return nil
	end
	local invoke = require "runner.invoke"
	local envelope = invoke.envelope(result)
	return envelope and not envelope.ok and invoke.failure(envelope) or nil
end

---Raise what a failure calls for; else give the result back. The end of the attempt is
---nobody's result: a supervisor that is slow to say so would take it for a success.
---@param options table of proc_spec
---@param argv string[]
---@param result table
---@param where? string put before the message
---@return table result
function M.conclude(options, argv, result, where)
	local rule, over = options.retry_on, result.timed_out == "attempt"
	local retry = rule and not over and not result.ok and wants_retry(rule, result)
	local code = retry and rule.code or (over or options.check and not result.ok) and failure_code(result)
	if code then
		local own = code == "SUBPROCESS_FAILED" and passed_through(argv, result)
		if own then
			error(own, 0)
		end
		errors.raise(code, (where or "") .. describe(options, argv, result), {
			retryable = retry and true or nil,
			retry_after_ms = retry and rule.retry_after_ms or nil,
			suggestion = result.suggestion,
			context = context_of(options, argv, result),
		})
	end
	return result
end

-- --- results -----------------------------------------------------------------------------

local function is_fine(options, result)
	if options.ok_statuses and result.status and not result.starved then
		return options.ok_statuses[result.status] or false
	end
	return result.ok
end

---The result of a handle that is done.
---@param handle userdata of runner.process
---@param late "limit"|"attempt"|false
---@param options table of proc_spec
---@return table
function M.of(handle, late, options)
	local result = handle:result()
	result.timed_out = late
	result.ok = is_fine(options, result) and not late
	return result
end

---What the script sees: timed_out is a boolean, and nothing of ours is left in it.
---@param result table
---@return runner.Result
function M.public(result)
	result.timed_out = result.timed_out and true or false
	result.code = nil
	return result
end

return M
