-- around: what stands around a command's `run`: its rate and breaker, the commands that it needs,
-- whether its files have changed, and the hooks of the project. In that order; the reverse behind it.
-- Loaded for a command that declares one of these, or whose project has hooks.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

-- The work itself, unless nothing has changed.
local function work(a, values, ctx)
	local command = a.command
	if command.needs then
		require("runner.ctx.needs").meet(ctx, command)
	end
	local files = command.sources and require("runner.ctx.unchanged").look(a, ctx)
	if files and files.unchanged and not a.framework.rebuild then
		return { effect = "noop", unchanged = true }
	end
	local given = table.pack(command.run(values, ctx))
	if files and not (not given[1] and given[2] ~= nil) then
		files:keep()
	end
	return table.unpack(given, 1, given.n)
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

-- A hook behind the work can't change what has happened: its failure is a warning.
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
	local call = call_of(a, values)
	for _, hook in ipairs(hooks) do
		if hook.before then
			hook.before(ctx, call)
		end
	end
	local given = table.pack(host.protect(work, a, values, ctx))
	local ok, third = given[1], given[4]
	if not ok and third then
		error("cancelled", 0)
	end
	local failure = not ok and errors.normalise(given[2], given[3])
		or not given[2] and given[3] ~= nil and require("runner.core.returned").failure(given[2], given[3], given[4]) or nil
	call.ok, call.error, call.data = not failure, failure, ok and given[2] or nil
	after(hooks, ctx, call)
	if not ok then
		error(failure, 0)
	end
	return table.unpack(given, 2, given.n)
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
	return require("runner.ctx.throttled").run(a, function()
		return with_hooks(a, values, ctx)
	end)
end

return M
