-- dry_run: `run` in a dry run (dry_run = true): what would change something is noted in
-- data.would, and not done. Programs run only with reads = true; os.execute, io.popen and
-- opening a file for writing raise (lua/core/guard.lua). Loaded for a dry run alone.

local context = require "runner.ctx.context"
local guard = require "runner.core.guard"
local host = require "runner.host"
local misuse = require "runner.ctx.misuse"
local specs = require "runner.ctx.process_spec"

local M = {}

local MOST = 1000 -- entries of data.would

local READS = { GET = true, HEAD = true, OPTIONS = true }
local WOULD = { created = "would_create", updated = "would_update", deleted = "would_delete", noop = "would_noop" }

local would, count = {}, 0

local function note(call, target, more)
	count = count + 1
	if count <= MOST then
		local entry = more or {}
		entry.call, entry.target = call, target
		would[count] = entry
	end
end

-- --- files ----------------------------------------------------------------------------------

local function nothing() end

local function free_lock()
	return setmetatable({ release = nothing }, { __close = nothing })
end

-- The functions that only note what they would do, by name.
local function files()
	local out = {}
	for name, arguments in pairs(guard.CHANGES) do
		out[name] = function(path, to)
			note("fs." .. name, tostring(path), arguments == 2 and { to = tostring(to) } or nil)
			return true
		end
	end
	function out.lock(path)
		note("fs.lock", tostring(path))
		return free_lock()
	end
	return out
end

-- --- programs, requests, locks --------------------------------------------------------------

local function ended(argv)
	return { ok = true, status = 0, stdout = "", stderr = "", stdout_dropped = 0, duration_ms = 0, truncated = false, incomplete = false,
		timed_out = false, argv = argv }
end

local Process = {
	wait = function(self) return ended(self.argv) end,
	alive = function() return false end, kill = function() return false end,
	lines = function() return nothing end, write = function() return true end,
	close = nothing, close_stdin = nothing, __close = nothing,
}
Process.__index = Process

-- A wrong spec is as wrong in a dry run.
local function checked(method, ctx, spec)
	if method == "pipeline" then
		return specs.pipeline(ctx, spec)
	end
	return specs.command(method, ctx, spec)
end

-- As ctx:run: the real thing where the spec says that it only reads.
local function program(method, answer)
	return function(self, spec)
		if type(spec) == "table" and spec.reads then
			return require("runner.ctx.methods").of(method)(self, spec)
		end
		local options, stages = checked(method, self, spec)
		local shown = {}
		for i, stage in ipairs(stages or { options }) do
			shown[i] = table.concat(stage.argv, " ")
		end
		note(method, table.concat(shown, " | "))
		return answer(options, stages)
	end
end

local function http(self, spec)
	local request = require("runner.ctx.http_request").build(spec)
	if READS[request.method] then
		return require("runner.ctx.http").http(self, spec)
	end
	note("http", require("runner.ctx.http_url").masked(request.url), { method = request.method })
	return require("runner.ctx.http_response").new(request,
		{ status = 200, head = "\nContent-Type: application/json\n", body = "{}" }, 0)
end

local function lock(_, name)
	note("lock", tostring(name))
	return free_lock()
end

local function attach(_, spec)
	local one = require("runner.ctx.attach").checked(spec)
	note("attach", one.name, { mime_type = one.mime_type, bytes = #one.data })
	return { name = one.name, mime_type = one.mime_type, bytes = #one.data }
end

local STAND_INS = {
	attach = attach, http = http, lock = lock,
	confirm = function() return true end,
	run = program("run", function(options) return ended(options.argv) end),
	delegate = program("delegate", function() return { exit_code = 0 } end),
	exec = program("exec", function(options) return ended(options.argv) end),
	spawn = program("spawn", function(options) return setmetatable({ argv = options.argv }, Process) end),
	pipeline = program("pipeline", function(_, stages)
		local result = ended()
		result.stages = {}
		for i, stage in ipairs(stages) do
			result.stages[i] = ended(stage.argv)
		end
		return result
	end),
}

-- --- Lua's own functions --------------------------------------------------------------------

local FIXES = {
	program = "Use ctx:run{ …, reads = true } for a program that only reads, or test ctx.dry_run first",
	file = "Use ctx.fs, whose changes a dry run notes, or test ctx.dry_run first",
}

local function refuse(name, kind, target)
	misuse.raise(name, target and ("%s can't be opened for writing in a dry run"):format(target) or "not in a dry run", FIXES[kind])
end

local guards = guard.standard(refuse)
guards[require "fs"] = files()
local disarm = nil ---@type fun()? while the libraries are guarded

-- --- the dry run ----------------------------------------------------------------------------

---Make this ctx, and the libraries, note changes in place of making them.
---@param ctx runner.Context
local function arm(ctx)
	would, count = {}, 0
	disarm = disarm or guard.on(guards)
	ctx.dry_run = true
	ctx.fs = setmetatable(files(), { __index = function(_, name)
		return require("runner.ctx.fs")[name]
	end })
	for name, stand_in in pairs(STAND_INS) do
		ctx[name] = require("runner.ctx.methods").guarded(name, stand_in)
	end
end

local function is_object(data)
	return type(data) == "table" and data[1] == nil and not require("runner.json").is_array(data)
end

---What `run` returned, as the data of a dry run: effect "would_…", would_affect and would.
---@param data any
---@param ... any why it failed
---@return any ...
local function conclude(data, ...)
	if data == nil and ... ~= nil then
		return data, ...
	end
	local out = {}
	for key, v in pairs(is_object(data) and data or { result = data }) do
		out[key] = v
	end
	out.effect = WOULD[out.effect] or type(out.effect) == "string" and out.effect:find "^would_" and out.effect or "would_run"
	out.would = require("runner.json").array(would)
	out.would_affect = out.would_affect == nil and { changes = count } or out.would_affect
	return out
end

---`run` in a dry run.
---@param values table
---@param ctx runner.Context
---@return any ... as run returns it
function M.run(values, ctx)
	arm(ctx)
	return conclude(require("runner.core.attempt").wrapped "run"(values, ctx))
end

---A dry run before the run itself.
---@param run function
---@param values table
---@return {would: table[], would_affect: any}? as the author gave would_affect; nil: it failed
function M.preview(run, values)
	local ctx = context.new(values)
	arm(ctx)
	local ok, data, why, cancelled = host.protect(run, values, ctx)
	local noted = would
	if cancelled and not ok then
		error("cancelled", 0)
	end
	ctx:_run_deferred()
	disarm()
	disarm = nil
	if ok and (data ~= nil or why == nil) then
		return { would = noted, would_affect = is_object(data) and data.would_affect or nil }
	end
end

return M
