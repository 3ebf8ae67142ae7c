-- limits: every limit and the retry policy of a run, and where each came from:
-- flag, environment, command, runner.lua, default (in this order). Pure but for
-- the look at an outer runner.

local flags = require "runner.flags"
local host = require "runner.host"
local policy = require "runner.policy"

local M = {}

local NAMES = { "timeout", "attempt_timeout", "idle_timeout", "grace" }

local function milliseconds(seconds)
	return math.floor(seconds * 1000 + 0.5)
end

-- One limit: ms and its source.
local function limit(name, command, parsed, project)
	local given = parsed.given[name]
	if given == "flag" or given == "env" then
		return milliseconds(parsed.framework[name]), given == "env" and "environment" or given
	elseif command[name .. "_ms"] then
		return command[name .. "_ms"], "command"
	elseif project[name] then
		return project[name], "runner.lua"
	end
	return host.duration(flags.by_name[name].default), "default"
end

-- An outer runner ends us with it: we end 100 ms before.
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

local function seed_of(seed_text)
	return math.tointeger(tonumber(seed_text or os.getenv("RUNNER_SEED") or "")) or host.random()
end

local function settle_policy(settled, command, parsed, project, seed_text)
	local given = parsed.given.retries
	local retry = command.retry or project.retry
	local source = command.retry and "command" or project.retry and "runner.lua" or "default"
	-- an outer run that retries already does what our default would do again
	if settled.nested and os.getenv("RUNNER_OUTER_RETRIES") and not given then
		retry, source = nil, "outer run"
	end
	settled.sources.retries = given and (given == "env" and "environment" or given) or source
	settled.sources.retry_delay = parsed.given.retry_delay and "flag" or source
	settled.retries_given = given and parsed.framework.retries or nil
	settled.policy = assert(policy.normalise(retry, {
		retries = settled.retries_given,
		retry_delay_ms = parsed.given.retry_delay and milliseconds(parsed.framework.retry_delay) or nil,
		seed = nil,
	}))
	settled.policy.seed = settled.policy.seed or seed_of(seed_text)
end

---@param command table normal form
---@param parsed table from args.parse
---@param project table
---@param seed_text? string the first attempt's seed
---@return table settled {timeout_ms, attempt_timeout_ms, idle_timeout_ms, grace_ms, policy, retries_given, sources}
function M.settle(command, parsed, project, seed_text)
	local settled = { sources = {} }
	for _, name in ipairs(NAMES) do
		settled[name .. "_ms"], settled.sources[name] = limit(name, command, parsed, project)
	end
	within_outer(settled)
	settle_policy(settled, command, parsed, project, seed_text)
	return settled
end

return M
