-- doctor: what `runner doctor` looks at. The machine: runner's version, the system, the terminal, what the kernel can
-- hold, where state goes, and what is slower or weaker here for it. What commands need: files that load, the
-- operating system, programs, which are asked for their versions without a shell. And rows of checks as text, for
-- `runner executor check` too. It changes nothing: the one file that it makes in the state directory is gone at once.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local layout = require "runner.output.layout"
local notices = require "runner.project.notices"
local paths = require "runner.core.paths"
local tables = require "runner.core.tables"
local versions = require "runner.core.versions"

local M = {}

local MARK = "%-4s  " -- in front of a row; a fix is below its text

---A row of a check, and its fix below it.
---@param lines string[] gets them
---@param mark string "ok", "FAIL", "weak"
---@param text string
---@param ... string? remedies; a nil has no line
function M.add_row(lines, mark, text, ...)
	lines[#lines + 1] = MARK:format(mark) .. text
	for i = 1, select("#", ...) do
		lines[#lines + 1] = select(i, ...) and "      " .. select(i, ...) or nil
	end
end

---"fix: …", nil where there is none.
---@param text? string
---@return string?
function M.fix(text)
	return text and "fix: " .. text
end

---@param rows { ok: boolean }[]
---@return integer
function M.failed(rows)
	local n = 0
	for _, row in ipairs(rows) do
		n = n + (row.ok and 0 or 1)
	end
	return n
end

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

-- Each version of Landlock that confine can hold more with (docs/reference/confine.md), and the Linux that has it.
local HOLDS = { { 3, "truncate", "6.2" }, { 4, "tcp, ports, hosts", "6.7" }, { 6, "abstract_sockets, signals", "6.12" } }

function FACTS.confine()
	local abi, filters = host.confine_abi()
	local found = ("Landlock %s, %s"):format(abi > 0 and "version " .. abi or "none", filters and "seccomp" or "no seccomp")
	if abi == 0 then
		return found, "confine can't be held: commands that require it fail", "Use a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in lsm="
	elseif not filters then
		return found, "confine can't be held: commands that require it fail", "Use a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or arm64"
	end
	local lacks, linux = {}, nil
	for _, row in ipairs(HOLDS) do
		if abi < row[1] then
			lacks[#lacks + 1], linux = row[2], row[3]
		end
	end
	return found, linux and "confine can't hold " .. table.concat(lacks, ", "), linux and ("Use Linux %s or later"):format(linux)
end

function FACTS.terminal()
	local launch = attempt.launch
	if not launch.stdout_is_tty then
		return "none on stdout"
	end
	local term, locale = os.getenv "TERM" or "", os.getenv "LC_ALL" or os.getenv "LC_CTYPE" or os.getenv "LANG" or ""
	local found = ("%s, %s columns"):format(term ~= "" and term or "no TERM", tostring(layout.reader_width() or "unknown"))
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

-- The libraries that are opened on use, by the names of --version --verbose: what they are for, and the package of Debian.
local LIBRARIES = { libcurl = { "ctx:http", "libcurl4" }, SQLite = { "workflows and what is kept between calls", "libsqlite3-0" },
	["lua-yaml"] = { "YAML", "lua-yaml" }, libmd = { "checksums", "libmd0" }, libarchive = { "archives of commands", "libarchive13" } }

function FACTS.libraries()
	local missing, packages = {}, {}
	for _, row in ipairs(require("runner.tools.information").add_parts({}).libraries) do
		if row.missing then
			local about = LIBRARIES[row.name]
			missing[#missing + 1], packages[#packages + 1] = ("%s (%s)"):format(row.name, about[1]), about[2]
		end
	end
	local lacks = missing[1] and "not here: " .. table.concat(missing, ", ")
	return missing[1] and #missing .. " missing" or "all", lacks, "Install " .. table.concat(packages, " ")
end

local ORDER = { { "path", "PATH" }, { "state", "state directory" }, { "umask", "permissions" }, { "cgroup", "control groups" },
	{ "confine", "confinement" }, { "terminal", "terminal" }, { "libraries", "libraries" } }

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
		first_line "/proc/sys/kernel/osrelease" or "?", _VERSION, (host.confine_abi()), controllers and "v2" or "none",
		controllers and not ours and " (not ours)" or "",
		require("runner.about").build().linkage == "static" and ", static build" or "")
end

local ASK_TIMEOUT, ASK_BYTES = "5s", 65536 -- for a program to print its version

---@class runner.DoctorCheck
---@field name string
---@field ok boolean
---@field version? any that was found; null: none
---@field required? string
---@field error? string
---@field fix? string what to do

local function failed(check, message, fix)
	check.ok, check.error, check.fix = false, message, fix
	return check
end

-- --- versions --------------------------------------------------------------------------------

-- The first number with a dot, else the first number.
local function version_in(text)
	return text:match "%d+%.%d[%w.+-]*" or text:match "%d+"
end

-- --- programs --------------------------------------------------------------------------------

-- What a program prints, on either stream and with any status; nil: it can't be started.
local function ask(ctx, words)
	local spec = table.move(words, 1, #words, 1, { check = false, timeout = ASK_TIMEOUT, merge = true, cap = ASK_BYTES })
	local ok, result = pcall(ctx.run, ctx, spec)
	return ok and (result.status or result.signal) and result.stdout or nil
end

local function check_tool(ctx, name, least)
	local check = { name = name, ok = true, required = least, version = json.null }
	local fix = ("Install %s%s"):format(name, least == "*" and "" or (" %s or later"):format(least))
	local text = ask(ctx, { name, "--version" })
	if not text then
		return failed(check, name .. " is not installed, or can't be started", fix)
	end
	local version = version_in(text)
	check.version = version or json.null
	if least == "*" then
		return check
	elseif not version then
		return failed(check, name .. " --version names no version", fix)
	end
	return versions.is_lower(version, least) and failed(check, ("%s is %s; %s is needed"):format(name, version, least), fix) or check
end

-- A dependency of runner.lua: as a program, but with a command and a fix of its own, and a
-- highest version, above which it warns.
local function check_dependency(ctx, dependency)
	local name, least, most = dependency.name, dependency.min_version, dependency.max_version
	local check = { name = name, ok = true, required = least, version = json.null }
	local fix = dependency.fix_command or ("Install %s%s"):format(name, least == "*" and "" or (" %s or later"):format(least))
	local words = command_line.split(dependency.check_command)
	local text = words and words[1] and ask(ctx, words)
	if not text then
		return failed(check, ("'%s' can't be run"):format(dependency.check_command), fix)
	end
	local version = version_in(text)
	check.version = version or json.null
	if least ~= "*" and not version then
		return failed(check, ("'%s' prints no version"):format(dependency.check_command), fix)
	elseif least ~= "*" and versions.is_lower(version, least) then
		return failed(check, ("%s is %s; %s is needed"):format(name, version, least), fix)
	elseif most and version and versions.is_lower(most, version) then
		ctx:warn("DEPENDENCY_UNTRIED", ("%s is %s; more than %s is untried"):format(name, version, most),
			{ name = name, found_version = version, max_version = most })
	end
	return check
end

local function higher(a, b)
	if not a or a == "*" then
		return b
	end
	return b ~= "*" and versions.is_lower(a, b) and b or a
end

-- The highest version that any of the commands asks for, by program.
local function tools_of(commands)
	local wanted = {}
	for _, command in ipairs(commands) do
		for name, least in next, command.required_tools or {} do
			wanted[name] = higher(wanted[name], least)
		end
	end
	return wanted
end

-- --- files and systems -------------------------------------------------------------------------

-- The project's commands that load; the others are failed checks, and so are those that can't be read.
local function load_all(project, out)
	local commands, place = {}, #out + 1
	for _, entry in ipairs(catalog.list(project)) do
		local command, problem
		if not entry.builtin then
			command, problem = catalog.load(entry, project)
		end
		if problem and not catalog.is_gone(entry) then
			local name = command_line.typed(entry.name)
			out[#out + 1] = failed({ name = "command " .. name }, problem.message,
				problem.unread and problem.fix_required or "runner lint " .. name)
		end
		commands[#commands + 1] = command
	end
	if #out < place then
		out[place] = { name = "command files", ok = true }
	end
	return commands
end

local function check_platforms(commands, out)
	for _, command in ipairs(commands) do
		if command.platform and not notices.runs_here(command.platform) then
			local name = command_line.typed(command.name)
			out[#out + 1] = failed({ name = "platform of " .. name, required = table.concat(command.platform, ", "),
				version = notices.PLATFORM }, name .. " is not made for this system", "Run it on a system that it names")
		end
	end
end

---All checks, in a fixed order.
---@param ctx runner.Context
---@param project table
---@return runner.DoctorCheck[]
function M.checks(ctx, project)
	local first = { name = "runner.lua", ok = true }
	local out = json.array { project.problem and failed(first, project.problem.message,
		project.problem.code == "COMMAND_INVALID" and "runner lint" or project.problem.fix_required) or first }
	for _, policy in ipairs(attempt.policy and attempt.policy.list or {}) do
		out[#out + 1] = { name = "policy " .. policy.path, ok = true } -- else there would be no answer
	end
	local commands = load_all(project, out)
	check_platforms(commands, out)
	local tools = tools_of(commands)
	for _, name in ipairs(tables.sorted_keys(tools)) do
		out[#out + 1] = check_tool(ctx, name, tools[name])
	end
	for _, dependency in ipairs(project.dependencies or {}) do
		out[#out + 1] = check_dependency(ctx, dependency)
	end
	return out
end

return M
