-- bounds: what `confine` of a command or of a workflow's step means to the kernel (src/engine/bounds.h): what this one can
-- hold, and which paths, ports and capabilities are left. It enters nothing.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

---Those of root's that a confined command can keep by name, and their numbers (capabilities(7)).
---The others would undo its confinement: they reach the kernel, its devices or the memory of other processes.
M.CAPABILITIES = {
	chown = 0, dac_override = 1, dac_read_search = 2, fowner = 3, fsetid = 4, kill = 5, setgid = 6, setuid = 7, setpcap = 8,
	linux_immutable = 9, net_bind_service = 10, net_broadcast = 11, net_admin = 12, net_raw = 13, ipc_lock = 14, ipc_owner = 15,
	sys_chroot = 18, sys_pacct = 20, sys_nice = 23, sys_resource = 24, sys_time = 25, sys_tty_config = 26, mknod = 27, lease = 28,
	audit_write = 29, setfcap = 31, wake_alarm = 35, block_suspend = 36,
}

-- What a kernel needs: src/engine/confine.h.
local FILES, TRUNCATE, TCP, SCOPES = 1, 3, 4, 6

local DEVICES = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" }

-- What programs need to start and to find the network and the time. No secrets are kept there.
local SYSTEM = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys/devices/system/cpu",
	"/etc/alternatives", "/etc/ca-certificates", "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd",
	"/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
	"/run/systemd/resolve" }

-- --- what this kernel can hold ------------------------------------------------------------

---What it holds of the declared bounds, what it can't, and whether one is missing that the others need.
---@param confine table the normal form of `confine`
---@return { landlock: integer, seccomp: boolean, holds: string[], lacks: string[] }
---@return boolean? missing
function M.abilities(confine)
	local abi, filters = host.confine_abi()
	local holds, lacks, missing = {}, {}, false
	local function say(name, held, essential)
		local list = held and holds or lacks
		list[#list + 1] = name
		missing = missing or essential and not held
	end
	if confine.read then
		say("read", abi >= FILES, true)
	end
	if confine.write then
		say("write", abi >= FILES, true)
		say("truncate", abi >= TRUNCATE)
	end
	local network = confine.network
	if network ~= nil then
		say("sockets", filters, true)
		say(network and (network.hosts and "hosts" or "ports") or "tcp", abi >= TCP, network)
		say("abstract_sockets", abi >= SCOPES)
	end
	say("signals", abi >= SCOPES)
	say("terminal", filters, true)
	say("processes", filters and abi >= FILES, true)
	say("capabilities", filters, true)
	say("channel", true)
	return { landlock = abi, seccomp = filters, holds = json.array(holds), lacks = json.array(lacks) }, missing
end

---CONFINEMENT_UNAVAILABLE
---@param about table of M.abilities
---@param why? string
---@return runner.Error
function M.unavailable(about, why)
	return errors.new("CONFINEMENT_UNAVAILABLE", why or ("The kernel can't confine this as it is declared: %s"):format(about.landlock == 0
		and "it has no Landlock, or was started without it" or not about.seccomp and "it has no seccomp filters"
		or ("version %d of its Landlock is too old"):format(about.landlock)),
		{ phase = "validation", retryable = false, side_effects = "none", context = about })
end

-- --- paths ---------------------------------------------------------------------------------

---Paths as they are compared.
---@param list? string[]
---@param root string where relative ones start
---@return string[]
function M.absolute(list, root)
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

-- --- what is left --------------------------------------------------------------------------

---What `write` names and isn't there.
---@param confine table
---@param root string
---@return runner.Error? problem PRECONDITION
function M.missing_path(confine, root)
	for i, path in ipairs(M.absolute(confine.write, root)) do
		if not fs.stat(path) then
			return errors.new("PRECONDITION", ("confine.write names '%s', which does not exist: %s"):format(confine.write[i], path),
				{ phase = "validation", side_effects = "none", fix_required = ("Create %s"):format(path), context = { path = path } })
		end
	end
end

local function kept(confine)
	local mask = 0
	for _, name in ipairs(confine.capabilities or {}) do
		mask = mask | 1 << M.CAPABILITIES[name]
	end
	return mask
end

local function sockets(network)
	if network == nil then
		return "all"
	elseif not network then
		return "local"
	end
	return network.hosts and "given" or network.udp and "tcp_udp" or "tcp"
end

---@param list string[]
---@param more string[] added to it
---@return string[] list
function M.add(list, more)
	return table.move(more, 1, #more, #list + 1, list)
end

-- "api.example.org:8443" as the gate compares it (src/engine/gate.h).
local function hosts_of(network)
	local out = {}
	for i, text in ipairs(network.hosts) do
		local name, port = text:match "^(.-):(%d+)$"
		out[i] = { name = name or text, port = math.tointeger(tonumber(port)) }
	end
	return out
end

---@class runner.Bounds what host.bounds and host.confine take

---@param confine table
---@param root string where relative paths start
---@return runner.Bounds
function M.spec(confine, root)
	local network = confine.network
	return {
		write = confine.write ~= nil, read = confine.read ~= nil, capabilities = kept(confine), sockets = sockets(network),
		ports = network and network.ports or nil, hosts = network and network.hosts and hosts_of(network) or nil,
		writable = M.add(outermost(M.absolute(confine.write, root)), DEVICES),
		readable = M.add(M.add(M.absolute(confine.read, root), SYSTEM), DEVICES),
	}
end

return M
