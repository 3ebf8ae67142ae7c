-- sizes: what a task asks of its executor: what that says, with the `resources` of its step in its place, and
-- the next of each list after one was not enough. Pure.

local tables = require "runner.core.tables"

local M = {}

---The executor as a step uses it, with what the step's `resources` ask for in place of its own.
---@param executor runner.Executor
---@param asked? { cpus: integer?, gpus: string?, memory: string[]?, times: integer[]? }
---@return runner.Executor with `times`, if the step has more than one: time_ms is the last of them
function M.with(executor, asked)
	if not asked then
		return executor
	end
	local e = tables.add(tables.add({}, executor), asked)
	e.time_ms = asked.times and asked.times[#asked.times] or e.time_ms
	return e
end

---What the n-th size of a task asks for; the last of a list stands for all behind it.
---@param executor runner.Executor
---@param n integer from 1
---@return runner.Executor executor, string? memory
function M.sized(executor, n)
	local times, memory = executor.times, executor.memory
	local e = times and times[2] and tables.add(tables.add({}, executor), { time_ms = times[math.min(n, #times)] }) or executor
	return e, memory and memory[math.min(n, #memory)]
end

return M
