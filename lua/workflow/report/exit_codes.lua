-- exit_codes: how the commands about workflows may end besides what every command may: for
-- their help and the manifest. It decides nothing.

local M = {}

local NO_RUN = { description = "No run has this id" }
local SEVERAL = { description = "Several runs have ids that begin so" }

---Commands that take the id of a run.
M.of_id = { NOT_FOUND = NO_RUN, CONFLICT = SEVERAL }

-- The identical call would begin another run.
local function final(description, code)
	return { code = code, retryable = false, side_effects = "partial", description = description }
end

---What ends a run: the code of the step that failed, or nobody knows about one.
---@param more? table<string, table> what else there is
---@return table<string, table>
function M.of_run(more)
	local out = {
		TIMEOUT = final "A time limit was reached",
		RATE_LIMITED = final "A step failed: too many requests",
		UNAVAILABLE = final "A step failed: a service or the network was unavailable",
		AUTH_REQUIRED = final "A step failed: valid credentials are needed",
		PAYMENT_REQUIRED = final "A step failed: a plan or payment is needed",
		STEP_IN_DOUBT = final("A step was running when its runner died, and nobody knows whether it has done its work", 81),
	}
	for name, entry in pairs(more or {}) do
		out[name] = entry
	end
	return out
end

return M
