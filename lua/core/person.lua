-- person: is it a person at a terminal who decides, and not what asks? The asker is written down: the processes between it
-- and the shell of a person, its namespaces, its policies. A decision needs a terminal that nothing of that is behind
-- (docs/workflows/approvals.md). What runner starts can't take off its mark: the hard limit of RLIMIT_LOCKS.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

local VARIABLE = "RUNNER_ASKERS" -- of a job: who started it
local MOST = 4096 -- processes
local NAMESPACES = { "cgroup", "mnt", "pid", "time", "user" }
local SHELLS = tables.set "ash bash busybox dash elvish fish ksh mksh nu sh tcsh zsh"
-- What gives people their terminals and services: who asks, and who decides, may both be below it
local HOSTS = tables.set [[alacritty atd cron crond containerd-shim containerd-shim-runc-v2 dropbear foot gnome-terminal-server init kitty
	konsole login screen sshd sshd-auth sshd-session systemd tmux urxvt wezterm-gui xfce4-terminal xterm]]
local LOGINS = tables.set "dropbear login sshd sshd-auth sshd-session"
-- of what has no parent any more
local ADOPTERS = tables.set "containerd-shim containerd-shim-runc-v2 docker-init dumb-init init systemd tini"
local SAME_BOOT_MS = 10000
local ROOT = "0\t0\t0\t0"

-- --- processes ------------------------------------------------------------------------------

-- The real, effective, saved and file system user IDs. A program that is set-user-ID has its caller's as well, and the name that its
-- caller gave it.
local function users_of(pid)
	return (fs.read(("/proc/%d/status"):format(pid)) or ""):match "\nUid:\t([%d\t]+)" or ""
end

