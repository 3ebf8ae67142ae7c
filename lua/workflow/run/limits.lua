-- limits: waiting until a usage limit resets, where the failure names the time. It is no
-- retry that the policy counts, and has a cap of its own: limit_wait, for all such waits
-- of a round together. It decides; lua/workflow/run/attempts.lua commits and waits.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local scheduler = require "runner.task.scheduler"

local M = {}

local SLICE_MS = 60000

---What the attempts of a round say of its waits.
---@param rows table[] attempts of a step, oldest first
---@param round integer
---@return integer ms planned for usage limits
---@return boolean limited its latest attempt waits for one
function M.of(rows, round)
	local ms = 0
	for _, row in ipairs(rows) do
		ms = ms + (row.round == round and row.limit_ms or 0)
	end
	return ms, #rows > 0 and rows[#rows].limit_ms ~= nil
end

-- A failure that isn't waited for says when its run can be resumed.
local function refuse(run, turn, outcome)
	local resets_at = host.rfc3339((host.wall_ms() + outcome.retry_after_ms) // 1000 * 1000)
	outcome.context = outcome.context or {}
	outcome.context.resets_at = resets_at
	outcome.suggestion = ("The limit resets at %s, later than limit_wait (%s) allows. After that: runner workflow resume %s")
		:format(resets_at, host.duration_text(turn.step.retry.limit_wait_ms), run.id)
end

---Is a failure a usage limit that is worth waiting for? nil: no, it is retried like any
---other. --retries, total_timeout and retry_budget hold for this wait too.
---@param run table
---@param turn runner.workflow.Turn
---@param outcome table of a limit that isn't waited for, it gets the way to go on
---@param left_ms number what total_timeout and retry_budget leave
---@return "wait"|"budget"|"limit"|nil verdict limit: it resets later than limit_wait allows
---@return integer? wait_ms to the reset, and the policy's first wait, so that steps don't all start at once
function M.decide(run, turn, outcome, left_ms)
	local own, retry = outcome.resets and outcome.retry_after_ms, turn.step.retry
	if not (own and retry and outcome.transient) or attempt.budget() == 0 then
		return nil
	elseif own <= host.policy_delay(turn.policy, turn.attempt - 1) then
		return nil
	elseif turn.limit_ms + own > retry.limit_wait_ms then
		refuse(run, turn, outcome)
		return "limit"
	end
	local wait_ms = own + host.policy_delay(turn.policy, 0)
	return wait_ms <= left_ms and "wait" or "budget", wait_ms
end

---Wait for the next attempt. For a usage limit it is until a time of the wall clock, but
---never longer than `most_ms`: a machine that slept wakes in time, and a clock that jumped
---back makes it no longer.
---@param run table its `park`, of a run on an executor, may raise instead of waiting for long
---@param turn runner.workflow.Turn
---@param wake_ms integer
---@param most_ms number
---@param on_tick fun(left_ms: number)
function M.sleep(run, turn, wake_ms, most_ms, on_tick)
	if run.park then
		run.park(turn.key, wake_ms, most_ms)
	end
	if not turn.limited then
		return scheduler.sleep(most_ms, on_tick)
	end
	local last = host.now() + most_ms
	while true do
		local left = math.min(last - host.now(), wake_ms - host.wall_ms())
		if left <= 0 then
			return
		end
		local slice = math.min(left, SLICE_MS)
		scheduler.sleep(slice, function(of_slice)
			on_tick(left - slice + of_slice)
		end)
	end
end

return M
