-- time_bound: whether what a task of a placed step runs fits into its executor's `time`, as far as the
-- file bounds it: limits × attempts + the waits between them, for each item of its chunk. Pure.

local host = require "runner.host"
local inner_lists = require "runner.workflow.file.inner_lists"
local sizes = require "runner.workflow.executors.sizes"
local tables = require "runner.core.tables"

local M = {}

local HOOK_MS = 31000 -- an on_retry hook, with its grace (lua/workflow/run/hooks.lua)
M.WAIT_HERE_MS = 60000 -- a longer wait, of a step right in an item, frees the allocation
local MOST = 100000 -- items of a chunk that a file may name

-- --- the longest time of a step ------------------------------------------------------------------

-- The longest wait before attempt n + 2, whatever the seed.
local function longest_delay(policy, n)
	local plain = tables.add({}, policy)
	plain.jitter = "none"
	local ms = policy.jitter == "decorrelated" and policy.max_delay_ms or host.policy_delay(plain, n)
	return policy.jitter == "factor" and math.ceil(ms * (1 + policy.jitter_ppm / 1e6)) or ms
end

local function waits_of(step, parks)
	local total = 0
	for n = 0, step.retry and step.retry.policy.retries - 1 or -1 do
		local ms = longest_delay(step.retry.policy, n)
		total = total + (parks and ms > M.WAIT_HERE_MS and 0 or ms) + (step.on_retry and HOOK_MS or 0)
	end
	return total
end

-- nil: nothing bounds it.
local function process(step, parks)
	local one = step.timeout_ms and step.timeout_ms + step.grace_ms
	local retries = step.retry and step.retry.policy.retries or 0
	local most = one and retries >= 0 and (retries + 1) * one + waits_of(step, parks) or math.huge
	local budget = step.retry and step.retry.budget_ms and one and step.retry.budget_ms + one or math.huge
	local total = step.total_timeout_ms and step.total_timeout_ms + step.grace_ms or math.huge
	local ms = math.min(most, budget, total)
	return ms < math.huge and ms or nil
end

local worst

-- One after the other; nil, and the step that nothing bounds.
local function in_turn(steps, parks)
	local sum = 0
	for _, step in ipairs(steps) do
		local ms, culprit = worst(step, parks)
		if not ms then
			return nil, culprit
		end
		sum = sum + ms
	end
	return sum
end

-- At most `limit` at once: whichever order they end in, the last one starts when none waits.
local function at_once(steps, limit)
	local sum, longest = 0, 0
	for _, step in ipairs(steps) do
		local ms, culprit = worst(step)
		if not ms then
			return nil, culprit
		end
		sum, longest = sum + ms, math.max(longest, ms)
	end
	return limit >= #steps and longest or math.min(sum, math.ceil(sum / limit + longest))
end

local function loop(step)
	local count = type(step.items) == "table" and #step.items or step.max_items
	local ms, culprit = in_turn(step.steps)
	if ms and count then
		return math.ceil(count / step.parallel) * ms
	end
	return nil, culprit or step
end

