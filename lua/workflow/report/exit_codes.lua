-- exit_codes: the exit codes of the workflow commands, beyond those of every command:
-- for their help and the manifest. It decides nothing.

local M = {}

local NO_RUN = { description = "No run with this ID" }
local SEVERAL = { description = "Ambiguous ID: several runs match" }

---Commands that take the id of a run.
M.of_id = { NOT_FOUND = NO_RUN, CONFLICT = SEVERAL }

-- The identical call would start another run.
local function final(description, code)
	return { code = code, retryable = false, side_effects = "partial", description = description }
end

---How a run may fail: with the code of the failed step, or with a step in doubt.
---@param more? table<string, table> further codes
---@return table<string, table>
function M.of_run(more)
	local out = {
		TIMEOUT = final "A time limit was reached",
		RATE_LIMITED = final "A step failed: too many requests",
		UNAVAILABLE = final "A step failed: a service or the network was unavailable",
		AUTH_REQUIRED = final "A step failed: its credentials were rejected",
		PAYMENT_REQUIRED = final "A step failed: payment is required",
		STEP_IN_DOUBT = final("A step was running when its runner died, and nobody knows whether it finished", 81),
		BUDGET_EXHAUSTED = final("The budget of a step or of the run is used up", 82),
	}
	for name, entry in pairs(more or {}) do
		out[name] = entry
	end
	return out
end

return M
