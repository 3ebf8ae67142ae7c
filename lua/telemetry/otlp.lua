-- otlp: spans as the JSON of OTLP (opentelemetry-proto, trace/v1; JSON Protobuf encoding: 64-bit
-- integers are strings, the numbers of traces and spans hexadecimal). Pure.

local json = require "runner.json"
local sorted = require "runner.core.sorted"

local M = {}

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
	for _, key in ipairs(sorted.keys(t or {})) do
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
	} } }, {}))
end

return M
