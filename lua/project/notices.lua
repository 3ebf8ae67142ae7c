-- notices: what a caller should know before a command runs: that it is deprecated (in the
-- answer, and off a terminal as a line of JSON on stderr), or made for another system, or that
-- runner.lua is wrong or lacks the context that is asked for. Loaded when a command that declares deprecated_in or platform
-- is called, and when runner.lua is wrong.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"

local M = {}

local function message_of(command)
	local text = ("'%s' is deprecated since %s"):format(command_line.typed(command.name), command.deprecated_in)
	if command.removed_in then
		text = ("%s and will be removed in %s"):format(text, command.removed_in)
	end
	return command.replacement and ("%s; use '%s'"):format(text, command.replacement) or text
end

local function warn_deprecated(command)
	local about = { deprecated_in = command.deprecated_in, replacement = command.replacement, removed_in = command.removed_in }
	attempt.warn("DEPRECATED", message_of(command), about)
	if attempt.launch.stderr_is_tty or attempt.launch.attempt > 1 then
		return -- a person reads the warning itself
	end
	about.level, about.code, about.message = "warn", "DEPRECATED", message_of(command)
	io.stderr:write(require("runner.json").encode(about), "\n")
end

M.PLATFORM = "linux" -- the only one that runner is built for

---@param platforms string[] of the declaration
---@return boolean
function M.runs_here(platforms)
	for _, name in ipairs(platforms) do
		if name:lower() == M.PLATFORM then
			return true
		end
	end
	return false
end

---@param command table normal form
function M.give(command)
	if command.deprecated_in then
		warn_deprecated(command)
	end
	if command.platform and not M.runs_here(command.platform) then
		attempt.warn("PLATFORM_UNSUPPORTED", ("'%s' is made for %s, and this is %s"):format(command_line.typed(command.name),
			table.concat(command.platform, ", "), M.PLATFORM), { platform = command.platform, found = M.PLATFORM })
	end
end

-- These say it themselves, or print what is no place for it.
local SAY_IT = { lint = true, doctor = true, status = true, help = true, completion = true }

---A built-in command runs without a runner.lua that is wrong, as if there were none.
---@param a runner.Attempt
function M.broken(a)
	local problem = a.project.problem
	if not SAY_IT[a.command.name] then
		local code, why = "PROJECT_IGNORED", "wrong"
		if problem.unread then
			code, why = "PROJECT_UNREAD", "not read"
		end
		attempt.warn(code, ("Nothing in runner.lua holds for this call, because it is %s: %s"):format(why, problem.message),
			{ path = problem.context and problem.context.path, fix_required = problem.fix_required })
	end
end

-- They run steps of their own, which meet no other check.
local NEEDS_CONTEXT = { ["workflow.run"] = true, ["workflow.resume"] = true, ["workflow.retry"] = true }

---The settings don't have the context that was asked for. A built-in command goes on without it only where it
---says so itself, or where the environment names the context and it runs no steps.
---@param a runner.Attempt
function M.without_context(a)
	if not SAY_IT[a.command.name] and (NEEDS_CONTEXT[a.command.name] or not a.place.settings.inherited) then
		local problem, problems = a.project.problem, a.parsed.problems
		problems[#problems + 1] = problem.errors[1]
		problem.errors[1].suggestion = problem.suggestion
	end
end

return M
