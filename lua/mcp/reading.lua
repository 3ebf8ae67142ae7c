-- reading: the rows of all commands, from `runner mcp tools`, a process of its own: no code of the
-- project runs in the server. A file that hangs that process, or kills it, takes no other command with
-- it: the rest is read in smaller parts, until the file is alone.

local calls = require "runner.calls.calls"
local host = require "runner.host"
local json = require "runner.json"
local tool_names = require "runner.mcp.tool_names"

local M = {}

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
	tool_names.give(rows)
	return rows
end

---Read all commands, in a task.
---@param names string[] dot paths of the commands that have a file
---@return runner.mcp.Row[]? rows in the order of their commands; nil: not even runner's own can be read
---@return table|string warnings of the envelope; or why there are no rows
---@return runner.mcp.LeftOut[]? left_out
function M.all(names)
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

return M
