-- doubt: a step in doubt: it was running when its runner died. Did it finish? Its
-- `verify` command answers; without one the step is repeated only where that is
-- harmless or the user has decided. Changing its state is up to attempts.lua.

local errors = require "runner.core.errors"
local hooks = require "runner.workflow.run.hooks"

local M = {}

local HARMLESS = { none = true }

-- 0: it finished; 1: it did not; anything else is not an answer.
local function verified(run, step, key, scope)
	local result = hooks.run(run, step.verify, key, scope, "verify")
	if result.ok then
		return "done"
	elseif result.status == 1 then
		return "repeat"
	end
	return nil, ("its verify command %s"):format(result.error or result.signal and "was killed by " .. result.signal
		or result.timed_out and "timed out" or "exited with status " .. tostring(result.status))
end

---@param run table
---@param key string
---@param why string
local function raise(run, key, why)
	errors.raise("STEP_IN_DOUBT", ("Step %s was running when its runner died, and %s"):format(key, why), {
		retryable = false, side_effects = "partial",
		fix_required = "Find out whether the step finished its work",
		suggestion = ("If it did: runner workflow resume %s --mark-done %s. If not: runner workflow resume %s --retry-in-doubt")
			:format(run.id, key, run.id),
		context = { run = run.id, step_key = key },
	})
end

---What to do with it: "done" or "repeat"; raises STEP_IN_DOUBT where nobody knows.
---@param run table `retry_in_doubt` is the user's decision
---@param step table
---@param key string
---@param scope table
---@param interrupted boolean we ended it (Ctrl+C): certainly not done
---@return "done"|"repeat"
function M.settle(run, step, key, scope, interrupted)
	local why = "nothing says whether it is safe to repeat"
	if step.verify then
		local answer
		answer, why = verified(run, step, key, scope)
		if answer then
			return answer
		end
	end
	if interrupted or step.idempotent or HARMLESS[step.side_effects] or run.retry_in_doubt then
		return "repeat"
	end
	raise(run, key, why)
end

return M
