-- export: spans to a collector and to a file, within the time that there is. What goes wrong is
-- told and changes nothing.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local otlp = require "runner.telemetry.otlp"
local paths = require "runner.core.paths"
local settings = require "runner.telemetry.settings"

local M = {}

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
	for name, value in pairs(exporter.headers) do
		headers[name] = value
	end
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
	local lock, why = fs.lock(path .. ".lock", { wait_ms = WAIT_MS })
	if not lock then
		return why == "held" and "another process is writing to it" or why
	end
	local ok, message = fs.append(path, text .. "\n", 384)
	fs.unlink(path .. ".lock") -- still locked: whoever waits for it sees that it is gone
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
		local text = otlp.request(batch, exporter.resource, opts.version)
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

-- The file of the project, in a directory that there is.
local function file_of(telemetry)
	local path = telemetry.file and paths.absolute(telemetry.file, attempt.project.root or host.getcwd() or ".")
	if path then
		fs.mkdirs(path:match "^(.*)/" or ".")
	end
	return path
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
