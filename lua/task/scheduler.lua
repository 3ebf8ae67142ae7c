-- scheduler: concurrent tasks that wait for processes, descriptors and time, in the worker's one
-- thread. A task is a coroutine; one loop over one set of processes (runner.process)
-- serves what it waits for. Every process has a shepherd of its own, so that its whole
-- tree is gone when it ends. The scheduler knows no step, no retry and no store.

local errors = require "runner.core.errors"
local host = require "runner.host"
local not_started = require("runner.core.start_failure").not_started
local process = require "runner.process"
local tasks = require "runner.task.tasks"

local M = {}

-- --- timers ------------------------------------------------------------------------------

---@class runner.Timer
---@field at number host.now() when it is due, in ms
---@field fire function
---@field paused number|false for a limit: how long the run had been stopped when it was set

---@class runner.Timers
---@field list runner.Timer[]
local Timers = {}
Timers.__index = Timers

---@return runner.Timers
local function new_timers()
	return setmetatable({ list = {} }, Timers)
end

---Have fire() called in `ms`.
---@param ms number
---@param fire function
---@param is_limit? boolean it doesn't advance while the run is stopped by Ctrl+Z
---@return runner.Timer
function Timers:add(ms, fire, is_limit)
	local timer = { at = host.now() + ms, fire = fire, paused = is_limit and process.paused() or false }
	self.list[#self.list + 1] = timer
	return timer
end

---@param timer runner.Timer
function Timers:remove(timer)
	for i, t in ipairs(self.list) do
		if t == timer then
			table.remove(self.list, i)
			return
		end
	end
end

local function timer_due(timer)
	return timer.paused and timer.at + process.paused() - timer.paused or timer.at
end

local function earliest(self)
	local first, at
	for _, timer in ipairs(self.list) do
		local own = timer_due(timer)
		if not first or own < at then
			first, at = timer, own
		end
	end
	return first, at
end

---Time until the next timer is due, in ms; nil when there is none.
---@return number?
function Timers:left()
	local _, at = earliest(self)
	return at and math.max(at - host.now(), 0)
end

---Fire what is due by now, the earliest first.
function Timers:fire()
	local now = host.now()
	local timer, at = earliest(self)
	while timer and at <= now do
		self:remove(timer)
		timer.fire()
		timer, at = earliest(self)
	end
end

local TICK_MS = 1000
local GRACE_MS = 2000

---@class runner.Scheduler: runner.Tasks the state of one run
---@field live runner.TaskProcess[] running ones, as in `set`
---@field timers runner.Timers
---@field open runner.TaskProcess[] running ones, and those whose task has not yet reached its next wait
---@field watched { fd: integer, events: integer, task: thread, ready?: boolean }[] descriptors that tasks wait for
---@field set userdata? of the handles of `live` and of `watched`; nil: to be rebuilt

---@type runner.Scheduler?
local state

-- --- tasks ---------------------------------------------------------------------------

-- The task has dealt with its ended processes.
local function forget_ended(s, task)
	for i = #s.open, 1, -1 do
		if s.open[i].task == task and s.open[i].result then
			table.remove(s.open, i)
		end
	end
end

local function current_task(what)
	local s, running = state, coroutine.running()
	if not s or s.current ~= running then
		error(("scheduler.%s: call it inside scheduler.run(fn), not from a coroutine of your own"):format(what), 3)
	end
	forget_ended(s, running)
	return s, running
end

---Wait until no task can go on and the `settle` of M.run has been called, once for all tasks
---that wait for it; raises what that raised. Without one, returns when no task can go on.
function M.settled()
	tasks.settled(current_task "settled")
end

-- --- time ------------------------------------------------------------------------------

local function sleep_until_timer(s, task, ms)
	s.timers:add(ms, function()
		tasks.wake(s, task)
	end)
	tasks.park()
end

local Hold = { __close = function() host.hold(-1) end }

---Wait; exact to 5 ms. An idle timeout doesn't count the wait as silence.
---@param ms number
---@param on_tick? fun(left_ms: integer) after each full second, while some is left
function M.sleep(ms, on_tick)
	local s, task = current_task "sleep"
	local wake_at = host.now() + ms
	local tick_at = on_tick and host.now() + TICK_MS or math.huge
	local _ <close> = setmetatable({ host.hold(1) }, Hold)
	while tick_at < wake_at do
		sleep_until_timer(s, task, tick_at - host.now())
		on_tick(math.max(math.floor(wake_at - host.now() + 0.5), 0))
		tick_at = tick_at + TICK_MS
	end
	sleep_until_timer(s, task, wake_at - host.now())
end

---Have fn called in `ms`, by the loop itself: it may not wait. Never, if the run of tasks is over
---by then. Outside of one, it is called at once.
---@param ms number
---@param fn fun()
function M.after(ms, fn)
	if not state then
		return fn()
	end
	state.timers:add(ms, fn)
end

-- --- gates -----------------------------------------------------------------------------------

---@class runner.Gate where tasks wait until another one opens it; it closes after them
local Gate = {}
Gate.__index = Gate

---@return runner.Gate
function M.gate()
	return setmetatable({}, Gate)
end

---Wait for the next open(). An idle timeout doesn't count the wait as silence. A task that
---waits sees to it that another is left to open it.
function Gate:wait()
	local _, task = current_task "gate"
	local _ <close> = setmetatable({ host.hold(1) }, Hold)
	self[#self + 1] = task
	tasks.park()
end

---Let all that wait go on, in the order in which they came.
function Gate:open()
	local waiting = table.move(self, 1, #self, 1, {})
	for i, task in ipairs(waiting) do
		self[i] = nil
		tasks.wake(state, task)
	end
end

-- --- descriptors -------------------------------------------------------------------------------

---Wait until poll(2) says something of a descriptor, which stays open until then; the other
---side's end and errors count too. Two numbers as a stream's :watch() gives them.
---@param fd integer
---@param events integer of poll(2); 0: only the other side's end and errors
---@return boolean ready false: M.forget was called
function M.ready(fd, events)
	local s, task = current_task "ready"
	local watch = { fd = fd, events = events, task = task }
	s.watched[#s.watched + 1], s.set = watch, nil
	tasks.park()
	return watch.ready or false
end

---Let the tasks go on that wait for this of the descriptor.
---@param fd integer
---@param events integer
function M.forget(fd, events)
	for i = #(state and state.watched or {}), 1, -1 do
		local watch = state.watched[i]
		if watch.fd == fd and watch.events == events then
			table.remove(state.watched, i)
			state.set = nil
			tasks.wake(state, watch.task)
		end
	end
end

-- --- processes -----------------------------------------------------------------------------

---@class runner.TaskProcess a running process
---@field handle userdata
---@field options table
---@field task thread that waits for it
---@field events table[] those that the task has not seen yet, from `at`
---@field at integer
---@field limit? {timer: runner.Timer, running: integer} of it, or of several together
---@field late? true its time was over

local function add_process(s, task, handle, options)
	local record = { handle = handle, options = options, task = task, events = {}, at = 1 }
	s.live[#s.live + 1], s.set = record, nil
	return record
end

-- Its limit ends with the last process that it is for.
local function remove_process(s, index)
	local limit = table.remove(s.live, index).limit
	s.set = nil
	if limit then
		limit.running = limit.running - 1
		if limit.running == 0 then
			s.timers:remove(limit.timer)
		end
	end
end

local function stop(record)
	record.handle:stop(record.options.grace_ms or GRACE_MS)
end

-- Have processes stopped when the time of all of them together is over.
local function add_limit(s, list, timeout_ms)
	local limit = timeout_ms and { running = #list, timer = s.timers:add(timeout_ms, function()
		for _, record in ipairs(list) do
			record.late = true
			stop(record)
		end
	end, true) }
	for _, record in ipairs(list) do
		record.limit = limit or nil
	end
end

-- Something has happened to a process. Events queue up while its task is busy.
local function push_event(s, record, event)
	record.events[#record.events + 1] = event
	if record.waiting then
		record.waiting = false
		tasks.wake(s, record.task)
	end
end

local function next_event(record)
	if record.at > #record.events then
		record.events, record.at = {}, 1
		record.waiting = true
		tasks.park()
	end
	record.at = record.at + 1
	return record.events[record.at - 1]
end

-- Wait for the end of a process. Lines go to on_line in the task itself; if that raises, the process is ended
-- first. Returns what pcall does for on_line.
local function follow(record)
	local ok, raised = true, nil
	for event in next_event, record do
		if event.done then
			break
		elseif ok then
			ok, raised = pcall(record.options.on_line, event.text, event.stream)
			if not ok then
				stop(record)
			end
		end
	end
	return ok, raised
end

-- How a process ended; once, after the end: it takes the captured output.
local function result_of(record)
	local handle = record.handle
	handle:close()
	local result = handle:result()
	result.timed_out = record.late and handle:was_stopped() or false
	result.used = record.options.measured and handle:used() or nil
	result.ok = result.ok and not result.timed_out
	return result
end

-- What runner.process.start takes.
local function start_options(options)
	local own = setmetatable({ shepherd = not options.foreground, lines = options.on_line ~= nil }, { __index = options })
	if options.capture == nil then
		own.capture = true
	end
	return own
end

---Run a program until it and all its descendants have ended. Never raises for what the program does.
---@param options table as runner.process.start takes them, and timeout_ms, on_line(line, stream),
---  on_start(handle): once it runs, with the handle that ends it (handle:stop(grace_ms)); measured: the result has `used`
---@return runner.Result
function M.process(options)
	local s, task = current_task "process"
	local handle, message, code, context = process.start(start_options(options))
	if not handle then
		local result = not_started(options.argv, message, code, context)
		result.code = nil
		return result
	end
	local record = add_process(s, task, handle, options)
	s.open[#s.open + 1] = record
	add_limit(s, { record }, options.timeout_ms)
	if options.on_start then
		options.on_start(handle)
	end
	local ok, raised = follow(record)
	record.result = result_of(record)
	if not ok then
		error(raised, 0)
	end
	return record.result
end

---Wait until processes have ended that runner.process has started, and whatever holds their output.
---@param handles userdata[]
---@param options table timeout_ms and grace_ms of them all together, on_line(line, stream)
---@return "limit"|false late "limit": their time was over, and they were stopped
function M.supervise(handles, options)
	local s, task = current_task "supervise"
	local own = { on_line = options.on_line or function() end, grace_ms = options.grace_ms }
	local list, late, problem = {}, false, nil
	for i, handle in ipairs(handles) do
		list[i] = add_process(s, task, handle, own)
	end
	add_limit(s, list, options.timeout_ms)
	for _, record in ipairs(list) do
		local ok, raised = follow(record)
		late, problem = record.late and "limit" or late, problem or not ok and { raised } or nil
	end
	if problem then
		error(problem[1], 0)
	end
	return late
end

---Is the caller a task of a run of tasks, so that it may wait here?
---@return boolean
function M.inside()
	return state ~= nil and state.current ~= nil and state.current == coroutine.running()
end

---End this run of tasks, as soon as none can go on: M.run raises this.
---@param raised any
function M.abort(raised)
	state.aborted = state.aborted or { raised }
end

-- --- several tasks ----------------------------------------------------------------------------

---Run functions as tasks, `at_once` of them at a time, as they come: the next one is asked
---for when there is room for it, so that any number of them takes no memory. Waits for all.
---After a failure no more are asked for, unless keep_going. Raises what next_task or
---on_result raised, once no task runs any more.
---@param next_task fun(): function? nil: there are no more
---@param at_once integer
---@param on_result fun(i: integer, result: runner.TaskResult) as each one ends; i counts from 1
---@param options? { keep_going?: boolean }
---@return integer started
function M.each(next_task, at_once, on_result, options)
	local s, task = current_task "each"
	return tasks.each(s, task, next_task, at_once, on_result, options and options.keep_going)
end

---The same for a list of functions.
---@param list function[]
---@param at_once? integer default: all
---@param options? { keep_going?: boolean }
---@return runner.TaskResult[] in the order of the list
function M.all(list, at_once, options)
	local s, task = current_task "all"
	return tasks.all(s, task, list, at_once, options and options.keep_going)
end

---Run a function as a task of its own, beside the one that calls. No task waits for it; what it
---raises ends M.run.
---@param fn function
---@param ... any its arguments
function M.spawn(fn, ...)
	local given = table.pack(...)
	tasks.start(current_task "spawn", function()
		return fn(table.unpack(given, 1, given.n))
	end, function(ok, raised)
		if not ok then
			error(raised, 0)
		end
	end)
end

-- --- the loop ---------------------------------------------------------------------------------

local function set_of(s)
	if not s.set then
		local handles = {}
		for i, record in ipairs(s.live) do
			handles[i] = record.handle
		end
		local others = {}
		for _, watch in ipairs(s.watched) do
			others[#others + 1], others[#others + 2] = watch.fd, watch.events
		end
		s.set = process.set(handles, others)
	end
	return s.set
end

local on_news = {
	ready = function(s, index)
		local watch = table.remove(s.watched, index)
		watch.ready, s.set = true, nil
		tasks.wake(s, watch.task)
	end,
	line = function(s, text, stream, index)
		push_event(s, s.live[index], { text = text, stream = stream })
	end,
	done = function(s, index)
		local record = s.live[index]
		remove_process(s, index)
		push_event(s, record, { done = true })
	end,
}

-- What has already happened, up to one piece of news for each process, so that the tasks
-- that it wakes settle together.
local function catch_up(s)
	for _ = 1, #s.live + #s.watched do
		local kind, a, b, c
		if #s.live + #s.watched > 0 then
			kind, a, b, c = set_of(s):next(true, 0)
		end
		if not kind then
			return
		end
		on_news[kind](s, a, b, c)
		tasks.run_ready(s, forget_ended)
	end
end

-- True when tasks go on.
local function settle(s, fn)
	if #s.unsettled > 0 then
		catch_up(s)
	end
	return tasks.settle(s, fn)
end

local function wait(s)
	local left = s.timers:left()
	if not left and #s.live + #s.watched == 0 then
		error("scheduler: a task is waiting for nothing; use scheduler.sleep, process or all, not coroutine.yield", 0)
	end
	local kind, a, b, c = set_of(s):next(true, left)
	if kind then
		on_news[kind](s, a, b, c)
	elseif a == "attempt" then
		errors.raise("TIMEOUT", "The attempt's time is over")
	end
end

-- No task waits for them any more: stop all at once, then close one by one.
local function end_all(s)
	for _, record in ipairs(s.live) do
		stop(record)
	end
	while #s.live > 0 do
		s.live[#s.live].handle:close()
		s.live[#s.live] = nil
	end
	for task in pairs(s.tasks) do
		coroutine.close(task)
	end
	state = nil
end

local function new_state()
	local s = tasks.new()
	s.live, s.open, s.watched, s.timers = {}, {}, {}, new_timers()
	return setmetatable(s, { __close = end_all })
end

---Run fn as a task, and all that it starts, until it returns or raises. Its error is
---raised here as an error object with a traceback. Whatever still runs then is ended
---first. Inside a task, fn is simply called.
---@param fn function
---@param on_settle? function called whenever no task can go on, before the process waits; see M.settled
---@return any ... what fn returns
function M.run(fn, on_settle)
	if state and state.current and state.current == coroutine.running() then
		return fn()
	end
	local s <close> = new_state()
	local ended
	state = s
	on_settle = on_settle or function() end
	tasks.start(s, fn, function(...)
		ended = table.pack(...)
	end)
	repeat
		tasks.run_ready(s, forget_ended)
		if s.aborted then
			error(s.aborted[1], 0)
		elseif not ended and not settle(s, on_settle) then
			wait(s)
			s.timers:fire()
		end
	until ended
	if not ended[1] then
		error(ended[2], 0)
	end
	return table.unpack(ended, 2, ended.n)
end

-- --- after a cancellation ------------------------------------------------------------------

---For `cleanup`: the processes that were running when the run was cancelled, in the
---order of their start. stopped = false with result.ok: it had completed by itself.
---Ended ones whose task had not yet reached its next wait are included: the task may
---not have handled their result. Empty when nothing was interrupted.
---@return { options: table, result: runner.Result, stopped: boolean }[]
function M.abandoned()
	local s, list = state, {}
	if not s or s.current == coroutine.running() then
		return list
	end
	for i, record in ipairs(s.open) do
		local result = record.result or result_of(record)
		list[i] = { options = record.options, result = result, stopped = record.handle:was_stopped() }
	end
	end_all(s)
	return list
end

return M
