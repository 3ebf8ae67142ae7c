-- preview: what holds for a call, which is not made: what `--plan` prints (the effective limits, the exact delays for
-- the seed, the worst-case total), what `--show-config` prints (the settings), and where each comes from. Values whose
-- names say that they are secret are not shown.

local attempt = require "runner.core.attempt"
local contract = require "runner.declare.contract"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

---The source of each key of the policy.
---@param settled table from lua/project/settings.lua
---@return table<string, string>
local function retry_sources(settled)
	local from = settled.retry_from
	local retry, own, out = from.retry or {}, from.own or {}, {}
	local function source(key)
		return retry[key] ~= nil and (own[key] ~= nil and "command" or "runner.lua") or nil
	end
	for key in pairs(require("runner.declare.policy").keys) do
		out[key] = source(key) or "default"
	end
	out.retries = source "retries" or source "delays" or source "max_delay"
		or settled.nested and os.getenv("RUNNER_OUTER_RETRIES") and "outer run" or "default"
	out.strategy, out.delays = source "delays" or out.strategy, nil
	if out.seed == "default" then
		out.seed = attempt.environment_seed() and "environment" or "random"
	end
	out.retries, out.delay = from.retries or out.retries, from.delay or out.delay
	return out
end

local SHOWN_DELAYS = 20
local LIMITS = { "timeout", "attempt_timeout", "idle_timeout", "grace" }

local function limits_of(settled)
	local out = {}
	for _, name in ipairs(LIMITS) do
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
function M.plan(command, settled)
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
		policy = attempt.policy and require("runner.project.policy_commands").describe(),
		retry = {
			retries = p.retries, strategy = p.strategy, delay_ms = p.delay_ms, max_delay_ms = p.max_delay_ms,
			jitter = p.jitter, sources = retry_sources(settled),
			jitter_factor = p.jitter == "factor" and p.jitter_ppm / 1e6 or nil, seed = tostring(p.seed),
			on = p.on and json.array(p.on) or json.null, maybe = p.maybe, delays_ms = json.array(delays),
			total_wait_ms = p.retries >= 0 and waits or json.null,
		},
		worst_case_ms = worst_case(settled, waits) or json.null,
	}
end

M.plan_columns = { "name", "value", "source" }

local RETRY = { { "retries", "retries" }, { "strategy", "strategy" }, { "delay_ms", "delay" },
	{ "max_delay_ms", "max_delay" }, { "jitter", "jitter" }, { "seed", "seed" } }

---The same as rows, for the formats that consist of rows.
---@param plan table from M.plan
---@return {name: string, value: any, source: string?}[]
function M.plan_rows(plan)
	local rows = {}
	for _, name in ipairs(LIMITS) do
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

local ORDER = { "cli-flags", "env-vars", "command", "files", "default" }
local DEPTH_MAX = 20

local function file_of(project)
	return "file:" .. (project.file or "runner.lua")
end

-- "environment" → "env:RUNNER_TIMEOUT"
local function source_of(row, from, project)
	if from == "environment" or from == "env" then
		return "env:" .. (row and (row.read_from or row.env) or "?")
	elseif from == "runner.lua" then
		return file_of(project)
	elseif from == "flag" then
		return "flag:--" .. row.flag
	end
	return from
end

local function add_limits(a, rows, add)
	for _, name in ipairs(LIMITS) do
		local ms = a.settled[name .. "_ms"]
		add(name, ms == 0 and "none" or host.duration_text(ms), source_of(rows[name], a.settled.sources[name], a.project))
	end
	local sources, policy = retry_sources(a.settled), a.settled.policy
	add("retries", policy.retries, source_of(rows.retries, sources.retries, a.project))
	add("retry_delay", host.duration_text(policy.delay_ms), source_of(rows.retry_delay, sources.delay, a.project))
end

-- Flags that were given, here or by a variable.
local function add_flags(a, rows, add)
	for _, name in ipairs(tables.sorted_keys(a.framework)) do
		local row = rows[name]
		if row and name ~= "show_config" then
			local secret = row.source or host.secret_name(name)
			add(name, secret and "[REDACTED]" or a.framework[name], source_of(row, a.parsed.framework_given[name], a.project))
		end
	end
end

local function add_table(name, value, source, add, depth)
	if type(value) ~= "table" or json.is_array(value) or value[1] ~= nil or depth > DEPTH_MAX then
		local plain = type(value) == "function" and "function" or value
		return add(name, host.secret_name(name:match "[^.]*$") and "[REDACTED]" or plain, source)
	end
	for _, key in ipairs(tables.sorted_keys(value)) do
		add_table(("%s.%s"):format(name, tostring(key)), value[key], source, add, depth + 1)
	end
end

local function add_policy(policy, add)
	local from = "policy:" .. table.concat(policy.files, ",")
	for _, key in ipairs(tables.sorted_keys(policy)) do
		add("policy." .. key, policy[key], from)
	end
end

local FROM_FILE = { "name", "description", "version", "exit_table", "commands", "scopes", "config" }

---@param a runner.Attempt
---@return {effective_config: table<string, any>, sources: table<string, string>, precedence_order: string[]}
function M.settings(a)
	local effective, sources, rows, problem = {}, {}, {}, a.project.problem
	if problem and problem.unread then
		attempt.warn("PROJECT_UNREAD", "Nothing in runner.lua is shown: " .. problem.message, { fix_required = problem.fix_required })
	end
	local function add(name, value, source)
		effective[name], sources[name] = value, source
	end
	for _, row in ipairs(contract.rows(a.command)) do
		rows[row.name] = row
	end
	add("format", a.format, "default")
	add("exit_table", require("runner.project.plan").exit_table(a.project) or "standard", "default")
	for _, name in ipairs(a.project.file and FROM_FILE or {}) do
		if a.project[name] ~= nil then
			add_table(name, a.project[name], file_of(a.project), add, 0)
		end
	end
	if os.getenv "RUNNER_EXIT_TABLE" then
		add("exit_table", a.launch.exit_table, "env:RUNNER_EXIT_TABLE")
	end
	add_flags(a, rows, add)
	add_limits(a, rows, add)
	if a.policy then
		add_policy(require("runner.project.policy_commands").describe(), add)
	end
	return { effective_config = effective, sources = sources, precedence_order = json.array(ORDER) }
end

return M
