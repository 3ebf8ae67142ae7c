-- http_hosts: which hosts a request may go to. For hosts that `hosts` of the command or of runner.lua names: may one be
-- asked now, and what does the end of a request mean for the next one (lua/state/throttle.lua keeps the numbers)? And
-- for a command that is confined to hosts: a process of ours makes its connections, and connects to no other host
-- (src/engine/gate.h). Loaded with the first request of such a command.

local attempt = require "runner.core.attempt"
local client = require "runner.http_client"
local errors = require "runner.core.errors"
local host = require "runner.host"
local responses = require "runner.ctx.http_response"
local throttle = require "runner.state.throttle"
local urls = require "runner.ctx.http_url"
local waiting = require "runner.core.waiting"

local M = {}

-- --- rates and breakers ----------------------------------------------------------------

local SLACK_MS = 5000 -- until a request that should be over counts as killed

-- Failures of the host, or of the way to it.
local FAILED = { NETWORK_ERROR = true, RATE_LIMITED = true, TIMEOUT = true, UNAVAILABLE = true }

local WORDS = {
	rate = "%s may be asked %d times in %s: the next request is possible in %s",
	breaker = "%s has failed %d times within %s: it is asked again in %s",
}

local rules -- of this attempt, with `name` and `port`

local function load_rules()
	rules = throttle.hosts(attempt)
	for _, rule in ipairs(rules) do
		rule.name, rule.port = urls.host("http", rule.host)
		rule.port = rule.host:find ":%d+$" and rule.port or nil
	end
	return rules
end

-- The rules that hold for a URL.
local function rules_for(url)
	local out = {}
	local name, port = urls.host(url.scheme, url.authority)
	for _, rule in ipairs(rules or load_rules()) do
		if rule.name == name and (not rule.port or rule.port == port) then
			out[#out + 1] = rule
		end
	end
	return out
end

local function refusal(request, rule, refused)
	local limits = rule.limits
	local count = refused.by == "rate" and limits.rate.calls or refused.failures
	local window, context = limits[refused.by].window_ms, responses.context(request)
	context.host, context.declared_by, context.throttled_by = rule.host, rule.by, refused.by
	context.left_ms, context.window_ms, context.count = refused.left_ms, window, count
	return errors.new("UNAVAILABLE", WORDS[refused.by]:format(rule.host, count, host.duration_text(window),
		host.duration_text(refused.left_ms)), { context = context, retry_after_ms = refused.left_ms })
end

---@class runner.HostCall a request that is on its way; it must be closed
---@field held { rule: runner.HostRule, call: string }[]
local HostCall = {}
HostCall.__index = HostCall

local function conclude(self, verdict, pause_ms)
	for _, one in ipairs(self.held) do
		throttle.conclude(one.rule.key, one.rule.limits, one.call, verdict, pause_ms)
	end
	self.held = {}
end

-- A task that was ended with others says nothing of the host. After a signal there is no time for this:
-- the request counts as failed when its time is over, as that of a killed process does.
function HostCall:__close(raised)
	if raised == nil then
		conclude(self, "unknown")
	end
end

---The request has ended.
---@param reply? table nil: no answer came
---@param failure? runner.Error why
function HostCall:ended(reply, failure)
	local status = reply and reply.status or 0
	if status >= 500 or status == 408 or status == 425 or status == 429 then
		local headers = responses.headers(reply.head)
		local wait = headers["retry-after"]
		conclude(self, "failed", wait and client.retry_after(wait, headers.date) or nil)
	elseif reply then
		conclude(self, status == 407 and "unknown" or "succeeded") -- 407 is the proxy's
	else
		conclude(self, FAILED[failure.code] and "failed" or failure.code == "OUTPUT_TOO_LARGE" and "succeeded" or "unknown")
	end
end

-- How long it can take; nil: that is not known.
local function limit_of(left_ms)
	local rest = host.remaining()
	left_ms = left_ms > 0 and left_ms or nil
	rest = rest and rest > 0 and math.ceil(rest) or nil
	local least = left_ms and rest and math.min(left_ms, rest) or left_ms or rest
	return least and least + SLACK_MS or nil
end

---May the host of a request be asked now? If so, that is counted.
---@param request runner.HttpRequest
---@param left_ms integer its time limit; 0: none
---@return runner.HostCall? call
---@return runner.Error? failure UNAVAILABLE with retry_after_ms: nothing was sent
function M.admit(request, left_ms)
	local self = setmetatable({ held = {} }, HostCall)
	for _, rule in ipairs(rules_for(request.url)) do
		local call, refused = throttle.admit(rule.key, rule.limits, limit_of(left_ms))
		if refused then
			conclude(self, "unsent")
			return nil, refusal(request, rule, refused)
		end
		self.held[#self.held + 1] = { rule = rule, call = call }
	end
	return self
end

-- --- connections of a confined command -------------------------------------------------

local POLLIN = 1 -- of poll(2)
local CODES = { refused = "PERMISSION_DENIED", resolve = "NETWORK_ERROR", connect = "NETWORK_ERROR", timeout = "TIMEOUT" }
local LIMITS = { refused = "confine", timeout = "connect_timeout" }

-- The shorter of both; 0: none.
local function least(a, b)
	return a > 0 and b > 0 and math.min(a, b) or math.max(a, b)
end

---Connect to where a request goes.
---@param request runner.HttpRequest
---@param left_ms integer its time limit; 0: none
---@return userdata? connection for the C half; nil: as client.perform fails
---@return string? message
---@return string? code
---@return { kind: string, limit: string? }? details
function M.connect(request, left_ms)
	local name, port = urls.host(request.url.scheme, request.url.authority)
	local connection, fd = client.gate_ask(name, port or 0, least(left_ms, request.connect_timeout_ms))
	if not connection then
		return nil, fd, "RESOURCE_EXHAUSTED", { kind = "memory" }
	end
	local tasks = waiting.tasks()
	if tasks then
		tasks.ready(fd, POLLIN)
	else
		client.gate_wait(connection)
	end
	local ok, message, kind = client.gate_take(connection)
	if ok then
		return connection
	end
	return nil, message, CODES[kind], { kind = kind, limit = LIMITS[kind] }
end

return M
