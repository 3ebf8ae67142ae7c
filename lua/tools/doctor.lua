-- doctor: what commands need of this machine, and whether it is there: files that load, the
-- operating system, programs and their versions. It starts the programs to ask for their
-- versions, without a shell.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_words = require "runner.tools.command_words"
local command_name = require "runner.core.command_name"
local json = require "runner.json"
local notices = require "runner.project.notices"
local sorted = require "runner.core.sorted"
local versions = require "runner.core.versions"

local M = {}

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
	local words = command_words.split(dependency.check_command)
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
		ctx:warn("DEPENDENCY_UNTRIED", ("%s is %s; nobody has tried more than %s"):format(name, version, most),
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

-- The project's commands that load; the others are failed checks.
local function load_all(project, out)
	local commands, place = {}, #out + 1
	for _, entry in ipairs(catalog.list(project)) do
		local command, problem
		if not entry.builtin then
			command, problem = catalog.load(entry, project)
		end
		if problem and not catalog.is_gone(entry) then
			local name = command_name.typed(entry.name)
			out[#out + 1] = failed({ name = "command " .. name }, problem.message,
				"runner lint " .. name)
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
			local name = command_name.typed(command.name)
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
	for _, name in ipairs(sorted.keys(tools)) do
		out[#out + 1] = check_tool(ctx, name, tools[name])
	end
	for _, dependency in ipairs(project.dependencies or {}) do
		out[#out + 1] = check_dependency(ctx, dependency)
	end
	return out
end

return M
