-- programs: runs the programs that drive a queue (sbatch, squeue, three of the user's), each with a
-- limit, so that a queue that hangs costs one look and no run. Call it inside scheduler tasks.

local scheduler = require "runner.task.scheduler"

local M = {}

local LIMIT_MS = 60000
local CAP = 16 << 20 -- a queue of 10,000 tasks is 1 MB
local SHOWN = 300

---@class runner.PlaceProblem
---@field kind "refused"|"busy"|"unknown" refused: nothing was submitted, and the same again won't be; busy: nothing was submitted,
---  later may do; unknown: look whether it was
---@field code string
---@field message string
---@field suggestion? string
---@field for_good? boolean of a host: it can't be reached, and what is in the way doesn't go away by itself

---Run a program to its end.
---@param argv string[]
---@param options? { stdin?: string, env?: table<string, string|false>, timeout_ms?: integer }
---@return runner.Result result with ok = false also where its output was cut
function M.run(argv, options)
	options = options or {}
	local env = {}
	for name, value in pairs(options.env or {}) do
		env[#env + 1] = value and name .. "=" .. value or name -- false: it is not set
	end
	table.sort(env)
	local result = scheduler.process { argv = argv, stdin = options.stdin, env = env, cap = CAP,
		timeout_ms = options.timeout_ms or LIMIT_MS, grace_ms = 2000 }
	result.ok = result.ok and (result.stdout_dropped or 0) == 0
	return result
end

---What a program said when it failed, in one line.
---@param name string of the program
---@param result runner.Result
---@return string
function M.said(name, result)
	local text = (result.stderr or ""):gsub("%c+", " "):gsub("^ +", ""):gsub(" +$", "")
	if result.error then
		return ("%s could not be started: %s"):format(name, result.error)
	elseif result.timed_out then
		return ("%s did not answer in time"):format(name)
	elseif text == "" then
		return ("%s failed with %s"):format(name, result.signal and "signal " .. tostring(result.signal) or "status " .. tostring(result.status))
	end
	local cut = utf8.len(text) and utf8.offset(text, SHOWN + 1)
	local prefix = text:sub(1, #name + 1) == name .. ":" and "" or name .. ": "
	return prefix .. (cut and text:sub(1, cut - 1) .. "…" or text:sub(1, 4 * SHOWN))
end

---A problem of a look at the queue: nothing may be concluded from it.
---@param name string of the program
---@param result runner.Result
---@return runner.PlaceProblem
function M.unknown(name, result)
	return { kind = "unknown", code = result.error and "PRECONDITION" or "UNAVAILABLE", message = M.said(name, result),
		suggestion = result.error and ("Is %s installed here, and in PATH?"):format(name) or nil }
end

return M
