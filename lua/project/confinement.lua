-- confinement: what a command may do and use, held by the kernel: the bounds of its `run` and of all that it starts
-- (`confine`, src/engine/confine.h), the memory, CPU, processes and files of its `limits`. Bounds are checked before
-- `run` and entered where it begins, so that runner itself has done by then what it does outside of them. Loaded where
-- one of them is declared.

local attempt = require "runner.core.attempt"
local bounds = require "runner.core.bounds"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

local function root_of(a)
	return a.project.root or host.getcwd() or "/"
end

-- The folders of runner's own that `run` changes, made while they still can be: each is this command's alone, but for
-- the counts of hosts that its project declares.
local function own_state(a)
	local command, out = a.command, {}
	if command.sources then
		out[1] = require("runner.core.own_state").folder(a, "unchanged")
		fs.mkdirs(out[1] or "", 448, true) -- 0700
	end
	if command.interruption and command.interruption.resume and paths.state() then
		local checkpoints = require "runner.core.checkpoints"
		out[#out + 1] = checkpoints.folder(checkpoints.key(a))
	end
	local asks = command.hosts or a.project.hosts and (command.confine or {}).network ~= false
	if (command.rate or command.breaker or asks) and paths.state() then
		require("runner.state.throttle").prepare(a, out)
	end
	return out
end

-- What commands of ours need: `run` requires modules, and calls others.
local function our_own(a)
	local out = {}
	for _, path in next, { a.project.file or false, fs.readlink "/proc/self/exe" or false, os.getenv "RUNNER_LUA" } do
		out[#out + 1] = path or nil
	end
	if a.found.folder then
		bounds.add(out, { a.found.folder, (a.found.folder:gsub("[^/]*/*$", "")) .. "lib" })
	end
	return out
end

-- --- entering ---------------------------------------------------------------------------------

-- The file of --output would have to lie within, which only the end of the run would tell.
local function output_problem(a)
	local message = "--output can't be used with this command, which may not write everywhere (confine.write)"
	return errors.new("VALIDATION_ERROR", message, { phase = "validation", side_effects = "none",
		fix_required = "Leave out --output, and redirect stdout",
		errors = { { field = "output", code = "INVALID_ARGUMENT", message = message, fix_required = "Leave out --output" } } })
end

-- What holds: of the policies first, then of the command. Each only narrows what the one before has left.
local function layers(a)
	local list = {}
	for _, policy in ipairs(a.policy and a.policy.confines and a.policy.list or {}) do
		list[#list + 1] = policy.confine and { confine = policy.confine, root = "/", policy = policy.path } or nil
	end
	list[#list + 1] = a.command.confine and { confine = a.command.confine, root = root_of(a) } or nil
	return list
end

local function enter(a, list, about)
	local tempdir, own = a.ctx.tempdir, own_state(a)
	local lockable = { (require("runner.core.own_state").locks()) }
	if a.project.audit then
		require("runner.project.audit").begin(a) -- the ledger lies outside
	end
	for _, layer in ipairs(list) do
		local spec = bounds.spec(layer.confine, layer.root)
		bounds.add(spec.readable, our_own(a))
		spec.writable[#spec.writable + 1], spec.readable[#spec.readable + 1] = tempdir, tempdir
		bounds.add(spec.writable, own)
		spec.lockable = lockable
		if layer.policy then
			host.setenv(require("runner.project.caller_policy").HELD, layer.policy)
			require("runner.project.policy_confine").entered = true -- or an error is raised here
		end
		if spec.write then
			host.setenv("TMPDIR", tempdir) -- for programs, and for commands of ours that it calls
		end
		local ok, why = host.confine(spec)
		local e = not ok and bounds.unavailable(about, "This command can't be confined: " .. why)
		if e and (layer.policy or layer.confine.required) then
			error(e, 0)
		elseif e then
			attempt.warn(e.code, e.message)
		end
	end
end

-- `run` and `cleanup` begin within the bounds, whichever comes first.
local function wrap(a, list, about)
	local entered = false
	local function within(f, ...)
		if not entered then
			enter(a, list, about)
			entered = true
		end
		return f(...)
	end
	attempt.around("run", function(run, given, ctx)
		if a.policy and a.policy.reach then
			a.policy.reach(a, given, ctx.dry_run) -- the counts lie outside
		end
		return within(run, given, ctx)
	end)
	attempt.around("cleanup", within)
end

---Check the bounds, say in meta.confined what holds, and have `run` begin within them.
---@param a runner.Attempt
---@return runner.Error? problem CONFINEMENT_UNAVAILABLE, PRECONDITION, VALIDATION_ERROR
function M.prepare(a)
	local own, root, list, confine = a.command.confine, root_of(a), layers(a), {}
	for _, layer in ipairs(list) do
		for name, v in next, layer.confine do
			confine[name] = confine[name] ~= false and v
		end
		confine.required = list[1].policy ~= nil or layer.confine.required
	end
	local about, missing = bounds.abilities(confine)
	local problem = missing and confine.required and bounds.unavailable(about)
		or own and (own.write and a.framework.output and output_problem(a) or bounds.missing_path(own, root))
	if problem then
		return problem
	elseif missing then
		attempt.warn("CONFINEMENT_UNAVAILABLE", bounds.unavailable(about).message, about)
	end
	for _, layer in ipairs(list) do
		about.policies = layer.policy and bounds.add(about.policies or json.array {}, { layer.policy }) or about.policies
	end
	host.send("META", { name = "confined", data = json.encode(about, { envelope = true }) }, true)
	wrap(a, list, about)
end

---Set the declared limits for this process and everything it starts; meta.limits
---reports how each is enforced.
---@param limits {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}
function M.set_limits(limits)
	if limits.memory_bytes then
		host.memory_limit(limits.memory_bytes)
	end
	local mechanisms = host.allow(limits)
	if next(mechanisms) then
		host.send("META", { name = "limits", data = json.encode(mechanisms) }, true)
	end
end

---An error that was raised under limits: if no descriptor is left now, that is
---the cause.
---@param e runner.Error
---@param limits table
---@return runner.Error e
function M.explain_limits(e, limits)
	if limits.open_files and host.files_full() then
		e.context = e.context or {}
		e.context.limit, e.context.open_files = "open_files", limits.open_files
		e.fix_required = e.fix_required or "Close files sooner, or raise limits.open_files"
	end
	return e
end

return M
