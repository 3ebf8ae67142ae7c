-- kept: the files of what answers had no room for (src/engine/keep.c writes them): which are ours, and which have expired.

local fs = require "runner.fs"
local paths = require "runner.core.paths"

local M = {}

M.DAY = 24 * 60 * 60

local AHEAD = 60 -- s that a clock may have been set back

---Their folder; a link in its place is not followed.
---@return string?
function M.folder()
	local state = paths.state()
	local dir = state and state .. "/answers"
	local about = dir and fs.lstat(dir)
	return about and about.type == "directory" and dir or nil
end

---A file of ours: nothing else in the folder is.
---@param name string
---@return string? path
---@return table? about
function M.find(name)
	local dir, id = M.folder(), name:match "^req_([%dA-Z]+)%.json$" or name:match "^req_([%dA-Z]+)%.txt$"
		or name:match "^req_([%dA-Z]+)%.%d+%.json$"
	local about = dir and id and #id == 26 and fs.lstat(dir .. "/" .. name)
	if about and about.type == "file" then
		return dir .. "/" .. name, about
	end
end

---Is it older than that? One from the future has no age that could be known.
---@param about table
---@param age integer s
---@return boolean
function M.is_older(about, age)
	local old = os.time() - about.mtime
	return old >= age or old < -AHEAD
end

---The path of one that has not expired.
---@param name string
---@return string?
function M.path(name)
	local path, about = M.find(name)
	return path and not M.is_older(about, M.DAY) and path or nil
end

return M
