-- context: `ctx`, what a running command may ask of runner. Methods that need
-- more than frames live in modules of their own and load on first use.

local errors = require "runner.errors"
local host = require "runner.host"
local session = require "runner.session"

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
	run = "proc", spawn = "proc", pipeline = "proc", http = "http", retry = "retry", lock = "lock",
	prompt = "tty", confirm = "tty",
}

-- field → how it comes to be, once
local FIELDS = {}

-- Made by an attempt before: no link, and nobody else's.
local function is_ours(path)
	local stat = require("runner.fs").lstat(path)
	local _, distrust = host.probe(path)
	return stat ~= nil and stat.type == "directory" and not distrust
end

function FIELDS.tempdir()
	local path = session.launch.session_dir
	host.send("TEMPDIR", { text = path })
	local ok, why, errno = require("runner.fs").mkdir(path, 448) -- 0700
	if not ok and not (errno == "EEXIST" and is_ours(path)) then
		errors.raise("UNAVAILABLE", "Can't make the run's directory: " .. tostring(why))
	end
	return path
end

function FIELDS.previous()
	local told = session.launch
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
	local retries = session.settled.policy.retries
	return retries >= 0 and retries + 1 or nil
end

local meta = {}

function meta.__index(ctx, key)
	local method = Context[key]
	if method then
		return method
	elseif LAZY[key] then
		method = require("runner." .. LAZY[key])[key]
		Context[key] = method
		return method
	elseif FIELDS[key] then
		local value = FIELDS[key]()
		rawset(ctx, key, value)
		return value
	end
end

---Fail with a code of the registry or of the command's exit_codes. An ordinary,
---catchable error.
---@param code string
---@param message? string
---@param fields? table retryable, retry_after_ms, retry_strategy, side_effects, suggestion, fix_required, context, data
function Context:fail(code, message, fields)
	if not errors.well_formed(code) then
		error(("ctx:fail needs an error code like NOT_FOUND, not %s"):format(tostring(code)), 2)
	elseif type(fields or {}) ~= "table" then
		error(("ctx:fail: the fields are a table such as { retryable = true }, not a %s"):format(type(fields)), 2)
	end
	local e = errors.new(code, message, fields)
	for _, name in ipairs(fields and errors.refused(fields) or {}) do
		session.warn("FIELD_IGNORED", require("runner.declaration").failure_problem(name, fields[name]))
		e[name] = nil
	end
	error(e, 0)
end

local NAME_MAX = 200

local function check_step(name)
	local steps = session.command and session.command.steps
	if type(name) ~= "string" or name == "" or #name > NAME_MAX then
		error(("ctx:step needs the name of a step, a text of at most %d bytes"):format(NAME_MAX), 3)
	elseif not steps or #steps == 0 then
		return
	end
	for _, known in ipairs(steps) do
		if known == name then
			return
		end
	end
	error(("step '%s' is not declared: add it to `steps` (%s)"):format(name, table.concat(steps, ", ")), 3)
end

---A step begins; the one before is completed.
---@param name string one of the declared steps
function Context:step(name)
	check_step(name)
	host.send("STEP", { name = name, state = "running" })
end

---A step is left out.
---@param name string
function Context:skip(name)
	check_step(name)
	host.send("STEP", { name = name, state = "skipped" })
end

local PROGRESS_MAX = 60000 -- bytes: a frame has room for them, and for the suggestion

---Report how far the work is: kept for the envelope of a run that is cut off by a limit,
---a signal or a crash.
---@param progress number|table a fraction 0…1, or data
---@param suggestion? string how to go on from here: the error.suggestion of such an envelope, until another is given
function Context:progress(progress, suggestion)
	local text = math.type(progress) and ("%3.0f%%"):format(progress * 100) or nil
	local data, why = require("runner.json").encode(progress, { max = PROGRESS_MAX })
	if progress ~= progress or progress == nil then
		data, why = nil, "it needs a fraction from 0 to 1, or data"
	end
	if not data then
		error("ctx:progress: " .. why, 2)
	end
	host.send("PROGRESS", { data = data, text = text, suggestion = suggestion and tostring(suggestion):sub(1, 4000) })
end

local LEVELS = { debug = true, info = true, warn = true, error = true }

---A log line on stderr.
---@param level "debug"|"info"|"warn"|"error"|string the level, or the message at level info
---@param message? string
function Context:log(level, message)
	if message == nil then
		level, message = "info", level
	elseif not LEVELS[level] then
		error(("ctx:log: level '%s' is none of debug, info, warn, error"):format(tostring(level)), 2)
	end
	host.send("LOG", { level = level, message = tostring(message):sub(1, 65000) })
end

---A warning in the envelope.
---@param code string
---@param message string
---@param context? table
function Context:warn(code, message, context)
	if not errors.well_formed(code) then
		error(("ctx:warn needs a code like SLOW_DISK, not %s"):format(tostring(code)), 2)
	end
	if type(context or {}) ~= "table" then
		error(("ctx:warn: the context is a table of facts such as { path = \"/srv\" }, not a %s"):format(type(context)), 2)
	end
	session.warn(code, message == nil and code or tostring(message), context)
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
			session.warn("CLEANUP_FAILED", "a deferred function failed: " .. errors.normalise(raised).message)
		end
	end
end

local M = {}

---@param values table the arguments
---@return runner.Context
function M.new(values)
	local launch, command = session.launch, session.command or {}
	return setmetatable({
		interactive = command.interactive and launch.stdin_is_tty and launch.stderr_is_tty or false,
		args = values, attempt = launch.attempt, config = session.project and session.project.config or {},
		root = session.project and session.project.root,
		request_id = launch.request_id, _deferred = {},
	}, meta)
end

return M
