-- limited_calls: one call under policies that say more than names (lua/project/policy_limits.lua): its arguments, before and where
-- `run` gets them; what is used up; the count of it. Loaded for a call under such a policy.

local attempt = require "runner.core.attempt"
local caller_policy = require "runner.project.caller_policy"
local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local limits = require "runner.project.policy_limits"

local M = {}

-- What has refused a call: the rule, what would be allowed, and when.
local function refused_by(refusal)
	local policy = refusal.policy
	if refusal.error then
		return refusal.error
	elseif refusal.invalid then
		return caller_policy.invalid(policy.path, ("%s: %s"):format(policy.path, refusal.why), refusal.rule == "counts"
			and "Make its folder one that only you can write to, or name such a folder in 'counts'" or "Correct the policy: runner policy check")
	end
	return caller_policy.refused(policy, refusal.rule, ("'%s' is not allowed: %s"):format(command_line.typed(attempt.name), refusal.why),
		{ context = refusal.context })
end

-- This call, as limits know it. What is above a quota only `approve` agrees to: who fills in a client's form isn't known.
local function call_of(a)
	return { name = caller_policy.full_name(a), builtin = not a.found.path, command = a.command, job = a.launch.job,
		agreed = a.call.approved ~= nil }
end

-- Why it may not run with these values.
local function refused_values(a, given)
	for _, policy in ipairs(a.policy.list) do
		local refusal = limits.by_arguments(policy, call_of(a), given)
		if refusal then
			return refused_by(refusal)
		end
	end
end

-- --- before it --------------------------------------------------------------------------------

local INFORMS = { "help", "schema", "output_schema", "version" }

local function informs(framework)
	for _, name in ipairs(INFORMS) do
		if framework[name] then
			return true
		end
	end
	return false
end

