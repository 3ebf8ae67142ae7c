-- subscriptions: who is told that the tools have changed: clients of 2026-07-28 that listen
-- (basic/patterns/subscriptions.mdx), and those before it that have begun a session.

local era = require "runner.mcp.era"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

local M = {}

local CHANGED = "notifications/tools/list_changed"

local function meta(r)
	return { [era.SUBSCRIPTION] = r.id }
end

---subscriptions/listen: the request has no answer until the server ends it.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.listen(server, r)
	local filter = r.params.notifications
	if not rpc.is_object(filter) then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "notifications must be an object")
	elseif filter.taskIds ~= nil and not era.has_tasks(r.caller) then
		return nil, rpc.fault(rpc.MISSING_CAPABILITY, "tasks are an extension that this client does not have", era.NEEDS_TASKS)
	end
	r.tools_changed = filter.toolsListChanged == true
	table.insert(server.subscriptions, r)
	server:notify(r, "notifications/subscriptions/acknowledged",
		{ _meta = meta(r), notifications = { toolsListChanged = r.tools_changed or nil } })
	if r.tools_changed then
		server.outside.spawn(function() server:rows(true) end) -- what changes from here on is a change
	end
	return require("runner.mcp.methods").LATER
end

---A request that listens no more.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
function M.forget(server, r)
	for i, one in ipairs(server.subscriptions) do
		if one == r then
			table.remove(server.subscriptions, i)
		end
	end
end

---Does anybody want to hear of changes?
---@param server runner.mcp.Server
---@return boolean
function M.wanted(server)
	for _, r in ipairs(server.subscriptions) do
		if r.tools_changed then
			return true
		end
	end
	return server.session ~= nil
end

---Tell those who want to know that the tools have changed.
---@param server runner.mcp.Server
function M.tools_changed(server)
	for _, r in ipairs(server.subscriptions) do
		if r.tools_changed then
			server:notify(r, CHANGED, { _meta = meta(r) })
		end
	end
	if server.session then
		server.outside.send(rpc.notification(CHANGED))
	end
end

---End every subscription in good order.
---@param server runner.mcp.Server
function M.close(server)
	for _, r in ipairs(server.subscriptions) do
		server.outside.send(rpc.result(r.id, { resultType = "complete", _meta = { [era.SUBSCRIPTION] = r.id,
			[era.SERVER_INFO] = server.outside.info } }))
		r.cancelled = true
	end
	server.subscriptions = json.array {}
end

return M
