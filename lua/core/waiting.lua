-- waiting: until something that other processes do has come about, and for how long a command waits for it. The kernel says
-- when a file has changed (fs.watch); where it can't, we look now and then. And how a program that this attempt starts is
-- waited for.

local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

-- The kernel speaks when a holder of a lock ends, an instant before the lock is free; and of
-- what another machine does on a shared file system it does not speak at all.
local SOON_MS, SOON_TIMES, ANYWAY_MS = 5, 20, 1000

---Wait until `over` says so, at most this long.
---@generic T
---@param ms number
---@param over fun(): T|false|nil asked at once, and whenever one of the files has changed
---@param ... string files that change before `over` has another answer
---@return T? what `over` said; nil: the time is over
function M.for_change(ms, over, ...)
	local give_up, soon = host.now() + ms, 0
	local watch <close> = fs.watch(...)
	while true do
		local said, left = over(), give_up - host.now()
		if said then
			return said
		elseif left <= 0 then
			return nil
		elseif watch and watch:wait(math.ceil(math.min(left, soon > 0 and SOON_MS or ANYWAY_MS))) then
			soon = SOON_TIMES
		else
			soon = soon - 1
		end
		if not watch then
			host.sleep(math.min(left, SOON_MS * 10))
		end
	end
end

---ms that never pass.
M.FOREVER = 1 << 42

---The row of the argument, for a declaration.
M.argument = { "for", "duration", description = "Wait no longer than this; then the answer is INCOMPLETE" }

---The flag --for, or what the agent that calls may wait (AGENT_CALL_BUDGET_MS).
---@param args table
---@return integer? ms nil: as long as it takes
function M.limit(args)
	local environment = math.tointeger(tonumber(os.getenv "AGENT_CALL_BUDGET_MS"))
	return args["for"] and require("runner.core.rules").milliseconds(args["for"]) or environment and environment > 0 and environment or nil
end

-- How what this attempt starts is waited for: beside the other tasks of ctx:parallel, and as a span of a trace. Those
-- that know of tasks and traces say so here, and what runs programs asks.

local scheduler, traced

---From here on, functions of the command may be tasks.
---@param of table lua/task/scheduler.lua
function M.use_tasks(of)
	scheduler = of
end

---The scheduler, inside of a task of ctx:parallel: the others go on while this one waits.
---@return table? scheduler
function M.tasks()
	return scheduler and scheduler.inside() and scheduler or nil
end

---Have each program that is run to its end go through this; nil: no longer.
---@param f? fun(options: table, run: fun(options: table): table): table
function M.trace_programs(f)
	traced = f
end

---@param options table
---@param run fun(options: table): table
---@return table result
function M.run_program(options, run)
	if traced then
		return traced(options, run)
	end
	return run(options)
end

return M
