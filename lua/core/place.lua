-- place: where in the scripts of a project something was raised, with the line of source, for a person at a
-- terminal. Loaded only for a failure that one sees.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

local LINE_MAX = 160 -- bytes of source that are shown

-- Lua's tracebacks cut the beginning of a long path.
local function whole(path)
	if path:sub(1, 3) ~= "..." then
		return path
	end
	local command = attempt.command and attempt.command.path or ""
	return command:sub(-#path + 3) == path:sub(4) and command or nil
end

local function shown(path)
	local here = host.getcwd()
	return here and path:sub(1, #here + 1) == here .. "/" and path:sub(#here + 2) or path
end

local function source(path, number)
	local file <close> = io.open(path, "rb")
	for line in file and file:lines() or function() end do
		number = number - 1
		if number == 0 then
			return (line:gsub("^%s+", ""):gsub("%s+$", ""):sub(1, LINE_MAX))
		end
	end
end

---The innermost line of a script in a traceback; nil: there is none, or the script failed on purpose (ctx:fail).
---@param traceback? string
---@return string? "commands/deploy.lua:12", and the line below it
function M.of(traceback)
	for path, number in (traceback or ""):gmatch "\n\t([^\n:]+%.lua):(%d+): in" do
		if path == "lua/ctx/fail.lua" then
			return nil
		end
		path = path:find "^[/.]" and whole(path)
		if path then
			local line = source(path, tonumber(number))
			return ("%s:%s"):format(shown(path), number) .. (line and line ~= "" and "\n    " .. line or "")
		end
	end
end

return M
