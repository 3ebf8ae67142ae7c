-- approved: a call that waited for a person, made once that person has agreed: as it was made then, with its directory and its policies,
-- and what it read of its environment.

local calls = require "runner.calls.calls"

local M = {}

-- Ours hold as well.
local function policies(theirs)
	local ours = os.getenv "RUNNER_POLICY"
	return ours and theirs and ours .. ":" .. theirs or ours or theirs
end

---@param gate {id: string, digest: string, call: table} of lua/state/pending_calls.lua
---@return table envelope
function M.run(gate)
	local call, env = gate.call, require("runner.core.tables").add({}, gate.call.env)
	env.RUNNER_POLICY = policies(env.RUNNER_POLICY)
	local answer
	require("runner.task.scheduler").run(function()
		answer = calls.run { command = call.command, typed = call.words, env = env, cwd = call.cwd,
			confirmed = { id = gate.id, digest = gate.digest } }
	end)
	return answer
end

return M
