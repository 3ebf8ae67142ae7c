-- tempdir: the directory of a run, the same in every attempt. The supervisor removes it.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

-- Made by an attempt before: no link, and nobody else's.
local function is_ours(path)
	local stat = require("runner.fs").lstat(path)
	local _, distrust = host.probe(path)
	return stat ~= nil and stat.type == "directory" and not distrust
end

---Make it, where no attempt before has. Raises UNAVAILABLE.
---@return string path
function M.make()
	local path = attempt.launch.session_dir
	host.send("TEMPDIR", { text = path })
	local ok, why, errno = require("runner.fs").mkdir(path, 448) -- 0700
	if not ok and not (errno == "EEXIST" and is_ours(path)) then
		require("runner.core.errors").raise("UNAVAILABLE", "Can't make the run's directory: " .. tostring(why))
	end
	return path
end

return M
