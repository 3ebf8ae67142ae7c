-- process: ctx:run, ctx:pipeline and ctx:delegate: argument vectors, never a shell; all children end with
-- the attempt. How a program ended: its result as scripts see it, and the error that a failure raises.
-- The loop that moves bytes and watches the time is in C (runner.process); process_spec checks the spec.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"
local not_started = require("runner.core.start_failure").not_started
local process = require "runner.process"
local specs = require "runner.ctx.process_spec"
local waiting = require "runner.core.waiting"

local M = {}

-- --- running -----------------------------------------------------------------------------

-- Serve the handles until all are gone. "limit" or "attempt" when they had to be ended. In a task
-- of ctx:parallel the others go on meanwhile.
local function supervise(handles, options)
	local tasks = waiting.tasks()
	if tasks then
		return tasks.supervise(handles, options)
	end
	local set = process.set(handles)
	local late = false
	set:limit(options.timeout_ms)
	while true do
		local kind, text, stream = set:wait(options.lines, true)
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

local function run_to_end(options)
	local handle <close>, message, code, context = process.start(options)
	if not handle then
		return not_started(options.argv, message, code, context)
	end
	local late = supervise({ handle }, options)
	return M.of(handle, late, options)
end

-- Of a program that writes to the terminal itself.
local function borrow(options)
	return (not options.capture or options.foreground) and M.borrow_terminal() or nil
end

---Run a program to its end, and say how it ended; nothing is raised.
---@param options table of process_spec
---@return table result as conclude() of process takes it
function M.ended(options)
	local _ <close> = borrow(options)
	return waiting.run_program(options, run_to_end)
end

---Run a command to its end. A failure is raised, unless check = false: SUBPROCESS_FAILED,
---TIMEOUT, or the code of retry_on.
---@param ctx table?
---@param spec table { "git", "status", cwd=, env=, stdin=, timeout=, grace=, check=, ok_statuses=, capture=, merge=, … }
---@return runner.Result
function M.run(ctx, spec)
	local options = specs.command("run", ctx, spec)
	return M.public(M.conclude(options, options.argv, M.ended(options)))
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
		stage.stdin_from, stage.piped = handles[i - 1], i < #stages
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

local READER_ENDED = "The next stage ended before it had read everything: let it read to the end, or set check = false"

