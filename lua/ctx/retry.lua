-- retry: loops inside an attempt: ctx:retry, and the same for ctx:http. The
-- engine decides what follows a failure (host.policy_decide); every retry counts in
-- meta.retries and against --retries.

local errors = require "runner.core.errors"
local host = require "runner.host"
local policy = require "runner.declare.policy"
local attempt = require "runner.core.attempt"
local waiting = require "runner.core.waiting"
local retry_budget = require "runner.core.retry_budget"

local M = {}

local function listed(on, code)
	for _, name in ipairs(on) do
		if host.code_matches(name, code) then
			return true
		end
	end
	return false
end

-- Is this failure one to repeat? The author asked for it, so "maybe" counts too,
-- unless the loop is strict (ctx:http).
local function repeats(e, flat, strict)
	local own = { retryable = e.retryable ~= nil and tostring(e.retryable) or nil }
	local codes = attempt.command and attempt.command.exit_codes or {}
	local rows = {}
	for i, row in ipairs(codes) do
		rows[i] = { name = row.name, retryable = row.retryable ~= nil and tostring(row.retryable) or nil }
	end
	local retryable = host.hints(e.code, own, rows).retryable
	if flat.on then
		return retryable ~= "false" and listed(flat.on, e.code)
	end
	return retryable == "true" or (retryable == "maybe" and (flat.maybe or not strict))
end

-- --retries N is one budget; a loop's own policy may be smaller.
local function within_budget(flat, made)
	local budget = retry_budget.budget()
	if budget then
		budget = budget + made
		flat.retries = flat.retries < 0 and budget or math.min(flat.retries, budget)
	end
end

local function notify(event, fields, on_retry)
	fields.event = event
	host.send("RETRY", fields)
	fields.event = event
	if on_retry and event == "wait" then
		on_retry(fields)
	end
end

local function repeat_after(e, wait_ms, n, flat, on_retry)
	local most = flat.retries >= 0 and flat.retries + 1 or 0
	notify("failed", { attempt = n + 1, max_attempts = most, code = e.code, message = e.message:sub(1, 8000),
		delay_ms = wait_ms })
	notify("wait", { attempt = n + 1, max_attempts = most, code = e.code, message = e.message:sub(1, 8000),
		delay_ms = wait_ms }, on_retry)
	local clock = waiting.tasks() or host
	clock.sleep(wait_ms)
	retry_budget.note()
end

local DURATIONS = { delay = true, max_delay = true, delays = true }

local function misused(strict, message, ...)
	require("runner.ctx.misuse").raise(strict and "ctx:http" or "ctx:retry", message:format(...))
end

-- The flat policy, and what hears of each wait.
local function policy_of(declared, strict)
	if type(declared) ~= "table" then
		misused(strict, "the policy is a table such as { retries = 3 }, not a %s", type(declared))
	end
	local plain, on_retry = {}, declared.on_retry
	for k, v in pairs(declared) do
		plain[k] = k ~= "on_retry" and v or nil
	end
	local flat, why, key = policy.normalise(plain, { retry_delay_ms = retry_budget.delay_ms() })
	if not flat and DURATIONS[key] then
		require("runner.ctx.misuse").duration(strict and "ctx:http" or "ctx:retry", key, plain[key])
	elseif not flat then
		misused(strict, "%s", why)
	elseif on_retry ~= nil and type(on_retry) ~= "function" then
		misused(strict, "on_retry is a function(event), not a %s", type(on_retry))
	end
	flat.seed = flat.seed or host.random()
	return flat, on_retry
end

---Call fn(n) until it returns, for as long as the policy allows. The failure that
---ends the loop is raised again; a used-up loop marks it (retries_exhausted).
---@param ctx table
---@param declared table retry policy as in a command, and on_retry = function(event)
---@param fn fun(n: integer): ...
---@param strict? boolean only failures that are surely retryable
---@return any ...
function M.loop(ctx, declared, fn, strict)
	local flat, on_retry = policy_of(declared, strict)
	local n = 0
	while true do
		local result = table.pack(pcall(fn, n + 1))
		if result[1] then
			if n > 0 then
				notify("succeeded", { attempt = n + 1, max_attempts = flat.retries >= 0 and flat.retries + 1 or 0 })
			end
			return table.unpack(result, 2, result.n)
		end
		local e = errors.normalise(result[2])
		if not repeats(e, flat, strict) then
			error(result[2], 0)
		end
		within_budget(flat, n)
		local verdict, wait_ms = host.policy_decide(flat, n, n, e.retry_after_ms, host.remaining())
		if verdict == "exhausted" then
			e.retries_exhausted, e.message = n, ("%s after %d attempts"):format(e.message, n + 1)
			error(e, 0)
		elseif verdict == "budget" then
			attempt.warn("RETRY_BUDGET", "No retry: the wait would overrun the time left")
			error(result[2], 0)
		elseif verdict ~= "wait" then
			error(result[2], 0)
		end
		repeat_after(e, wait_ms, n, flat, on_retry)
		n = n + 1
	end
end

---ctx:retry(fn, policy): fn's values, or its last error.
---@param ctx table
---@param fn fun(n: integer): ...
---@param declared? table {retries=, delay=, strategy=, max_delay=, jitter=, on=, on_retry=}; default 3 retries
function M.retry(ctx, fn, declared)
	if type(fn) ~= "function" then
		misused(false, "needs a function to retry, not a %s", type(fn))
	end
	return M.loop(ctx, declared == nil and { retries = 3 } or declared, fn, false)
end

return M
