-- settings: what a project and the environment say of telemetry: whether spans are exported, where
-- to, as whom (OpenTelemetry Environment Variable Specification; OTLP Exporter Configuration).

local trace = require "runner.telemetry.trace"

local M = {}

local LONGEST_MS = 2000 -- that an export takes, whatever OTEL_EXPORTER_OTLP_TIMEOUT says

---@class runner.Telemetry `telemetry` of runner.lua in its normal form
---@field content boolean
---@field file? string
---@field service_name? string

---@class runner.Exporter
---@field url? string of the collector
---@field headers table<string, string> each value is a secret
---@field problem? string why nothing can be sent to a collector that is configured
---@field timeout_ms integer for all that is sent together
---@field resource table<string, string>

local function variable(name)
	local v = os.getenv(name)
	return v ~= "" and v or nil
end

local function of_traces(name)
	return variable("OTEL_EXPORTER_OTLP_TRACES_" .. name) or variable("OTEL_EXPORTER_OTLP_" .. name)
end

-- "a=b,c=d", with percent escapes (W3C Baggage).
local function pairs_of(text)
	local out = {}
	for part in (text or ""):gmatch "[^,]+" do
		local name, value = part:match "^%s*([^%s=]+)%s*=%s*(.-)%s*$"
		if name then
			out[name] = require("runner.core.encoding").from_percent(value)
		end
	end
	return out
end

-- The address for traces is taken as it is; to the one for all signals belongs a path.
local function url_of()
	local own, all = variable "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", variable "OTEL_EXPORTER_OTLP_ENDPOINT"
	return own or all and all:gsub("/+$", "") .. "/v1/traces" or nil
end

local function is_off()
	return (variable "OTEL_SDK_DISABLED" or ""):lower() == "true"
end

local function resource_of(telemetry, version)
	local resource = pairs_of(variable "OTEL_RESOURCE_ATTRIBUTES")
	resource["service.name"] = variable "OTEL_SERVICE_NAME" or telemetry.service_name or resource["service.name"] or "runner"
	resource["telemetry.sdk.name"], resource["telemetry.sdk.language"] = "runner", "lua"
	resource["telemetry.sdk.version"] = version
	return resource
end

---Values that are shown nowhere, whichever exporter there is.
---@return string[]
function M.secrets()
	local out = {}
	for _, name in ipairs { "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS" } do
		for _, value in pairs(pairs_of(variable(name))) do
			out[#out + 1] = value
		end
	end
	return out
end

---Where spans go; nil: nowhere.
---@param telemetry runner.Telemetry
---@param version string of runner
---@return runner.Exporter?
function M.exporter(telemetry, version)
	local url, protocol = url_of(), of_traces "PROTOCOL"
	if variable "OTEL_TRACES_EXPORTER" == "none" then
		url = nil
	end
	if is_off() or not (url or telemetry.file) then
		return nil
	end
	local timeout_ms = math.tointeger(tonumber(of_traces "TIMEOUT" or ""))
	return {
		url = url, problem = url and protocol == "grpc" and "runner speaks OTLP over HTTP, not grpc (OTEL_EXPORTER_OTLP_PROTOCOL)" or nil,
		headers = pairs_of(of_traces "HEADERS"),
		timeout_ms = timeout_ms and timeout_ms > 0 and math.min(timeout_ms, LONGEST_MS) or LONGEST_MS,
		resource = resource_of(telemetry, version),
	}
end

---The span that the caller is in.
---@return runner.TraceParent?
function M.parent()
	return trace.parse(os.getenv "TRACEPARENT")
end

return M
