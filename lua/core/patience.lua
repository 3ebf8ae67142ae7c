-- patience: how long a command waits for something that goes on elsewhere, such as a job.

local M = {}

---ms that never pass.
M.FOREVER = 1 << 42

---The row of the argument, for a declaration.
M.argument = { "for", "duration", description = "Wait no longer than this; then the answer is INCOMPLETE" }

---The flag --for, or what the agent that calls may wait (AGENT_CALL_BUDGET_MS).
---@param args table
---@return integer? ms nil: as long as it takes
function M.of(args)
	local environment = math.tointeger(tonumber(os.getenv "AGENT_CALL_BUDGET_MS"))
	return args["for"] and math.floor(args["for"] * 1000 + 0.5) or environment and environment > 0 and environment or nil
end

return M
