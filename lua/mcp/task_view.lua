-- task_view: what a client is told of a task, as its revision names it. Pure.

local answer = require "runner.mcp.answer"
local host = require "runner.host"
local json = require "runner.json"
local progress = require "runner.mcp.progress"

local M = {}

local POLL_MS = 1000 -- what clients are asked to wait between two looks
local LEAST_MS = 60 * 1000 -- for a client to fetch a result, whatever time to live it asked for

---How long a task is there, from its creation: as long as its client asked, and at least until it
---could fetch the result.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@return integer ms
function M.ttl(task, tasks)
	local kept = tasks.KEPT_MS
	local until_ms = task.running and tasks.now() or task.updated_ms
	return math.floor(math.max(math.min(task.ttl_ms or kept, kept), until_ms - task.created_ms + LEAST_MS))
end

---What the call would have been answered with.
---@param task runner.mcp.Task that has ended
---@return table
function M.result(task)
	return task.result or answer.of(task.envelope)
end

---@param task runner.mcp.Task
---@param modern boolean
---@return string
function M.status(task, modern)
	if task.running and not (task.cancelled and not modern) then
		return "working"
	elseif task.cancelled then
		return "cancelled"
	end
	return (modern or not M.result(task).isError) and "completed" or "failed"
end

local function message_of(task)
	if not task.running then
		local e = M.result(task).structuredContent.error
		return type(e) == "table" and e.message or nil
	end
	local said = task.progress
	local text = type(said) == "string" and said or said ~= nil and json.encode(said) or nil
	text = task.step and text and ("%s: %s"):format(task.step, text) or task.step or text
	return text and progress.cut(text)
end

---The members of a Task.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@param modern boolean
---@return table
function M.shown(task, tasks, modern)
	return { taskId = task.id, status = M.status(task, modern), statusMessage = message_of(task),
		createdAt = host.rfc3339(task.created_ms), lastUpdatedAt = host.rfc3339(task.updated_ms),
		[modern and "ttlMs" or "ttl"] = M.ttl(task, tasks), [modern and "pollIntervalMs" or "pollInterval"] = POLL_MS }
end

---The CreateTaskResult.
---@param task runner.mcp.Task
---@param tasks table server.outside.tasks
---@param modern boolean
---@return table
function M.created(task, tasks, modern)
	local out = M.shown(task, tasks, modern)
	out.resultType = modern and "task" or nil
	return modern and out or { task = out }
end

return M
