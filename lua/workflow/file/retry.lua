-- retry: `retry` of a workflow and of its steps → the flat policy of a step.
-- A map changes the defaults key by key: Spec 185's (exponential from 5 s, 5 retries,
-- ±25 %; docs/design.md#workflow-retry-defaults), then the workflow's, then the step's.
-- Delays are computed in src/engine/policy.h, failures classified in
-- lua/workflow/kinds/classify.lua.

local check_of = require "runner.workflow.file.check"
local errors = require "runner.core.errors"
local host = require "runner.host"
local policy = require "runner.declare.policy"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"
local values = require "runner.workflow.file.values"

local M = {}

local MAX_RETRIES, MAX_DELAYS = host.bound "retries", host.bound "delays"
local MAX_DELAY_MS = 120000
local JITTER = 0.25
local LIMIT_WAIT_MS = 6 * 3600 * 1000 -- a session of Claude Code's lasts 5 h

---@class runner.workflow.RetryRule what else is transient
---@field exit? table<integer, true>
---@field stderr? string a text in stderr
---@field pattern? string PCRE2
---@field code? string

---@class runner.workflow.Retry
---@field policy table flat, as runner.policy.normalise gives it
---@field budget_ms? integer for all waits and attempts
---@field limit_wait_ms integer for the waits until usage limits reset, all of a round together
---@field rules? runner.workflow.RetryRule[]
---@field unknown_transient? boolean false: a failure that matches no class is not retried

local function defaults()
	return { strategy = "exponential", delay_ms = 5000, retries = 5, jitter = JITTER, limit_wait_ms = LIMIT_WAIT_MS }
end

-- --- the keys ------------------------------------------------------------------------

local STRATEGIES = host.names "strategy"
local known_strategy = rules.named "strategy"
local UNKNOWN = {} -- a strategy read as exponential, or as custom where there are delays
local OTHER_NAMES = { fixed = "constant", none = "constant", expo = "exponential" }

-- `run` falls back to exponential with a warning, as Spec 185 does; `check` refuses it.
local function strategy(check, node, name)
	local known = node.kind == "text" and known_strategy(node.text)
	if known then
		return known
	elseif check.lenient and node.kind == "text" then
		check:warn(("Unknown retry strategy '%s', using exponential"):format(node.text))
		return UNKNOWN
	end
	local other = node.text and OTHER_NAMES[node.text]
	values.refuse(check, node, name, "constant, linear, exponential, fibonacci or custom",
		other and ("Did you mean '%s'?"):format(other)
		or node.text and check_of.meant(node.text, STRATEGIES) or nil)
end
values.shaped(strategy, "strategy", host.names "strategy")

local NAMED_JITTER = rules.named "jitter"

local function factor(check, node, name)
	if (node.kind == "number" or node.kind == "integer") and node.value >= 0 and node.value <= 1 then
		return node.value
	end
	values.refuse(check, node, name, "a number from 0 to 1")
end
values.shaped(factor, "factor")

local function jitter(check, node, name)
	if node.kind == "boolean" or node.kind == "text" and node.value ~= "factor" and NAMED_JITTER(node.value) then
		return node.value
	elseif (node.kind == "number" or node.kind == "integer") and node.value >= 0 and node.value <= 1 then
		return node.value
	end
	values.refuse(check, node, name, "a number from 0 to 1, true, false, full, equal, decorrelated or none")
end
values.shaped(jitter, "jitter")

local function delays(check, node, name)
	if node.kind == "list" and #node.items >= 1 and #node.items <= MAX_DELAYS then
		return values.list_of(values.duration)(check, node, name)
	end
	values.refuse(check, node, name, ("a list of 1 to %d durations such as [1s, 5s]"):format(MAX_DELAYS))
end
values.shaped(delays, "delays", MAX_DELAYS)

-- --- retry_on: what else is transient, or which classes alone -----------------------------

