-- paths: absolute paths, file names made from any text, and where runner keeps its state.
-- Pure, but for the environment.

local host = require "runner.host"

local M = {}

---@param path? string
---@return boolean
function M.is_absolute(path)
	return path ~= nil and path:sub(1, 1) == "/"
end

---@param path string
---@param from string the directory that a relative path starts at
---@return string
function M.absolute(path, from)
	return M.is_absolute(path) and path or from .. "/" .. path
end

---$XDG_STATE_HOME/runner, else ~/.local/state/runner. Variables that hold no absolute path
---don't count (XDG Base Directory Specification).
---@return string? nil: neither variable does
function M.state()
	local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
	if M.is_absolute(state) then
		return state .. "/runner"
	end
	return M.is_absolute(home) and home .. "/.local/state/runner" or nil
end

---One file name for each text: anything but plain characters becomes %XX; a text that makes
---more than `most` bytes is cut and gets its digest.
---@param text string
---@param most integer bytes
---@return string
function M.file_name(text, most)
	local plain = text:gsub("[^%w._-]", function(c)
		return ("%%%02X"):format(c:byte())
	end):gsub("^%.", "%%2E")
	if #plain > most then
		plain = plain:sub(1, most - 17) .. "-" .. host.digest(text)
	end
	return plain
end

return M
