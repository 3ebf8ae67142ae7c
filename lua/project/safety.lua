-- safety: may a command that changes something run, and how: the dry run, the confirmation of a destructive call, the
-- effect that its data should name, and after a failure the `rollback` of its declaration (--rollback-on-failure).
-- A phase of lua/boot.lua; loaded for commands that are not safe. It asks no person: lua/ctx/destructive.lua does.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

local EFFECTS = { created = true, updated = true, deleted = true, noop = true }

local function meta(name, value)
	host.send("META", { name = name, data = tostring(value) }, true)
end

-- Flag, the author's own argument, variable, declaration: the first that says something.
---@param a runner.Attempt
---@return boolean
function M.wants_dry_run(a)
	local framework = a.framework
	if a.policy and a.policy.dry_run then
		return true
	elseif framework.dry_run ~= nil then
		return framework.dry_run
	end
	return a.parsed.values.dry_run == true or os.getenv "RUNNER_DRY_RUN" == "1"
		or a.command.safe_default and not framework.live or false
end

-- What would run, where run itself does not know dry runs. Of what destroys something that is too little, and said.
local function preview(a)
	if a.command.danger_level == "destructive" then
		attempt.warn("DRY_RUN_UNDECLARED", ("'%s' has no dry run of its own: would_affect says how it was called, not what it would do"):format(
			require("runner.core.command_line").typed(a.name)))
	end
	return { success = true, data = {
		effect = "would_run", would_affect = require("runner.core.confirmation").call(),
	} }
end

local function begin_dry_run(a)
	meta("dry_run", true)
	host.setenv("RUNNER_DRY_RUN", "1")
	if not a.command.dry_run and a.parsed.values.dry_run ~= true then -- the author's argument is the author's business
		return preview(a)
	end
end

-- Who says so, for the ledger. approval: what waited elsewhere is decided with it
local function agreed(a, approval)
	if not a.project.audit or a.launch.confirmed then -- a retry: the first attempt has said it
		return nil
	end
	local flag = a.framework.confirm_destructive and "--confirm-destructive" or not a.call.vouched and "--live" or nil
	approval = a.call.approved and a.call.approved.id or approval
	local problem = require("runner.core.confirmation").decided("confirmed", { flag = flag, approval = approval,
		by = a.call.approved and "terminal" or flag and "flag" or "client" })
	return problem and { error = problem }
end

local function confirm(a)
	local framework, launch = a.framework, a.launch
	local by_live = framework.live and not (a.call.asks or a.policy and not a.policy.confirm_by_flag)
	local vouched = a.call.vouched and not (a.call.vouched == "caller" and a.policy and (a.policy.asked or not a.policy.confirm_by_flag))
	if framework.confirm_destructive or by_live or launch.confirmed or vouched or launch.job and a.policy and a.policy.asked then
		local answer, approval
		-- lua/ctx/destructive.lua looks at that, but for a form where there is room
		local over = a.policy and a.policy.over and (a.policy.over.full[1] or a.call.vouched ~= "person")
		if not (a.call.approved or over) and (a.policy or os.getenv "RUNNER_CLIENT") then
			answer, approval = require("runner.state.pending_calls").settled(a, true)
		end
		if answer then
			return answer
		end
		meta("confirmed", true)
		return agreed(a, approval)
	end
	local asks = launch.person and not framework.non_interactive
	if asks then
		return nil, "ask"
	end
	local pending = require "runner.state.pending_calls"
	local tries = a.command.dry_run and not (a.policy and a.policy.confines) -- what is confined couldn't write it down
	local answer = pending.answer(a) or not tries and { error = pending.refused(a) } or nil
	return answer, "refuse"
end

-- Each row of a stream is a change of its own.
local function warn_of_rows(a)
	if a.rows.lacking > 0 then
		attempt.warn("EFFECT_MISSING", ("'%s' is %s, but %d of its rows have no effect"):format(
			require("runner.core.command_line").typed(a.name), a.command.danger_level, a.rows.lacking))
	end
end

-- Where a command that is needed notes that it changes something, for those beside it that fail.
local noted ---@type string?

local function note_change(a)
	local dir = (os.getenv "RUNNER_NEEDS" or ""):match "^(/[^\n]*)\n"
	noted = dir and ("%s/%s.changes"):format(dir, a.launch.request_id)
	if noted then
		require("runner.fs").create(noted, "")
	end
