-- settings: the limits and the retry policy of a run, and the source of each: flag,
-- environment, command, runner.lua, default (in this order). Pure, but for the check
-- for an outer runner.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local rules = require "runner.core.rules"

local M = {}

local NAMES = { "timeout", "attempt_timeout", "idle_timeout", "grace" }

local function given_by(parsed, name)
	local given = parsed.framework_given[name]
	return given == "env" and "environment" or given
end

-- One limit: ms and its source.
local function limit(name, command, parsed, project)
	local own = parsed.framework[name]
	if own then
		return rules.milliseconds(own), given_by(parsed, name)
	elseif command[name .. "_ms"] then
		return command[name .. "_ms"], "command"
	elseif project[name] then
		return project[name], "runner.lua"
	end
	return host.default(name .. "_ms"), "default"
end

-- An outer runner's end is ours too: end 100 ms before it.
local function within_outer(settled)
	local nested, left = host.nested()
	if not nested then
		return
	end
	settled.nested = true
	if left and (settled.timeout_ms == 0 or left < settled.timeout_ms) then
		settled.timeout_ms, settled.sources.timeout = left, "outer run"
	end
end

-- The first attempt's seed is the run's; a declared one wins over RUNNER_SEED.
local function seed_of(declared, seed_text)
	return math.tointeger(tonumber(seed_text)) or declared or attempt.environment_seed() or host.random()
end

-- The effective retry table: the command's over runner.lua's, key by key. An
-- outer run that retries makes our own default retries redundant.
local function declared_retry(settled, command, project)
	if settled.nested and os.getenv("RUNNER_OUTER_RETRIES") then
		return nil
	elseif command.retry and project.retry then
		return require("runner.declare.policy").over(project.retry, command.retry)
	end
	return command.retry or project.retry
end

local function policy_of(retry, retries, delay)
	if not (retry or retries or delay) then
		return host.default_policy()
	end
	return assert(require("runner.declare.policy").normalise(retry, { retries = retries, retry_delay_ms = delay }))
end

local function settle_policy(settled, command, parsed, project, seed_text)
	local retry = declared_retry(settled, command, project)
	local retries, delay = parsed.framework.retries, parsed.framework.retry_delay
	settled.retry_from = { retry = retry, own = command.retry, retries = retries and given_by(parsed, "retries"),
		delay = delay and given_by(parsed, "retry_delay") }
	settled.retries_given, settled.retry_delay_ms = retries, delay and rules.milliseconds(delay)
	settled.policy = policy_of(retry, retries, settled.retry_delay_ms)
	settled.policy.seed = seed_of(settled.policy.seed, seed_text)
end

---@param command table normal form
---@param parsed table from args.parse
---@param project table
---@param seed_text? string the first attempt's seed
---@return table settled {timeout_ms, attempt_timeout_ms, idle_timeout_ms, grace_ms, policy, retries_given, retry_delay_ms,
---sources, retry_from}
function M.settle(command, parsed, project, seed_text)
	local settled = { sources = {} }
	for _, name in ipairs(NAMES) do
		settled[name .. "_ms"], settled.sources[name] = limit(name, command, parsed, project)
	end
	within_outer(settled)
	settle_policy(settled, command, parsed, project, seed_text)
	if command.name == "several" and not command.path then
		require("runner.project.call_flags").of_each(settled)
	end
	if settled.nested and os.getenv "RUNNER_RETRY_BUDGET" then
		require("runner.core.retry_budget").narrow(settled)
	end
	return settled
end

---Are the retries unlimited, because runner.lua removes the timeout that the command
---relies on?
---@param settled table
---@return boolean
function M.unbounded(settled)
	return settled.policy.retries < 0 and settled.timeout_ms == 0 and settled.sources.timeout == "runner.lua"
end

return M
