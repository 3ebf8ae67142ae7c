-- load_failure: the error of a file of the project that can't be used, and why. Loaded for one that can't.

local M = {}

---The error of a file that can't be used, COMMAND_INVALID.
---@param path string
---@param message string
---@param fields? table
---@return runner.Error
function M.invalid_file(path, message, fields)
	fields = fields or {}
	fields.phase, fields.context = "validation", { path = path }
	return require("runner.core.errors").new("COMMAND_INVALID", message, fields)
end

-- Why a file is refused (src/worker/source.c) → the command that fixes it
local FIXES = { ["it is world-writable"] = "chmod o-w %s", ["Permission denied"] = "chmod u+r %s" }

-- A refused folder is named in front of the reason.
local function fix_command(path, why)
	local folder, reason = why:match("^(/.*) is refused: (.*)$")
	local command = FIXES[reason or why]
	return command and command:format(require("runner.core.command_line").quoted(folder or path))
end

---A file that is refused, or can't be read.
---@param path string
---@param why string
---@return runner.Error
function M.refused(path, why)
	return M.invalid_file(path, ("Can't load %s: %s"):format(path, why), { fix_command = fix_command(path, why),
		fix_required = "Make it a Lua file of at most 4 MiB that only you or root own and can write to, in folders"
			.. " that no other user can write to; or name a checkout that you trust in RUNNER_TRUST" })
end

---A text that is no chunk of Lua.
---@param path string
---@param text string
---@param message string of `load`
---@return runner.Error
function M.no_chunk(path, text, message)
	if require("runner.core.command_line").has_nul(text) or text:sub(1, 1) == "\27" then
		return M.invalid_file(path, path .. " is binary data, not Lua source",
			{ fix_required = "Replace it with Lua source text" })
	end
	message = message:match "^[^\n]*"
	local line, what, fix = require("runner.declare.lua_mistakes").find(text:gsub("^\xEF\xBB\xBF", ""):gsub("^#", "--"), message)
	return M.invalid_file(path, line and ("%s:%d: %s"):format(path, line, what) or message, { fix_required = fix
		or "Correct this line, or the one before it; runner lint checks all files" })
end

---A chunk that has raised an error.
---@param path string
---@param value any what it raised
---@param traceback? string
---@return runner.Error
function M.raised(path, value, traceback)
	traceback = traceback and traceback:match "^(.-)\n[^\n]*'runner%.host%.protect'" or traceback -- below it are ours alone
	local raised = require("runner.core.errors").normalise(value, traceback)
	return M.invalid_file(path, ("%s raised an error while it was loading: %s"):format(path, raised.message),
		{ detail = raised.detail, suggestion = raised.suggestion, fix_required = ("Correct %s: 'runner lint' lists every problem"):format(
			path:match "[^/]*$") })
end

---The error of settings.unbounded.
---@param name string of the command
---@param project table
---@return runner.Error
function M.unbounded(name, project)
	return M.invalid_file(project.file,
		('%s: timeout is "none", so nothing limits the retries of %s'):format(project.file, require("runner.core.command_line").typed(name)),
		{ fix_required = "Add retries to max_delay, or set a timeout" })
end

---A file that is not the one that the first attempt has planned to run.
---@return runner.Error
function M.changed()
	return require("runner.core.errors").new("COMMAND_CHANGED", "The command file changed between attempts")
end

return M
