-- tasks: which calls become tasks, and their beginning. There are those of the extension
-- io.modelcontextprotocol/tasks of 2026-07-28, where the server chooses the calls, and the experimental
-- ones of 2025-11-25, where the client does (basic/utilities/tasks.mdx). A task is a job
-- (lua/mcp/task_jobs.lua) or, where nothing was left to run, a result that is kept.

local answer = require "runner.mcp.answer"
local confirmations = require "runner.mcp.confirmations"
local era = require "runner.mcp.era"
local rpc = require "runner.mcp.rpc"
local view = require "runner.mcp.task_view"

local M = {}

local RUNNING_MAX = 64 -- of one server
local ENDED_MAX = 64 -- results that are kept without a job
local ASK_MS, ASK_AGAIN_MS = 20000, 20 -- until a job that has just been started listens

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
	return view.created(task, server.outside.tasks, r.caller.modern)
end

---Ask a job's supervisor to end it, until it has been asked or has ended.
---@param server runner.mcp.Server
---@param id string
function M.ask_to_end(server, id)
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
		return view.created(task, server.outside.tasks, r.caller.modern)
	end
	M.ask_to_end(server, id) -- nobody will ever ask for it
	return nil, rpc.fault(rpc.INTERNAL_ERROR, "The task can't be kept: " .. tostring(why))
end

return M
