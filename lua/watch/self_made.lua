-- self_made: changes that a run makes itself, so that it isn't begun again for them for ever. The
-- kernel doesn't say who has written a file. So a file that has changed while the run went on
-- counts when its content is another one than after the run before; and where it is another one
-- in three runs on end that had no other cause, it is set aside until it changes between runs.

local fs = require "runner.fs"

local M = {}

local RUNS = 3

---@class runner.SelfMade
---@field digests table<string, string|false> of files that have changed in a run; false: gone
---@field times table<string, integer> in so many runs on end
---@field aside table<string, true>
local SelfMade = {}
SelfMade.__index = SelfMade

---@return runner.SelfMade
function M.new()
	return setmetatable({ digests = {}, times = {}, aside = {} }, SelfMade)
end

---Changes from between two runs: each of them counts.
---@param changed string[]
function SelfMade:outside(changed)
	for _, path in ipairs(changed) do
		self.digests[path], self.times[path], self.aside[path] = nil, nil, nil
	end
end

---Changes from within a run.
---@param changed string[]
---@param alone boolean the run had no other cause than such changes
---@return string[] counted those that the command is to run again for
---@return string[] aside those that are set aside from now on
function SelfMade:inside(changed, alone)
	local counted, aside, times = {}, {}, {}
	for _, path in ipairs(changed) do
		local digest = fs.hash(path) or false
		if self.digests[path] == nil or self.digests[path] ~= digest then
			times[path] = alone and (self.times[path] or 0) + 1 or 1
			if times[path] >= RUNS and not self.aside[path] then
				self.aside[path] = true
				aside[#aside + 1] = path
			end
			counted[#counted + 1] = not self.aside[path] and path or nil
		end
		self.digests[path] = digest
	end
	self.times = times
	return counted, aside
end

return M
