-- policy: a declared `retry` table (and --retries, --retry-delay) → the flat form
-- that PLAN and host.policy_* take. Loaded where a policy is declared or given
-- (lua/project/settings.lua has the default). It computes no delays and makes no
-- decisions: the engine does (src/engine/policy.h).

local errors = require "runner.core.errors"
local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

local MAX_RETRIES, MAX_DELAYS = host.bound "retries", host.bound "delays"

local DURATION = 'a duration such as "500ms", "2s", "5m" or a number of seconds'

local strategy = rules.named "strategy"
local named_jitter = rules.named "jitter"

local function whole(v, most)
	local n = math.type(v) == "integer" and v or math.type(v) == "float" and math.tointeger(v)
	return n and n >= 0 and n <= most and n or nil
end

local function jitter(v)
	if type(v) == "number" and v >= 0 and v <= 1 then
		return v
	end
	return v ~= "factor" and named_jitter(v) or nil -- factor: what a number says
end

local function code(v)
	return require("runner.core.errors").well_formed(v) and v or nil
end

-- One row per key: its check (nil: refused), and what it takes, in words.
local KEYS = {
	retries = { function(v) return whole(v, MAX_RETRIES) end, "a whole number from 0 to " .. MAX_RETRIES },
	delay = { rules.duration, DURATION },
	max_delay = { rules.duration, DURATION },
	strategy = { strategy, errors.enumeration "strategy" },
	jitter = { jitter, 'a number from 0 to 1, "full", "equal", "decorrelated" or "none"' },
	delays = { function(v) return rules.list(v, 1, MAX_DELAYS, rules.duration) end,
		"a list of 1 to " .. MAX_DELAYS .. ' durations such as {"1s", "5s"}' },
	seed = { function(v) return whole(v, math.maxinteger) end, "a whole number ≥ 0" },
	on = { function(v) return rules.list(v, 1, 100, code) end,
		'a list of error codes such as {"UNAVAILABLE"}' },
	maybe = { function(v) if type(v) == "boolean" then return v end end, "true or false" },
}
M.keys = KEYS

local function show(v)
	local kind = type(v)
	return kind == "string" and ("%q"):format(v) or v ~= v and "not a number"
		or (kind == "number" or kind == "boolean" or v == nil) and tostring(v) or "a " .. kind
end

-- Every key checked and converted | nil, message, key.
local function accept(retry)
	if type(retry) ~= "table" then
		return nil, "retry is " .. show(retry) .. ": write a table such as { retries = 3 }"
	end
	local out = {}
	for key, v in next, retry do
		local rule = KEYS[key]
		if not rule then
			return nil, ("unknown key %s in retry"):format(show(key)), key
		end
		local value = rule[1](v)
		if value == nil then
			return nil, ("retry.%s is %s: write %s"):format(key, show(v), rule[2]), key
		end
		out[key] = value
	end
	return out
end

-- What is wrong only with several keys together.
local function conflict(r)
	if r.delays and r.strategy and r.strategy ~= "custom" then
		return ('retry.strategy is %q, but delays are given: remove one of them'):format(r.strategy), "strategy"
	elseif r.strategy == "custom" and not r.delays then
		return 'retry.strategy is "custom", but there are no delays: add delays = {"1s", "5s"}', "strategy"
	elseif not (r.retries or r.delays or (r.max_delay or 0) > 0) then
		return "retry has no bound: add retries = 3 (or delays, or max_delay with a timeout)"
	end
end

---One declared table over another, key by key. What belongs together comes from one of
---them: delays bring their own number, and a delay or strategy replaces delays below.
---@param below table valid
---@param own table valid
---@return table retry valid
function M.over(below, own)
	local out, waits = {}, own.delays or own.delay or own.strategy
	for key, v in next, below do
		local theirs = own.delays and key == "retries" or waits and (key == "delays" or v == "custom")
			or own.delays and key == "strategy"
		out[key] = not theirs and v or nil
	end
	for key, v in next, own do -- core/tables isn't loaded for a retry
		out[key] = v
	end
	return out
end

-- jitter "factor" and its ppm, or a named jitter.
local function set_jitter(flat, declared)
	if type(declared) == "string" then
		flat.jitter, flat.jitter_ppm = declared, 0
	else
		flat.jitter_ppm = math.floor((declared or 0.25) * 1000000 + 0.5)
		flat.jitter = flat.jitter_ppm > 0 and "factor" or "none"
	end
end

---Give a flat policy the base delay of --retry-delay; delays that are listed become it.
---@param flat table
---@param delay_ms? integer nil: the caller gave none
---@return table flat
function M.delayed(flat, delay_ms)
	if delay_ms then
		flat.delay_ms = delay_ms
		if flat.strategy == "custom" then
			flat.strategy, flat.delays = "constant", {}
		end
	end
	return flat
end

---The flat form. Left-out keys: exponential, 1 s, jitter 0.25, cap 30 s (never below a
---delay that was given); without a table 0 retries (docs/design.md#default-policy).
---`retries` is -1 where only time bounds them. A declared seed wins over
---`overrides.seed`.
---@param retry? table as declared, or as given to ctx:retry (without its on_retry)
---@param overrides? {retries?: integer, retry_delay_ms?: integer, seed?: integer}
---@return table? flat, string? message, string? key that is wrong, nil when several are
function M.normalise(retry, overrides)
	local r, message, key = accept(retry == nil and { retries = 0 } or retry)
	if r then
		message, key = conflict(r)
	end
	if not r or message then
		return nil, message, key
	end
	local default = host.default_policy()
	local flat = {
		retries = r.retries or r.delays and #r.delays or -1,
		strategy = r.delays and "custom" or r.strategy or default.strategy,
		delay_ms = r.delay or default.delay_ms,
		delays = r.delays or {},
		seed = r.seed,
		on = r.on,
		maybe = r.maybe or false,
	}
	set_jitter(flat, r.jitter)
	flat.retries = overrides and overrides.retries or flat.retries
	flat.seed = flat.seed or overrides and overrides.seed
	M.delayed(flat, overrides and overrides.retry_delay_ms)
	flat.max_delay_ms = r.max_delay or math.max(30000, flat.delay_ms, table.unpack(flat.delays))
	return flat
end

-- normalise reports one fault at a time: drop that key and check the rest again.
local function walk_keys(retry, has_timeout, report)
	local flat, message, key = M.normalise(retry)
	if flat then
		if flat.retries < 0 and not has_timeout then
			report("retry", "retry", nil, "unbounded")
		end
		return
	end
	report("retry", "retry", key, "retry", message)
	if key ~= nil then
		local rest = require("runner.core.tables").add({}, retry)
		rest[key] = nil
		rest.retries = rest.retries or 1
		walk_keys(rest, has_timeout, report)
	end
end

-- A code that nothing can raise is a typo: it would never be retried.
local function check_on(on, codes, report)
	for _, name in ipairs(on) do
		if not codes[name] and not require("runner.declare.codes").in_registry(name) then
			report("retry", "retry", "on", "on_unknown", name)
		end
	end
end

---Report every fault of the `retry` of a declaration.
---@param retry any
---@param has_timeout boolean does anything else end the retries?
---@param codes table<string, table> that the declaration has of its own
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
function M.walk(retry, has_timeout, codes, report)
	walk_keys(retry, has_timeout, report)
	local on = type(retry) == "table" and rules.list(rawget(retry, "on"), 1, 100, rules.text)
	check_on(on or {}, codes, report)
end

return M
