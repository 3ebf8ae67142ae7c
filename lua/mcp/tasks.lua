-- tasks: which calls become tasks, and what a client may ask of one, in each era. There are those of the extension
-- io.modelcontextprotocol/tasks of 2026-07-28, where the server chooses the calls, and the experimental
-- ones of 2025-11-25, where the client does (basic/utilities/tasks.mdx). A task is a job
-- (lua/mcp/task_jobs.lua) or, where nothing was left to run, a result that is kept.

local answer = require "runner.mcp.answer"
local confirmations = require "runner.mcp.confirmations"
local era = require "runner.mcp.era"
local host = require "runner.host"
local json = require "runner.json"
local notifications = require "runner.mcp.notifications"
local rpc = require "runner.mcp.rpc"
local speech = require "runner.mcp.speech"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

local RUNNING_MAX = 64 -- of one server
local ENDED_MAX = 64 -- results that are kept without a job
local ASK_MS, ASK_AGAIN_MS = 20000, 20 -- until a job that has just been started listens
local LOOK_MS, LOOK_MAX_MS = 20, 500 -- between two looks of ours
local PAGE, PAGE_BYTES = 100, 24 << 10 -- tasks, and bytes of them
local RELATED = "io.modelcontextprotocol/related-task"

-- --- what a client is told of one ------------------------------------------------------

local POLL_MS = 1000 -- what clients are asked to wait between two looks
local LEAST_MS = 60 * 1000 -- for a client to fetch a result, whatever time to live it asked for

---How long a task is there, from its creation: as long as its client asked, and at least until it
---could fetch the result.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@return integer ms
local function ttl_of(task, tasks)
	local kept = tasks.KEPT_MS
	local until_ms = task.running and tasks.now() or task.updated_ms
	return math.floor(math.max(math.min(task.ttl_ms or kept, kept), until_ms - task.created_ms + LEAST_MS))
end

---What the call would have been answered with.
---@param task runner.mcp.Task that has ended
---@return table
local function result_of(task)
	return task.result or answer.of(task.envelope)
end

-- What the extension calls an error of the protocol: the call has no answer of its command's own.
local BROKEN = tables.set "COMMAND_CRASHED INTERNAL_ERROR JOB_LOST"

local function is_broken(task)
	local e = not task.running and task.envelope and task.envelope.error
	return type(e) == "table" and BROKEN[e.code] or false
end

---@param task runner.mcp.Task
---@param modern boolean
---@return string
local function status_of(task, modern)
	if task.running and not (task.cancelled and not modern) then
		return "working"
	elseif task.cancelled then
		return "cancelled"
	end
	return (modern and not is_broken(task) or not result_of(task).isError) and "completed" or "failed"
end

local function message_of(task)
	if not task.running then
		local e = result_of(task).structuredContent.error
		return type(e) == "table" and type(e.message) == "string" and notifications.cut(e.message) or nil
	end
	local said = task.progress
	local text = type(said) == "string" and said or said ~= nil and json.encode(said) or nil
	text = task.step and text and ("%s: %s"):format(task.step, text) or task.step or text
	return text and notifications.cut(text)
end

---The members of a Task.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@param modern boolean
---@return table
local function shown(task, tasks, modern)
	return { taskId = task.id, status = status_of(task, modern), statusMessage = message_of(task),
		createdAt = host.rfc3339(task.created_ms), lastUpdatedAt = host.rfc3339(task.updated_ms),
		[modern and "ttlMs" or "ttl"] = ttl_of(task, tasks), [modern and "pollIntervalMs" or "pollInterval"] = POLL_MS }
end

---The CreateTaskResult.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@param modern boolean
---@return table
local function created(task, tasks, modern)
	local out = shown(task, tasks, modern)
	out.resultType = modern and "task" or nil
	return modern and out or { task = out }
end

-- --- which calls ----------------------------------------------------------------------------

---Does a client want this call as a task (2025-11-25)?
---@param r runner.mcp.Request
---@return boolean
function M.is_asked_for(r)
	return not r.caller.modern and era.has_tasks(r.caller) and r.params.task ~= nil
end