-- The transient classes, and the names that people give them.
local CLASSES = {
	UNAVAILABLE = "UNAVAILABLE", RATE_LIMITED = "RATE_LIMITED", NETWORK_ERROR = "NETWORK_ERROR", TIMEOUT = "TIMEOUT",
	SUBPROCESS_FAILED = "SUBPROCESS_FAILED",
	server_error = "UNAVAILABLE", overloaded = "UNAVAILABLE", unavailable = "UNAVAILABLE", rate_limit = "RATE_LIMITED",
	rate_limited = "RATE_LIMITED", network = "NETWORK_ERROR", network_error = "NETWORK_ERROR", timeout = "TIMEOUT",
	process = "SUBPROCESS_FAILED", process_error = "SUBPROCESS_FAILED",
}

-- The classes in the letter case of `word`.
local function class_meant(word)
	local candidates, capitals = {}, word:find("%u") ~= nil
	for name, code in pairs(CLASSES) do
		candidates[#candidates + 1] = (name == code) == capitals and name or nil
	end
	return check_of.meant(word, candidates)
end

-- A runner step may name any code, so only one that looks misspelt is rejected.
local function class(check, node, name)
	local known = node.kind == "text" and CLASSES[node.text]
	local meant = node.text and not known and class_meant(node.text)
	if known or not meant and errors.well_formed(node.value) then
		return known or node.value
	end
	values.refuse(check, node, name, "a failure class such as UNAVAILABLE, rate_limit, network or timeout", meant or nil)
end

local STATUS = values.whole(1, 255)

local function exits(check, node, name)
	if node.kind == "list" and not node.items[1] then
		return values.refuse(check, node, name, "an exit status such as 75, or a list of them")
	end
	local set = {}
	for _, status in ipairs(values.list_of(STATUS)(check, node, name) or {}) do
		set[status] = true
	end
	return next(set) and set or nil
end
values.shaped(exits, "list", STATUS, 1)

local function pattern(check, node, name)
	local text = values.text(check, node, name)
	local why = text and require("runner.core.regexes").fault(text)
	if why then
		check:add(node, ("%s: %s"):format(name, why))
	end
	return not why and text or nil
end
values.shaped(pattern, "text")

local function code(check, node, name)
	if errors.well_formed(node.value) then
		return node.value
	end
	values.refuse(check, node, name, "an error code such as UNAVAILABLE")
end
values.shaped(code, "code")

local RULE = { exit = { exits }, stderr = { values.text }, pattern = { pattern }, code = { code } }

local function rule(check, node)
	local out, entries = values.fields(check, node, RULE, "a retry_on rule")
	if entries and not (entries.exit or entries.stderr or entries.pattern) then
		check:add(node, "a retry_on rule needs exit, stderr or pattern, to recognise a transient failure")
	end
	return out
end

-- { rules } or { on = codes }.
local function retry_on(check, node, name)
	local items = node.kind == "list" and node.items or { node }
	local out, maps = {}, items[1] and items[1].kind == "map"
	if node.kind == "null" or not items[1] then
		return values.refuse(check, node, name, "a rule such as { exit: 75 }, or a list of classes such as [timeout, network]")
	end
	for i, item in ipairs(items) do
		local key = node.kind == "list" and ("%s[%d]"):format(name, i) or name
		if maps ~= (item.kind == "map") then
			check:add(item, ("%s mixes rules (maps) and classes (names): use one or the other"):format(name))
		else
			out[#out + 1] = (maps and rule or class)(check, item, key)
		end
	end
	return maps and { rules = out } or { on = out }
end
values.shaped(retry_on, "retry_on", RULE, CLASSES)

local RETRIES = values.whole(0, MAX_RETRIES)

-- Every spelling, and the field that it fills.
local KEYS = {
	strategy = { strategy }, backoff = { strategy, "strategy" },
	initial_delay = { values.duration, "delay_ms" }, initial_delay_secs = { values.seconds, "delay_ms" },
	max_attempts = { RETRIES, "retries" }, attempts = { RETRIES, "retries" },
	jitter = { jitter }, jitter_factor = { factor },
	max_delay = { values.duration, "max_delay_ms" }, max_delay_secs = { values.seconds, "max_delay_ms" },
	delays = { delays },
	limit_wait = { values.duration, "limit_wait_ms" },
	retry_budget = { values.duration, "budget_ms" }, retry_budget_secs = { values.seconds, "budget_ms" },
	retry_on = { retry_on }, retry_unknown = { values.boolean, "unknown_transient" },
}
M.keys = KEYS

-- --- one level ---------------------------------------------------------------------------

-- jitter and jitter_factor as one value: a factor, a name, or true: "some".
local function settle_jitter(check, level, entries)
	local on, given = level.jitter, level.jitter_factor
	level.jitter_factor = nil
	if on == false then
		level.jitter = 0
	elseif given and (on == nil or on == true) then
		level.jitter = given
	elseif given then
		check:add(entries.jitter_factor, "jitter_factor goes with jitter: true; this jitter already sets the factor")
	end
end

local function settle_delays(check, level, entries, inherited)
	local with = entries.delays or type(inherited) == "table" and inherited.delays
	if level.strategy == UNKNOWN then
		level.strategy = level.delays and "custom" or "exponential"
	elseif level.strategy == "custom" and not with then
		check:add(entries.strategy, "strategy custom needs delays, such as delays: [1s, 5s]")
	elseif level.strategy and level.strategy ~= "custom" and level.delays then
		check:add(entries.delays, ("delays imply strategy custom, but strategy is %s: remove one of them")
			:format(level.strategy))
	end
end

local function map(check, node, inherited)
	local level, entries = values.fields(check, node, KEYS, "retry")
	if not level then
		return nil
	end
	settle_jitter(check, level, entries)
	settle_delays(check, level, entries, inherited)
	level.rules, level.on = level.retry_on and level.retry_on.rules, level.retry_on and level.retry_on.on
	level.retry_on = nil
	return level
end

---The value of one `retry` key: its own keys, or true or false.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param name string "retry" or "retry_config"
---@param inherited? table|boolean the level above
---@return table|boolean|nil level
function M.level(check, node, name, inherited)
	if node.kind == "boolean" then
		return node.value
	elseif node.kind == "map" then
		return map(check, node, inherited)
	end
	values.refuse(check, node, name, "true, false, or a map such as { max_attempts: 3, initial_delay: 2s }",
		node.kind == "integer" and ("Write %s: { max_attempts: %d }"):format(name, node.value) or nil)
end

-- --- levels → policy -------------------------------------------------------------------------

local function overlay(base, level)
	local jittered = base.jitter
	tables.add(base, level)
	if level.jitter == true then
		base.jitter = jittered ~= 0 and jittered ~= "none" and jittered or JITTER
	end
	if level.delays then
		base.strategy, base.retries = "custom", level.retries or #level.delays
	elseif level.strategy and level.strategy ~= "custom" then
		base.delays = nil
	end
	if level.rules or level.on then
		base.rules, base.on = level.rules, level.on
	end
end

-- The default cap never shortens a delay that is written down.
local function cap(base)
	return base.max_delay_ms or math.max(MAX_DELAY_MS, base.delay_ms, table.unpack(base.delays or {}))
end

local function seconds(list)
	local out = {}
	for i, ms in ipairs(list) do
		out[i] = ms / 1000
	end
	return out
end

local function flat(base)
	return assert(policy.normalise({
		retries = base.retries, delay = base.delay_ms / 1000, max_delay = cap(base) / 1000, jitter = base.jitter,
		strategy = not base.delays and base.strategy ~= "custom" and base.strategy or nil,
		delays = base.delays and base.delays[1] and seconds(base.delays) or nil,
		on = base.on and base.on[1] and base.on or nil,
	}))
end

M.delayed = policy.delayed

---The policy of a step; nil: no retries. A claude step has one unless the nearest
---level that sets retry says false; other steps only where they set it.
---@param kind string
---@param workflow table|boolean|nil level
---@param own table|boolean|nil level
---@return runner.workflow.Retry?
function M.combine(kind, workflow, own)
	local wanted = own
	if wanted == nil and kind == "claude" then
		wanted = workflow ~= false
	end
	if not wanted then
		return nil
	end
	local base = defaults()
	for _, level in ipairs { workflow or false, own or false } do
		if type(level) == "table" then
			overlay(base, level)
		end
	end
	if base.retries == 0 then
		return nil
	end
	return { policy = flat(base), rules = base.rules,
		budget_ms = base.budget_ms ~= 0 and base.budget_ms or nil, limit_wait_ms = base.limit_wait_ms,
		unknown_transient = base.unknown_transient }
end

return M
