-- lists: tools/list. Everything is on one page, in the order of the commands' names.

local era = require "runner.mcp.era"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local tables = require "runner.core.tables"

local M = {}

-- No list has a second page.
local function cursor_fault(r)
	if r.params.cursor ~= nil then
		return rpc.fault(rpc.INVALID_PARAMS, "cursor is none that this server gave: lists have one page")
	end
end

---The rows that a list is made of.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param fresh boolean as Server:rows takes it
---@return runner.mcp.Row[]?
---@return runner.mcp.Fault? fault
function M.rows(server, r, fresh)
	local fault = cursor_fault(r)
	if fault then
		return nil, fault
	end
	return server:rows(fresh)
end

---@param rows runner.mcp.Row[]
---@param command string dot path
---@return boolean
function M.has(rows, command)
	for _, row in ipairs(rows) do
		if row.command == command then
			return true
		end
	end
	return false
end

-- 2025-11-25 has the tool say whether it can be called as a task.
local function tool_of(row, caller)
	if caller.modern or not row.task or not era.has_tasks(caller) then
		return row.tool
	end
	local tool = { execution = { taskSupport = "optional" } }
	return tables.add(tool, row.tool)
end

---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.tools(server, r)
	local fault = cursor_fault(r)
	if fault then
		return nil, fault
	end
	local rows, problem
	if server.settings.progressive then
		rows = require("runner.mcp.progressive").tools()
	else
		rows, problem = server:rows(true)
	end
	if not rows then
		return nil, problem
	end
	for _, one in ipairs(server.outside.left_out()) do
		server:message(r, "warning", one)
	end
	local tools = json.array {}
	for i, row in ipairs(rows) do
		tools[i] = tool_of(row, r.caller)
	end
	return { tools = tools }
end

return M
