-- documents: what `runner conformance` reads, checked by the JSON Schemas of the CLI Agent Spec (lua/agent_spec): the
-- envelopes and streams that a tool prints, and the profile that says what to run: the command, the probes and their kinds,
-- which is checked before anything runs.

local fs = require "runner.fs"
local json = require "runner.json"
local json_schema = require "runner.core.json_schema"
local paths = require "runner.core.paths"

local M = {}

-- --- schemas ---------------------------------------------------------------------------

local decoded = {}

local function load(name)
	decoded[name] = decoded[name] or assert(json.decode(require("runner.agent_spec." .. name)))
	return decoded[name]
end

local function by_file(file)
	return load((file:gsub("%.json$", "")))
end

---@param name string "response-envelope", "manifest-response", "conformance-profile"
---@param value any decoded JSON
---@param most integer so many problems at most
---@return string? problems joined by "; "; nil: it is valid
function M.problems(name, value, most)
	local found = json_schema.problems(load(name), value, by_file)
	return found[1] and table.concat(json_schema.texts(found, most), "; ") or nil
end

---@param name string
---@param value any
---@return string?
local function first_problem(name, value)
	return M.problems(name, value, 1)
end

-- --- an envelope -----------------------------------------------------------------------

local SHOWN_PROBLEMS = 3

local function is_object(value)
	return type(value) == "table" and not json.is_array(value)
end

---The envelope on stdout, or why stdout is not exactly one valid envelope.
---@param text string
---@return table? envelope, string? problem
function M.envelope(text)
	text = text:match("^%s*(.-)%s*$")
	if text == "" then
		return nil, "stdout is empty"
	end
	local value, why = json.decode(text)
	if value == nil then
		return nil, ("stdout is not a single JSON document (%s)"):format(why)
	elseif not is_object(value) then
		return nil, "stdout is JSON, but not an object"
	end
	local problems = M.problems("response-envelope", value, SHOWN_PROBLEMS)
	if problems then
		return nil, "invalid envelope: " .. problems
	end
	return value
end

-- --- streams -----------------------------------------------------------------------------

---@class runner.StreamReading
---@field terminal? table the summary line or the error envelope
---@field terminal_line? integer
---@field valid boolean the terminal line is what it should be
---@field problems string[]

local function add(reading, text, ...)
	reading.problems[#reading.problems + 1] = text:format(...)
end

local function is_error_envelope(row)
	return type(row.ok) == "boolean" and row.error ~= nil
end

local function take_terminal(reading, row, n)
	reading.terminal, reading.terminal_line = row, n
	if row._seq ~= nil then
		add(reading, "line %d ends the stream and has _seq, which only rows have", n)
	end
	if row._summary == true then
		reading.valid = true
		return
	end
	local problems = M.problems("response-envelope", row, SHOWN_PROBLEMS)
	if problems then
		add(reading, "line %d is an invalid error envelope: %s", n, problems)
	elseif row.ok then
		add(reading, "line %d has ok true beside an error; a stream's error line has ok false", n)
	else
		reading.valid = true
	end
end

-- The numbering of rows is optional; where the first row has _seq, all of it must be right.
local function check_number(reading, numbering, row, n)
	local is_row = not row.heartbeat
	if numbering.on == nil and is_row then
		numbering.on = row._seq ~= nil
	end
	if not numbering.on or not is_row then
		if row._seq ~= nil then
			add(reading, "line %d has _seq, which only the rows of a numbered stream have", n)
		end
		return
	end
	numbering.count = numbering.count + 1
	if row._seq ~= numbering.count then
		add(reading, "line %d has _seq %s; row %d of a numbered stream has %d", n, tostring(row._seq), numbering.count,
			numbering.count)
	end
end

local function check_count(reading, numbering)
	local last = reading.terminal
	if not numbering.on or not last then
		return
	end
	if last._summary == true and last._count ~= numbering.count then
		add(reading, "_count is %s; the stream has %d rows", tostring(last._count), numbering.count)
	elseif last._summary ~= true and is_object(last.meta) and last.meta.items_emitted ~= numbering.count then
		add(reading, "meta.items_emitted is %s; the stream has %d rows", tostring(last.meta.items_emitted), numbering.count)
	end
end

local function read_line(reading, numbering, line, n)
	if not line:find "%S" then
		return add(reading, "line %d is blank; every line of a stream is a JSON object", n)
	end
	local row, why = json.decode(line)
	if row == nil then
		return add(reading, "line %d is not JSON (%s)", n, why)
	elseif not is_object(row) then
		return add(reading, "line %d is JSON, but not an object", n)
	elseif row._summary == true or is_error_envelope(row) then
		return take_terminal(reading, row, n)
	end
	check_number(reading, numbering, row, n)
end

---The lines of a stream (REQ-O-004): rows, then exactly one line that ends it.
---@param lines string[]
---@return runner.StreamReading
function M.stream(lines)
	local reading, numbering = { problems = {}, valid = false }, { count = 0 }
	for n, line in ipairs(lines) do
		if reading.terminal then
			add(reading, "line %d follows line %d, which ended the stream", n, reading.terminal_line)
			break
		end
		read_line(reading, numbering, line, n)
	end
	check_count(reading, numbering)
	return reading
end

-- --- the profile -----------------------------------------------------------------------

---@class runner.ConformanceProbe
---@field name string unique
---@field argv string[]
---@field kind "read"|"destructive"|"invalid"|"stream"
---@field dry_run_flag? string of a destructive probe
---@field deadline_seconds? number of a stream
---@field after_lines? integer of a stream that is interrupted by SIGINT after so many lines

---@class runner.ConformanceProfile
---@field tool string
---@field command string[] the executable by its absolute path or as PATH finds it, and its first arguments
---@field timeout_seconds number for each run
---@field manifest? string[] the arguments that print the manifest
---@field argument_order? table
---@field probes runner.ConformanceProbe[]

-- A command with a slash is relative to the profile, as the reader of the file expects.
local function resolve(command, folder)
	if command[1]:find("/", 1, true) then
		command[1] = paths.absolute(command[1], folder)
		if not fs.stat(command[1]) then
			return ("command: %s doesn't exist"):format(command[1])
		end
	end
end

local function repeated_name(probes)
	local seen = {}
	for _, probe in ipairs(probes) do
		if seen[probe.name] then
			return ("probes: the name %q is used twice"):format(probe.name)
		end
		seen[probe.name] = true
	end
end

local function same_values(order)
	return order and order.value == order.alternate_value
		and "argument_order: alternate_value must differ from value" or nil
end

---Read a profile.
---@param path string absolute
---@return runner.ConformanceProfile? profile
---@return string? problem the first one, as a sentence
function M.profile(path)
	local text, why = fs.read(path)
	if not text then
		return nil, why
	end
	local profile, syntax = json.decode(text)
	if not profile then
		return nil, "not valid JSON: " .. syntax
	end
	local problem = first_problem("conformance-profile", profile)
		or repeated_name(profile.probes) or same_values(profile.argument_order)
		or resolve(profile.command, path:match("^(.*)/[^/]*$"))
	if problem then
		return nil, problem
	end
	return profile
end

return M
