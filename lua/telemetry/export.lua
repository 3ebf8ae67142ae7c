-- export: spans to a collector and to a file, within the time that there is. What goes wrong is
-- told and changes nothing.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local otlp = require "runner.telemetry.otlp"

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

return M
