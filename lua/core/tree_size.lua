-- tree_size: how many bytes the files below a directory have. It changes nothing.

local fs = require "runner.fs"

local M = {}

local DEPTH_MAX = 64 -- of directories that are measured
local ENTRIES_MAX = 20000 -- that are measured: a path may be the root of a disk

local function measure(path, left, depth)
	local st = fs.lstat(path)
	left.count = left.count - 1
	if not st or st.type ~= "directory" then
		return st and st.size or 0
	end
	local sum = 0
	for _, name in ipairs(depth < DEPTH_MAX and fs.list(path) or {}) do
		if left.count <= 0 then
			break
		end
		sum = sum + measure(path .. "/" .. name, left, depth + 1)
	end
	return sum
end

---Bytes of a file, or of the files below a directory. Links are not followed; what can't be read
---counts as empty.
---@param path string
---@return integer bytes
---@return true? partial there are more than could be looked at
function M.of(path)
	local left = { count = ENTRIES_MAX }
	return measure(path, left, 0), left.count <= 0 or nil
end

return M
