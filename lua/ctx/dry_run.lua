-- dry_run: `run` in a dry run (dry_run = true): what would change something is noted in
-- data.would, and not done. Programs run only with reads = true; os.execute, io.popen and
-- opening a file for writing raise. Loaded for a dry run alone. It is a net for honest
-- mistakes, no sandbox: functions that a file took out of their module while it loaded, and C
-- modules, pass through it.

local context = require "runner.ctx.context"
local host = require "runner.host"
local misuse = require "runner.ctx.misuse"
local specs = require "runner.ctx.proc_spec"

local M = {}

local MOST = 1000 -- entries of data.would

-- The functions of fs that change something, and how many of their arguments say what.
local CHANGES = {
	mkdir = 1, mkdirs = 1, rename = 2, symlink = 2, unlink = 1, rmdir = 1, remove_tree = 1, touch = 1, write = 1,
	create = 1, fsync = 1, fsync_tree = 1, swap_symlink = 2, copy_tree = 2,
}
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
	for name, arguments in pairs(CHANGES) do
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

local Process = { __close = nothing }
Process.__index = Process

function Process:wait()
	return ended(self.argv)
end

function Process.alive()
	return false
end

function Process.lines()
	return nothing
end

function Process.write()
	return true
end

Process.kill, Process.close, Process.close_stdin = Process.alive, nothing, nothing

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
			return require("runner.ctx." .. (method == "spawn" and "spawn" or "proc"))[method](self, spec)
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

-- --- Lua's own functions --------------------------------------------------------------------

local function refused(what, fix)
	return function()
		misuse.raise(what, "not in a dry run", fix)
	end
end

local USE_RUN = "Use ctx:run{ …, reads = true } for a program that only reads, or test ctx.dry_run first"
local USE_FS = "Use ctx.fs, whose changes a dry run notes, or test ctx.dry_run first"

local really_open, really_output = io.open, io.output

local function open(path, mode)
	if tostring(mode or "r"):find "[wa+]" then
		misuse.raise("io.open", ("%s can't be opened for writing in a dry run"):format(tostring(path)), USE_FS)
	end
	return really_open(path, mode)
end

local function output(file)
	if type(file) == "string" then
		misuse.raise("io.output", ("%s can't be opened for writing in a dry run"):format(file), USE_FS)
	end
	return really_output(file)
end

-- The function in place of each that changes something, by library: those of the scripts, not
-- ours, which are a copy (docs/design.md#private-library).
local GUARDS = {
	[package.loaded.os] = { execute = refused("os.execute", USE_RUN), remove = refused("os.remove", USE_FS),
		rename = refused("os.rename", USE_FS), tmpname = refused("os.tmpname", USE_FS) },
	[package.loaded.io] = { popen = refused("io.popen", USE_RUN), tmpfile = refused("io.tmpfile", USE_FS), open = open, output = output },
	[require "fs"] = files(),
}
local REAL = {} -- library → its own functions

for library, guarded in pairs(GUARDS) do
	REAL[library] = {}
	for name in pairs(guarded) do
		REAL[library][name] = library[name]
	end
end

local function guard(on)
	for library, functions in pairs(on and GUARDS or REAL) do
		for name, fn in pairs(functions) do
			library[name] = fn
		end
	end
end

-- --- the dry run ----------------------------------------------------------------------------

---Make this ctx, and the libraries, note changes in place of making them.
---@param ctx runner.Context
function M.arm(ctx)
	would, count = {}, 0
	guard(true)
	ctx.dry_run = true
	ctx.fs = setmetatable(files(), { __index = function(_, name)
		return require("runner.ctx.fs")[name]
	end })
	ctx.http, ctx.lock = http, lock
	ctx.confirm = function() return true end
	ctx.run = program("run", function(options) return ended(options.argv) end)
	ctx.spawn = program("spawn", function(options) return setmetatable({ argv = options.argv }, Process) end)
	ctx.pipeline = program("pipeline", function(_, stages)
		local result = ended()
		result.stages = {}
		for i, stage in ipairs(stages) do
			result.stages[i] = ended(stage.argv)
		end
		return result
	end)
end

local function is_object(data)
	return type(data) == "table" and data[1] == nil and not require("runner.json").is_array(data)
end

---What `run` returned, as the data of a dry run: effect "would_…", would_affect and would.
---@param data any
---@param ... any why it failed
---@return any ...
function M.conclude(data, ...)
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
	M.arm(ctx)
	return M.conclude(require("runner.core.attempt").command.run(values, ctx))
end

---A dry run before the run itself.
---@param run function
---@param values table
---@return {would: table[], would_affect: any}? as the author gave would_affect; nil: it failed
function M.preview(run, values)
	local ctx = context.new(values)
	M.arm(ctx)
	local ok, data, why, cancelled = host.protect(run, values, ctx)
	local noted = would
	if cancelled and not ok then
		error("cancelled", 0)
	end
	ctx:_run_deferred()
	guard(false)
	if ok and (data ~= nil or why == nil) then
		return { would = noted, would_affect = is_object(data) and data.would_affect or nil }
	end
end

return M
