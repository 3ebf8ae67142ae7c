-- safety: may a command that changes something run, and how: the dry run, the
-- confirmation of a destructive call, and the effect that its data should name. A phase of
-- lua/boot.lua; loaded for commands that are not safe. It asks nobody: lua/ctx/confirm.lua does.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

local EFFECTS = { created = true, updated = true, deleted = true, noop = true }

local function meta(name, value)
	host.send("META", { name = name, data = tostring(value) }, true)
end

-- Flag, the author's own argument, variable, declaration: the first that says something.
local function wants_dry_run(a)
	local framework = a.framework
	if a.policy and a.policy.dry_run then
		return true
	elseif framework.dry_run ~= nil then
		return framework.dry_run
	end
	return a.parsed.values.dry_run == true or os.getenv "RUNNER_DRY_RUN" == "1"
		or a.command.safe_default and not framework.live or false
end

-- What would run, where run itself does not know dry runs.
local function preview()
	return { success = true, data = {
		effect = "would_run", would_affect = require("runner.core.confirmation").call(),
	} }
end

local function begin_dry_run(a)
	meta("dry_run", true)
	host.setenv("RUNNER_DRY_RUN", "1")
	if not a.command.dry_run and a.parsed.values.dry_run ~= true then -- the author's argument is the author's business
		return preview()
	end
end

local function confirm(a)
	local framework, launch = a.framework, a.launch
	local by_live = framework.live and not (a.policy and not a.policy.confirm_by_flag)
	if framework.confirm_destructive or by_live or launch.confirmed or a.vouched then
		return meta("confirmed", true)
	end
	local asks = launch.person and not framework.non_interactive
	if not (asks or a.command.dry_run) then
		return { error = require("runner.core.confirmation").required("pass --confirm-destructive") }
	end
	a.unconfirmed = asks and "ask" or "refuse"
end

-- Each row of a stream is a change of its own.
local function warn_of_rows(a)
	if a.rows.lacking > 0 then
		attempt.warn("EFFECT_MISSING", ("'%s' is %s, but %d of its rows have no effect"):format(
			require("runner.core.command_name").typed(a.name), a.command.danger_level, a.rows.lacking))
	end
end

---What `run` has returned: a change without an effect is a warning, and nothing more.
---@param a runner.Attempt
---@param answer runner.Answer
function M.finish(a, answer)
	if a.claimed then
		require("runner.project.once").finish(a, answer)
	end
	if not answer.success or a.command.raw then -- whose data is an exit status
		return
	end
	if a.rows then
		return warn_of_rows(a)
	end
	local data = answer.data
	local effect = type(data) == "table" and rawget(data, "effect")
	if not EFFECTS[effect] then
		attempt.warn("EFFECT_MISSING", ("'%s' is %s, but data.effect is %s, not created, updated, deleted or noop"):format(
			require("runner.core.command_name").typed(a.name), a.command.danger_level, effect and ("%q"):format(tostring(effect)) or "missing"))
	end
end

---Decide it. An answer ends the call before `run`.
---@param a runner.Attempt
---@return runner.Answer?
function M.settle(a)
	a.dry_run = wants_dry_run(a)
	if a.dry_run then
		a.around = a.command.dry_run and "runner.ctx.dry_run" or nil
		return begin_dry_run(a)
	end
	if a.command.safe_default then
		meta("dry_run", false)
	end
	a.finish = M.finish
	return a.command.danger_level == "destructive" and confirm(a) or nil
end

return M
