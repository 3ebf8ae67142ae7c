-- snapshots: texts that a test compares with what an earlier run has written, in
-- tests/snapshots/FILE/NAME.txt. Only `runner test --update` writes them.

local fs = require "runner.fs"
local paths = require "runner.core.paths"

local M = {}

local LINES_SHOWN = 3
local NAME_MAX = 120 -- bytes

---@class runner.Snapshots
---@field folder string
---@field update boolean
---@field written integer
---@field test? string the test that runs
---@field count integer of those without a name in this test
local Snapshots = {}
Snapshots.__index = Snapshots

---@param folder string
---@param update boolean
---@return runner.Snapshots
function M.new(folder, update)
	return setmetatable({ folder = folder, update = update, written = 0, count = 0 }, Snapshots)
end

---@param test string the name of the test that begins
function Snapshots:begin(test)
	self.test, self.count = test, 0
end

local function lines_of(text)
	local lines = {}
	for line in (text .. "\n"):gmatch "(.-)\n" do
		lines[#lines + 1] = line
	end
	return lines
end

-- The first lines that differ.
local function difference(got, wanted)
	local a, b, out = lines_of(got), lines_of(wanted), {}
	for i = 1, math.max(#a, #b) do
		if a[i] ~= b[i] and #out < 2 * LINES_SHOWN then
			out[#out + 1] = b[i] and ("  line %d, wanted: %s"):format(i, b[i]) or nil
			out[#out + 1] = a[i] and ("  line %d, got:    %s"):format(i, a[i]) or nil
		end
	end
	return table.concat(out, "\n")
end

function Snapshots:write(path, text)
	local ok, why = fs.mkdirs(path:match "^(.*)/")
	if ok then
		ok, why = fs.write(path, text, nil, false)
	end
	self.written = self.written + (ok and 1 or 0)
	return not ok and "the snapshot can't be written: " .. why or nil
end

---Compare a text with its snapshot, or write that.
---@param name? string default: the name of the test, and a number from the second one on
---@param text string
---@return string? problem
function Snapshots:compare(name, text)
	if not name then
		self.count = self.count + 1
		name = self.test .. (self.count > 1 and " " .. self.count or "")
	end
	local path = ("%s/%s.txt"):format(self.folder, paths.file_name((name:gsub("[^%w._-]+", "-")), NAME_MAX))
	local wanted = fs.read(path)
	if wanted == text then
		return nil
	elseif self.update then
		return self:write(path, text)
	elseif not wanted then
		return ("there is no snapshot '%s' yet: write it with runner test --update"):format(name)
	end
	return ("it is not the snapshot '%s' any more (runner test --update writes it anew)\n%s"):format(name, difference(text, wanted))
end

return M