-- With all of its repairs, each followed by what may run again.
local function block(step)
	local all = {}
	for _, list in ipairs(inner_lists.of { steps = step.steps, check = step.check, repair = step.repair }) do
		table.move(list, 1, #list, #all + 1, all)
	end
	local ms, culprit = in_turn(all)
	return ms and ms * ((step.repair and step.repair.max or 0) + 1), culprit
end

-- A step without what follows it.
local function itself(step, parks)
	if step.kind == "foreach" then
		return loop(step)
	elseif step.kind == "parallel" then
		return at_once(step.steps, step.limit)
	elseif step.kind == "steps" then
		return block(step)
	end
	local ms = process(step, parks)
	return ms, not ms and step or nil
end

function worst(step, parks)
	local ms, culprit = itself(step, parks)
	local longest = 0
	for _, hook in ipairs { step.on_failure or false, step.on_success or false } do
		local after, unbound = in_turn(hook and hook.steps or {}, parks)
		longest, culprit = math.max(longest, after or 0), culprit or unbound
	end
	if culprit then
		return nil, culprit
	end
	return ms + longest
end

-- --- what a task runs -------------------------------------------------------------------------------

---The longest time of one item of a placed loop, or of another placed step, on its executor, in ms. Its
---own on_failure and on_success run here, and waits that failures ask for are not in the file.
---@param step runner.workflow.Step with `on`
---@return integer? ms nil: nothing bounds it
---@return runner.workflow.Step? culprit the step that nothing bounds
function M.worst(step)
	if step.kind == "foreach" then
		return in_turn(step.steps, true)
	end
	return itself(step, true)
end

---The most items whose worst case fits into the executor's time; math.huge: it has none, or nothing bounds
---an item. 0: not even one fits.
---@param step runner.workflow.Step a loop with `on`
---@param executor runner.Executor
---@return number
function M.most(step, executor)
	local ms = executor.time_ms and M.worst(step)
	if not ms or ms == 0 then
		return math.huge
	end
	return math.min(executor.time_ms // ms * step.parallel, MOST)
end

local function text(ms)
	return host.duration_text(ms)
end

-- How many items a task gets: as the loop says, or all that there are where they are fewer.
local function items_of(step)
	local count = type(step.items) == "table" and #step.items or math.huge
	return step.chunk and math.min(step.chunk, count)
end

local function too_long(step, executor, ms)
	local most, items = M.most(step, executor), items_of(step)
	local limit = ("the time of executor '%s' is %s"):format(executor.name, text(executor.time_ms))
	if most == 0 then
		return ("one item may take %s, and %s"):format(text(ms), limit),
			("Give the executor time: %ds, or its steps shorter timeouts or fewer retries"):format(math.ceil(ms / 1000))
	elseif items and items > most then
		return ("chunk: %d items may take %s, and %s"):format(items, text(math.ceil(items / step.parallel) * ms), limit),
			("Write chunk: %d, the most that fits; or give the executor time: %ds"):format(most,
				math.ceil(math.ceil(items / step.parallel) * ms / 1000))
	end
end

local function whole_too_long(executor, ms)
	if ms > executor.time_ms then
		return ("this step may take %s, and the time of executor '%s' is %s"):format(text(ms), executor.name, text(executor.time_ms)),
			("Give the executor time: %ds, or the step shorter timeouts or fewer retries"):format(math.ceil(ms / 1000))
	end
end

local function unbound(step, executor, culprit)
	local remedy = culprit.kind == "foreach" and "the number of items of the loop on line %d is not known: give it max_items"
		or "the step on line %d has no time limit: give it a timeout"
	return { line = step.line, column = step.column, code = "TIME_UNBOUNDED",
		message = ("Nothing says whether a task of this step ends within the %s of executor '%s': " .. remedy):format(
			text(executor.time_ms), executor.name, culprit.line) }
end

local function judge_one(step, executor, problems, hints)
	local ms, culprit = M.worst(step)
	if not ms then
		hints[#hints + 1] = unbound(step, executor, culprit)
		return
	end
	local message, suggestion
	if step.kind == "foreach" then
		message, suggestion = too_long(step, executor, ms)
	else
		message, suggestion = whole_too_long(executor, ms)
	end
	if message then
		problems[#problems + 1] = { line = step.line, column = step.column, code = "WORKFLOW_INVALID", message = message,
			suggestion = suggestion }
	end
end

local function walk(workflow, steps, problems, hints)
	for _, step in ipairs(steps) do
		local executor = step.on and workflow.executors[step.on] and sizes.with(workflow.executors[step.on], step.resources)
		if executor and executor.time_ms and executor.kind ~= "local" then
			judge_one(step, executor, problems, hints)
		end
		for _, below in ipairs(inner_lists.of(step)) do
			walk(workflow, below, problems, hints)
		end
	end
end

---What is placed and may not end within the time of its executor. `workflow check` refuses it; a run takes
---it, since a task that is cut off is placed again and keeps what it has completed.
---@param workflow runner.workflow.Workflow
---@return runner.workflow.Problem[] problems, runner.workflow.Hint[] hints where nothing bounds it
function M.judge(workflow)
	local problems, hints = {}, {}
	walk(workflow, workflow.all, problems, hints)
	return problems, hints
end

return M
