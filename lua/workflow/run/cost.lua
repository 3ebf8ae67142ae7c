-- cost: what claude steps have used, and what they may still cost: sessions, tokens, and the budgets of
-- a step and of the run. Before an attempt all that is left of its step's budget and of the run's is
-- reserved, but no more than max_attempt_cost; at its end it is charged what it cost, or all of that.
-- The store has each reservation before the program starts, so that a crash loses none. What a step used
-- is read when it begins and forgotten when it is over. Amounts are in micro-dollars.

local amounts = require "runner.core.amounts"
local attempt = require "runner.core.attempt"
local claude_meter = require "runner.workflow.kinds.claude_meter"
local claude_output = require "runner.workflow.kinds.claude_output"
local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local kinds = require "runner.workflow.kinds.kinds"
local scheduler = require "runner.task.scheduler"

local M = {}

local FIX = "Raise the budget"

-- --- budgets -----------------------------------------------------------------------------------------

---@class runner.workflow.Budget
---@field max integer? of the run; nil: no limit
---@field total integer charged and reserved
---@field by_step table<string, integer> the same by step key, of the steps that are under way
---@field reserved integer of `total`, by attempts that run now
---@field released runner.Gate opened when a reservation ends

---@param charged integer to earlier attempts, as store:charged gives it
---@param max? integer
---@return runner.workflow.Budget
function M.budget(charged, max)
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

local function advice_for_attempt(run, key)
	return ("Raise max_attempt_cost of step %s in the file, then: runner workflow resume %s --force"):format(key, run.id)
end

local function advice_for_run(run)
	return ("runner workflow resume %s --max-cost USD"):format(run.id)
end

local function exhausted(whose, max, spent, advice)
	errors.raise("BUDGET_EXHAUSTED", ("The budget of %s is used up: %s of %s"):format(whose, amounts.shown(spent), amounts.shown(max)),
		{ suggestion = advice, fix_required = FIX, context = { max_cost_usd = amounts.dollars(max), cost_usd = amounts.dollars(spent) } })
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
local function check_left(run, step, key)
	step_left(run, step, key)
	if run.budget.reserved == 0 then
		run_left(run)
	end
end

---Reserve all that an attempt may cost: what is left, or less, by its own limit; nil: there is no limit. Raises BUDGET_EXHAUSTED
---where nothing is left. Call it in a task: it may have to wait.
---@param run table
---@param step table
---@param key string
---@return integer? amount
---@return string? advice how to get more, where the program uses all of it
function M.reserve(run, step, key)
	local budget, of_step, of_run = run.budget, step_left(run, step, key), run_left(run)
	local of_attempt = step.max_attempt_cost or math.maxinteger
	local amount = math.min(of_step, of_run, of_attempt)
	if amount == math.maxinteger then
		return nil
	end
	budget.total, budget.reserved = budget.total + amount, budget.reserved + amount
	budget.by_step[key] = (budget.by_step[key] or 0) + amount
	return amount, (amount == of_attempt and advice_for_attempt or of_step < of_run and advice_for_step or advice_for_run)(run, key)
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

local LOST = "No conversation found" -- the program's words for a session that it doesn't have

-- --- what an attempt cost that was cut off ------------------------------------------------

-- Why an attempt is charged all that it had reserved.
local NO_PRICE = "without saying what it cost, and is charged all that was left."
	.. " max_attempt_cost bounds that; with output: stream-json its tokens are charged, once a price is known"
local CAPPED = "without saying what it cost, and is charged all that was left, which its tokens may have used up."
	.. " max_attempt_cost bounds that"

-- Its tokens at the prices that earlier results of the run showed; no more than it had reserved,
-- and why it is all of that.
local function estimated(meter, prices, reserved)
	local micros = meter:charge(prices)
	if micros and micros > reserved then
		return reserved, CAPPED
	end
	return micros, not micros and NO_PRICE or nil
end

-- All that it might have cost is charged, which a key would have bounded.
local function warn_unknown(step, key, why)
	if not step.max_attempt_cost then
		attempt.warn("COST_UNKNOWN", ("Step %s: an attempt ended %s"):format(key, why), { step = key })
	end
end

-- From what an attempt had printed when its runner died; nil where that is not known, or not all.
local function cost_of_log(log, prices, reserved, streams)
	local logs = require "runner.workflow.report.logs"
	local stdout = (logs.partial_record(log) or { stdout = "" }).stdout
	local cost = claude_output.usage(claude_output.find(stdout)).cost_micros
	if cost or stdout:find(logs.OMITTED, 1, true) then
		return cost, not cost and NO_PRICE or nil
	end
	local meter = claude_meter.new(streams)
	for line in stdout:gmatch "[^\n]+" do
		meter:line(line)
	end
	return estimated(meter, prices, reserved)
end

