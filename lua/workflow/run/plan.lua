-- plan: what a workflow would do, without doing it: its steps, their limits and
-- the exact delays between attempts for a seed. The engine draws the same ones.

local claude = require "runner.workflow.kinds.claude"
local host = require "runner.host"
local json = require "runner.json"
local amounts = require "runner.core.amounts"
local command_line = require "runner.core.command_line"
local retry_budget = require "runner.core.retry_budget"
local steps_of = require "runner.workflow.file.steps"
local tables = require "runner.core.tables"
local var_values = require "runner.workflow.run.var_values"
local variables = require "runner.workflow.expr.variables"

local M = {}

---The policy of one step in one run: with a seed of its own, so that parallel steps
---don't retry in lockstep.
---@param step table
---@param key string
---@param seed integer of the run
---@return table? flat
function M.policy(step, key, seed)
	if not step.retry then
		return nil
	end
	local policy = tables.add({}, step.retry.policy)
	policy.seed = policy.seed or (seed ~ tonumber(host.digest(key), 16)) & math.maxinteger
	if retry_budget.delay_ms() then
		require("runner.workflow.file.retry").delayed(policy, retry_budget.delay_ms())
	end
	return policy
end

local function delays_of(policy)
	local delays, total = json.array {}, 0
	for n = 0, policy.retries - 1 do
		delays[n + 1] = host.policy_delay(policy, n)
		total = total + delays[n + 1]
	end
	return delays, total
end

local function retry_of(step, key, seed)
	local policy = M.policy(step, key, seed)
	if not policy then
		return json.null
	end
	local delays, total = delays_of(policy)
	return {
		strategy = policy.strategy, retries = policy.retries, max_attempts = policy.retries + 1,
		attempts = policy.retries + 1,
		initial_delay_ms = policy.delay_ms, max_delay_ms = policy.max_delay_ms, jitter = policy.jitter,
		jitter_factor = policy.jitter == "factor" and policy.jitter_ppm / 1e6 or nil,
		retry_budget_ms = step.retry.budget_ms, limit_wait_ms = step.kind == "claude" and step.retry.limit_wait_ms or nil,
		delays_ms = delays, total_wait_ms = total,
	}
end

-- The longest it can take, without waits for usage limits (limit_wait_ms says how long those
-- may be); nil if an attempt has no limit.
local function worst_case(step, retry)
	local attempts = retry ~= json.null and retry.attempts or 1
	local waits = retry ~= json.null and retry.total_wait_ms or 0
	local by_attempts = step.timeout_ms and attempts * (step.timeout_ms + step.grace_ms) + waits
	if by_attempts and step.total_timeout_ms then
		return math.min(by_attempts, step.total_timeout_ms + step.grace_ms)
	end
	return by_attempts or step.total_timeout_ms and step.total_timeout_ms + step.grace_ms
end

local function sort_of(step)
	local by = json.array {}
	for i, row in ipairs(step.sort or {}) do
		by[i] = row.path .. (row.descending and " desc" or "")
	end
	return by[1] and by or nil
end

local rows_of

-- about: the run's seed, and the workflow.
local function row_of(step, prefix, about)
	local key = prefix .. step.key
	local retry = retry_of(step, key, about.seed)
	local below = step.kind == "foreach" and key .. "[*]." or prefix
	local max = { max_cost = about.workflow.max_cost or math.huge } -- of the whole run
	local inner = step.child and { seed = about.seed, workflow = setmetatable(max, { __index = step.child }) } or about
	return {
		key = key, id = step.id, kind = step.kind, label = step.label, line = step.line, when = step.when and step.when.text,
		timeout_ms = step.timeout_ms or json.null, total_timeout_ms = step.total_timeout_ms, retry = retry,
		worst_case_ms = step.steps == nil and worst_case(step, retry) or nil,
		limit = step.limit or step.parallel, where = step.where and step.where.text, sort = sort_of(step), max_items = step.max_items,
		max_failures = step.max_failures, threshold = step.threshold, steps = step.steps and rows_of(step.steps, below, inner) or nil,
		workflow = step.child and step.child.path,
		on_failure = step.on_failure and { go = step.on_failure.go, steps = rows_of(step.on_failure.steps, prefix, about) } or nil,
		on_success = step.on_success and rows_of(step.on_success.steps, prefix, about) or nil,
		check = step.check and rows_of(step.check.steps, prefix, about) or nil,
		repair = step.repair and { max = step.repair.max, again = step.repair.again, steps = rows_of(step.repair.steps, prefix, about) } or nil,
		worktree = step.worktree and { base = step.worktree.base, branch = step.worktree.branch, keep = step.worktree.keep,
			merge = step.worktree.steps and rows_of(step.worktree.steps, prefix, about) or step.worktree.merge } or nil,
		max_cost_usd = step.max_cost and amounts.dollars(step.max_cost),
		idempotent = step.idempotent or nil, verify = step.verify and step.verify.text or nil,
		argv = step.kind == "claude" and claude.plan(step, about.workflow) or nil,
	}
