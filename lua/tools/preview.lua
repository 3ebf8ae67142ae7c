-- preview: what `--plan` prints: the effective limits and their sources, the exact
-- delays for the seed, and the worst-case total. It runs nothing.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local SHOWN_DELAYS = 20

local function limits_of(settled)
	local out = {}
	for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
		out[name] = { ms = settled[name .. "_ms"], source = settled.sources[name] }
	end
	return out
end

-- The declared resource limits.
local function allowed(limits, out)
	out.memory = limits.memory_bytes and { bytes = limits.memory_bytes, source = "command" }
	out.cpu = limits.cpu_ms and { ms = limits.cpu_ms, source = "command" }
	out.processes = limits.processes and { count = limits.processes, source = "command" }
	out.open_files = limits.open_files and { count = limits.open_files, source = "command" }
	return out
end

local function delays_of(policy)
	local delays, total = {}, 0
	for n = 0, math.min(policy.retries < 0 and SHOWN_DELAYS or policy.retries, 1000) - 1 do
		local ms = host.policy_delay(policy, n)
		total = total + ms
		if n < SHOWN_DELAYS then
			delays[n + 1] = ms
		end
	end
	return delays, total
end

-- The longest that a caller can wait for the answer; nil if it is unlimited.
local function worst_case(settled, waits)
	local answer = settled.grace_ms + 1000
	local attempts = settled.policy.retries + 1
	local by_attempts = settled.policy.retries >= 0 and settled.attempt_timeout_ms > 0
		and attempts * (settled.attempt_timeout_ms + answer) + waits or nil
	local by_total = settled.timeout_ms > 0 and settled.timeout_ms + answer or nil
	if by_attempts and by_total then
		return math.min(by_attempts, by_total)
	end
	return by_total or by_attempts
end

-- The hosts that ctx:http may ask only so often.
local function hosts_of(command)
	local throttle, out = require "runner.state.throttle", {}
	for i, rule in ipairs((command.hosts or (attempt.project or {}).hosts) and throttle.hosts(attempt) or {}) do
		out[i] = throttle.describe(rule.key, rule.limits)
		out[i].host, out[i].declared_by = rule.host, rule.by
	end
	return out[1] and json.array(out) or nil
end

---@param command table normal form
---@param settled table from settings.settle
---@return table
function M.describe(command, settled)
	local p = settled.policy
	local delays, waits = delays_of(p)
	return {
		command = command.name,
		danger_level = command.danger_level,
		steps = json.array(command.steps or {}),
		limits = allowed(command.limits or {}, limits_of(settled)),
		needs = command.needs and json.array(command.needs),
		throttle = (command.rate or command.breaker)
			and require("runner.state.throttle").describe(require("runner.state.throttle").key(attempt), command) or nil,
		hosts = hosts_of(command),
		policy = attempt.policy and require("runner.project.policy_forecast").describe(),
		retry = {
			retries = p.retries, strategy = p.strategy, delay_ms = p.delay_ms, max_delay_ms = p.max_delay_ms,
			jitter = p.jitter, sources = require "runner.project.retry_sources"(settled),
			jitter_factor = p.jitter == "factor" and p.jitter_ppm / 1e6 or nil, seed = tostring(p.seed),
			on = p.on and json.array(p.on) or json.null, maybe = p.maybe, delays_ms = json.array(delays),
			total_wait_ms = p.retries >= 0 and waits or json.null,
		},
		worst_case_ms = worst_case(settled, waits) or json.null,
	}
end

M.columns = { "name", "value", "source" }

local RETRY = { { "retries", "retries" }, { "strategy", "strategy" }, { "delay_ms", "delay" },
	{ "max_delay_ms", "max_delay" }, { "jitter", "jitter" }, { "seed", "seed" } }

---The same as rows, for the formats that consist of rows.
---@param plan table from M.describe
---@return {name: string, value: any, source: string?}[]
function M.rows(plan)
	local rows = {}
	for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
		rows[#rows + 1] = { name = name .. "_ms", value = plan.limits[name].ms, source = plan.limits[name].source }
	end
	for _, pair in ipairs(RETRY) do
		rows[#rows + 1] = { name = pair[1], value = plan.retry[pair[1]], source = plan.retry.sources[pair[2]] }
	end
	rows[#rows + 1] = { name = "delays_ms", value = table.concat(plan.retry.delays_ms, " ") }
	rows[#rows + 1] = { name = "worst_case_ms", value = plan.worst_case_ms }
	rows[#rows + 1] = plan.policy and { name = "policy", value = table.concat(plan.policy.files, " ") } or nil
	return rows
end

return M