-- What is used up, and how long the call may take of what is left. What a person may agree to is noted.
local function look_at_quotas(a, settled)
	local pending, checks = require "runner.state.pending_calls", a.policy.checks
	local may_not_run = a.command.sources or a.command.status or a.framework.idempotency_key -- its files are unchanged, say
	local call, all, found, refused = call_of(a), a.policy, nil, nil
	for _, policy in ipairs(all.list) do
		local refusal, left_ms = limits.by_quotas(policy, call)
		local over = not call.agreed and limits.asks(policy, call) and (all.over or { full = {},
			denied = function() return refused_by(all.over.full[1]) end })
		if over then
			all.over = over -- lua/ctx/destructive.lua looks at it
			over.is_run = over.is_run or not call.job and limits.is_run(policy, call)
			refusal = refusal or over.is_run and limits.is_run(policy, call) and limits.reserve(policy) or nil
		end
		found = found or refusal
		if refusal and refusal.invalid then
			return refused_by(refusal)
		elseif refusal and refusal.asks and (checks or not may_not_run) and pending.may_wait(a) then
			over.full[#over.full + 1] = refusal
		else
			refused = refused or refusal
		end
		local until_end = policy.expires and policy.expires - host.wall_ms() or 0 -- below 0: help and the manifest go on
		for _, most in ipairs { limits.is_timed(call, 1) and left_ms or 0, until_end } do
			if most > 0 and not settled.serve_ms then
				caller_policy.narrow_timeout(settled, most)
			end
		end
	end
	if checks and found and may_not_run then
		attempt.warn("POLICY_UNKNOWN", "A call that has nothing to do, or whose key has an answer already, is made above a quota, too")
	end
	-- Where no more than a flag is missing, that is said first; no person is asked about what is refused all the same.
	local lacks_flag = a.command.danger_level == "destructive" and not (a.launch.person or a.framework.confirm_destructive or a.call.vouched)
		and not pending.is_for_person(a)
	return refused and (checks or not may_not_run) and not lacks_flag and refused_by(refused) or nil
end

-- --- where `run` begins ---------------------------------------------------------------------------

local counted, ends = false, {}

-- How long it has taken, whatever ends it.
local TIMED = setmetatable({}, { __close = function()
	for _, ended in ipairs(ends) do
		ended()
	end
	ends = {}
end })

-- Another call was faster: it waits for a person, where that is how it would have been.
local function refused_now(a, refusal)
	local over = a.policy.over
	if over and refusal.asks and require("runner.state.pending_calls").may_wait(a) then
		over.full = { refusal }
		return require("runner.state.pending_calls").refused(a)
	end
	return refused_by(refusal)
end

-- Nothing was done: where RUN has been sent, too, it ends as it does before that (docs/design.md#exit-2).
local function refuse(e)
	e.exit_code = e.code == "CONFIRMATION_REQUIRED" and e.side_effects == "none" and 2 or nil
	error(e, 0)
end

-- Count it, by all policies or by none.
local function count(a, call, limit_ms, starts)
	local list, refusal = a.policy.list, nil
	for _, policy in ipairs(list[2] and list or {}) do
		refusal = refusal or limits.by_quotas(policy, call)
	end
	for i, policy in ipairs(refusal and {} or list) do
		refusal, ends[#ends + 1] = limits.count(policy, call, limit_ms, starts)
		for k = refusal and i - 1 or 0, 1, -1 do -- another call was faster
			limits.take_back(list[k], call, starts)
		end
		if refusal then
			break
		end
	end
	if refusal then
		return refused_now(a, refusal)
	end
	local over = a.policy.over
	local decided = over and (starts or not over.is_run) and require("runner.state.pending_calls").take_back(a)
	for _, policy in ipairs(decided and list or {}) do
		limits.take_back(policy, call, starts)
	end
	return decided
end

---The call has come to `run`, with these values: it is counted, once for all of its attempts. Raises POLICY_DENIED,
---POLICY_INVALID where it can't be counted, or CONFIRMATION_REQUIRED.
---@param a runner.Attempt
---@param given table<string, any>
---@param dry_run? boolean nothing is counted
function M.reach(a, given, dry_run)
	dry_run = dry_run or a.dry_run
	local wrong = refused_values(a, given)
	if wrong then
		error(wrong, 0)
	end
	local e = not (counted or dry_run) and count(a, call_of(a), a.settled.serve_ms or a.settled.timeout_ms)
	if e then
		e.side_effects = (a.command.needs or a.command.parallel) and "partial" or "none" -- which have run by then
		refuse(e)
	end
	counted = counted or not dry_run
end

local run_cost ---@type integer? what a run may cost, where the command has said so

---Count a job that this call starts, whose lock it holds: it has no person to ask. Raises as M.reach does.
---@param a runner.Attempt
---@param path string its folder
function M.job(a, path)
	local call, asks = call_of(a), false
	for _, policy in ipairs(a.policy.list) do
		local refusal = limits.count_job(policy, call, path)
		if refusal then
			error(refused_by(refusal), 0)
		end
		asks = asks or limits.asks(policy, call)
	end
	call.job, call.folder = path:match "[^/]+$", path
	call.takes_rest = a.settled.sources.timeout == "outer run" -- whose limit isn't the job's
	local e = asks and count(a, call, a.settled.timeout_ms, true)
	for _, policy in ipairs(e and {} or a.policy.list) do
		local refusal = limits.is_run(policy, call)
			and limits.reserve(policy, (call.job:gsub("^job", "run")), run_cost, call.agreed, path)
		e = e or refusal and refused_now(a, refusal)
	end
	if e then
		error(e, 0)
	end
end

---Reserve what a run of a workflow may cost. Raises as M.reach does.
---@param id string of the run
---@param wanted? integer micro-dollars
---@return integer? micros nil: no policy says so
function M.reserve(id, wanted)
	for _, policy in ipairs(attempt.policy.list) do
		local refusal
		if policy.total_cost_usd then
			refusal, wanted = limits.reserve(policy, id, wanted, call_of(attempt).agreed)
		end
		if refusal then
			refuse(refused_now(attempt, refusal))
		end
	end
	local over = attempt.policy.over
	local decided = over and over.is_run and require("runner.state.pending_calls").take_back(attempt)
	if decided then
		refuse(decided)
	end
	return wanted
end

---What a run has cost.
---@param id string
---@param micros integer
function M.spent(id, micros)
	for _, policy in ipairs(attempt.policy.list) do
		local problem = policy.total_cost_usd and limits.spent(policy, id, micros)
		if problem then
			attempt.warn("POLICY_UNCOUNTED", ("What run %s has cost could not be noted, so that %s counts all that it might have: %s"):format(id,
				policy.path, problem))
		end
	end
end

local function has_hooks(a)
	local has = a.project.before
	for _, group in pairs(a.project.groups or {}) do
		has = has or group.before
	end
	return has and true or false
end

-- Do `validate` or a hook say what they come to?
local function are_changed(a)
	return a.command.validate and true or has_hooks(a)
end

-- --- a call that is only checked ---------------------------------------------------------------

-- Is a person asked before it? As lua/project/safety.lua has it.
local function is_asked(a, dry_run)
	local f, policy, vouched = a.framework, a.policy, a.call.vouched
	local confirmed = f.confirm_destructive or f.live and policy.confirm_by_flag
		or vouched and not (vouched == "caller" and (policy.asked or not policy.confirm_by_flag))
	return not dry_run and (a.command.requires_person or a.command.danger_level == "destructive" and not confirmed) and true or nil
end

-- What of it the end of the call would refuse: it has come so far, and nothing is counted.
local function refused_later(a)
	for _, policy in ipairs(a.policy.list) do
		local refusal = a.job and limits.count_job(policy, call_of(a)) or not a.found.path and a.name == "workflow.run"
			and policy.total_cost_usd and limits.reserve(policy) or nil
		if refusal then
			return refused_by(refusal)
		end
	end
end

local about ---@type table? what `policy check` is told of this call

-- The quotas for which a person is asked.
local function above_of(over)
	local out = over and over.full[1] and json.array {} or nil
	for i, one in ipairs(out and over.full or {}) do
		out[i] = { policy = one.policy.path, rule = one.rule, why = one.why, context = one.context }
	end
	return out
end

-- Keep that (lua/calls/checked.lua), or say why it is refused.
local function verdict(a)
	local dry_run = a.command.danger_level ~= "safe" and require("runner.project.safety").wants_dry_run(a)
	local over = not dry_run and a.policy.over or nil
	local refused = not dry_run and not (over and over.full[1]) and refused_later(a)
	if refused then
		return refused
	elseif has_hooks(a) then
		attempt.warn("POLICY_UNKNOWN", "A hook of the project may change the arguments, or refuse the call: it was not asked")
	end
	local asked = over and over.full[1] and true or is_asked(a, dry_run)
	about = { command = caller_policy.full_name(a), builtin = not a.found.path, asked = asked, above = above_of(over), counted = not dry_run,
		confirms = a.command.danger_level == "destructive" and (asked and "needed" or "agreed") or nil,
		calls = a.policy.calls, plain = a.policy.plain,
		needs = not dry_run and { a.command.needs or {}, a.command.parallel or {} } or nil,
		-- where and how it makes them
		cwd = host.getcwd(), settings = a.place.settings, context = os.getenv "RUNNER_CONTEXT", policies = os.getenv "RUNNER_POLICY",
		yes = a.framework.yes,
		dry_run = a.policy.calls and a.parsed.values.dry_run and "1" or os.getenv "RUNNER_DRY_RUN", secrets = a.secrets or nil }
end

-- What has been found out goes to a file of the caller, whatever is asked of the answer; of that nothing is delivered.
local function tell(a, answer)
	local path = a.policy.teller
	about, answer.bare = about or a.information and { command = caller_policy.full_name(a) }, true
	if not (answer.success and about and path) then
		return
	end
	local text, why, notes = json.encode(about, { max = 16 << 20 })
	if text and notes and notes.nonfinite + notes.repaired > 0 then
		text, why = nil, "an argument is not valid UTF-8, has a NUL byte, or is no number"
	end
	local ok = text and fs.create(path, text)
	answer.data = nil
	if not ok then
		answer.success, answer.error = nil, require("runner.core.errors").new("PRECONDITION",
			("What would become of the call can't be told: %s"):format(why or path), { side_effects = "none", retryable = false })
	end
end

-- What it is by now: its arguments are all there, and what follows is `run`. Where it only says something, it is another command.
local function look(a)
	if caller_policy.runs_nothing(a.command) then
		return nil
	end
	local problem = not a.parsed.problems[1] and not are_changed(a) and refused_values(a, a.parsed.values)
	if problem then
		return { error = problem }
	end
	local policy = a.policy
	policy.values = function(given) return refused_values(a, given) end
	policy.costs = function(micros) run_cost = micros end
	policy.reach, policy.job, policy.reserve, policy.spent = M.reach, M.job, M.reserve, M.spent
	attempt.around("run", function(run, given, ctx, ...)
		M.reach(a, given, ctx and ctx.dry_run)
		local _ <close> = TIMED
		return run(given, ctx, ...)
	end)
end

---What the policies say beside names, of a call that is settled so far.
---@param a runner.Attempt
---@param settled table gets a shorter limit where less time is left
---@return runner.Error? problem
function M.settle(a, settled)
	local policy, framework = a.policy, a.framework
	if policy.checks then
		framework.validate_only, policy.verdict = true, verdict
		attempt.at_end(function(answer) tell(a, answer) end)
	end
	if caller_policy.runs_nothing(a.command) or informs(a.framework) then
		return nil
	end
	local unheld = policy.confines and require("runner.project.policy_confine").refusal(a)
	if unheld then
		return refused_by(unheld)
	end
	local project, others = a.project, a.project.look
	project.look = function(at)
		local answer = look(at)
		if answer then
			return nil, answer
		end
		return others and others(at)
	end
	local known = not (are_changed(a) or a.framework.input_file or a.framework.piped or a.parsed.problems[1]) -- else they are looked at later
	return known and refused_values(a, a.parsed.values) or look_at_quotas(a, settled)
end

return M
