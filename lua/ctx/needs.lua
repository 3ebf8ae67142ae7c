-- needs: the commands that a command needs are run before it, each once for the whole tree of calls,
-- those that don't wait for each other at once. A directory of the outermost call has a lock and a
-- mark for each; our children learn of it by a variable.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local POLL_S = 0.02
local has_left = false -- the terminal is not ours any more
local VARIABLE = "RUNNER_NEEDS" -- "directory\nname\nname": the names are those above us

-- The directory, and the commands that we are needed by.
local function inherited()
	local text = os.getenv(VARIABLE)
	local dir, above = (text or ""):match "^(/[^\n]*)\n(.*)$"
	local stat = dir and fs.lstat(dir)
	if stat and stat.type == "directory" then
		return dir, above
	end
end

---From here on nothing reads the terminal, unless the command itself does.
function M.leave_terminal()
	if not (attempt.command.interactive or has_left) then
		has_left = true
		host.leave_terminal()
	end
end

-- May what is run alone have the terminal, as the command itself has it?
local function has_terminal()
	local launch = attempt.launch
	return launch.person and launch.stderr_is_tty and not (has_left or attempt.framework.non_interactive)
end

-- "tasks.lua:3: " of the task that this call is of; "" of a command file.
local function place()
	local found = attempt.found
	local own = found and found.task and found.source and require("runner.declare.task_text").places(found.source, found.group)[found.name]
	return own and ("%s:%d: "):format(found.path:match "[^/]*$", 1 + select(2, found.source:sub(1, own.first - 1):gsub("\n", ""))) or ""
end

