-- envelope: reading what a tool printed: exactly one envelope, or the lines of a stream.

local agent_spec = require "runner.conformance.agent_spec"
local json = require "runner.json"

local M = {}

local SHOWN_PROBLEMS = 3

local function is_object(value)
	return type(value) == "table" and not json.is_array(value)
end

---The envelope on stdout, or why stdout is not exactly one valid envelope.
---@param text string
---@return table? envelope, string? problem
function M.parse(text)
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
	local problems = agent_spec.problems("response-envelope", value, SHOWN_PROBLEMS)
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
	local problems = agent_spec.problems("response-envelope", row, SHOWN_PROBLEMS)
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

return M