---Is this call to be a task?
---@param r runner.mcp.Request
---@param call runner.mcp.Call
---@return boolean
function M.wanted(r, call)
	if call.dry_run or not call.row.task then
		return false
	end
	return M.is_asked_for(r) or r.caller.modern and era.has_tasks(r.caller) and call.row.task == "long"
end

---What is wrong with `task` of a tools/call; nil: nothing.
---@param r runner.mcp.Request
---@param row? runner.mcp.Row nil: a tool that can't be one
---@return runner.mcp.Fault?
function M.problem(r, row)
	if not M.is_asked_for(r) then
		return nil
	end
	local task = r.params.task
	if not rpc.is_object(task) or task.ttl ~= nil and not (math.tointeger(task.ttl) and task.ttl >= 0) then
		return rpc.fault(rpc.INVALID_PARAMS, "task must be an object, and task.ttl a whole number of milliseconds")
	elseif not (row and row.task) then
		return rpc.fault(rpc.METHOD_NOT_FOUND, "This tool can't be called as a task")
	end
end

-- --- making one -----------------------------------------------------------------------------

local function running(server)
	local still = {}
	for _, id in ipairs(server.tasks.started) do
		still[#still + 1] = server.outside.tasks.runs(id) and id or nil
	end
	server.tasks.started = still
	return #still
end

---Is there room for one more?
---@param server runner.mcp.Server
---@return boolean
function M.has_room(server)
	return running(server) < RUNNING_MAX
end

---The refusal where there is none, for a client that asked for a task.
---@return nil
---@return runner.mcp.Fault
function M.full()
	return nil, rpc.fault(rpc.INTERNAL_ERROR, ("%d tasks are running; wait for some"):format(RUNNING_MAX))
end

local function ttl_asked(r)
	return M.is_asked_for(r) and math.tointeger(r.params.task.ttl) or nil
end

---A result that is there already, as a task that has ended.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param call runner.mcp.Call
---@param result table a CallToolResult
---@return table result a CreateTaskResult
function M.of_result(server, r, call, result)
	local now, list = server.outside.tasks.now(), server.tasks.ended
	local task = { id = "task_" .. confirmations.random(), command = call.row.command, created_ms = now, updated_ms = now,
		ttl_ms = ttl_asked(r), running = false, cancelled = false, result = result }
	list[#list + 1] = task
	if #list > ENDED_MAX then
		table.remove(list, 1)
	end
	return created(task, server.outside.tasks, r.caller.modern)
end

---Ask a job's supervisor to end it, until it has been asked or has ended.
---@param server runner.mcp.Server
---@param id string
local function ask_to_end(server, id)
	local tasks, give_up = server.outside.tasks, server.outside.now() + ASK_MS
	while tasks.runs(id) and not tasks.ask_to_end(id) and server.outside.now() < give_up do
		server.outside.sleep(ASK_AGAIN_MS)
	end
end

---The answer to a call with --detach: the handle of its job; or its result, where no job was started.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param call runner.mcp.Call
---@param envelope table
---@return table? result
---@return runner.mcp.Fault? fault
function M.of_envelope(server, r, call, envelope)
	local id = type(envelope.meta) == "table" and envelope.meta.job_id -- also of a call that was ended while it started the job
	if not id then
		return answer.of(envelope)
	end
	table.insert(server.tasks.started, id)
	local ok, why = server.outside.tasks.keep(id, call.row.command, ttl_asked(r))
	local task = ok and not r.cancelled and server.outside.tasks.find(id)
	if task then
		return created(task, server.outside.tasks, r.caller.modern)
	end
	ask_to_end(server, id) -- no client will ever ask for it
	return nil, rpc.fault(rpc.INTERNAL_ERROR, "The task can't be kept: " .. tostring(why))
end

-- --- finding one ----------------------------------------------------------------------------

local function kept(server, id)
	for i, task in ipairs(server.tasks.ended) do
		if task.id == id then
			return task, i
		end
	end
	return server.outside.tasks.find(id)
end

local function is_over(server, task)
	return not task.running and server.outside.tasks.now() >= task.created_ms + ttl_of(task, server.outside.tasks)
end

local function remove(server, task, index)
	if index then
		table.remove(server.tasks.ended, index)
	else
		server.outside.tasks.remove(task.id)
	end
end

-- What is no tool of this server can't be looked at either.
local function found(server, id)
	local task, index = kept(server, id)
	if not task then
		return nil
	elseif is_over(server, task) then
		return remove(server, task, index)
	end
	return server:has_command(task.command) and speech.of_task(server, task) or nil
end

-- The task that a request names; or why there is none.
local function named(server, r)
	local id = r.params.taskId
	if r.caller.modern and not era.has_tasks(r.caller) then
		return nil, rpc.fault(rpc.MISSING_CAPABILITY, "tasks are an extension that this client does not have", era.NEEDS_TASKS)
	elseif not era.has_tasks(r.caller) then
		return nil, rpc.fault(rpc.METHOD_NOT_FOUND, "Method not found: " .. r.method)
	elseif type(id) ~= "string" then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "taskId must be a string")
	end
	local task = found(server, id)
	return task, not task and rpc.fault(rpc.INVALID_PARAMS, "There is no such task: it is over, or was never here") or nil
end

-- --- methods --------------------------------------------------------------------------------

---tasks/get.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.get(server, r)
	local task, fault = named(server, r)
	if not task then
		return nil, fault
	end
	local out = shown(task, server.outside.tasks, r.caller.modern)
	if out.status == "completed" and r.caller.modern then
		out.result, r.command, r.task = result_of(task), task.command, task.id
	elseif out.status == "failed" and r.caller.modern then
		local e = result_of(task).structuredContent.error
		out.error = rpc.fault(rpc.INTERNAL_ERROR, notifications.cut(e.message), { code = e.code, retryable = e.retryable,
			side_effects = e.side_effects, suggestion = e.suggestion })
	end
	return out
end

---tasks/result (2025-11-25): waits for the end.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.result(server, r)
	local task, fault = named(server, r)
	local ms = LOOK_MS
	while task and task.running and not r.cancelled do
		server.outside.sleep(ms)
		ms = math.min(2 * ms, LOOK_MAX_MS)
		task, fault = named(server, r)
	end
	if not task then
		return nil, fault
	elseif task.running then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, "The request was cancelled")
	end
	local out = tables.add({}, result_of(task))
	r.command, r.task = task.command, task.id
	out._meta = { [RELATED] = { taskId = task.id } }
	return out
