-- proc: ctx:run, ctx:spawn and ctx:pipeline. Argument vectors, never a shell; all
-- children end with the attempt. The loop that moves bytes and minds the time
-- is in C (runner.process); what a spec may hold is in proc_spec.

local errors = require "runner.core.errors"
local not_started = require("runner.core.start_failure").not_started
local process = require "runner.process"
local attempt = require "runner.core.attempt"
local specs = require "runner.ctx.proc_spec"

local M = {}

local TAIL = 4096 -- bytes of stderr that an error carries
local LAST_LINE = 200

---@class runner.Result
---@field ok boolean ended by itself with status 0
---@field status integer? nil when it was killed or never started
---@field signal string? "SIGTERM" …
---@field stdout string at most `cap` bytes: head and tail, the middle counted
---@field stderr string
---@field stdout_dropped integer bytes left out
---@field stderr_dropped integer
---@field duration_ms integer
---@field truncated boolean something was left out
---@field incomplete boolean a background process still held the output
---@field starved boolean? writing to its stdin failed on our side (then ok is false)
---@field timed_out boolean
---@field error string? why it could not start
---@field errno string? "ENOENT" …
---@field suggestion string?

-- --- what happened, in words -----------------------------------------------------------

local function program(argv)
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

local function ending(options, result)
	if result.timed_out == "limit" then
		return ("exceeded its timeout of %dms"):format(options.timeout_ms)
	elseif result.timed_out then
		return "was still running when the attempt's time was over"
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
	if why == "" and options.merge then
		why = last_line(result.stdout)
	end
	return program(argv) .. " " .. ending(options, result) .. (why ~= "" and ": " .. why or "")
end

-- --- errors ------------------------------------------------------------------------------