end

-- The caller is told whether it has changed something.
local function tell(answer, effect)
	local nothing = answer.success and effect == "noop" or not answer.success and answer.error and answer.error.side_effects == "none"
	if noted and nothing and attempt.launch.attempt == 1 then
		require("runner.fs").unlink(noted)
	elseif not nothing and os.getenv "RUNNER_CALLED" == "ctx:call" then
		meta("changed", true)
	end
end

-- What `run` has returned: a change without an effect is a warning, and nothing more. A job's is its own.
local function finish(a, answer)
	local data = answer.data
	local effect = type(data) == "table" and rawget(data, "effect")
	tell(answer, effect)
	if a.job then
		return
	end
	if a.framework.idempotency_key then
		require("runner.project.idempotency").finish(a, answer)
	end
	if not answer.success or a.command.raw or a.command.task then -- whose data is an exit status, or what a script prints
		return
	end
	if a.rows then
		return warn_of_rows(a)
	end
	if not EFFECTS[effect] then
		attempt.warn("EFFECT_MISSING", ("'%s' is %s, but data.effect is %s, not created, updated, deleted or noop"):format(
			require("runner.core.command_line").typed(a.name), a.command.danger_level, effect and ("%q"):format(tostring(effect)) or "missing"))
	end
end

---Decide it. An answer ends the call before `run`.
---@param a runner.Attempt
---@return {dry_run?: boolean, wrapper?: string|false, unconfirmed?: "ask"|"refuse"}
---@return runner.Answer?
function M.settle(a)
	local changed = a.call.approved and require("runner.state.pending_calls").changed(a)
	if changed then
		return {}, { error = changed }
	elseif a.call.asks == "declined" then
		return {}, require("runner.state.pending_calls").settled(a, false)
	elseif M.wants_dry_run(a) then
		local looks, over = a.call.asks == "look", a.policy and a.policy.over
		local told = looks and require("runner.state.pending_calls").answer(a)
		if told or looks and over and over.full[1] then -- no form makes room
			return {}, told or { error = over.denied() }
		end
		return { dry_run = true, wrapper = a.command.dry_run and "runner.ctx.dry_run" or false }, begin_dry_run(a)
	end
	if a.command.safe_default then
		meta("dry_run", false)
	end
	local answer, unconfirmed
	if a.command.danger_level == "destructive" then
		answer, unconfirmed = confirm(a)
	elseif a.call.approved then
		meta("confirmed", true)
		answer = agreed(a)
	end
	if a.command.danger_level ~= "safe" and not (a.policy and a.policy.asked == "safe") then
		if not answer then
			note_change(a)
		end
		attempt.at_end(function(given)
			finish(a, given)
		end)
	end
	return { unconfirmed = unconfirmed }, answer
end

-- The failure's own data, or a table for what is said here.
local function data_of(e)
	local data = attempt.wrap(e.data)
	return type(data) == "table" and data[1] == nil and data or {}
end

local function undo(a, e)
	local ok, raised, traceback, cancelled = host.protect(a.command.rollback, a.parsed.values, a.ctx, e)
	if cancelled and not ok then
		error("cancelled", 0)
	end
	return ok, not ok and errors.normalise(raised, traceback).message or nil
end

local began = false -- has the author's `run`, and not in a dry run?

---Have noted that the author's `run` begins: what is refused before has nothing to undo. Called before all that stands around it.
---@param a runner.Attempt
function M.watch(a)
	attempt.around("run", function(run, given, ctx)
		began = began or not (a.dry_run or ctx.dry_run)
		return run(given, ctx)
	end)
end

---Undo what a failed run did, where the caller wants it, and say so in its data.
---@param a runner.Attempt
---@param e runner.Error
---@return runner.Error
function M.roll_back(a, e)
	local out = require("runner.core.tables").add({}, data_of(e))
	out.rollback_status = "not_attempted"
	if not began then
		return require("runner.core.tables").add(e, { data = out })
	end
	if a.framework.rollback_on_failure then
		local done, why = undo(a, e)
		out.rollback_status, out.rollback_error = done and "completed" or "failed", why
		out.resume_from = a.command.resumable and require("runner.json").null or nil -- those steps are undone
	end
	e.data = out
	return e
end

return M
