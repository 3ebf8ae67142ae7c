-- lists: tools/list. Everything is on one page, in the order of the commands' names.

local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

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

---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.tools(server, r)
	local fault = cursor_fault(r)
	if fault then
		return nil, fault
	elseif server.settings.progressive then
		return { tools = require("runner.mcp.progressive").tools() }
	end
	local rows, problem = server:rows(true)
	if not rows then
		return nil, problem
	end
	local tools = json.array {}
	for i, row in ipairs(rows) do
		tools[i] = row.tool
	end
	return { tools = tools }
end

return M
