-- confine: the declared bounds of a command's `run` and of all that it starts (`confine`), held by
-- the kernel (src/engine/confine.h). They are checked before `run` and entered where it begins, so
-- that runner itself has done by then what it does outside of them. Loaded where one is declared.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

-- What a kernel needs: src/engine/confine.h.
local FILES, TRUNCATE, TCP, SCOPES = 1, 3, 4, 6

local DEVICES = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" }

-- What programs need to start and to find the network and the time. Nobody keeps secrets there.
local SYSTEM = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys/devices/system/cpu",
	"/etc/alternatives", "/etc/ca-certificates", "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd",
	"/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
	"/run/systemd/resolve" }

-- --- what this kernel can hold ------------------------------------------------------------

-- What it holds of the declared bounds, what it can't, and whether a bound is missing as a whole.
local function abilities(confine, abi)
	local holds, lacks, missing = {}, {}, false
	local function say(name, since, essential)
		local list = abi >= since and holds or lacks
		list[#list + 1] = name
		missing = missing or essential and abi < since
	end
	if confine.read then
		say("read", FILES, true)
	end
	if confine.write then
		say("write", FILES, true)
		say("truncate", TRUNCATE)
	end
	if confine.network == false then
		say("tcp", TCP, true)
		say("abstract_sockets", SCOPES)
	end
	say("signals", SCOPES)
	return { landlock = abi, holds = json.array(holds), lacks = json.array(lacks) }, missing
end

local function unavailable(abi, about, why)
	return errors.new("CONFINEMENT_UNAVAILABLE", why or ("The kernel can't confine this command as it declares: %s"):format(abi == 0
		and "it has no Landlock, or was started without it" or ("version %d of its Landlock is too old"):format(abi)),
		{ phase = "validation", retryable = false, side_effects = "none", context = about })
end

-- --- paths ---------------------------------------------------------------------------------

local function absolute(list, root)
	local out = {}
	for i, path in ipairs(list or {}) do
		path = (paths.declared(path, root) .. "/"):gsub("/%./", "/"):gsub("/%./", "/"):gsub("/+", "/"):gsub("(.)/$", "%1")
		out[i] = path
	end
	return out
end

-- A path below another one needs no rule: what may be written to may be exchanged for a link, too.
local function outermost(list)
	local out = {}
	for _, path in ipairs(list) do
		local inner = false
		for _, other in ipairs(list) do
			inner = inner or path ~= other and (other == "/" or path:sub(1, #other + 1) == other .. "/")
		end
		out[#out + 1] = not inner and path or nil
	end
	return out
end

local function root_of(a)
	return a.project.root or host.getcwd() or "/"
end

local function missing_path(a, list)
	for i, path in ipairs(list) do
		if not fs.stat(path) then
			return errors.new("PRECONDITION", ("confine.write names '%s', which does not exist: %s"):format(a.command.confine.write[i], path),
				{ phase = "validation", side_effects = "none", fix_required = ("Create %s"):format(path), context = { path = path } })
		end
	end
end

-- The folders of runner's own that `run` changes, made while they still can be.
local function own_state(a)
	local state, out, command = paths.state(), {}, a.command
	local counts = command.rate or command.breaker or command.hosts or a.project.hosts
	for _, name in next, { "locks", command.interruption and "checkpoints" or nil, counts and "throttle" or nil } do
		local dir = state and ("%s/%s"):format(state, name)
		if dir and fs.mkdirs(dir, 448) then -- 0700
			out[#out + 1] = dir
		end
	end
	return out
end

local function add(list, more)
	return table.move(more, 1, #more, #list + 1, list)
end

local function readable(a, root)
	local confine, out = a.command.confine, {}
	add(out, absolute(confine.read, root))
	add(out, SYSTEM)
	add(out, DEVICES)
	out[#out + 1] = fs.readlink "/proc/self/exe"
	out[#out + 1] = os.getenv "RUNNER_LUA"
	out[#out + 1] = a.project.file -- for commands of ours that it calls
	if a.found.folder then -- modules that `run` requires
		add(out, { a.found.folder, (a.found.folder:gsub("[^/]*/*$", "")) .. "lib" })
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

local function enter(a, spec, about)
	local confine, tempdir = a.command.confine, a.ctx.tempdir
	spec.writable[#spec.writable + 1], spec.readable[#spec.readable + 1] = tempdir, tempdir
	if a.audit_begin then
		a.audit_begin() -- the ledger lies outside
	end
	if spec.write then
		host.setenv("TMPDIR", tempdir) -- for programs, and for commands of ours that it calls
	end
	local ok, why = host.confine(spec)
	if ok then
		return
	end
	local e = unavailable(about.landlock, about, "This command can't be confined: " .. why)
	if confine.required then
		error(e, 0)
	end
	require("runner.core.attempt").warn(e.code, e.message)
end

-- `run` and `cleanup` begin within the bounds, whichever comes first.
local function wrap(a, spec, about)
	local entered = false
	for _, name in ipairs { "run", "cleanup" } do
		local f = a.command[name]
		a.command[name] = f and function(...)
			if not entered then
				enter(a, spec, about)
				entered = true
			end
			return f(...)
		end
	end
end

---Check the bounds, say in meta.confined what holds, and have `run` begin within them.
---@param a runner.Attempt
---@return runner.Error? problem CONFINEMENT_UNAVAILABLE, PRECONDITION, VALIDATION_ERROR
function M.prepare(a)
	local confine, root = a.command.confine, root_of(a)
	local about, missing = abilities(confine, host.confine_abi())
	local writable = absolute(confine.write, root)
	local problem = missing and confine.required and unavailable(about.landlock, about)
		or confine.write and a.framework.output and output_problem(a) or missing_path(a, writable)
	if problem then
		return problem
	elseif missing then
		require("runner.core.attempt").warn("CONFINEMENT_UNAVAILABLE", unavailable(about.landlock).message, about)
	end
	host.send("META", { name = "confined", data = json.encode(about) }, true)
	local spec = { write = confine.write ~= nil, read = confine.read ~= nil, network = confine.network == false }
	spec.writable, spec.readable = add(add(outermost(writable), DEVICES), own_state(a)), readable(a, root)
	wrap(a, spec, about)
end

return M
