-- retry_sources: where each key of the retry policy of a run came from. Loaded for what shows it.

local attempt = require "runner.core.attempt"

---The source of each key of the policy.
---@param settled table from lua/project/settings.lua
---@return table<string, string>
return function(settled)
	local from = settled.retry_from
	local retry, own, out = from.retry or {}, from.own or {}, {}
	local function source(key)
		return retry[key] ~= nil and (own[key] ~= nil and "command" or "runner.lua") or nil
	end
	for key in pairs(require("runner.declare.policy").keys) do
		out[key] = source(key) or "default"
	end
	out.retries = source "retries" or source "delays" or source "max_delay"
		or settled.nested and os.getenv("RUNNER_OUTER_RETRIES") and "outer run" or "default"
	out.strategy, out.delays = source "delays" or out.strategy, nil
	if out.seed == "default" then
		out.seed = attempt.environment_seed() and "environment" or "random"
	end
	out.retries, out.delay = from.retries or out.retries, from.delay or out.delay
	return out
end
