-- spawn: ctx:spawn, a program beside the script. It ends with the attempt, unless it is
-- detached. The loop that moves bytes is in C (runner.process).

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local not_started = require("runner.core.start_failure").not_started
local outcome = require "runner.ctx.process"
local process = require "runner.process"
local specs = require "runner.ctx.process_spec"

local M = {}

-- Signals that ask a process to end, and the status of a program that ends by itself then.
local ASKS = { SIGHUP = 129, SIGINT = 130, SIGQUIT = 131, SIGKILL = 137, SIGTERM = 143 }
local SIGNALS = { [1] = "SIGHUP", [2] = "SIGINT", [3] = "SIGQUIT", [9] = "SIGKILL", [15] = "SIGTERM" }

---@class runner.Process
---@field pid integer
local Process = {}
Process.__index = Process
Process.__name = "runner.Process"

-- Its end is known: the terminal is ours again.
local function give_back(self)
	if self.loan then
		self.loan:close()
	end
end

-- Whether the process is done, or its line; raises at the end of the attempt.
local function news(self, lines)
	local kind, text, stream = self.set:wait(lines)
	if not kind and text == "attempt" then
		errors.raise("TIMEOUT", outcome.program(self.options.argv) .. " " .. outcome.ending({}, { timed_out = text }))
	end
	return kind, text, stream
end

-- It ended as the script had asked it to: by a signal, or with the status that a
-- shell gives to that.
local function ended_as_asked(self, result)
	return self.asked and (result.signal ~= nil or ASKS[self.asked] == result.status)
end

-- The milliseconds of a method's `timeout`; nil: none was given.
local function milliseconds(method, timeout)
	if timeout == nil then
		return nil
	end
	return specs.duration(timeout, "spawn", method .. "(timeout)")
end

---Wait for its end. Nil when it still runs after `timeout`. A failure is raised, unless
---spawn was given check = false; to end as kill() or close() asked is none.
---@param timeout? string|number duration; default: until the attempt's end
---@return runner.Result?
function Process:wait(timeout)
	local ms = milliseconds("wait", timeout)
	if not self.result then
		self.set:limit(ms)
		if news(self, false) ~= "done" then
			return nil
		end
		self.result = outcome.of(self.handle, false, self.options)
		give_back(self)
	end
	if not ended_as_asked(self, self.result) then
		outcome.conclude(self.options, self.options.argv, self.result)
	end
	return outcome.public(self.result)
end

---Send a signal to it and its process group; false when it is gone.
---@param signal? string|integer default "SIGTERM"
---@return boolean
function Process:kill(signal)
	local name = signal == nil and "SIGTERM" or SIGNALS[signal] or signal
	self.asked = ASKS[name] and name or self.asked
	return self.handle:signal(signal)
end

---@return boolean
function Process:alive()
	return self.handle:alive()
end

---Write to its stdin (spawn{stdin = true}); blocks until it has been taken. A process that
---reads no more is a failure: raised, or nil and why with check = false.
---@param text string
---@return boolean? ok, string? message
function Process:write(text)
	local ok, why = self.handle:write(text)
	if not ok and self.options.check then
		errors.raise("SUBPROCESS_FAILED", ("Can't write to %s: %s"):format(outcome.program(self.options.argv), why), {
			suggestion = "Start it with stdin = true, and read its stderr to learn why it stopped reading",
			context = { argv = self.options.argv },
		})
	end
	return ok, why
end

---Let it read end of file.
function Process:close_stdin()
	self.handle:close_stdin()
end

---Its lines as they come, until its end or until `timeout` is over: `for line, stream in p:lines() do`.
---@param timeout? string|number duration; default: until the attempt's end
---@return fun(): string?, string?
function Process:lines(timeout)
	self.set:limit(milliseconds("lines", timeout))
	return function()
		local kind, text, stream = news(self, true)
		if kind == "line" then
			return text, stream
		end
	end
end

---End it: TERM, its grace, KILL. A detached process is left alone.
function Process:close()
	self.asked = self.asked or self.options.stop_signal or "SIGTERM"
	self.handle:close()
	give_back(self)
end

Process.__close = Process.close

-- The process that goes on after the command, and how to end it (REQ-C-010).
local function account_for(pid)
	local command = attempt.command
	if command and command.spawns_background_process then
		attempt.add("background_pid", pid)
		attempt.add("cleanup_command", command.cleanup_command)
	elseif command then
		attempt.warn("BACKGROUND_UNDECLARED", ("Process %d goes on after this command, which does not declare"):format(pid)
			.. " spawns_background_process", { pid = pid })
	end
end

---As spawn, for a process that the command need not declare.
---@param ctx table?
---@param spec table { "server", cwd=, env=, stdin=, grace=, check=, ok_statuses=, capture=, merge=, cap=, detach=, stdout=, stderr= }
---@return runner.Process
function M.start(ctx, spec)
	local options = specs.command("spawn", ctx, spec)
	options.lines, options.roomy = true, true
	local loan = not (options.capture or options.detach) and outcome.borrow_terminal() or nil
	local handle, message, code, context = process.start(options)
	if not handle then
		give_back { loan = loan }
		options.check = true -- there is nothing to give back
		outcome.conclude(options, options.argv, not_started(options.argv, message, code, context))
	end
	local self = setmetatable({ handle = handle, pid = handle:pid(), set = process.set { handle }, options = options, loan = loan },
		Process)
	if not options.detach and type(ctx) == "table" and ctx.defer then
		ctx:defer(function()
			self:close()
		end)
	end
	return self
end

---Start a command and go on. It is ended when the handle is closed and at the
---latest with the attempt, unless detach = true.
---@param ctx table?
---@param spec table as of start
---@return runner.Process
function M.spawn(ctx, spec)
	local self = M.start(ctx, spec)
	if self.options.detach then
		account_for(self.pid)
	end
	return self
end

return M
