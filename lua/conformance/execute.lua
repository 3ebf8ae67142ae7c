-- execute: one run of the tool that is being checked, as the evidence that a result shows:
-- what it was called with, how it ended, what it printed. A run that outlasts its time is
-- ended with its whole tree.

local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

---@class runner.ConformanceRun
---@field label string the probe
---@field argv string[] the whole argument vector
---@field stdin "closed"|"open"
---@field exit_code integer? nil: killed, or timed out
---@field timed_out boolean
---@field duration_ms integer
---@field stdout string
---@field stderr string
---@field lines? string[] of a stream
---@field signalled_after? integer lines read when SIGINT was sent

local CAP = 64 << 20

-- What makes tools colour their output although no terminal is there; a probe stands for a caller without them.
local NO_FORCED_COLOUR = { FORCE_COLOR = false, CLICOLOR_FORCE = false }

---Several argument vectors as one.
---@param ... string[]
---@return string[]
function M.joined(...)
	local all = {}
	for _, list in ipairs { ... } do
		table.move(list, 1, #list, #all + 1, all)
	end
	return all
end

local function spec_of(argv, extra)
	local spec = table.move(argv, 1, #argv, 1, { check = false, cap = CAP, grace = "200ms", env = {} })
	tables.add(spec.env, NO_FORCED_COLOUR)
	tables.add(spec.env, extra)
	return spec
end

local function run_of(label, argv, stdin, result, started)
	return {
		label = label, argv = argv, stdin = stdin,
		exit_code = not result.timed_out and result.status or nil,
		timed_out = result.timed_out or false,
		duration_ms = math.floor(host.now() - started),
		stdout = result.stdout or "", stderr = result.stderr or "",
	}
end

---A run to its end with an empty stdin.
---@param ctx table
---@param label string
---@param argv string[]
---@param seconds number its time
---@param env? table<string, string>
---@return runner.ConformanceRun
function M.closed(ctx, label, argv, seconds, env)
	local spec, started = spec_of(argv, env), host.now()
	spec.timeout = seconds
	return run_of(label, argv, "closed", ctx:run(spec), started)
end

---A run with a stdin that is open, silent, and never closed.
---@param ctx table
---@param label string
---@param argv string[]
---@param seconds number
---@return runner.ConformanceRun
function M.open(ctx, label, argv, seconds)
	local spec, started = spec_of(argv), host.now()
	spec.stdin = true
	local process <close> = ctx:spawn(spec)
	local result = process:wait(seconds)
	return run_of(label, argv, "open", result or { timed_out = true }, started)
end

---A run that is read line by line, and interrupted after some lines when `after` says so.
---@param ctx table
---@param label string
---@param argv string[]
---@param seconds number until it must have ended
---@param after? integer lines before SIGINT
---@return runner.ConformanceRun
function M.stream(ctx, label, argv, seconds, after)
	local started = host.now()
	local process <close> = ctx:spawn(spec_of(argv))
	local lines, signalled = {}, nil
	for line, from in process:lines(seconds) do
		if from == "stdout" then
			lines[#lines + 1] = line
		end
		if after and not signalled and #lines >= after then
			signalled = #lines
			process:kill "SIGINT"
		end
	end
	local result = process:wait(math.max(seconds - (host.now() - started) / 1000, 0.001))
	local run = run_of(label, argv, "closed", result or { timed_out = true }, started)
	run.lines, run.signalled_after = lines, signalled
	return run
end

---A run as a result shows it.
---@param run runner.ConformanceRun
---@param detail string what is wrong
---@return table
function M.evidence(run, detail)
	return { probe = run.label, argv = run.argv, stdin = run.stdin, exit_code = run.exit_code or json.null,
		timed_out = run.timed_out, duration_ms = run.duration_ms, detail = detail }
end

return M