local function summary(results, failed)
	local last, shown = results[#results], results[failed or #results]
	local longest = 0
	for _, result in ipairs(results) do
		longest = math.max(longest, result.duration_ms)
	end
	return {
		ok = not failed,
		stages = results,
		failed_stage = failed,
		status = shown.status, signal = shown.signal, stderr = shown.stderr,
		error = shown.error, errno = shown.errno, code = shown.code,
		suggestion = shown.suggestion or failed and shown.signal == "SIGPIPE" and failed < #results and READER_ENDED or nil,
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
		results[i] = handles[i] and M.of(handles[i], false, stage)
			or i == #handles + 1 and failed
			or not_started(stage.argv, "not started: an earlier stage could not start", nil, {})
	end
	return results, #handles + 1
end

local function finished(handles, stages, options)
	local results = {}
	local late = supervise(handles, options)
	for i, handle in ipairs(handles) do
		results[i] = M.of(handle, late and handle:was_stopped() and late, stages[i])
	end
	return results, first_failure(results)
end

---Run commands, each reading the stdout of the one before, to their end. It
---fails when any stage fails; a failure is raised, unless check = false.
---@param ctx table?
---@param spec table { {"ls"}, {"sort", env=, cwd=, ok_statuses=}, …, cwd=, env=, stdin=, timeout=, check=, … }
---@return table result as ctx:run's for the failing stage, with `stages` and `failed_stage`
function M.pipeline(ctx, spec)
	local options, stages = specs.pipeline(ctx, spec)
	local _ <close> = borrow(options)
	local handles <close> = setmetatable({}, Stages)
	local failed = start_stages(stages, handles)
	local results, at
	if failed then
		results, at = abandoned(stages, handles, failed)
	else
		results, at = finished(handles, stages, options)
	end
	local shown = stages[at or #stages]
	local where = ("stage %d of %d: "):format(at or 0, #stages)
	local whole = summary(results, at)
	whole.stdout = results[at or #results].stdout -- what that stage itself has said
	M.conclude(shown, shown.argv, whole, where)
	for _, result in ipairs(results) do
		M.public(result)
	end
	return M.public(summary(results, at))
end

-- --- process ----------------------------------------------------------------------

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
---@field lost boolean? its shepherd was killed: how it ended is not known
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

local function end_of(text)
	text = (attempt.mask or tostring)(text)
	return text:sub(-TAIL), #text > TAIL
end

---The last line that says something, for messages.
---@param text string
---@return string
function M.last_line(text)
	local last = ""
	for line in end_of(text):gmatch("[^\r\n]+") do
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
	local why = M.last_line(result.stderr)
	if why == "" then
		why = M.last_line(result.stdout)
	end
	return M.program(argv) .. " " .. M.ending(options, result) .. (why ~= "" and ": " .. why or "")
end

-- --- errors ------------------------------------------------------------------------------

---The last lines: whole ones, where there are several.
---@param text string
---@return string
function M.tail(text)
	local cut, is_cut = end_of(text)
	return is_cut and cut:match "^[^\n]*\n(.+)$" or cut
end

-- The declared limits of the command, which its children inherit; nil: there are none.
local function limits_of_command()
	local limits = attempt.command and attempt.command.limits
	return limits and next(limits) and limits or nil
end

-- The declared CPU time in ms, if this signal means that a child exceeded it.
local function cpu_limit(signal)
	return signal == "SIGXCPU" and (limits_of_command() or {}).cpu_ms or nil
end

local function context_of(options, argv, result)
	return {
		argv = argv, cwd = options.cwd,
		status = result.status, signal = result.signal, errno = result.errno,
		stdout = M.tail(result.stdout), stderr = M.tail(result.stderr),
		truncated = result.truncated or #result.stdout > TAIL or #result.stderr > TAIL,
		limits = limits_of_command(), limit_ms = cpu_limit(result.signal),
	}
end

local function wants_retry(rule, result)
	return rule.exit and rule.exit[result.status]
		or rule.stderr and result.stderr:find(rule.stderr, 1, true)
		or rule.pattern and result.stderr:find(rule.pattern)
end

local function failure_code(result)
	return cpu_limit(result.signal) and "CPU_LIMIT" or result.timed_out and "TIMEOUT" or result.code or "SUBPROCESS_FAILED"
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
---no result of a program: a supervisor that is slow to say so would take it for a success.
---@param options table of process_spec
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
		local why, fix
		if code == "SUBPROCESS_FAILED" and result.status then
			why, fix = require("runner.core.shell_words").advice(argv, result.stderr)
		end
		errors.raise(code, (where or "") .. (why and ("%s %s"):format(why, M.ending(options, result)) or describe(options, argv, result)), {
			retryable = retry and true or nil,
			retry_after_ms = retry and rule.retry_after_ms or nil,
			suggestion = result.suggestion or fix,
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
---@param options table of process_spec
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

-- --- the terminal for a program ----------------------------------------------------------

-- While a program writes to the terminal itself, the lines that runner draws there are off the screen: until the loan is
-- closed, however that comes about.
local Loan = {}
Loan.__index = Loan

---Give it back; a second time does nothing.
function Loan:close()
	if not self.over then
		self.over = true
		host.lend_terminal(-1)
	end
end

Loan.__close = Loan.close

---@return { close: fun(self: table) }
function M.borrow_terminal()
	host.lend_terminal(1)
	return setmetatable({}, Loan)
end

-- --- ctx:delegate ----------------------------------------------------------------------

local SIGNALS = { SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGKILL = 9,
	SIGUSR1 = 10, SIGSEGV = 11, SIGUSR2 = 12, SIGPIPE = 13, SIGALRM = 14, SIGTERM = 15, SIGXCPU = 24, SIGXFSZ = 25 }

-- As a shell counts; 2 would say that a server has touched nothing.
local function status_of(result)
	local status = result.status or result.signal and 128 + (SIGNALS[result.signal] or 0) or 1
	return attempt.command.raw == "protocol" and status == 2 and 1 or status
end

-- What process_spec leaves open: the program has our descriptors.
local function options_of(ctx, spec)
	local options = specs.command("delegate", ctx, spec)
	options.capture, options.own_stdout, options.check = false, true, false
	if spec.stdin == nil then
		options.stdin_file = io.stdin
	end
	return options
end

---Run a program to its end, with our stdin, stdout and stderr.
---@param ctx table
---@param spec table { "git", "log", cwd=, env=, stdin=, timeout=, grace=, foreground= }
---@return {exit_code: integer} 0; any other status raises DELEGATED_EXIT, and is runner's own
function M.delegate(ctx, spec)
	if not attempt.command.raw then
		require("runner.ctx.misuse").raise("ctx:delegate", "this command's stdout is runner's answer",
			'Add arguments = "passthrough", or use ctx:run')
	end
	local options = options_of(ctx, spec)
	local result = M.ended(options)
	if result.error or result.timed_out then
		options.check = true -- it is runner's own failure
	end
	M.conclude(options, options.argv, result)
	local status = status_of(result)
	if status == 0 then
		return { exit_code = 0 }
	end
	local e = errors.new("DELEGATED_EXIT", ("%s %s"):format(M.program(options.argv), M.ending(options, result)),
		{ retryable = false, data = { exit_code = status } })
	e.exit_code = status
	error(e, 0)
end

return M
