-- context: `ctx`, what a running command may ask of runner. Most methods live in
-- modules of their own and load on first use.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

---@class runner.Context
---@field attempt integer 1-based
---@field max_attempts integer?
---@field previous table? the attempt before: code, message, completed_steps, progress
---@field config table `config` of runner.lua
---@field root string? the project's directory: what paths in runner.lua are relative to
---@field interactive boolean may it ask on a terminal?
---@field tempdir string a directory that is gone after the run
local Context = {}

-- method → module; each exports a function of the method's name
local LAZY = {
	step = "progress", skip = "progress", progress = "progress", log = "progress", warn = "progress", fail = "fail",
	run = "proc", spawn = "proc", pipeline = "proc", http = "http", retry = "retry", lock = "lock",
	prompt = "tty", confirm = "tty",
}

-- field → how it comes to be, once
local FIELDS = {}

function FIELDS.tempdir()
	return require("runner.ctx.tempdir").make()
end

function FIELDS.previous()
	local told = attempt.launch
	if not told.previous_code then
		return nil
	end
	local json = require "runner.json"
	return {
		code = told.previous_code, message = told.previous_message,
		completed_steps = told.previous_steps and json.decode(told.previous_steps) or nil,
		progress = told.previous_progress and json.decode(told.previous_progress) or nil,
	}
end

function FIELDS.max_attempts()
	local retries = attempt.settled.policy.retries
	return retries >= 0 and retries + 1 or nil
end

local meta = {}

function meta.__index(ctx, key)
	local method = Context[key]
	if method then
		return method
	elseif LAZY[key] then
		method = require("runner.ctx." .. LAZY[key])[key]
		Context[key] = method
		return method
	elseif FIELDS[key] then
		local value = FIELDS[key]()
		rawset(ctx, key, value)
		return value
	end
end

---Wait; ends at once when the attempt is cancelled.
---@param duration number|string seconds, or "500ms"
function Context:sleep(duration)
	local ms = type(duration) == "number" and duration * 1000 or host.duration(tostring(duration))
	if not (ms and ms >= 0) then
		error(("ctx:sleep: '%s' is no duration"):format(tostring(duration)), 2)
	end
	host.sleep(ms)
end

---Seconds until the attempt's deadline; math.huge without a limit.
---@return number
function Context:remaining()
	local ms = host.remaining()
	return ms and math.max(ms / 1000, 0) or math.huge
end

---Call fn at the end of the attempt, last deferred first, before `cleanup`.
---@param fn fun()
function Context:defer(fn)
	if type(fn) ~= "function" then
		error("ctx:defer needs a function", 2)
	end
	local list = rawget(self, "_deferred")
	list[#list + 1] = fn
end

function Context:_run_deferred()
	local list = rawget(self, "_deferred")
	while list[1] do -- what is deferred meanwhile comes next
		local ok, raised = pcall(table.remove(list))
		if not ok then
			attempt.warn("CLEANUP_FAILED", "a deferred function failed: " .. require("runner.core.errors").normalise(raised).message)
		end
	end
end

local M = {}

---@param values table the arguments
---@return runner.Context
function M.new(values)
	local launch, command = attempt.launch, attempt.command or {}
	return setmetatable({
		interactive = command.interactive and launch.stdin_is_tty and launch.stderr_is_tty or false,
		args = values, attempt = launch.attempt, config = attempt.project and attempt.project.config or {},
		root = attempt.project and attempt.project.root,
		request_id = launch.request_id, _deferred = {},
	}, meta)
end

return M
