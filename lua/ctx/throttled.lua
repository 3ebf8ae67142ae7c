-- throttled: a command with a `rate` or a `breaker`: whether it may be called now, and what its end means
-- for the next call. lua/state/throttle.lua decides and keeps the numbers.

local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local throttle = require "runner.state.throttle"

local M = {}

local WORDS = {
	rate = "%s may be called %d times in %s: the next call is possible in %s",
	breaker = "%s has failed %d times within %s: it is called again in %s",
}

local function refuse(a, refused)
	local limit = refused.by == "rate" and a.command.rate.calls or refused.failures
	local window = a.command[refused.by].window_ms
	errors.raise("UNAVAILABLE", WORDS[refused.by]:format(a.name, limit, host.duration_text(window), host.duration_text(refused.left_ms)), {
		retryable = true, side_effects = "none", retry_after_ms = refused.left_ms,
		context = { throttled_by = refused.by, left_ms = refused.left_ms, window_ms = window, count = limit },
	})
end

-- Is it a failure of what the command talks to? A call that was wrong says nothing of that.
local function counts(e)
	if e.retryable ~= nil then
		return e.retryable ~= false
	end
	local known = host.registry_code(e.code)
	return not known or known.retryable ~= "false"
end

---Run it, if it may be called now. Raises UNAVAILABLE with retry_after_ms otherwise.
---@param a runner.Attempt
---@param work fun(): any ...
---@return any ...
function M.run(a, work)
	local key = throttle.key(a)
	local limit_ms = a.settled.attempt_timeout_ms > 0 and a.settled.attempt_timeout_ms or a.settled.timeout_ms
	local call, refused = throttle.admit(key, a.command, limit_ms > 0 and limit_ms + a.settled.grace_ms or nil)
	host.send("META", { name = "throttle", data = json.encode(throttle.describe(key, a.command), { envelope = true }) }, true)
	if refused then
		refuse(a, refused)
	end
	local given = table.pack(host.protect(work))
	if not given[1] and given[4] then
		error("cancelled", 0) -- whether that is a failure, throttle.admit sees when its time is over
	end
	local failure = not given[1] and errors.normalise(given[2], given[3])
		or not given[2] and given[3] ~= nil and require("runner.core.returned").failure(given[2], given[3], given[4]) or nil
	throttle.conclude(key, a.command, call, not failure and "succeeded" or counts(failure) and "failed" or "other")
	if not given[1] then
		error(failure, 0)
	end
	return table.unpack(given, 2, given.n)
end

return M
