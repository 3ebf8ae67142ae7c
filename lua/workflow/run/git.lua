-- git: calls of git for the worktrees of steps. It is git itself that runs, with the user's hooks and settings, and it finds
-- its repository by the directory alone. It decides nothing.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local scheduler = require "runner.task.scheduler"
local step_process = require "runner.workflow.kinds.step_process"

local M = {}

local LIMIT_MS = 600000
local OUTPUT_CAP = 64 << 20
local LOOK_MS = 100
local STALE_MS = 10000 -- git holds the lock of a ref for milliseconds: one that is as old was left by a git that was killed

-- The lock of a ref that is in the way of a git that has failed. That of an index may be held while somebody edits a message.
local function lock_of(result)
	local path = not result.ok and (result.stderr or ""):match "'(/[^'\n]+%.lock)'"
	return path and not path:find "/index%.lock$" and not path:find "/config%.lock$" and fs.lstat(path) and path
end

---Run git to its end. Call it inside scheduler tasks.
---@param run table its `settings`, and its `lock`, which is held until git has ended
---@param dir string
---@param args string[]
---@param more? {env: table<string, string>?, stdin: string?, program: boolean?} program: args are another program's, for git
---@return runner.Result
function M.run(run, dir, args, more)
	local argv = more and more.program and args or table.move(args, 1, #args, 2, { "git" })
	local n = math.tointeger(tonumber(os.getenv "GIT_CONFIG_COUNT")) or 0 -- also in submodules, whose settings a step can write
	local env = { GIT_TERMINAL_PROMPT = "0", GIT_EDITOR = "true", GIT_OPTIONAL_LOCKS = "0", LANGUAGE = "en",
		GIT_CONFIG_COUNT = ("%d"):format(n + 1), ["GIT_CONFIG_KEY_" .. n] = "core.fsmonitor", ["GIT_CONFIG_VALUE_" .. n] = "false" }
	for name, value in pairs(more and more.env or {}) do
		env[name] = value
	end
	local give_up = host.now() + STALE_MS + 2000
	while true do
		local request = step_process.options({ key = "git", kind = "git", timeout_ms = LIMIT_MS, grace_ms = 5000 }, { cwd = dir },
			run.settings, argv, "git", env)
		request.lock, request.cap, request.stdin = run.lock and run.lock:handle(), OUTPUT_CAP, more and more.stdin
		local result = scheduler.process(request)
		local stale = lock_of(result)
		if not stale or host.now() > give_up then
			return result
		end
		local stat = fs.lstat(stale)
		if stat and host.wall_ms() - stat.mtime * 1000 > STALE_MS then
			fs.unlink(stale)
		end
		scheduler.sleep(LOOK_MS)
	end
end

---Remove locks that a git has left that was killed; one that lives lets them go in a moment.
---@param paths string[] never that of an index
function M.unlock(paths)
	for _, path in ipairs(paths) do
		local stat, give_up = fs.lstat(path), host.now() + STALE_MS
		while stat and host.wall_ms() - stat.mtime * 1000 <= STALE_MS and host.now() < give_up do
			scheduler.sleep(LOOK_MS)
			stat = fs.lstat(path)
		end
		local _ = stat and fs.unlink(path)
	end
end

---What it prints, without the newline at its end; nil and the result where it fails.
---@param run table
---@param dir string
---@param args string[]
---@param more? table as of M.run
---@return string? text
---@return runner.Result result
function M.line(run, dir, args, more)
	local result = M.run(run, dir, args, more)
	return result.ok and (result.stdout:gsub("\n$", "")) or nil, result
end

---What it said when it failed, in a few lines.
---@param result runner.Result
---@return string
function M.said(result)
	local text = host.clean(result.stderr or ""):gsub("%s+$", ""):gsub("^%s+", "")
	return result.error or result.timed_out and "git took longer than 10 minutes" or text ~= "" and text:sub(-1000)
		or ("git failed with %s"):format(result.signal and "signal " .. tostring(result.signal) or "status " .. tostring(result.status))
end

---Raise what is wrong with a worktree.
---@param run table
---@param message string
---@param fix string what to do
---@param code? string default: PRECONDITION
---@param context? table
function M.refuse(run, message, fix, code, context)
	errors.raise(code or "PRECONDITION", message, { retryable = false, side_effects = "partial", fix_required = fix, context = context or {},
		suggestion = run.id and "runner workflow resume " .. run.id })
end

return M
