-- task_methods: what a client may ask of a task, in each era.

local era = require "runner.mcp.era"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local tasks = require "runner.mcp.tasks"
local view = require "runner.mcp.task_view"

local M = {}

local LOOK_MS, LOOK_MAX_MS = 20, 500 -- between two looks of ours
local PAGE = 100

local RELATED = "io.modelcontextprotocol/related-task"

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
	return not task.running and server.outside.tasks.now() >= task.created_ms + view.ttl(task, server.outside.tasks)
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
	return server:has_command(task.command) and task or nil
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
	local out = view.shown(task, server.outside.tasks, r.caller.modern)
	if out.status == "completed" and r.caller.modern then
		out.result = view.result(task)
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
	local out = {}
	for name, v in next, view.result(task) do
		out[name] = v
	end
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
	elseif view.status(task, r.caller.modern) ~= "working" then
		if r.caller.modern then
			return {}
		end
		return nil, rpc.fault(rpc.INVALID_PARAMS, "The task is not running any more: " .. view.status(task, false))
	end
	tasks.ask_to_end(server, task.id)
	if r.caller.modern then
		return {}
	end
	server.outside.tasks.mark_cancelled(task.id)
	task.cancelled = true
	return view.shown(task, server.outside.tasks, r.caller.modern)
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
	local cursor, list, last = r.params.cursor, json.array {}, nil
	local skipping = cursor ~= nil
	for _, id in ipairs(all(server)) do
		local task = not skipping and found(server, id)
		skipping = skipping and id ~= cursor
		if task and #list == PAGE then
			return { tasks = list, nextCursor = last }
		elseif task then
			list[#list + 1], last = view.shown(task, server.outside.tasks, r.caller.modern), id
		end
	end
	if skipping then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "cursor is none that this server gave")
	end
	return { tasks = list }
end

return M
