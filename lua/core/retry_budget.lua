-- retry_budget: the retries that loops inside of this attempt may still make, and those that a command which we call
-- may make (RUNNER_RETRY_BUDGET), so that a call and all that it calls have one budget between them
-- (docs/design.md#one-budget). Loaded where there is such a loop, where a command calls another one, and in the one
-- that is called.

local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

local VARIABLE = "RUNNER_RETRY_BUDGET" -- "all:N": every kind of retry; "attempts:N": those of attempts
local lent = 0 -- to calls that have not answered yet
local called = 0 -- retries that our calls of this attempt have made
local inner = 0 -- all that were made inside of this attempt, those of our calls included
local followed -- in the place of the flags of this call

---Keep the flags of the call whose work this one does.
---@param flags {retries_given?: integer, retry_delay_ms?: integer}
function M.follow(flags)
	followed = flags
end

local function flags_given()
	return followed or attempt.settled or {}
end

---Retries that --retries still allows; nil if the caller gave no budget.
---@return integer?
function M.budget()
	local given = flags_given().retries_given
	return given and math.max(given - attempt.launch.repeats_made - inner, 0)
end

---The base delay of every kind of retry, where --retry-delay gives it.
---@return integer?
function M.delay_ms()
	return flags_given().retry_delay_ms
end

---Report a retry inside the attempt (meta.retries counts it).
function M.note()
	inner = inner + 1
	host.send("RETRY", { event = "repeat" })
end

---How many retries calls of ours may make in all, and of which kind; nil: nothing here bounds them.
---@return integer? left
---@return "all"|"attempts"? kind
function M.left()
	local budget = M.budget()
	if budget then
		return math.max(budget - lent, 0), "all"
	end
	local settled = attempt.settled or { policy = { retries = 0 } }
	local most = settled.allowed or settled.policy.retries > 0 and settled.policy.retries
	if most then
		return math.max(most - (attempt.launch.attempt - 1) - attempt.launch.called_made - called - lent, 0), "attempts"
	end
end

---@class runner.RetryBudget
---@field env table<string, string|false> for the call

---What a call may repeat, until it is settled.
---@param share? integer no more than this
---@return runner.RetryBudget
function M.take(share)
	local left, kind = M.left()
	local n = left and math.min(share or left, left) or 0
	lent = lent + n
	return { n = n, env = { [VARIABLE] = left and ("%s:%d"):format(kind, n) or false, RUNNER_OUTER_RETRIES = false } }
end

---The call has ended: what it has repeated counts as ours (meta.retries).
---@param budget runner.RetryBudget
---@param envelope? table
function M.settle(budget, envelope)
	local made = envelope and type(envelope.meta) == "table" and math.tointeger(envelope.meta.retries) or 0
	lent = lent - budget.n
	if made > 0 then
		called, inner = called + made, inner + made
		host.send("RETRY", { event = "called", attempt = made })
	end
end

---Keep within what our caller allows. What `run` starts is told again.
---@param settled table of lua/project/settings.lua
function M.narrow(settled)
	local kind, n = (os.getenv(VARIABLE) or ""):match "^(%l+):(%d+)$"
	local policy, most = settled.policy, math.tointeger(tonumber(n))
	host.setenv(VARIABLE, nil)
	if not most then
		return
	elseif policy.retries < 0 or policy.retries > most then
		policy.retries, settled.retry_from.retries = most, "outer run"
	end
	if kind == "all" then
		settled.retries_given = math.min(settled.retries_given or most, most)
	else
		settled.allowed = most
	end
end

return M
