-- printing: what the attempts of a run that another process executes print, while they do. It reads
-- the store and the partial logs, and changes nothing.

local partial_log = require "runner.workflow.report.partial_log"

local M = {}

---@class runner.workflow.Printing
---@field readers table<string, runner.workflow.PartialReader> by key and number of the attempt
local Printing = {}
Printing.__index = Printing

---@return runner.workflow.Printing
function M.new()
	return setmetatable({ readers = {} }, Printing)
end

local function name_of(row)
	return row.key .. "\0" .. row.number
end

---What attempts have printed since the last look.
---@param rows table[] of store:running_attempts
---@param each fun(row: table, pieces: {stream: string, text: string}[], reader: runner.workflow.PartialReader)
function Printing:look(rows, each)
	for _, row in ipairs(rows) do
		local name = name_of(row)
		local reader = self.readers[name] or partial_log.reader(row.log)
		self.readers[name] = reader
		each(row, reader:read(), reader)
	end
end

---Let go of all attempts but these.
---@param rows table[]
function Printing:keep(rows)
	local kept = {}
	for _, row in ipairs(rows) do
		kept[name_of(row)] = true
	end
	for name, reader in pairs(self.readers) do
		if not kept[name] then
			reader:close()
			self.readers[name] = nil
		end
	end
end

---An attempt has ended: what it has printed since the last look.
---@param row table of store:ended_attempts
---@return {stream: string, text: string}[] pieces
---@return boolean whole all that it printed was passed on, at this look or an earlier one
function Printing:last(row)
	local reader = self.readers[name_of(row)]
	if not reader then
		return {}, false
	end
	local pieces = reader:read()
	reader:close()
	self.readers[name_of(row)] = nil
	return pieces, reader.over
end

---Is there something that the last look has not seen?
---@return boolean
function Printing:has_news()
	for _, reader in pairs(self.readers) do
		if reader:has_news() then
			return true
		end
	end
	return false
end

return M
