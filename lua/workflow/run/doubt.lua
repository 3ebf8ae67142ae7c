-- doubt: a step in doubt: the end of its last attempt was not seen. Did it do its work? Its `verify`
-- command answers; without one the step runs again only where that is harmless or the user
-- has decided. A step that was cut off with its run is asked about here as well. This is
-- the one place that decides; changing the state of a step is up to attempts.lua.
--
-- A doubt is no failure of a step: it ends the run, whatever holds the step. The first is
-- kept in run.doubt; what starts a step, waits, or catches what steps raise calls
-- M.check, so that no container and no hook can swallow it.

local errors = require "runner.core.errors"
local events = require "runner.workflow.report.events"
local hooks = require "runner.workflow.run.hooks"
local reference = require "runner.core.reference"
local command_line = require "runner.core.command_line"

local M = {}

local HARMLESS = { none = true }

---The code of a step and an attempt whose end was not seen.
M.CODE = "STEP_IN_DOUBT"
---What it says of a step whose shepherd was killed; the store has the text for dead runners.
M.KILLED = "was running when the process in charge of it was killed"

-- 0: it finished; 1: it did not; anything else is not an answer.
local function verified(run, verify, key, scope)
	if type(verify) == "function" then -- the check of its block
		return verify()
	end
	local result = hooks.run(run, verify, key, scope, "verify")
	if result.ok then
		return "done"
	elseif result.status == 1 then
		return "repeat", "its verify command says that its work isn't done"
	end
	return nil, ("its verify command %s"):format(result.error or result.signal and "was killed by " .. result.signal
		or result.timed_out and "timed out" or result.lost and "ended, nothing shows how" or "exited with status " .. tostring(result.status))
end

-- Has the user decided on a step, or on one that it is inside of?
local function is_marked(run, key)
	for marked in pairs(run.mark_done) do
		if reference.holder(marked)(key) then
			return true
		end
	end
	return false
end

-- Other steps of an earlier process that the user has not decided on: --retry-in-doubt means
-- them too.
local function others(run, key)
	local keys = {}
	for _, other in ipairs(run.in_doubt) do
		keys[#keys + 1] = other ~= key and not is_marked(run, other) and not run.settled[other] and other or nil
	end
	return keys
end

local function way_out(run, key, more)
	local also = more[1] and (" This runs these again as well, unless you mark them as done or their verify command finds them"
		.. " done: %s"):format(table.concat(more, ", ")) or ""
	return ("If it did: runner workflow resume %s --mark-done %s. If not: runner workflow resume %s --retry-in-doubt%s")
		:format(run.id, command_line.quoted(key), run.id, more[1] and "." .. also or "")
end

-- From here on nothing else of this run starts.
local function raise(run, key, what, why)
	local more = others(run, key)
	run.doubt = run.doubt or errors.new(M.CODE, ("Step %s %s, and %s"):format(key, what, why), {
		retryable = false, side_effects = "partial",
		fix_required = "Find out whether the step finished its work",
		suggestion = way_out(run, key, more),
		context = { run = run.id, step_key = key, also_in_doubt = more[1] and more or nil },
	})
	error(run.doubt, 0)
end

---Raise the doubt that ends this run, if there is one.
---@param run table
function M.check(run)
	if run.doubt then
		error(run.doubt, 0)
	end
end

-- What answers. A check may pass before its step has begun: it is asked only about an end that was not seen.
local function answer_of(step, cut_off)
	return not (cut_off and type(step.verify) == "function") and step.verify or nil
end

---May it run again whatever it has done?
---@param step runner.workflow.Step
---@return boolean
function M.is_harmless(step)
	return step.idempotent or HARMLESS[step.side_effects] or false
end

-- Why it may run again without asking, if it may.
local function permission(run, step, cut_off, live)
	if M.is_harmless(step) then
		return step.idempotent and "it is idempotent" or "it has no side effects"
	elseif run.retry_in_doubt and not live then
		return "--retry-in-doubt"
	elseif cut_off and step.idempotent == nil and not answer_of(step, cut_off) then
		return ""
	end
end

---What to do with a step whose attempt has no end: "done" or "repeat"; raises STEP_IN_DOUBT
---where that is unknown.
---@param run table `retry_in_doubt` is the user's decision on the steps of an earlier process
---@param turn runner.workflow.Turn
---@param row {code: string, message: string} code: M.CODE, or CANCELLED for one that we ended
---@param live? boolean it has happened in this process: the user doesn't know of it
---@return "done"|"repeat"
function M.settle(run, turn, row, live)
	local step, key, cut_off = turn.step, turn.key, row.code ~= M.CODE
	local what = row.message or "was cut off"
	local verify, answer, why = answer_of(step, cut_off), nil, nil
	if verify then
		answer, why = verified(run, verify, key, turn.scope)
	end
	local allowed = not answer and permission(run, step, cut_off, live)
	if not (answer or allowed) then
		raise(run, key, what, why or cut_off and "`idempotent: false` forbids running it again unasked"
			or "nothing says whether it is safe to repeat")
	end
	run.settled[key] = true
	if answer ~= "done" and not turn.lost then
		events.again(run, key, what, allowed or why)
	end
	return answer or "repeat"
end

return M
