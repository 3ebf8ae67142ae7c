-- proc_result: the result of a command that never ran, with advice on what to do
-- about it. How those end that did run is told by runner.process itself.

local M = {}

local SUGGESTIONS = {
	ENOENT = "Install %s, or put its directory into PATH",
	EACCES = "Make %s executable: chmod +x",
	ENOEXEC = "Give %s a first line such as #!/bin/sh, or run it through its interpreter",
	E2BIG = "Pass %s fewer or shorter arguments, or the data through stdin or a file",
}

local function suggestion(argv, errno, step)
	if step == "chdir" then
		return "Create the directory, or correct cwd"
	elseif step ~= "exec" then
		return nil
	elseif errno == "ENOENT" and #argv == 1 and argv[1]:find("%s") then
		local words = {}
		for word in argv[1]:gmatch("%S+") do
			words[#words + 1] = ("%q"):format(word)
		end
		return ("There is no shell: write each argument as its own string, { %s }"):format(table.concat(words, ", "))
	end
	return SUGGESTIONS[errno] and SUGGESTIONS[errno]:format(argv[1])
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
