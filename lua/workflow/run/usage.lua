-- usage: what the attempts of a claude step have used so far: the session that it is in, and
-- its part of the budget. Both are read when the step begins and forgotten when it is over,
-- however many there are; the store has every change first.

local budget = require "runner.workflow.run.budget"
local kinds = require "runner.workflow.kinds.kinds"

local M = {}

local LOST = "No conversation found" -- the program's words for a session that it doesn't have

---A step begins. What is returned ends that when it is closed.
---@param run table
---@param turn runner.workflow.Turn
---@param row? {session_id: string?, charged_micros: integer?} of an earlier process
---@return table?
function M.of(run, turn, row)
	if kinds[turn.step.kind].costs then
		turn.session_id = row and row.session_id
		budget.begin(run, turn.key, row and row.charged_micros)
		return setmetatable({}, { __close = function()
			budget.over(run, turn.key)
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
---thousands. Nobody asks for a step that this process has run.
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
		turn.reserved, turn.advice = budget.reserve(run, turn.step, turn.key)
	end
	return { session_id = turn.session_id, budget_micros = turn.reserved }
end

---Raise BUDGET_EXHAUSTED where another attempt of a step would find nothing left.
---@param run table
---@param turn runner.workflow.Turn
function M.check(run, turn)
	if kinds[turn.step.kind].costs then
		budget.check(run, turn.step, turn.key)
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

-- A program that ended early may not have stored its session: the next attempt starts anew.
local function lost_session(turn, outcome)
	local stderr = outcome.context and outcome.context.stderr or ""
	return not outcome.ok and turn.step.resume_session and stderr:find(LOST, 1, true) ~= nil
end

---An attempt has ended: turn.usage has all that is known of it.
---@param turn runner.workflow.Turn
---@param outcome table
---@param started boolean was there a program? Without one there is no cost
function M.after(turn, outcome, started)
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
		outcome.suggestion, outcome.fix_required = turn.advice, budget.FIX
	end
	if turn.reserved and not started then
		all.cost_micros = 0
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
		budget.settle(run, turn.key, turn.reserved, turn.usage and cost or not turn.usage and 0 or nil)
		turn.reserved = nil
	end })
end

return M
