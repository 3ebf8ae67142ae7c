-- machine: what runner finds around it: its version, the system, the terminal, what the kernel can hold, where
-- state goes; what is slower or weaker here for it, and how to mend that. It changes nothing: the one file that it
-- makes in the state directory is gone at once.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local reader = require "runner.output.reader"

local M = {}

local function first_line(path)
	local file <close> = io.open(path, "rb")
	return file and file:read "l" or nil
end

local function system_name()
	for line in (fs.read("/etc/os-release", 65536) or ""):gmatch "[^\n]+" do
		local name = line:match '^PRETTY_NAME="?([^"]*)'
		if name then
			return name
		end
	end
	return "Linux"
end

-- The directory of our control group (version 2), and whether we may make groups below it.
local function control_group()
	local path
	for line in (fs.read("/proc/self/cgroup", 65536) or ""):gmatch "[^\n]+" do
		path = line:match "^0::(/.*)$" or path
	end
	local dir = path and "/sys/fs/cgroup" .. (path == "/" and "" or path)
	local file <close> = dir and io.open(dir .. "/cgroup.procs", "a")
	return dir and first_line(dir .. "/cgroup.controllers"), file ~= nil
end

-- --- what there is -------------------------------------------------------------------------

---@class runner.MachineFact
---@field name string
---@field found string what is here
---@field weaker? string what that means for runner
---@field fix? string

local FACTS = {} ---@type table<string, fun(): string, string?, string?> found, weaker, fix

local EACH_FOR_ITSELF = "memory and processes of a command are limited by resource limits, each process for itself"

function FACTS.path()
	local here = fs.readlink "/proc/self/exe" or "runner"
	for dir in (os.getenv "PATH" or ""):gmatch "[^:]+" do
		local path = dir .. "/runner"
		if host.probe(path) == "file" then
			local same = fs.realpath(path) == fs.realpath(here)
			return path, not same and "another runner answers to its name: " .. path or nil,
				("Put the folder of %s first in PATH"):format(here)
		end
	end
	return "no runner", "completion, and scripts that call runner by its name, find none", "Add its folder to PATH, or run make install"
end

function FACTS.state()
	local dir = paths.state()
	if not dir then
		return "none", "no workflow, job, lock or checkpoint can be kept, and lists know no project",
			"Set HOME or XDG_STATE_HOME to a directory of yours"
	end
	local at = dir
	while at ~= "" and not fs.stat(at) do
		at = at:match "^(.*)/[^/]*$" or ""
	end
	local probe = ("%s/.runner-doctor-%s"):format(at, attempt.launch.request_id or "x")
	local ok, why = fs.create(probe, "")
	if ok then
		os.remove(probe)
		return dir
	end
	return dir, "it can't be written: " .. why, ("Make %s yours, or set XDG_STATE_HOME"):format(at)
end

function FACTS.cgroup()
	local controllers, ours = control_group()
	if not controllers then
		return "no version 2", EACH_FOR_ITSELF, "Boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"
	elseif not ours then
		return "v2: " .. controllers .. "; not ours", EACH_FOR_ITSELF,
			"Run in a delegated group: systemd-run --user --scope -p Delegate=yes runner …"
	end
	return "v2: " .. controllers
end

function FACTS.landlock()
	local abi = host.confine_abi()
	if abi == 0 then
		return "none", "confine can't be held: commands that require it fail",
			"Use a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in lsm="
	end
	return ("version %d"):format(abi), abi < 4 and "confine can't hold network = false" or nil, "Use Linux 6.7 or later"
end

function FACTS.terminal()
	local launch = attempt.launch
	if not launch.stdout_is_tty then
		return "none on stdout"
	end
	local term, locale = os.getenv "TERM" or "", os.getenv "LC_ALL" or os.getenv "LC_CTYPE" or os.getenv "LANG" or ""
	local found = ("%s, %s columns"):format(term ~= "" and term or "no TERM", tostring(reader.width() or "unknown"))
	if not locale:upper():gsub("-", ""):find "UTF8" then
		return found, "its locale is not UTF-8: marks and ellipses may not show", "Set LANG=C.UTF-8"
	end
	return found, (term == "" or term == "dumb") and "no colours, and no lines that are drawn again" or nil, "Set TERM to what the terminal is"
end

function FACTS.umask()
	local dir = host.getcwd()
	local mode = dir and (fs.stat(dir) or {}).mode or 0
	return ("%04o on the working directory"):format(mode), mode & 2 ~= 0 and mode & 512 == 0
		and "everybody may write here: command files here are refused" or nil, "chmod o-w ."
end

local ORDER = { { "path", "PATH" }, { "state", "state directory" }, { "umask", "permissions" }, { "cgroup", "control groups" },
	{ "landlock", "Landlock" }, { "terminal", "terminal" } }

---@return runner.MachineFact[]
function M.facts()
	local out = json.array {}
	for i, row in ipairs(ORDER) do
		local found, weaker, fix = FACTS[row[1]]()
		out[i] = { name = row[2], found = found, weaker = weaker, fix = weaker and fix or nil }
	end
	return out
end

---One line for a report of a fault.
---@return string
function M.summary()
	local controllers, ours = control_group()
	return ("runner %s, %s, Linux %s, %s, Landlock %d, cgroup %s%s%s"):format(attempt.launch.version, system_name(),
		first_line "/proc/sys/kernel/osrelease" or "?", _VERSION, host.confine_abi(), controllers and "v2" or "none",
		controllers and not ours and " (not ours)" or "",
		require("runner.about").build().linkage == "static" and ", static build" or "")
end

return M
