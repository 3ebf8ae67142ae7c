-- wrappers: what runs around a command's `run`: its rate and breaker, the commands that it needs, whether its files
-- have changed, and the hooks of the project. In that order before it, in the reverse order after it.
-- Loaded for a command that declares one of these, or whose project has hooks.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local throttle = require "runner.state.throttle"

local M = {}

-- Why a function failed, nil: it didn't; and what it returned, nil: it raised. Ends with a cancellation.
local function outcome_of(fn, ...)
	local result = table.pack(host.protect(fn, ...))
	if not result[1] and result[4] then
		error("cancelled", 0)
	elseif not result[1] then
		return errors.normalise(result[2], result[3]), nil
	end
	local failed = not result[2] and result[3] ~= nil
	return failed and require("runner.core.returned").failure(result[2], result[3], result[4]) or nil,
		table.move(result, 2, result.n, 1, { n = result.n - 1 })
end

-- --- hooks, needs, sources -------------------------------------------------------------

-- The work itself, unless nothing has changed.
local function work(a, values, ctx)
	local command = a.command
	local refused = a.policy and a.policy.values and a.policy.values(values) -- before anything that it needs
	if refused then
		error(refused, 0)
	end
	if command.needs or command.parallel then
		require("runner.ctx.needs").meet(ctx, command)
	end
	if command.env then
		require("runner.ctx.task").set_variables(command.env)
	end
	local files = command.sources and require("runner.ctx.up_to_date").look(a)
	local done = (files and files.unchanged or not files and command.status) and not a.framework.rebuild
	if done and (not command.status or require("runner.ctx.task").is_done(ctx, command, values)) then
		return { effect = "noop", unchanged = true }
	end
	local returned = table.pack(attempt.wrapped "run"(values, ctx))
	if files and not (not returned[1] and returned[2] ~= nil) then
		files:keep()
	end
	return table.unpack(returned, 1, returned.n)
end

-- The hooks of the project and of the command's group, the outer one first.
local function hooks_of(a)
	local list, project = {}, a.project or {}
	if not (project.root and (a.found.folder == project.commands or a.found.vendored)) then
		return list
	end
	list[1] = (project.before or project.after) and project or nil
	local groups, prefix = project.groups or {}, ""
	for word in a.name:gmatch "([^.]+)%." do
		prefix = prefix == "" and word or prefix .. "." .. word
		list[#list + 1] = groups[prefix]
	end
	return list
end

local function call_of(a, values)
	return { command = a.name, args = values, attempt = a.launch.attempt, danger_level = a.command.danger_level }
end

-- A hook after the work can't change what has happened: its failure is a warning.
local function after(hooks, ctx, call)
	for i = #hooks, 1, -1 do
		if hooks[i].after then
			local ok, raised, _, cancelled = host.protect(hooks[i].after, ctx, call)
			if not ok and cancelled then
				error("cancelled", 0)
			elseif not ok then
				attempt.warn("HOOK_FAILED", "a hook behind the command failed: " .. errors.normalise(raised).message)
			end
		end
	end
end

local function with_hooks(a, values, ctx)
	local hooks = hooks_of(a)
	if not hooks[1] then
		return work(a, values, ctx)
	end
	if a.command.needs then
		require("runner.ctx.needs").leave_terminal()
	end
	local call = call_of(a, values)
	for _, hook in ipairs(hooks) do
		if hook.before then
			hook.before(ctx, call)
		end
	end
	local failure, returned = outcome_of(work, a, values, ctx)
	call.ok, call.error, call.data = not failure, failure, returned and returned[1] or nil
	after(hooks, ctx, call)
	if not returned then
		error(failure, 0)
	end
	return table.unpack(returned, 1, returned.n)
end

-- --- rate and breaker: lua/state/throttle.lua decides, and keeps the numbers -----------

local WORDS = {
	rate = "%s may be called %d times in %s: the next call is possible in %s",
	breaker = "%s has failed %d times within %s: it is called again in %s",
}

local function refuse(a, refused)
	local limit = refused.by == "rate" and a.command.rate.calls or refused.failures
	local window = a.command[refused.by].window_ms
	errors.raise("UNAVAILABLE", WORDS[refused.by]:format(a.name, limit, host.duration_text(window), host.duration_text(refused.left_ms)), {
		retryable = true, side_effects = "none", retry_after_ms = refused.left_ms,
		context = { throttled_by = refused.by, left_ms = refused.left_ms, window_ms = window, count = limit },
	})
end

-- Is it a failure of what the command talks to? A call that was wrong says nothing of that.
local function counts(e)
	if e.retryable ~= nil then
		return e.retryable ~= false
	end
	local known = host.registry_code(e.code)
	return not known or known.retryable ~= "false"
end

-- Run it, if it may be called now. Raises UNAVAILABLE with retry_after_ms otherwise.
local function throttled(a, run)
	local key = throttle.key(a)
	local limit_ms = a.settled.attempt_timeout_ms > 0 and a.settled.attempt_timeout_ms or a.settled.timeout_ms
	local call, refused = throttle.admit(key, a.command, limit_ms > 0 and limit_ms + a.settled.grace_ms or nil)
	host.send("META", { name = "throttle", data = json.encode(throttle.describe(key, a.command), { envelope = true }) }, true)
	if refused then
		refuse(a, refused)
	end
	local failure, returned = outcome_of(run) -- after a cancellation, throttle.admit sees it when its time is over
	throttle.conclude(key, a.command, call, not failure and "succeeded" or counts(failure) and "failed" or "other")
	if not returned then
		error(failure, 0)
	end
	return table.unpack(returned, 1, returned.n)
end

---`run` with all that stands around it; returns and raises as that does.
---@param values table
---@param ctx runner.Context
---@return any ...
function M.run(values, ctx)
	local a = attempt
	if not (a.command.breaker or a.command.rate) then
		return with_hooks(a, values, ctx)
	end
	return throttled(a, function()
		return with_hooks(a, values, ctx)
	end)
end


return M
