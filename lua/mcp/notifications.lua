-- notifications: what the server says without being asked. What a call says while it runs: any line of its stderr as
-- progress, for a client that sent a token, and what ctx:log said as a message, for one that wants such; a line that is one
-- of runner's own has its text in `message`, any other line is text. And that the tools have changed, to clients of
-- 2026-07-28 that listen (basic/patterns/subscriptions.mdx), and to those before it that have begun a session.

local era = require "runner.mcp.era"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local visible = require "runner.core.visible"

local M = {}

-- --- of a call -------------------------------------------------------------------------

local LONGEST = 500 -- bytes of a message

---A text as a line of progress has it.
---@param text string
---@return string
function M.cut(text)
	local shown, left = visible.cut(text, LONGEST)
	return left > 0 and shown .. "…" or text
end

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

-- Bytes that are no text are left out: what a program prints is not ours to check.
local function message_of(event, line)
	local text = type(event.message) == "string" and event.message or line
	return utf8.len(text) and text ~= "" and M.cut(text) or nil
end

---Does the client of a request want to hear more than warnings and errors?
---@param r runner.mcp.Request
---@return boolean
function M.wants_all(r)
	local level = r.caller.log_level
	return r.caller.progress_token ~= nil or level ~= nil and level < era.severity "warning"
end

---Tell the client of an event of a call, if it wants to know.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param event {kind: "stderr", text: string}
function M.tell(server, r, event)
	local token, wants = r.caller.progress_token, r.caller.log_level
	local line = (token ~= nil or wants) and event.text:sub(1, 1) == "{" and json.decode(event.text)
	line = type(line) == "table" and line or {}
	local message = (token ~= nil or wants) and message_of(line, event.text)
	if message and line.event == "log" and LEVELS[line.level] then
		server:message(r, LEVELS[line.level], { command = line.command, message = message })
	end
	if message and token ~= nil then
		r.progress = (r.progress or 0) + 1
		server:notify(r, "notifications/progress", { progressToken = token, progress = r.progress, message = message }, true)
	end
end

-- --- of changes ------------------------------------------------------------------------

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

---Does a client want to hear of changes?
---@param server runner.mcp.Server
---@return boolean
function M.are_wanted(server)
	for _, r in ipairs(server.subscriptions) do
		if r.tools_changed then
			return true
		end
	end
	return server.session ~= nil
end

---Tell the clients that want to know that the tools have changed.
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
