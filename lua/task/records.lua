-- records: a process as the scheduler (lua/task/scheduler.lua) keeps it: { handle, options, task,
-- events, at }, where events are those that its task has not seen yet.

local tasks = require "runner.task.tasks"

local M = {}

M.GRACE_MS = 2000

---How a process ended. Call it once, after the end: it takes the captured output.
---@param record table
---@return runner.Result
function M.result_of(record)
	local handle = record.handle
	handle:close()
	local result = handle:result()
	result.timed_out = record.late and handle:was_stopped() or false
	result.ok = result.ok and not result.timed_out
	return result
end

---What runner.process.start takes.
---@param options table of scheduler.process
---@return table
function M.start_options(options)
	local own = setmetatable({ shepherd = true, lines = options.on_line ~= nil }, { __index = options })
	if options.capture == nil then
		own.capture = true
	end
	return own
end

---Something has happened to a process. Events queue up while its task is busy.
---@param s runner.Scheduler
---@param record table
---@param event table
function M.push_event(s, record, event)
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

---Have a process stopped when its time is over.
---@param s runner.Scheduler
---@param record table
function M.limit(s, record)
	local options = record.options
	if not options.timeout_ms then
		return
	end
	record.timer = s.timers:add(options.timeout_ms, function()
		record.late, record.timer = true, nil
		record.handle:stop(options.grace_ms or M.GRACE_MS)
	end, true)
end

---Wait for the end of a process. Lines go to on_line in the task itself; if that raises, the
---process is ended first.
---@param record table
---@return boolean ok, any raised the result of pcall for on_line
function M.follow(record)
	local options, ok, raised = record.options, true, nil
	for event in next_event, record do
		if event.done then
			break
		elseif ok then
			ok, raised = pcall(options.on_line, event.text, event.stream)
			if not ok then
				record.handle:stop(options.grace_ms or M.GRACE_MS)
			end
		end
	end
	return ok, raised
end

---Wait for processes that somebody else has started, as scheduler.supervise does.
---@param s runner.Scheduler
---@param task thread that waits
---@param handles userdata[]
---@param options table
---@param add fun(s: runner.Scheduler, record: table)
---@return "limit"|false late
function M.supervise(s, task, handles, options, add)
	local list, late, problem = {}, false, nil
	local own = { on_line = options.on_line or function() end, grace_ms = options.grace_ms }
	for i, handle in ipairs(handles) do
		list[i] = { handle = handle, options = own, task = task, events = {}, at = 1 }
		add(s, list[i])
	end
	local timer = options.timeout_ms and s.timers:add(options.timeout_ms, function()
		late = "limit"
		for _, record in ipairs(list) do
			record.handle:stop(options.grace_ms or M.GRACE_MS)
		end
	end, true)
	for _, record in ipairs(list) do
		local ok, raised = M.follow(record)
		problem = problem or not ok and { raised } or nil
	end
	if timer and not late then
		s.timers:remove(timer)
	end
	if problem then
		error(problem[1], 0)
	end
	return late
end

return M
