-- watch: waits until a file of a project's commands or tests has changed. The kernel says when to
-- look (fs.watch); what has changed is found by looking, for a file may come, go, or be replaced.

local fs = require "runner.fs"

local M = {}

local LOOK_MS = 1000 -- at least so often
local MAX_DEPTH = 8

local function look(path, state, folders, depth)
	local stat = fs.stat(path)
	if not stat then
		return
	elseif stat.type ~= "directory" then
		state[#state + 1] = ("%s %s %d"):format(path, tostring(stat.mtime), stat.size)
		return
	end
	folders[#folders + 1] = path
	for _, name in ipairs(depth <= MAX_DEPTH and fs.list(path) or {}) do
		if name:sub(1, 1) ~= "." and name ~= "snapshots" then
			look(path .. "/" .. name, state, folders, depth + 1)
		end
	end
end

local function state_of(paths)
	local state, folders = {}, {}
	for _, path in ipairs(paths) do
		look(path, state, folders, 1)
	end
	return table.concat(state, "\n"), folders
end

---What the files are now, to be handed to M.wait.
---@param paths string[] files and folders
---@return string
function M.state(paths)
	return (state_of(paths))
end

---Wait until the files are something else than they were.
---@param paths string[]
---@param before string of M.state
function M.wait(paths, before)
	while true do
		local now, folders = state_of(paths)
		if now ~= before then
			return
		end
		local watch <close> = fs.watch(table.unpack(folders))
		if state_of(paths) == before then
			if watch then
				watch:wait(LOOK_MS)
			else
				require("runner.host").sleep(LOOK_MS)
			end
		end
	end
end

return M
