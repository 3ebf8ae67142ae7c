-- budget: what the claude steps of a run may still cost. Before an attempt all that is left
-- of its step's budget and of the run's is reserved; at its end it is charged what it cost,
-- or the whole reservation where the program reported no cost. The store has each
-- reservation before the program starts, so that a crash loses none. Amounts are in
-- micro-dollars.

local errors = require "runner.core.errors"
local money = require "runner.core.money"
local scheduler = require "runner.task.scheduler"

local M = { FIX = "Raise the budget" }

---@class runner.workflow.Budget
---@field max integer? of the run; nil: no limit
---@field total integer charged and reserved
---@field by_step table<string, integer> the same by step key, of the steps that are under way
---@field reserved integer of `total`, by attempts that run now
---@field released runner.Gate opened when a reservation ends

---@param charged integer to earlier attempts, as store:charged gives it
---@param max? integer
---@return runner.workflow.Budget
function M.of(charged, max)
	return { max = max, total = charged, by_step = {}, reserved = 0, released = scheduler.gate() }
end

---Refuse a budget that several machines would have to share: they would need to ask each other.
---@param workflow runner.workflow.Workflow
---@param max? integer
---@return integer? max
function M.one_machine(workflow, max)
	if max and workflow.placed_claude then
		errors.raise("PRECONDITION", "Claude steps on an executor can't share the budget of the run", { side_effects = "none",
			fix_required = "Give each of these steps a max_cost, or run them here: on: none" })
	end
	return max
end

---A step begins: what earlier processes charged to it counts.
---@param run table
---@param key string
---@param charged? integer
function M.begin(run, key, charged)
	run.budget.by_step[key] = charged
end

---A step is over: nothing of it is kept, however many there are.
---@param run table
---@param key string
function M.over(run, key)
	run.budget.by_step[key] = nil
end

-- How a step, and a run, get more.
local function advice_for_step(run, key)
	return ("Raise max_cost of step %s in the file, then: runner workflow resume %s --force"):format(key, run.id)
end

local function advice_for_run(run)
	return ("runner workflow resume %s --max-cost USD"):format(run.id)
end

local function exhausted(whose, max, spent, advice)
	errors.raise("BUDGET_EXHAUSTED", ("The budget of %s is used up: %s of %s"):format(whose, money.shown(spent), money.shown(max)),
		{ suggestion = advice, fix_required = M.FIX, context = { max_cost_usd = money.dollars(max), cost_usd = money.dollars(spent) } })
end

local function step_left(run, step, key)
	local spent = run.budget.by_step[key] or 0
	if step.max_cost and spent >= step.max_cost then
		exhausted("step " .. key, step.max_cost, spent, advice_for_step(run, key))
	end
	return step.max_cost and step.max_cost - spent or math.maxinteger
end

-- All is charged or reserved.
local function is_used_up(budget)
	return budget.max ~= nil and budget.total >= budget.max
end

-- Where others have reserved all of it, it waits for what they leave.
local function run_left(run)
	local budget = run.budget
	while is_used_up(budget) and budget.reserved > 0 do
		budget.released:wait()
	end
	if is_used_up(budget) then
		exhausted("the run", budget.max, budget.total, advice_for_run(run))
	end
	return budget.max and budget.max - budget.total or math.maxinteger
end

---Raise BUDGET_EXHAUSTED where another attempt of a step would find nothing left: there is
---no point in waiting for it. What others have reserved may come back.
---@param run table
---@param step table
---@param key string
function M.check(run, step, key)
	step_left(run, step, key)
	if run.budget.reserved == 0 then
		run_left(run)
	end
end

---Reserve all that an attempt may cost; nil: there is no limit. Raises BUDGET_EXHAUSTED
---where nothing is left. Call it in a task: it may have to wait.
---@param run table
---@param step table
---@param key string
---@return integer? amount
---@return string? advice how to get more, where the program uses all of it
function M.reserve(run, step, key)
	local budget, of_step, of_run = run.budget, step_left(run, step, key), run_left(run)
	local amount = math.min(of_step, of_run)
	if amount == math.maxinteger then
		return nil
	end
	budget.total, budget.reserved = budget.total + amount, budget.reserved + amount
	budget.by_step[key] = (budget.by_step[key] or 0) + amount
	return amount, of_step < of_run and advice_for_step(run, key) or advice_for_run(run)
end

---End a reservation: charge what the attempt cost in its place.
---@param run table
---@param key string
---@param reserved? integer as reserve() gave it
---@param cost? integer nil: not known, so that all of it is charged
function M.settle(run, key, reserved, cost)
	local budget, more = run.budget, (cost or reserved or 0) - (reserved or 0)
	budget.total, budget.reserved = budget.total + more, budget.reserved - (reserved or 0)
	budget.by_step[key] = (budget.by_step[key] or 0) + more
	if reserved then
		budget.released:open()
	end
end

return M