local function context_of(options, argv, result)
	return {
		argv = argv, cwd = options.cwd,
		status = result.status, signal = result.signal, errno = result.errno,
		stderr = result.stderr:sub(-TAIL),
		truncated = result.truncated or #result.stderr > TAIL,
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

-- Raise what a failure calls for; else give the result back. The end of the attempt is
-- nobody's result: a supervisor that is slow to say so would take it for a success.
local function conclude(options, argv, result, where)
	local rule, over = options.retry_on, result.timed_out == "attempt"
	local retry = rule and not over and not result.ok and wants_retry(rule, result)
	local code = retry and rule.code or (over or options.check and not result.ok) and failure_code(result)
	if code then
		errors.raise(code, (where or "") .. describe(options, argv, result), {
			retryable = retry and true or nil,
			retry_after_ms = retry and rule.retry_after_ms or nil,
			suggestion = result.suggestion,
			context = context_of(options, argv, result),
		})
	end
	return result
end

-- --- running -----------------------------------------------------------------------------

-- Serve the handles until all are gone. "limit" or "attempt" when they had to be ended.
local function supervise(handles, options)
	local set = process.set(handles)
	local late = false
	set:limit(options.timeout_ms)
	while true do
		local kind, text, stream = set:wait(options.lines)
		if kind == "line" then
			options.on_line(text, stream)
		elseif kind == "done" then
			return late
		else
			late = text
			set:stop(options.grace_ms)
		end
	end
end

local function result_of(handle, late)
	local result = handle:result()
	result.timed_out = late
	result.ok = result.ok and not late
	return result
end

-- What the script sees: timed_out is a boolean, and nothing of ours is left in it.
local function public(result)
	result.timed_out = result.timed_out and true or false
	result.code = nil
	return result
end

---Run a command to its end.
---@param ctx table?
---@param spec table { "git", "status", cwd=, env=, stdin=, timeout=, grace=, check=, capture=, merge=, on_line=, retry_on=, cap= }
---@return runner.Result
function M.run(ctx, spec)
	local options = specs.command("run", ctx, spec)
	local handle <close>, message, code, context = process.start(options)
	if not handle then
		return public(conclude(options, options.argv, not_started(options.argv, message, code, context)))
	end
	local late = supervise({ handle }, options)
	return public(conclude(options, options.argv, result_of(handle, late)))
end

-- --- pipelines ---------------------------------------------------------------------------

local function close_all(handles)
	for i = #handles, 1, -1 do
		handles[i]:close()
	end
end

local Stages = { __close = close_all }

-- Starts each stage on the stdout of the one before. On failure: that stage's result.
local function start_stages(stages, handles)
	for i, stage in ipairs(stages) do
		stage.stdin_from = handles[i - 1]
		if i > 1 then
			stage.stdin, stage.stdin_file = false, false
		end
		local handle, message, code, context = process.start(stage)
		if not handle then
			return not_started(stage.argv, message, code, context)
		end
		handles[i] = handle
	end
end

-- The first stage that failed. A stage that wrote to a reader that was gone died
-- of the reader's end, so a later failure comes before it.
local function first_failure(results)
	local broken_pipe
	for i, result in ipairs(results) do
		if result.signal == "SIGPIPE" and i < #results then
			broken_pipe = broken_pipe or i
		elseif not result.ok then
			return i
		end
	end
	return broken_pipe
end

local function any(results, key)
	for _, result in ipairs(results) do
		if result[key] then
			return result[key]
		end
	end
	return false
end

local function summary(results, failed)
	local last, told = results[#results], results[failed or #results]
	local longest = 0
	for _, result in ipairs(results) do
		longest = math.max(longest, result.duration_ms)
	end
	return {
		ok = not failed,
		stages = results,
		failed_stage = failed,
		status = told.status, signal = told.signal, stderr = told.stderr,
		error = told.error, errno = told.errno, code = told.code, suggestion = told.suggestion,
		stdout = last.stdout, stdout_dropped = last.stdout_dropped,
		duration_ms = longest,
		truncated = any(results, "truncated"),
		incomplete = any(results, "incomplete"),
		timed_out = any(results, "timed_out"),
	}
end

-- A stage could not start: end those before it, say so of those after it.
local function abandoned(stages, handles, failed)
	local results = {}
	close_all(handles)
	for i, stage in ipairs(stages) do
		results[i] = handles[i] and result_of(handles[i], false)
			or i == #handles + 1 and failed
			or not_started(stage.argv, "not started: an earlier stage could not start", nil, {})
	end
	return results, #handles + 1
end

local function finished(handles, options)
	local results = {}
	local late = supervise(handles, options)
	for i, handle in ipairs(handles) do
		results[i] = result_of(handle, late and handle:was_stopped() and late)
	end
	return results, first_failure(results)
end

---Run commands, each reading the stdout of the one before, to their end. It
---fails when any stage fails.
---@param ctx table?
---@param spec table { {"ls"}, {"sort", env=, cwd=}, …, cwd=, env=, stdin=, timeout=, check=, … }
---@return table result as ctx:run's for the failing stage, with `stages` and `failed_stage`
function M.pipeline(ctx, spec)
	local options, stages = specs.pipeline(ctx, spec)
	local handles <close> = setmetatable({}, Stages)
	local failed = start_stages(stages, handles)
	local results, at
	if failed then
		results, at = abandoned(stages, handles, failed)
	else
		results, at = finished(handles, options)
	end
	local told = stages[at or #stages]
	local where = ("stage %d of %d: "):format(at or 0, #stages)
	conclude(told, told.argv, summary(results, at), where)
	for _, result in ipairs(results) do
		public(result)
	end
	return public(summary(results, at))
end

-- --- background processes -------------------------------------------------------------------

---@class runner.Process
---@field pid integer
local Process = {}
Process.__index = Process
Process.__name = "runner.Process"

-- Whether the process is done, or its line; raises at the end of the attempt.
local function news(self, lines)
	local kind, text, stream = self.set:wait(lines)
	if not kind and text == "attempt" then
		errors.raise("TIMEOUT", program(self.argv) .. " " .. ending({}, { timed_out = text }))
	end
	return kind, text, stream
end

---Wait for its end. Nil when it still runs after `timeout`.
---@param timeout? string|number duration; default: until the attempt's end
---@return runner.Result?
function Process:wait(timeout)
	local ms = timeout ~= nil and specs.duration(timeout)
	if timeout ~= nil and not ms then
		specs.fail("spawn", "wait(timeout) takes %s", select(2, specs.duration(timeout)))
	end
	if not self.result then
		self.set:limit(ms or nil)
		if news(self, false) ~= "done" then
			return nil
		end
		self.result = public(result_of(self.handle, false))
	end
	return self.result
end

---Send a signal to it and its process group; false when it is gone.
---@param signal? string|integer default "SIGTERM"
---@return boolean
function Process:kill(signal)
	return self.handle:signal(signal)
end

---@return boolean
function Process:alive()
	return self.handle:alive()
end

---Write to its stdin (spawn{stdin = true}); blocks until it has been taken.
---@param text string
---@return boolean? ok, string? message
function Process:write(text)
	return self.handle:write(text)
end

---Let it read end of file.
function Process:close_stdin()
	self.handle:close_stdin()
end

---Its lines as they come, until its end: `for line, stream in p:lines() do`.
---@return fun(): string?, string?
function Process:lines()
	self.set:limit(nil)
	return function()
		local kind, text, stream = news(self, true)
		if kind == "line" then
			return text, stream
		end
	end
end

---End it: TERM, its grace, KILL. A detached process is left alone.
function Process:close()
	self.handle:close()
end

Process.__close = Process.close

---Start a command and go on. It is ended when the handle is closed and at the
---latest with the attempt, unless detach = true.
---@param ctx table?
---@param spec table { "server", cwd=, env=, stdin=, grace=, capture=, merge=, cap=, detach=, stdout=, stderr= }
---@return runner.Process
function M.spawn(ctx, spec)
	local options = specs.command("spawn", ctx, spec)
	options.lines, options.roomy = true, true
	local handle, message, code, context = process.start(options)
	if not handle then
		options.check = true
		conclude(options, options.argv, not_started(options.argv, message, code, context))
	end
	local self = setmetatable({ handle = handle, pid = handle:pid(), set = process.set { handle }, argv = options.argv }, Process)
	if not options.detach and type(ctx) == "table" and ctx.defer then
		ctx:defer(function()
			self:close()
		end)
	end
	return self
end

return M
