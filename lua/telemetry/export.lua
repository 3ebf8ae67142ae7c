-- export: spans to a collector and to a file, within the time that there is, as the JSON of OTLP
-- (opentelemetry-proto, trace/v1; JSON Protobuf encoding: 64-bit integers are strings, the numbers of traces and
-- spans hexadecimal). What goes wrong is told and changes nothing.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local settings = require "runner.telemetry.settings"
local tables = require "runner.core.tables"

local M = {}

-- --- OTLP --------------------------------------------------------------------------------

---@class runner.Span
---@field trace_id string
---@field span_id string
---@field parent_id? string
---@field name string
---@field start_ms integer since the epoch
---@field end_ms integer
---@field attributes table<string, string|number|boolean>
---@field error? string it failed: what the status says
---@field events? {name: string, time_ms: integer, attributes: table<string, any>}[]

local INTERNAL, UNSET, ERROR = 1, 0, 2 -- SPAN_KIND_INTERNAL, STATUS_CODE_UNSET, STATUS_CODE_ERROR

local function value_of(v)
	if type(v) == "boolean" then
		return { boolValue = v }
	elseif math.type(v) == "integer" then
		return { intValue = tostring(v) }
	elseif type(v) == "number" then
		return { doubleValue = v }
	end
	return { stringValue = tostring(v) }
end

local function attributes_of(t)
	local out = json.array {}
	for _, key in ipairs(tables.sorted_keys(t or {})) do
		out[#out + 1] = { key = key, value = value_of(t[key]) }
	end
	return out
end

local function nanoseconds(ms)
	return ("%d000000"):format(math.max(ms, 0))
end

local function events_of(list)
	local out = json.array {}
	for i, event in ipairs(list or {}) do
		out[i] = { name = event.name, timeUnixNano = nanoseconds(event.time_ms), attributes = attributes_of(event.attributes) }
	end
	return out
end

local function span_of(span)
	return {
		traceId = span.trace_id, spanId = span.span_id, parentSpanId = span.parent_id, name = span.name, kind = INTERNAL,
		startTimeUnixNano = nanoseconds(span.start_ms), endTimeUnixNano = nanoseconds(math.max(span.end_ms, span.start_ms)),
		attributes = attributes_of(span.attributes), events = events_of(span.events),
		-- UNSET could be left out, but there are receivers that refuse a status without its code
		status = span.error and { code = ERROR, message = span.error } or { code = UNSET },
	}
end

---One ExportTraceServiceRequest.
---@param spans runner.Span[]
---@param resource table<string, any> attributes of what made them
---@param version string of runner
---@return string text without a newline
function M.request(spans, resource, version)
	local list = json.array {}
	for i, span in ipairs(spans) do
		list[i] = span_of(span)
	end
	return assert(json.encode({ resourceSpans = json.array { {
		resource = { attributes = attributes_of(resource) },
		scopeSpans = json.array { { scope = { name = "runner", version = version }, spans = list } },
	} } }, { envelope = true }))
end

-- --- where they go ------------------------------------------------------------------------

local BATCH = 500 -- spans of one request
local WAIT_MS = 500 -- for others that write to the same file

local function rejected(body)
	local answer = type(body) == "string" and json.decode(body)
	local partial = type(answer) == "table" and answer.partialSuccess
	local count = type(partial) == "table" and math.tointeger(tonumber(partial.rejectedSpans))
	return count and count > 0 and ("the collector rejected %d spans"):format(count) or nil
end

-- Nil, or why the collector doesn't have it. No message has a header in it.
local function send(post, exporter, text, left_ms)
	if exporter.problem then
		return exporter.problem
	end
	local headers = { ["Content-Type"] = "application/json" }
	tables.add(headers, exporter.headers)
	local ok, result = pcall(post, { url = exporter.url, method = "POST", headers = headers, body = text, follow = false, check = false,
		timeout = left_ms / 1000, connect_timeout = left_ms / 1000 })
	if not ok then
		if type(result) == "userdata" then
			error(result, 0) -- a cancellation
		end
		return (type(result) == "table" or type(result) == "userdata") and result.code or "the request can't be made"
	elseif result.error then
		return result.error.message
	elseif result.status >= 300 then
		return ("the collector answered %d"):format(result.status)
	end
	return rejected(result.body)
end

-- Nil, or why the file doesn't have it: a line for each request, as the file exporter writes it.
local function append(path, text)
	local safe, unsafe = fs.check_way(path, 511) -- 0777, less the umask
	if not safe then
		return unsafe
	end
	local lock, why = fs.lock(path .. ".lock", { wait_ms = WAIT_MS })
	if not lock then
		return why == "held" and "another process is writing to it" or why
	end
	local ok, message = fs.append(path, text .. "\n", 384)
	fs.unlink(path .. ".lock") -- still locked: a process that waits for it sees that it is gone
	lock:release()
	return not ok and message or nil
end

---@param spans runner.Span[]
---@param exporter runner.Exporter
---@param opts {post: fun(spec: table): table, file?: string, version: string} post: as ctx:http
---@return {spans: integer, problem: string?} done spans: how many have gone to all places
function M.send(spans, exporter, opts)
	local give_up, sent = host.now() + exporter.timeout_ms, 0
	for from = 1, #spans, BATCH do
		local batch = table.move(spans, from, math.min(from + BATCH - 1, #spans), 1, {})
		local text = M.request(batch, exporter.resource, opts.version)
		local left = math.floor(give_up - host.now())
		if left < 1 then
			return { spans = sent, problem = ("there was no time for more (%d ms)"):format(exporter.timeout_ms) }
		end
		local in_file = opts.file and append(opts.file, text)
		local problem = exporter.url and send(opts.post, exporter, text, left) or in_file
		if problem then
			return { spans = sent, problem = problem }
		end
		sent = sent + #batch
	end
	return { spans = sent }
end

-- The file of the project.
local function file_of(telemetry)
	return telemetry.file and paths.absolute(telemetry.file, attempt.project.root or host.getcwd() or ".")
end

local function export_all(part, telemetry, ctx, collect)
	local exporter = part.sampled and settings.exporter(telemetry, attempt.launch.version)
	if not exporter then
		return nil
	end
	return M.send(collect(), exporter, { file = file_of(telemetry), version = attempt.launch.version,
		post = function(spec) return ctx:http(spec) end })
end

---Export, and tell the caller what became of it: meta.telemetry, and a failure as a line on stderr,
---not as a warning, which a caller may take for one. Nothing is raised but a cancellation.
---@param part {trace_id: string, sampled: boolean} of a trace
---@param telemetry runner.Telemetry
---@param ctx runner.Context
---@param mask? fun(v: any): any
---@param collect fun(): runner.Span[] called where there is a place for them
---@param whose string "this call"
function M.all(part, telemetry, ctx, mask, collect, whose)
	local ok, done = pcall(export_all, part, telemetry, ctx, collect)
	if not ok and type(done) == "userdata" then
		error(done, 0) -- a cancellation
	elseif not ok then
		done = { spans = 0, problem = errors.normalise(done).message }
	end
	done = done or { spans = 0 }
	local problem = done.problem and (mask and mask(done.problem) or done.problem)
	host.send("META", { name = "telemetry", data = json.encode({ trace_id = part.trace_id, spans = done.spans, problem = problem },
		{ envelope = true }) }, true)
	if problem then
		host.send("LOG", { level = "warn", event = "telemetry.failed",
			message = ("The trace of %s was not exported: %s"):format(whose, problem):sub(1, 8000) })
	end
end

return M
