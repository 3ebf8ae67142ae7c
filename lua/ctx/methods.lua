-- methods: the methods and computed fields of `ctx`. Loaded when a script asks ctx for the
-- first one; most methods are in modules of their own and load on first use, too.

local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

---@class runner.Context
---@field attempt integer 1-based
---@field max_attempts integer?
---@field previous table? the attempt before: code, message, completed_steps, progress
---@field config table `config` of runner.lua
---@field root string? the project's directory: what paths in runner.lua are relative to
---@field interactive boolean may it ask on a terminal?
---@field tempdir string a directory that is gone after the run
---@field token string? of a command that signs in
---@field headless boolean may it open no browser?
---@field input any the data of a command that declares `stdin` as a table
---@field env table the variables of the environment
---@field fs table every function of `require "fs"`, raising what that returns
local Context = {}

-- method → module; each exports a function of the method's name
local LAZY = {
	step = "progress", skip = "progress", progress = "progress", log = "progress", warn = "progress", fail = "fail",
	call = "call", run = "process", pipeline = "process", delegate = "process", spawn = "spawn",
	http = "http", retry = "retry", lock = "lock", parallel = "parallel",
	prompt = "interaction", select = "interaction", confirm = "interaction", attest = "interaction",
	edit = "interaction", exec = "interaction", open_url = "interaction", open_path = "interaction",
	emit = "results", each = "results", external = "results", hand_out = "temporary_files",
	attach = "attach", checkpoint = "checkpoint", restore = "checkpoint", cached = "storage", settings = "storage", save_settings = "storage",
}

-- field → how it comes to be, once
local FIELDS = {}

function FIELDS.tempdir() return require("runner.ctx.temporary_files").directory() end
function FIELDS.input() return attempt.input.value end
function FIELDS.env() return require "runner.ctx.env" end
function FIELDS.fs() return require "runner.ctx.fs" end
function FIELDS.token() return attempt.token end
function FIELDS.headless() return require("runner.core.requirements").is_headless() end

function FIELDS.previous()
	local launch = attempt.launch
	if not launch.previous_code then
		return nil
	end
	local json = require "runner.json"
	return {
		code = launch.previous_code, message = launch.previous_message,
		completed_steps = launch.previous_steps and json.decode(launch.previous_steps) or nil,
		progress = launch.previous_progress and json.decode(launch.previous_progress) or nil,
	}
end

function FIELDS.max_attempts()
	local retries = attempt.settled.policy.retries
	return retries >= 0 and retries + 1 or nil
end

local methods = {} -- those that were asked for

-- ctx.log("…"): the first argument is not a ctx. A table of the author's that inherits from
-- ctx is one.
local function is_ctx(v)
	return type(v) == "table" and v._run_deferred ~= nil
end

---The method itself, which its module exports.
---@param name string
---@return fun(ctx: runner.Context, ...: any): any ...
function M.of(name)
	return require("runner.ctx." .. LAZY[name])[name]
end

---What a script calls as a method of ctx: with a colon, and with no argument too many.
---@param name string
---@param stand_in? function in the place of the method itself
---@return function? method nil: ctx has none of that name
function M.guarded(name, stand_in)
	local method = Context[name] or LAZY[name] and M.of(name)
	local most = method and debug.getinfo(method, "u").nparams - 1
	method = stand_in or method
	return method and function(self, ...)
		if not is_ctx(self) then
			require("runner.ctx.misuse").without_colon(name)
		elseif select("#", ...) > most then
			require("runner.ctx.misuse").too_many(name, most, table.pack(...))
		end
		return method(self, ...)
	end
end

local function method_of(key)
	methods[key] = M.guarded(key)
	return methods[key]
end

---The method or field of that name, found once. A name that ctx doesn't have raises, with the
---one that was probably meant.
---@param ctx runner.Context
---@param key any
---@return any
function M.index(ctx, key)
	local method = methods[key] or method_of(key)
	if method then
		return method
	elseif FIELDS[key] then
		local value = FIELDS[key]()
		rawset(ctx, key, value)
		return value
	elseif type(key) == "string" and key ~= "root" then -- which not every command has
		require("runner.ctx.misuse").absent(key, { LAZY, Context, FIELDS })
	end
end

---Wait; ends at once when the attempt is cancelled.
---@param duration number|string seconds, or "500ms"
function Context:sleep(duration)
	local ms = require("runner.core.rules").duration(duration)
		or require("runner.ctx.misuse").duration("ctx:sleep", "duration", duration)
	local clock = require("runner.core.waiting").tasks() or host
	clock.sleep(ms)
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
		require("runner.ctx.misuse").raise("ctx:defer", ("it needs a function, not a %s"):format(type(fn)),
			"Write ctx:defer(function() … end)")
	end
	local list = rawget(self, "_deferred")
	list[#list + 1] = fn
end

function Context:_run_deferred()
	local list = rawget(self, "_deferred")
	host.begin_end()
	while list[1] do -- what is deferred meanwhile comes next
		local ok, raised = pcall(table.remove(list))
		if not ok then
			attempt.warn("CLEANUP_FAILED", "a deferred function failed: " .. require("runner.core.errors").normalise(raised).message)
		end
	end
end

-- The work of a task (lua/declare/tasks.lua).
function Context:_task(values)
	return require("runner.ctx.task").run(self, values)
end

return M