end

---tasks/update: no task of ours asks anything, since its person was asked before it began.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.update(server, r)
	local task, fault = named(server, r)
	if task and not rpc.is_object(r.params.inputResponses) then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "inputResponses must be an object")
	end
	return task and {}, fault
end

---tasks/cancel.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.cancel(server, r)
	local task, fault = named(server, r)
	if not task then
		return nil, fault
	elseif status_of(task, r.caller.modern) ~= "working" then
		if r.caller.modern then
			return {}
		end
		return nil, rpc.fault(rpc.INVALID_PARAMS, "The task is not running any more: " .. status_of(task, false))
	end
	ask_to_end(server, task.id)
	if r.caller.modern then
		return {}
	end
	server.outside.tasks.mark_cancelled(task.id)
	task.cancelled = true
	return shown(task, server.outside.tasks, r.caller.modern)
end

-- All tasks that this client could get, newest first.
local function all(server)
	local ids = {}
	for i = #server.tasks.ended, 1, -1 do
		ids[#ids + 1] = server.tasks.ended[i].id
	end
	local names = server.outside.tasks.names()
	return table.move(names, 1, #names, #ids + 1, ids)
end

---tasks/list (2025-11-25), a page at a time; a cursor is the last ID of the page before.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.list(server, r)
	if not era.has_tasks(r.caller) then
		return nil, rpc.fault(rpc.METHOD_NOT_FOUND, "Method not found: tasks/list")
	end
	local cursor, list, last, bytes = r.params.cursor, json.array {}, nil, 0
	local skipping = cursor ~= nil
	for _, id in ipairs(all(server)) do
		local task = not skipping and found(server, id)
		skipping = skipping and id ~= cursor
		local one = task and shown(task, server.outside.tasks, r.caller.modern)
		bytes = bytes + (one and #visible.encode(one) or 0)
		if one and (#list == PAGE or list[1] and bytes > PAGE_BYTES) then
			return { tasks = list, nextCursor = last }
		elseif one then
			list[#list + 1], last = one, id
		end
	end
	if skipping then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "cursor is none that this server gave")
	end
	return { tasks = list }
end

return M
