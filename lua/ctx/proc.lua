-- proc: ctx:run and ctx:pipeline. Argument vectors, never a shell; all children end with
-- the attempt. The loop that moves bytes and watches the time is in C (runner.process);
-- proc_spec checks the spec, proc_outcome says how a failure is raised.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local not_started = require("runner.core.start_failure").not_started
local outcome = require "runner.ctx.proc_outcome"
local process = require "runner.process"
local specs = require "runner.ctx.proc_spec"

local M = {}

-- --- running -----------------------------------------------------------------------------

-- Serve the handles until all are gone. "limit" or "attempt" when they had to be ended. In a task
-- of ctx:parallel the others go on meanwhile.
local function supervise(handles, options)
	if attempt.tasks and attempt.tasks.inside() then
		return attempt.tasks.supervise(handles, options)
	end
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

local function run_to_end(options)
	local handle <close>, message, code, context = process.start(options)
	if not handle then
		return not_started(options.argv, message, code, context)
	end
	local late = supervise({ handle }, options)
	return outcome.of(handle, late, options)
end

---Run a program to its end, and say how it ended; nothing is raised.
---@param options table of proc_spec
---@return table result as conclude() of proc_outcome takes it
function M.ended(options)
	local writes_itself = not options.capture or options.foreground
	if writes_itself then
		host.lend_terminal(1)
	end
	local result = attempt.traced and attempt.traced(options, run_to_end) or run_to_end(options)
	if writes_itself then
		host.lend_terminal(-1)
	end
	return result
end

---Run a command to its end. A failure is raised, unless check = false: SUBPROCESS_FAILED,
---TIMEOUT, or the code of retry_on.
---@param ctx table?
---@param spec table { "git", "status", cwd=, env=, stdin=, timeout=, grace=, check=, ok_statuses=, capture=, merge=, … }
---@return runner.Result
function M.run(ctx, spec)
	local options = specs.command("run", ctx, spec)
	return outcome.public(outcome.conclude(options, options.argv, M.ended(options)))
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
		results[i] = handles[i] and outcome.of(handles[i], false, stage)
			or i == #handles + 1 and failed
			or not_started(stage.argv, "not started: an earlier stage could not start", nil, {})
	end
	return results, #handles + 1
end

local function finished(handles, stages, options)
	local results = {}
	local late = supervise(handles, options)
	for i, handle in ipairs(handles) do
		results[i] = outcome.of(handle, late and handle:was_stopped() and late, stages[i])
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
	outcome.conclude(shown, shown.argv, whole, where)
	for _, result in ipairs(results) do
		outcome.public(result)
	end
	return outcome.public(summary(results, at))
end

return M