-- proc_pid_stat(5): what follows the name
local function process(pid)
	local fields, name, rest = {}, (fs.read(("/proc/%d/stat"):format(pid)) or ""):match "^%d+ %((.*)%) (.*)$"
	for word in (rest or ""):gmatch "%S+" do
		fields[#fields + 1] = word
	end
	local exe = fs.readlink(("/proc/%d/exe"):format(pid)) -- of another user's process it can't be read
	local function number(n)
		return math.tointeger(tonumber(fields[n]))
	end
	local program = exe and exe:gsub(" %(deleted%)$", ""):match "[^/]*$" or name
	return fields[20] and { pid = pid, program = program, host = HOSTS[program],
		name = ("%d:%s"):format(pid, fields[20]), parent = number(2), group = number(3), session = number(4),
		terminal = number(5), foreground = number(6), started = number(20) }
end

-- This call, what has started it, and so on.
local function ancestors(past_hosts)
	local list, p = {}, process(attempt.launch.supervisor)
	while p and #list < MOST and (past_hosts or not p.host) do
		list[#list + 1] = p
		p = p.parent > 0 and process(p.parent) or nil
	end
	return list
end

local function is_shell(p)
	return p.session == p.pid and SHELLS[p.program]
end

-- Where the outermost terminal of them begins; nil: there is none.
local function outermost(list)
	for i = #list, 1, -1 do
		if list[i].terminal ~= 0 then
			return i
		end
	end
end

-- --- who asks ---------------------------------------------------------------------------------

local function namespaces()
	local out = {}
	for _, name in ipairs(NAMESPACES) do
		out[name] = fs.readlink(("/proc/%d/ns/%s"):format(attempt.launch.supervisor, name))
	end
	return out
end

local function policies()
	local out = {}
	for digest in (os.getenv "RUNNER_POLICY" or ""):gmatch "#(%x+)" do
		out[digest] = true
	end
	return out
end

local function boot()
	return (fs.read "/proc/sys/kernel/random/boot_id" or ""):match "%S*"
end

local function group_of(pid)
	return fs.read(("/proc/%d/cgroup"):format(pid)) or ""
end

-- By the clocks of the kernel: a file can be hidden by a mount.
local function is_same_boot(asker)
	return math.abs((asker.booted_ms or 0) - host.booted_ms()) < SAME_BOOT_MS
end

-- Of a job: what started it. What isn't below runner has no such variable from it.
local function handed()
	local given = require("runner.terminal").marked(attempt.launch.supervisor) and json.decode(os.getenv(VARIABLE) or "")
	return type(given) == "table" and given or {}
end

-- Whatever is handed over
local function add_names(to, from)
	for name in pairs(type(from) == "table" and from or {}) do
		to[tostring(name)] = true
	end
end

---Who makes this call, for a record: with those of an earlier one, and of the call that started this job.
---@param earlier? table
---@return table
function M.asker(earlier)
	local list = ancestors()
	local last = outermost(list)
	local out = { boot = boot(), booted_ms = host.booted_ms(), started = list[1] and list[1].started, uid = require("runner.ledger").user(),
		cgroup = group_of(attempt.launch.supervisor), namespaces = namespaces(), policies = policies(), processes = {} }
	for i = 1, last or #list do
		local p = list[i]
		if i == last and is_shell(p) then
			out.shell, out.terminal = p.name, p.terminal
		elseif p.pid > 1 or last then
			out.processes[p.name] = true
		end
	end
	if earlier and (earlier.boot == out.boot or is_same_boot(earlier)) then
		out.boot = earlier.boot
		out.namespaces, out.shell, out.terminal = earlier.namespaces, earlier.shell or out.shell, earlier.terminal or out.terminal
		out.started, out.cgroup = earlier.started or out.started, earlier.cgroup or out.cgroup
	end
	for _, other in ipairs { earlier or {}, handed() } do
		add_names(out.processes, other.boot == out.boot and other.processes)
		add_names(out.policies, other.policies)
	end
	return out
end

local function is_alike(one, other)
	for name, link in pairs(other.namespaces) do
		if one.namespaces[name] ~= link then
			return false
		end
	end
	return one.boot == other.boot and one.uid == other.uid and one.cgroup == other.cgroup and one.shell == other.shell
		and one.terminal == other.terminal
end

-- What has ended is above no process.
local function without_ended(asker)
	for name in pairs(asker.processes) do
		local p = process(math.tointeger(tonumber(name:match "^%d+")) or 0)
		asker.processes[name] = p and p.name == name or nil
	end
	return asker
end

---All that have asked the same, with this call. One that asks again and again is one.
---@param list table[] of M.asker()
---@return table[]
function M.askers(list)
	local own = M.asker()
	for i, one in ipairs(list) do
		if is_alike(one, own) then
			list[i] = M.asker(without_ended(one))
			return list
		end
	end
	list[#list + 1] = own
	return list
end

---Does this call descend from that process?
---@param pid integer
---@return boolean
function M.descends(pid)
	for _, p in ipairs(ancestors(true)) do
		if p.pid == pid then
			return true
		end
	end
	return false
end

---What a job has in its environment.
---@return string
function M.handed()
	return VARIABLE .. "=" .. assert(json.encode(M.asker()))
end

-- --- who decides --------------------------------------------------------------------------------

local MAJORS = { [4] = "/dev/tty", [229] = "/dev/hvc" }
local PTS, PTS_LAST, SERIAL = 136, 143, 64

-- The name of a terminal by its number (proc_pid_stat(5)).
local function name_of(number)
	local major, minor = number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00
	if major >= PTS and major <= PTS_LAST then
		return ("/dev/pts/%d"):format((major - PTS) * 256 + minor)
	elseif major == 4 and minor >= SERIAL then
		return ("/dev/ttyS%d"):format(minor - SERIAL)
	end
	return MAJORS[major] and MAJORS[major] .. minor or nil
end

---The terminal of this call, which it is in the foreground of; nil: it has none.
---@return string?
function M.terminal()
	local me = attempt.launch.stdin_is_tty and process(attempt.launch.supervisor)
	local name = me and me.terminal ~= 0 and me.group == me.foreground and name_of(me.terminal)
	local stdin = name and fs.readlink(("/proc/%d/fd/0"):format(me.pid))
	return stdin and (stdin == name or stdin == "/dev/tty") and name or nil
end

local THROUGH = { RUNNER_CLIENT = "it came through exec or a server", RUNNER_SERVED = "it came through a server",
	RUNNER_AUTOMATION = "a step of a workflow has made it" }

local function through()
	for name, why in pairs(THROUGH) do
		if os.getenv(name) then
			return why
		end
	end
	return require("runner.terminal").marked(attempt.launch.supervisor) and "a command, a job or a step that runner runs has started it" or nil
end

-- Through sudo, say: what that lets it do is to run this, and not to agree.
local function is_of_another(list, last)
	local own = ("%d"):format((require("runner.ledger").user()))
	for i = 1, last do
		local user = users_of(list[i].pid):match "%d+"
		if user ~= "0" and user ~= own then
			return true
		end
	end
end

---Why there is no person to ask at the terminal of this call; nil: there is.
---@return string?
function M.absent()
	local list = ancestors()
	local last = outermost(list)
	if attempt.framework.non_interactive then
		return "--non-interactive was given"
	elseif next(policies()) then
		return "a policy holds"
	elseif through() then
		return through()
	elseif not M.terminal() then
		return "its stdin isn't the terminal of its session"
	end
	return list[last].terminal ~= list[1].terminal and "its terminal was opened from another one"
		or is_of_another(list, last) and "another account has made it" or nil
end

-- Its terminal was there before it asked, or comes from what was: a terminal's program, a login, or a service of another group. What is
-- younger, and adopted, may be whatever the asker has left.
local function is_of_nobody(asker, list)
	local top
	for _, p in ipairs(list) do
		if not asker.started or p.started < asker.started then
			return (ADOPTERS[p.program] or p.pid == 1) and p.terminal ~= list[1].terminal and top and group_of(top.pid) == asker.cgroup
		elseif p.host and LOGINS[p.program] and users_of(p.pid) == ROOT then
			return false
		end
		top = p
	end
	return top.parent ~= 0 -- else it has entered the container from outside
end

-- Of the asker: its processes, and what is at a terminal that was opened below its shell.
local function below(asker, list, uid)
	local hosted = false
	for _, p in ipairs(list) do
		hosted = hosted or p.host
		if p.host and p.started < (asker.started or 0) then
			break
		elseif asker.processes[p.name] then
			return ("it descends from process %d, which asked"):format(p.pid)
		elseif not hosted and p.name == asker.shell and list[1].terminal ~= asker.terminal and uid == asker.uid then
			return "its terminal was opened below the one of who asked"
		end
	end
	return #list >= MOST and "too many processes are above it"
		or is_of_nobody(asker, list) and "its terminal was opened after it asked, and by nothing that was there before (as by a new tmux)" or nil
end

---Why this call may not decide; nil: it may.
---@param asker table M.asker() of what asked
---@return string?
function M.refusal(asker)
	for digest in pairs(policies()) do
		if asker.policies[digest] then
			return "it is under the policy of who asked"
		end
	end
	if through() then
		return through()
	elseif not M.terminal() then
		return "its stdin isn't the terminal of its session"
	end
	local own = namespaces()
	if asker.boot ~= boot() and own.time == asker.namespaces.time then -- a file, which a mount can hide: the clocks of the kernel know better
		return is_same_boot(asker) and "what it has for /proc isn't that of who asked" or nil -- else none of its processes is there any more
	end
	for name, link in pairs(asker.namespaces) do
		if own[name] ~= link then
			return ("it is in another %s namespace than who asked"):format(name)
		end
	end
	return below(asker, ancestors(true), (require("runner.ledger").user()))
end

---Ask at the terminal of this call, which has left its session.
---@param question string
---@return string? answer
function M.ask(question)
	return (require("runner.terminal").ask(host.clean(question), false, false, M.terminal()))
end

return M
