-- usage: what the attempts of claude steps have used so far, in one run: the session that
-- each step is in. Loaded when a run is resumed, kept up to date while it executes; the
-- store has every change first.

local budget = require "runner.workflow.run.budget"
local kinds = require "runner.workflow.kinds.kinds"

local M = {}

local LOST = "No conversation found" -- the program's words for a session that it doesn't have

---@class runner.workflow.UsageSoFar
---@field sessions table<string, string> step key → session of its latest attempt

---@param rows table[] as store:usage gives them
---@return runner.workflow.UsageSoFar
function M.of(rows)
	local sessions = {}
	for _, row in ipairs(rows) do
		sessions[row.key] = row.session_id
	end
	return { sessions = sessions }
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
	return { session_id = run.usage.sessions[turn.key], budget_micros = turn.reserved }
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
		outcome.suggestion, outcome.fix_required = turn.advice, budget.FIX
	end
	if turn.reserved and not started then
		all.cost_micros = 0
	end
	turn.usage = next(all) and all or nil
	run.usage.sessions[turn.key] = all.session_id
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