---Charge what an earlier process left without a cost: attempts that were cut off with it.
---@param db table the open store
---@param id string of the run
---@param streams boolean its programs print events
---@return table<string, string> unknown of steps with an attempt that is charged in full, why
function M.recover(db, id, streams)
	local rows, unknown, prices = {}, {}, nil
	for _, row in ipairs(db:uncharged(id)) do
		prices = prices or db:prices(id)
		local micros, why = cost_of_log(db:attempts(id, row.key)[row.number].log, prices, row.reserved_micros, streams)
		rows[#rows + 1] = micros and { key = row.key, number = row.number, micros = micros }
		unknown[row.key] = why or unknown[row.key]
	end
	if rows[1] then
		db:charge(id, rows)
	end
	return unknown
end

-- --- attempts --------------------------------------------------------------------------------

---A step begins. What is returned ends that when it is closed.
---@param run table
---@param turn runner.workflow.Turn
---@param row? {session_id: string?, charged_micros: integer?} of an earlier process
---@return table?
function M.of_step(run, turn, row)
	if kinds[turn.step.kind].costs then
		turn.session_id = row and row.started_ms and row.session_id -- unless it begins anew
		if run.uncharged and run.uncharged[turn.key] then
			warn_unknown(turn.step, turn.key, run.uncharged[turn.key])
		end
		M.begin(run, turn.key, row and row.charged_micros)
		return setmetatable({}, { __close = function()
			M.over(run, turn.key)
		end })
	end
end

-- A row of the store, with what the step used.
local function with_usage(db, id, row)
	local used = kinds[row.kind] and kinds[row.kind].costs and db:usage(id, row.key)
	if used then
		row.session_id, row.charged_micros = used.session_id, used.charged_micros
	end
	return row
end

---The steps that an earlier process left, by key, each read when it is asked for: there may be many
---thousands. A step that this process has run is not asked for.
---@param db table the open store
---@param id string of the run
---@return table<string, table>
function M.rows(db, id)
	return setmetatable({}, { __index = function(_, key)
		local row = db:step(id, key)
		return row and with_usage(db, id, row)
	end })
end

---What the next attempt of a step has from earlier ones; the budget of one that costs money is
---reserved. Raises BUDGET_EXHAUSTED where none is left.
---@param run table
---@param turn runner.workflow.Turn
---@return runner.workflow.Carried
function M.carried(run, turn)
	turn.usage, turn.reserved = nil, nil -- those of the attempt before
	if kinds[turn.step.kind].costs then
		turn.reserved, turn.advice = M.reserve(run, turn.step, turn.key)
		turn.meter = turn.reserved and claude_meter.new((run.settings.claude or {}).output == "stream-json")
	end
	return { session_id = turn.session_id, budget_micros = turn.reserved }
end

---Raise BUDGET_EXHAUSTED where another attempt of a step would find nothing left.
---@param run table
---@param turn runner.workflow.Turn
function M.check(run, turn)
	if kinds[turn.step.kind].costs then
		check_left(run, turn.step, turn.key)
	end
end

---Store with the start of an attempt what is known of it then.
---@param turn runner.workflow.Turn
---@param request table of its kind
function M.before(turn, request)
	if request.session_id or turn.reserved then
		turn.usage = { session_id = request.session_id, reserved_micros = turn.reserved }
	end
end

-- A program that ended early may not have stored its session: the next attempt starts a new one.
local function lost_session(turn, outcome)
	local stderr = outcome.context and outcome.context.stderr or ""
	return not outcome.ok and turn.step.resume_session and stderr:find(LOST, 1, true) ~= nil
end

-- What an attempt is charged that has not said what it cost.
local function charge(run, turn, all, started)
	if not started then
		all.cost_micros = 0
	elseif not all.cost_micros then
		local micros, why = estimated(turn.meter, run.db:prices(run.id), turn.reserved)
		all.cost_micros = micros
		if why then
			warn_unknown(turn.step, turn.key, why)
		end
	end
end

---An attempt has ended: turn.usage has all that is known of it.
---@param run table
---@param turn runner.workflow.Turn
---@param outcome table
---@param started boolean was there a program? Without one there is no cost
function M.after(run, turn, outcome, started)
	if not outcome.usage then
		return
	end
	local all = turn.usage or {}
	for name, value in pairs(outcome.usage) do
		all[name] = value
	end
	if lost_session(turn, outcome) then
		all.session_id, outcome.transient = nil, true
	end
	if turn.reserved and outcome.code == "BUDGET_EXHAUSTED" then
		outcome.suggestion, outcome.fix_required = turn.advice, FIX
	end
	if turn.reserved then
		charge(run, turn, all, started)
	end
	turn.usage = next(all) and all or nil
	turn.session_id = all.session_id
end

---What ends the reservation of an attempt, however it ends, when it is closed.
---@param run table
---@param turn runner.workflow.Turn
---@return table
function M.settling(run, turn)
	return setmetatable({}, { __close = function()
		local cost = turn.usage and turn.usage.cost_micros
		cost = turn.usage and cost or not turn.usage and 0 or nil
		M.settle(run, turn.key, turn.reserved, cost)
		events.cost(run, turn.key, cost or turn.reserved or 0)
		turn.reserved = nil
	end })
end

return M