local function refuse_circle(above, name, need)
	local chain = {}
	for one in (above .. "\n" .. name):gmatch "[^\n]+" do
		chain[#chain + 1] = one
	end
	for i, one in ipairs(chain) do
		if one == need then
			errors.raise("COMMAND_INVALID", ("%s'%s' needs itself: %s"):format(place(), need, table.concat(chain, " → ", i) .. " → " .. need),
				{ side_effects = "none", context = { circle = true },
					fix_required = ("Remove %q from the needs of %s"):format(need, name) })
		end
	end
end

-- Was it the needed command itself that asked to be confirmed?
local function asks(raised, need)
	return errors.is(raised) and raised.code == "CONFIRMATION_REQUIRED" and type(raised.context) == "table"
		and raised.context.command == need.name
end

-- A confirmed call confirms what it says that it needs: it was shown with it. Was that to a person?
local function confirmed()
	local framework, launch, call = attempt.framework, attempt.launch, attempt.call
	if attempt.command.danger_level ~= "destructive" then
		return nil
	end
	local before = launch.confirmed and not (launch.job or framework.confirm_destructive or framework.live or call.vouched)
	return (attempt.unconfirmed == "ask" or before or call.vouched == "person") and "needed" or "agreed"
end

-- Has a policy a person asked before this need?
local function is_asked_for(need)
	return attempt.policy and attempt.policy.asks(need.name:gsub("%s+", "."), "") or false
end

local function invoke(ctx, need, more)
	more.confirmed = confirmed()
	local ok, raised = pcall(require("runner.ctx.call").invoke, ctx, need.name, need.args, more)
	if ok then
		return
	elseif not asks(raised, need) then
		error(raised, 0)
	elseif more.own then -- and has been told no
		raised.fix_required = ("Answer y when '%s' asks"):format(raised.context.command)
		error(raised, 0)
	end
	local own = attempt.command.name:gsub("%.", " ")
	if not more.as and is_asked_for(need) then -- by itself
		raised.fix_required = ("Have a person call '%s' at a terminal, which is asked about '%s' there"):format(own, need.name)
		raised.suggestion = nil
		error(raised, 0)
	end
	raised.message = raised.message:gsub(": pass %-%-confirm%-destructive$", "")
	raised.suggestion = ("Nothing that '%s' is given confirms it, since that is %s itself"):format(own, attempt.command.danger_level)
	raised.fix_required = ('Declare danger_level = "destructive" for \'%s\': whoever confirms it then confirms \'%s\' with it'):format(
		own, need.name)
	error(raised, 0)
end

-- The process that has the lock runs it; the others wait for the mark.
local function once(ctx, dir, need, more)
	local mark = require("runner.invoke").mark(dir, need.name, need.distinct or need.args)
	while not fs.lstat(mark .. ".done") do
		local lock <close>, why = fs.lock(mark .. ".lock", { wait_ms = 0 })
		if lock and not fs.lstat(mark .. ".done") then
			more.own = more.own and mark .. ".words"
			invoke(ctx, need, more)
			local ok, problem = fs.create(mark .. ".done", "")
			if not ok and not fs.lstat(mark .. ".done") then -- nor has the same of `runner + a + b`, side by side
				errors.raise("UNAVAILABLE", "Can't note that a needed command has run: " .. problem)
			end
		elseif not lock and why ~= "held" then
			errors.raise("UNAVAILABLE", "Can't lock a needed command: " .. tostring(why))
		elseif not lock then
			ctx:sleep(POLL_S)
		end
	end
end

local function failed(name, raised)
	local context = errors.is(raised) and type(raised.context) == "table" and raised.context or {}
	if errors.is(raised) and raised.code == "COMMAND_NOT_FOUND" and raised.message == ("Unknown command '%s'"):format(name) then
		raised.message = ("%s'%s' needs '%s', which is no command"):format(place(), attempt.command.name:gsub("%.", " "), name)
	elseif errors.is(raised) and not context.circle then
		raised.message = ("%s, which this command needs: %s"):format(name, raised.message)
	end
	error(raised, 0)
end

-- Each has its share of the retries that are left, whichever of them ends first.
local function share_of(i, count)
	local left = require("runner.core.retry_budget").left()
	return left and left // count + (i <= left % count and 1 or 0)
end

local function work_of(ctx, needs, dir, env, named)
	local work = {}
	for i, need in ipairs(needs) do
		local share, as = share_of(i, #needs), named and need.name or nil
		work[i] = function(say)
			local own = not say
			local ok, raised = pcall(once, ctx, dir, need, { env = env, share = share, say = say, as = as, own = own,
				columns = not own and require("runner.invoke").columns(as) or nil })
			if not ok then
				failed(need.name, raised)
			end
		end
	end
	return work
end

-- One after another, or at once: the failure of one says what the others have changed by then. A confirmation that is missing
-- before anything has changed is that of this call.
local function meet_all(dir, f, ...)
	local ok, raised = pcall(f, ...)
	for _, name in ipairs(not ok and errors.is(raised) and fs.list(dir) or {}) do
		raised = name:find "%.changes$" and require("runner.ctx.call").half_done(raised) or raised
	end
	if not ok then
		if errors.is(raised) and raised.code == "CONFIRMATION_REQUIRED" and raised.side_effects == "none" then
			raised.phase, raised.exit_code = "validation", 2
		end
		error(raised, 0)
	end
end

-- What a person calls them: the same command with other arguments shows these.
local function names_of(needs)
	local names, times = {}, {}
	for _, need in ipairs(needs) do
		times[need.name] = (times[need.name] or 0) + 1
	end
	for i, need in ipairs(needs) do
		names[i] = times[need.name] == 1 and need.name
			or table.concat(require("runner.invoke").words({ need.name }, need.args, tostring), " ")
	end
	return names
end

-- Those that run at once: of a task one after another. What a person is asked about is first, by itself: a no has changed nothing.
local function steps_of(needs, work, is_task, at_once)
	local steps, rest, names = {}, { work = {}, names = {} }, names_of(needs)
	for i, need in ipairs(needs) do
		local alone = not at_once and (is_task or is_asked_for(need))
		local step = alone and { work = {}, names = {} } or rest
		table.insert(step.work, work[i])
		table.insert(step.names, names[i])
		steps[#steps + 1] = alone and step or nil
	end
	steps[#steps + 1] = rest.work[1] and rest or nil
	return steps
end

---Run what the command needs, unless this call has had it. Raises the error of the first that fails.
---@param ctx runner.Context
---@param command table normal form
function M.meet(ctx, command)
	local name = command.name:gsub("%.", " ")
	local dir, above = inherited()
	local lists = { command.needs or {}, command.parallel or {} }
	for _, list in ipairs(lists) do
		for _, need in ipairs(list) do
			refuse_circle(above or "", name, need.name)
		end
	end
	if not dir then
		dir = ctx.tempdir .. "/needs"
		assert(fs.mkdirs(dir, 448)) -- 0700
	end
	if attempt.trace then
		attempt.trace(("needs %d commands"):format(#lists[1] + #lists[2]))
	end
	local env = { [VARIABLE] = ("%s\n%s\n%s"):format(dir, above or "", name) }
	for i, list in ipairs(lists) do
		for _, step in ipairs(steps_of(list, work_of(ctx, list, dir, env, i == 2), command.task, i == 2)) do
			if #step.work == 1 and has_terminal() then
				meet_all(dir, step.work[1])
			else
				M.leave_terminal()
				meet_all(dir, require("runner.ctx.parallel").all, step.work, step.names)
			end
		end
	end
	M.leave_terminal()
	host.setenv(VARIABLE, nil) -- what run starts is no part of this
end

return M
