-- start_failure: the result of a command that never ran, with advice on what to do
-- about it. How those end that did run is told by runner.process itself.

local host = require "runner.host"

local M = {}

-- PATH is asked for names alone; where a path is there, it is its interpreter that is not.
local function absent(program)
	return program:find("/", 1, true) and "Correct the path %s; where that is a script, correct its first line"
		or "Install %s, or put its directory into PATH"
end

local function refused(program)
	return host.probe(program) == "directory" and "Name a program: %s is a directory" or "Make %s executable: chmod +x"
end

local SUGGESTIONS = {
	ENOENT = absent,
	ENOTDIR = absent,
	EACCES = refused,
	ENOEXEC = "Give %s a first line such as #!/bin/sh, or run it through its interpreter",
	E2BIG = "Pass %s fewer or shorter arguments, or the data through stdin or a file",
}

local function suggestion(argv, errno, step)
	if step == "chdir" then
		return "Create the directory, or correct its path"
	elseif step ~= "exec" then
		return nil
	elseif errno == "ENOENT" and #argv == 1 and argv[1]:find("%s") then
		local words = {}
		for word in argv[1]:gmatch("%S+") do
			words[#words + 1] = ("%q"):format(word)
		end
		return ("There is no shell: write each argument as its own string, { %s }"):format(table.concat(words, ", "))
	end
	local advice = SUGGESTIONS[errno]
	return advice and (type(advice) == "function" and advice(argv[1]) or advice):format(argv[1])
end

---The result of a command that could not start. `code` is what its failure would be
---raised as; it is no part of what scripts see.
---@param argv string[]
---@param message string what process.start said
---@param code? string
---@param context { step?: string, errno?: string }
---@return runner.Result
function M.not_started(argv, message, code, context)
	return {
		ok = false,
		stdout = "", stderr = "",
		stdout_dropped = 0, stderr_dropped = 0,
		duration_ms = 0,
		truncated = false, incomplete = false, timed_out = false,
		error = message, errno = context.errno, code = code,
		suggestion = suggestion(argv, context.errno, context.step),
	}
end

return M
