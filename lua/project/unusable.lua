-- unusable: why a file of the project can't be used. Loaded for one that can't.

local invalid_file = require("runner.project.failure").invalid_file

local M = {}

-- Why a file is refused (src/worker/source.c) → the command that fixes it
local FIXES = { ["it is world-writable"] = "chmod o-w %s", ["Permission denied"] = "chmod u+r %s" }

-- A refused folder is named in front of the reason.
local function fix_command(path, why)
	local folder, reason = why:match("^(/.*) is refused: (.*)$")
	local command = FIXES[reason or why]
	return command and command:format("'" .. (folder or path):gsub("'", "'\\''") .. "'")
end

---A file that is refused, or can't be read.
---@param path string
---@param why string
---@return runner.Error
function M.refused(path, why)
	return invalid_file(path, ("Can't load %s: %s"):format(path, why), { fix_command = fix_command(path, why),
		fix_required = "Make it a Lua file of at most 4 MiB that only you or root own and can write to, in folders"
			.. " that nobody else can write to; or name a checkout that you trust in RUNNER_TRUST" })
end

---A text that is no chunk of Lua.
---@param path string
---@param text string
---@param message string of `load`
---@return runner.Error
function M.no_chunk(path, text, message)
	if require("runner.core.program_text").has_nul(text) or text:sub(1, 1) == "\27" then
		return invalid_file(path, path .. " is binary data, not Lua source",
			{ fix_required = "Replace it with Lua source text" })
	end
	return invalid_file(path, message:match("^[^\n]*"), { fix_required = "Fix the syntax error" })
end

---A chunk that has raised an error.
---@param path string
---@param value any what it raised
---@param traceback? string
---@return runner.Error
function M.raised(path, value, traceback)
	local raised = require("runner.core.errors").normalise(value, traceback)
	return invalid_file(path, ("%s raised an error while it was loading: %s"):format(path, raised.message),
		{ detail = raised.detail, suggestion = raised.suggestion })
end

return M
