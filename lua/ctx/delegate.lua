-- delegate: another program in the place of this command (ctx:delegate), with its stdin, stdout
-- and stderr, and its exit status as runner's. Only for commands whose stdout is not runner's
-- answer (lua/declare/contract/raw.lua).

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local misuse = require "runner.ctx.misuse"
local outcome = require "runner.ctx.proc_outcome"
local proc = require "runner.ctx.proc"
local specs = require "runner.ctx.proc_spec"

local M = {}

local SIGNALS = { SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGKILL = 9,
	SIGUSR1 = 10, SIGSEGV = 11, SIGUSR2 = 12, SIGPIPE = 13, SIGALRM = 14, SIGTERM = 15, SIGXCPU = 24, SIGXFSZ = 25 }

-- As a shell counts; 2 would say that a server has touched nothing.
local function status_of(result)
	local status = result.status or result.signal and 128 + (SIGNALS[result.signal] or 0) or 1
	return attempt.command.raw == "protocol" and status == 2 and 1 or status
end

-- What proc_spec leaves open: the program has our descriptors.
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
		misuse.raise("ctx:delegate", "this command's stdout is runner's answer", 'Add arguments = "passthrough", or use ctx:run')
	end
	local options = options_of(ctx, spec)
	local result = proc.ended(options)
	if result.error or result.timed_out then
		options.check = true -- it is runner's own failure
	end
	outcome.conclude(options, options.argv, result)
	local status = status_of(result)
	if status == 0 then
		return { exit_code = 0 }
	end
	local e = errors.new("DELEGATED_EXIT", ("%s %s"):format(outcome.program(options.argv), outcome.ending(options, result)),
		{ retryable = false, data = { exit_code = status } })
	e.exit_code = status
	error(e, 0)
end

return M
