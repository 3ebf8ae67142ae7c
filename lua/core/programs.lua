-- programs: how what this attempt starts is waited for: beside the other tasks of ctx:parallel, and as a span of a trace. Those
-- that know of tasks and traces say so here, and what runs programs asks.

local M = {}

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
function M.trace(f)
	traced = f
end

---@param options table
---@param run fun(options: table): table
---@return table result
function M.run(options, run)
	if traced then
		return traced(options, run)
	end
	return run(options)
end

return M
