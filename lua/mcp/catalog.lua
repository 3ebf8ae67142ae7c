-- catalog: the commands as the server knows them: rows of `runner mcp tools`, read by a process
-- of its own (no code of the project runs in the server), and read again once a file has
-- changed. A file counts as changed by its name, size, time or inode.

local attempt = require "runner.core.attempt"
local commands = require "runner.project.catalog"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local reading = require "runner.mcp.reading"
local scheduler = require "runner.task.scheduler"

local M = {}

local LOOK_MS = 1000 -- a call may rely on what has been looked at so lately

---@class runner.mcp.Catalog
---@field rows? runner.mcp.Row[]
---@field stamp? string of all files when they were read
---@field looked_ms? number
---@field left_out runner.mcp.LeftOut[]
---@field reading? runner.Gate opened when the process that reads has ended
---@field on_change fun() the rows are others than before
---@field log fun(line: string) to our stderr
local Catalog = {}
Catalog.__index = Catalog

---@param on_change fun()
---@param log fun(line: string)
---@return runner.mcp.Catalog
function M.new(on_change, log)
	return setmetatable({ on_change = on_change, log = log, left_out = {} }, Catalog)
end

-- The warnings, as stderr has those of any command (docs/reference/stderr.md).
local function log(self, code, message)
	self.log((assert(json.encode { level = "warn", event = "warning", command = attempt.name, code = code, message = message })))
end

-- Left out is what ended the process that read it, and what that process found broken.
local function log_all(self, warnings)
	for _, one in ipairs(self.left_out) do
		log(self, "COMMAND_INVALID", one.message)
	end
	for _, w in ipairs(warnings) do
		log(self, w.code, w.message)
		if w.code == "COMMAND_INVALID" then
			table.insert(self.left_out, { command = (w.context or {}).command, message = w.message })
		end
	end
end

local function stamp_of(path)
	local about = path and fs.stat(path)
	return about and ("%s %d %s %d"):format(path, about.size, about.mtime, about.ino) or tostring(path)
end

local function names_of_files()
	local names = {}
	for _, listed in ipairs(commands.list(attempt.project)) do
		names[#names + 1] = listed.path and listed.name or nil
	end
	return names
end

local function stamp_of_all()
	local project = attempt.project
	local out = { stamp_of(project.file) }
	for _, listed in ipairs(commands.list(project)) do
		out[#out + 1] = listed.path and stamp_of(listed.path) or nil
	end
	return table.concat(out, "\n")
end

-- As a value of its own: what a row says, without when its file was written.
local function fingerprint(rows)
	return assert(json.encode(rows or {}))
end

-- The process reads the files at the earliest now: what changes meanwhile is seen the next time.
local function read(self, stamp)
	local rows, warnings, left_out = reading.all(names_of_files())
	if not rows then
		return nil, warnings
	end
	self.left_out = left_out
	log_all(self, warnings)
	local before = self.rows and self.fingerprint
	self.fingerprint, self.rows, self.stamp, self.looked_ms = fingerprint(rows), rows, stamp, host.now()
	for _, row in ipairs(self.rows) do
		row.stamp = stamp_of(row.path)
	end
	if before and before ~= self.fingerprint then
		self.on_change()
	end
	return self.rows
end

-- One process at a time; whoever comes meanwhile looks again when it has ended.
local function read_alone(self, stamp)
	self.reading = scheduler.gate()
	local ok, rows, why = pcall(read, self, stamp)
	self.reading = self.reading:open()
	if not ok then
		error(rows, 0)
	end
	return rows, why
end

---Every command, in a task.
---@param exact boolean as the files are now
---@return runner.mcp.Row[]? rows
---@return string? why there are none
function Catalog:get(exact)
	while self.reading do
		self.reading:wait()
	end
	if self.rows and not exact and host.now() - self.looked_ms < LOOK_MS then
		return self.rows
	end
	local stamp = stamp_of_all()
	self.looked_ms = host.now()
	if self.rows and stamp == self.stamp then
		return self.rows
	end
	return read_alone(self, stamp)
end

return M
