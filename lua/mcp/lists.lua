-- lists: tools/list. Everything is on one page, in the order of the commands' names.

local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

local M = {}

---No list has a second page.
---@param r runner.mcp.Request
---@return runner.mcp.Fault?
function M.cursor_fault(r)
	if r.params.cursor ~= nil then
		return rpc.fault(rpc.INVALID_PARAMS, "cursor is none that this server gave: lists have one page")
	end
end

---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.tools(server, r)
	local fault = M.cursor_fault(r)
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
