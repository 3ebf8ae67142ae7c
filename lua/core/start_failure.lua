-- start_failure: the result of a command that never started, and what to do about
-- it. Results of those that did start come from runner.process itself.

local host = require "runner.host"

local M = {}

-- Only plain names are looked up in PATH. A path that exists lacks its interpreter.
local function absent(program)
	return program:find("/", 1, true) and "Fix the path %s; if it is a script, check its first line"
		or "Install %s, or add its directory to PATH"
end

local function refused(program)
	return host.probe(program) == "directory" and "Name a program: %s is a directory" or "Make %s executable: chmod +x"
end

local SUGGESTIONS = {
	ENOENT = absent,
	ENOTDIR = absent,
	EACCES = refused,
	ENOEXEC = "Give %s a first line such as #!/bin/sh, or run it with its interpreter",
	E2BIG = "Pass %s fewer or shorter arguments, or the data through stdin or a file",
}

local function suggestion(argv, errno, step)
	if step == "chdir" then
		return "Create the directory, or fix its path"
	elseif step ~= "exec" then
		return nil
	end
	local advice = SUGGESTIONS[errno]
	advice = type(advice) == "function" and advice(argv[1]) or advice
	return advice and advice:gsub("%%s", function() return argv[1] end) or nil
end

-- Why, in words that say what to do, where the program is none: a command of a shell, or a whole line of one.
local function no_program(argv)
	local shell_words = require "runner.core.shell_words"
	local is_task = (require("runner.core.attempt").command or {}).program ~= nil
	local why, fix = shell_words.builtin(argv, is_task)
	local call = not why and #argv == 1 and argv[1]:find "%S%s" and shell_words.call_of(argv[1])
	if call then
		return ("%q is one word, and no program has that name"):format(argv[1]), "Write " .. (is_task and call:gsub("^ctx:run", "run = ") or call)
	end
	return why or ("%s is not in PATH"):format(argv[1]), fix
end

-- The system's words, but for the failure that everybody meets.
local function reason(argv, message, context)
	if context.step == "exec" and context.errno == "ENOENT" and not argv[1]:find("/", 1, true) then
		return no_program(argv)
	end
	return message
end

---The result of a command that could not start. `code` is the error code to raise its
---failure with; scripts don't see it.
---@param argv string[]
---@param message string from process.start
---@param code? string
---@param context { step?: string, errno?: string }
---@return runner.Result
function M.not_started(argv, message, code, context)
	local why, fix = reason(argv, message, context)
	return {
		ok = false,
		stdout = "", stderr = "",
		stdout_dropped = 0, stderr_dropped = 0,
		duration_ms = 0,
		truncated = false, incomplete = false, timed_out = false,
		error = why, errno = context.errno, code = code,
		suggestion = fix or suggestion(argv, context.errno, context.step),
	}
end

return M
