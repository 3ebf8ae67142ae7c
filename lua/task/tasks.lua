-- tasks: coroutines that take turns in one thread: which can go on, what is done once for
-- many of them, and several together. What they wait for, and the loop, is the
-- scheduler's (lua/task/scheduler.lua), whose state `s` every function here takes.

local errors = require "runner.core.errors"

local M = {}

---@class runner.Tasks
---@field current thread? the running task
---@field ready thread[] tasks that can continue, in order
---@field tasks table<thread, function> unfinished tasks → their on_end
---@field unsettled thread[] tasks that wait for M.settle
---@field problem any what settling raised last

---@return runner.Tasks
function M.new()
	return { ready = {}, tasks = {}, unsettled = {} }
end

-- --- one task ------------------------------------------------------------------------

---Wait until wake(s, task).
function M.park()
	return coroutine.yield()
end

---@param s runner.Tasks
---@param task thread
function M.wake(s, task)
	s.ready[#s.ready + 1] = task
end

---Start a task; the loop calls on_end(ok, value or error) once.
---@param s runner.Tasks
---@param fn function
---@param on_end function
function M.start(s, fn, on_end)
	local task
	task = coroutine.create(function()
		return on_end(true, fn())
	end)
	s.tasks[task] = on_end
	M.wake(s, task)
end

-- The error of a task as an error object, with its traceback.
local function failure_of(task, raised)
	if type(raised) == "userdata" then
		return raised -- a cancellation: it propagates by itself
	elseif errors.is(raised) then
		return raised
	end
	return errors.normalise(raised, debug.traceback(task))
end

local function resume(s, task, on_dead)
	s.current = task
	local ok, raised = coroutine.resume(task)
	s.current = nil
	local on_end = s.tasks[task]
	if coroutine.status(task) == "dead" then
		s.tasks[task] = nil
		on_dead(s, task)
	end
	if not ok then
		on_end(false, failure_of(task, raised))
	end
end

---Let every task go on until none can.
---@param s runner.Tasks
---@param on_dead fun(s: runner.Tasks, task: thread) called when a task has ended
function M.run_ready(s, on_dead)
	while #s.ready > 0 do
		local batch = s.ready
		s.ready = {}
		for _, task in ipairs(batch) do
			resume(s, task, on_dead)
		end
	end
end

-- --- what is done once for many ------------------------------------------------------

---Wait for the next M.settle, and raise what it raised.
---@param s runner.Tasks
---@param task thread
function M.settled(s, task)
	s.unsettled[#s.unsettled + 1] = task
	M.park()
	if s.problem ~= nil then
		error(s.problem, 0)
	end
end

---Call fn once for all tasks that wait for it, and let them go on. A failure is theirs; where
---none waits, it is left to the next call.
---@param s runner.Tasks
---@param fn function
---@return boolean woken whether tasks go on
function M.settle(s, fn)
	local waiting, ok, raised = s.unsettled, pcall(fn)
	if not ok and type(raised) == "userdata" then
		error(raised, 0) -- a cancellation
	end
	s.unsettled, s.problem = {}, not ok and raised or nil
	for _, task in ipairs(waiting) do
		M.wake(s, task)
	end
	return #waiting > 0
end

-- --- several -------------------------------------------------------------------------

local function outcome(ok, value)
	if ok then
		return { ok = true, started = true, value = value }
	end
	return { ok = false, started = true, error = value }
end

---@class runner.TaskResult
---@field ok boolean
---@field value any
---@field error runner.Error?
---@field started boolean

-- Functions that run as tasks as they come. The first error of its callbacks ends the feed.
---@class runner.Each
---@field tasks runner.Tasks
---@field next_task fun(): function?
---@field at_once integer
---@field on_result fun(i: integer, result: runner.TaskResult)
---@field keep_going? boolean
---@field running integer
---@field started integer
---@field over boolean no more are started
---@field broken? {[1]: any} what a callback raised
---@field parked boolean the task that waits is to be woken up
local Each = {}
Each.__index = Each

function Each:guarded(f, ...)
	local ok, value = pcall(f, ...)
	if not ok then
		self.over, self.broken = true, self.broken or { value }
		return nil
	end
	return value
end

function Each:start(fn, task)
	self.running, self.started = self.running + 1, self.started + 1
	local i = self.started
	M.start(self.tasks, fn, function(ok, value)
		self.running, self.over = self.running - 1, self.over or not (ok or self.keep_going)
		self:guarded(self.on_result, i, outcome(ok, value))
		self:start_more(task)
		if self.running == 0 and self.parked then
			M.wake(self.tasks, task)
		end
	end)
end

function Each:start_more(task)
	while not self.over and self.running < self.at_once do
		local fn = self:guarded(self.next_task)
		self.over = self.over or not fn
		if fn then
			self:start(fn, task)
		end
	end
end

---Run functions as tasks as they come, and wait for all, as scheduler.each does.
---@param s runner.Tasks
---@param task thread the one that waits
---@param next_task fun(): function?
---@param at_once integer
---@param on_result fun(i: integer, result: runner.TaskResult)
---@param keep_going? boolean
---@return integer started
function M.each(s, task, next_task, at_once, on_result, keep_going)
	local each = setmetatable({ tasks = s, next_task = next_task, at_once = at_once, on_result = on_result,
		keep_going = keep_going, running = 0, started = 0, over = false, parked = false }, Each)
	each:start_more(task)
	each.parked = each.running > 0
	if each.parked then
		M.park()
	end
	if each.broken then
		error(each.broken[1], 0)
	end
	return each.started
end

---Run functions as tasks, `at_once` of them at a time, and wait for all, as
---scheduler.all does.
---@param s runner.Tasks
---@param task thread the one that waits
---@param list function[]
---@param at_once? integer
---@param keep_going? boolean
---@return runner.TaskResult[] results
function M.all(s, task, list, at_once, keep_going)
	local results, at = {}, 0
	local started = M.each(s, task, function()
		at = at + 1
		return list[at]
	end, math.max(at_once or #list, 1), function(i, result)
		results[i] = result
	end, keep_going)
	for i = started + 1, #list do
		results[i] = { ok = false, started = false }
	end
	return results
end

return M
