-- catalog: the commands as the server knows them: rows of `runner mcp tools`, read by a process of its own (no code of the
-- project runs in the server), and read again once a file has changed. A file counts as changed by its name, size, time or
-- inode. A file that hangs that process, or kills it, takes no other command with it: the rest is read in smaller parts,
-- until the file is alone.

local attempt = require "runner.core.attempt"
local calls = require "runner.calls.calls"
local commands = require "runner.project.catalog"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local listing = require "runner.mcp.listing"
local scheduler = require "runner.task.scheduler"

local M = {}

-- --- reading them ----------------------------------------------------------------------

local SILENT_MS = 4000 -- of a process that reads: it says each name before it reads the file
local WHOLE_MS = 60000 -- for all of it, however many files hang
local NONE = "-" -- the name of no command

---@class runner.mcp.LeftOut a command whose file could not be read
---@field command string dot path
---@field message string

-- One process. `only`: it reads the files of these commands; nil: of all.
local function run(only)
	local now
	local envelope = calls.run { command = { "self", "mcp", "tools" }, arguments = { all = true, read = only },
		flags = { "--runner-unmask", "--verbose", ("--idle-timeout=%dms"):format(SILENT_MS) },
		on_event = function(event)
			local line = event.text:find('"event":"progress"', 1, true) and json.decode(event.text)
			now = type(line) == "table" and line.message or now
		end }
	return envelope, now
end

local function take(reading, envelope)
	for _, row in ipairs(envelope.data) do
		reading.rows[row.command] = row
	end
	table.move(envelope.warnings, 1, #envelope.warnings, #reading.warnings + 1, reading.warnings)
end

local function leave_out(reading, name, why)
	local message = ("'%s' is left out, since it can't be loaded: %s"):format(name:gsub("%.", " "), why)
	reading.left_out[#reading.left_out + 1] = { command = name, message = message }
end

-- The names in two parts: the one that was being read and the others; or two halves.
local function split(names, now)
	local parts = { {}, {} }
	for i, name in ipairs(names) do
		local first = now and name == now or not now and i <= #names // 2
		table.insert(parts[first and 1 or 2], name)
	end
	if not (parts[1][1] and parts[2][1]) then
		return split(names)
	end
	return parts
end

local read_part

-- A process that was silent for too long was reading the file that it named last. One that has died
-- may have died before its last word was heard.
local function read_parts(reading, names, envelope, now)
	local parts = split(names, now)
	if envelope.error.code == "TIMEOUT" and parts[1][1] == now then
		leave_out(reading, now, envelope.error.message)
		return read_part(reading, parts[2])
	end
	read_part(reading, parts[1])
	read_part(reading, parts[2])
end

-- Without an answer for these files: the one that is to blame goes, or it is looked for.
local function blame(reading, names, envelope, now)
	if #names == 1 then
		leave_out(reading, names[1], envelope.error.message)
	else
		read_parts(reading, names, envelope, now)
	end
end

function read_part(reading, names)
	if host.now() > reading.until_ms then
		for _, name in ipairs(names) do
			leave_out(reading, name, "other files took too long")
		end
		return
	end
	local envelope, now = run(json.array(names))
	if envelope.ok then
		take(reading, envelope)
	else
		blame(reading, names, envelope, now)
	end
end

local function rows_of(reading)
	local rows = json.array {}
	for _, row in pairs(reading.rows) do
		rows[#rows + 1] = row
	end
	table.sort(rows, function(a, b) return a.command < b.command end)
	listing.give_names(rows)
	return rows
end

-- Read all commands, in a task.
---@param names string[] dot paths of the commands that have a file
---@return runner.mcp.Row[]? rows in the order of their commands; nil: not even runner's own can be read
---@return table|string warnings of the envelope; or why there are no rows
---@return runner.mcp.LeftOut[]? left_out
local function read_all(names)
	local reading = { rows = {}, warnings = {}, left_out = {}, until_ms = host.now() + WHOLE_MS }
	local envelope, now = run()
	if envelope.ok then
		return envelope.data, envelope.warnings, {}
	end
	local own = run(json.array { NONE })
	if not own.ok or not names[1] then
		return nil, envelope.error.message
	end
	take(reading, own)
	blame(reading, names, envelope, now)
	return rows_of(reading), reading.warnings, reading.left_out
end

-- --- what is known of them -------------------------------------------------------------

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

---A warning, as stderr has those of any command (docs/reference/stderr.md).
---@param code string
---@param message string
function Catalog:say(code, message)
	self.log((assert(json.encode({ level = "warn", event = "warning", command = attempt.name, code = code,
		message = message }, { envelope = true }))))
end

-- Left out is what ended the process that read it, and what that process found broken.
local function log_all(self, warnings)
	for _, one in ipairs(self.left_out) do
		self:say("COMMAND_INVALID", one.message)
	end
	for _, w in ipairs(warnings) do
		self:say(w.code, w.message)
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
	local rows, warnings, left_out = read_all(names_of_files())
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

-- One process at a time; a call that comes meanwhile looks again when it has ended.
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