end

function rows_of(steps, prefix, about)
	local rows = json.array {}
	for i, step in ipairs(steps) do
		rows[i] = row_of(step, prefix, about)
	end
	return rows
end

---@param workflow table
---@param seed integer
---@param mask fun(v: any): any
---@return table
function M.describe(workflow, seed, mask)
	steps_of.relabel(workflow.all, mask)
	return mask { workflow = workflow.name, file = workflow.path, seed = tostring(seed),
		max_cost_usd = workflow.max_cost and amounts.dollars(workflow.max_cost), variables = var_values.described(workflow),
		concurrency = workflow.concurrency,
		steps = rows_of(workflow.all, "", { seed = seed, workflow = workflow }) }
end

-- --- for people ---------------------------------------------------------------------------

local function seconds(ms)
	return ms and ms ~= json.null and host.duration_text(ms) or "none"
end

local function waits(retry)
	if retry == json.null then
		return "no retries"
	end
	local texts = {}
	for i, ms in ipairs(retry.delays_ms) do
		texts[i] = ("%.1fs"):format(ms / 1000)
	end
	local limit, budget = retry.limit_wait_ms or 0, retry.retry_budget_ms
	local more = budget and "; all within " .. seconds(budget)
		or limit > 0 and ("; up to %s more for usage limits"):format(seconds(limit)) or ""
	return ("%d %s after %s (%.1fs in total%s)"):format(retry.retries, retry.retries == 1 and "retry" or "retries",
		table.concat(texts, ", "), retry.total_wait_ms / 1000, more)
end

local function limits(row)
	local total = row.total_timeout_ms and ("total %s, "):format(seconds(row.total_timeout_ms)) or ""
	return ("timeout %s, %s%s"):format(seconds(row.timeout_ms), total, waits(row.retry))
end

-- The command line, as a shell reads it; nil where it is just `PROGRAM --print PROMPT`, which the line above says.
local function as_shell(argv)
	return argv and #argv > 3 and command_line.line(argv) or nil
end

-- Which of the items, and how many may fail.
local function items_text(row)
	local out, most = {}, row.max_failures
	for _, text in ipairs { row.where and "where " .. row.where or false, row.sort and "sort " .. table.concat(row.sort, ", ") or false,
		row.max_items and "the first " .. row.max_items or false, most and ("at most %s may fail"):format(most.count or most.percent .. "%")
			or false } do
		out[#out + 1] = text or nil
	end
	return out[1] and table.concat(out, "; ")
end

-- The details below a step; for steps that hold steps only the conditions and the limits.
local function details(row)
	return row.when and "when " .. row.when, as_shell(row.argv),
		not row.steps and limits(row) or row.limit and ("%d at a time"):format(row.limit), items_text(row),
		row.threshold and "threshold " .. assert(json.encode(row.threshold)),
		row.repair and ("repaired %d times at most, then again: %s"):format(row.repair.max, row.repair.again)
end

local function add_lines(out, rows, indent)
	for _, r in ipairs(rows) do
		out[#out + 1] = ("%s%s  %s: %s"):format(indent, r.key, r.kind, r.label)
		local texts = table.pack(details(r))
		for i = 1, texts.n do
			out[#out + 1] = texts[i] and ("%s    %s"):format(indent, texts[i]) or nil
		end
		for _, below in ipairs { r.steps or {}, r.check or {}, r.repair and r.repair.steps or {}, r.on_success or {},
			r.on_failure and r.on_failure.steps or {} } do
			add_lines(out, below, indent .. "  ")
		end
	end
end

---@param plan table as M.describe
---@return string
function M.text(plan)
	local out = { ("%s (%s), seed %s"):format(plan.workflow, plan.file, plan.seed) }
	local group = plan.concurrency
	out[2] = group and ("one run at a time: %s (when taken: %s)"):format(group.key, group.when_taken)
	for _, v in ipairs(plan.variables) do
		local default = v.required and "required" or "default " .. variables.text(v.default)
		local takes = v.values and table.concat(v.values, ", ") or v.takes
		out[#out + 1] = ("--var %s: %s%s%s"):format(v.name, takes and takes .. "; " or "", default, v.description and ". " .. v.description or "")
	end
	add_lines(out, plan.steps, "")
	return table.concat(out, "\n") .. "\n"
end

return M
