-- notifications: what the server says without being asked. What a call says while it runs: any line of its stderr as
-- progress, ten a second at most, for a client that sent a token, and what ctx:log said as a message, for one that wants such;
-- a line that is one of runner's own has its text in `message`, any other line is text. And that the tools have changed, to
-- clients of 2026-07-28 that listen (basic/patterns/subscriptions.mdx), and to those before it that have begun a session.

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

-- What the client of a request is told of how far it is: `at` when the last ones were sent, in a ring.
local AT_MOST, IN_MS = 10, 1000 -- messages of progress in any second
local SOME, APART_MS = 5, 200 -- after so many in a second those of ctx:progress come so far apart

---@class runner.mcp.Progress
---@field at table<integer, number>
---@field count integer messages that were sent
---@field done number the value of the last one that was measured
---@field since integer messages since that one
---@field value? number what was sent last
---@field total? number
---@field held? {text: string, line: table, is_progress: boolean} what is sent when there is room, or at the end of the call
---@field waits? boolean a task waits for that

-- ctx:progress with numbers: "3/10 files", "50%".
local function measured(text)
	local done, total = text:match "^([%d.]+)/([%d.]+)%f[ \0]"
	done = done or text:match "^([%d.]+)%%$"
	return tonumber(done), tonumber(total) or done and 100
end

-- It never falls, nor stays: a line that measures nothing is a thousandth more.
local function advance(p, text, is_progress)
	local done, total = measured(is_progress and text or "")
	if done and (not p.value or done > p.value) then
		p.done, p.since = done, 0
	else
		p.since = p.since + 1
	end
	p.total = total or p.total
	p.value = p.since > 0 and p.done + p.since / 1000 or p.done
	return p.value, p.total and p.total >= p.value and p.total or nil
end

-- The event as JSON, if it is a line of runner's own.
local function own_line(text)
	local line = text:sub(1, 1) == "{" and json.decode(text)
	return type(line) == "table" and line or {}
end

local function text_of(held)
	return message_of(held.line or own_line(held.text), held.text)
end

local function send(server, r, held, must)
	local p, message = r.progress, text_of(held)
	p.held = nil
	if message then
		p.count = p.count + 1
		p.at[p.count % AT_MOST] = server.outside.now()
		local progress, total = advance(p, message, held.is_progress)
		server:notify(r, "notifications/progress",
			{ progressToken = r.caller.progress_token, progress = progress, total = total, message = message }, not must)
	end
end

-- In how many ms there is room for one more.
local function wait_ms(server, p, is_progress)
	local now = server.outside.now()
	local function since(n) -- the time of the message that was sent n before the next one
		return p.at[(p.count + 1 - n) % AT_MOST] or -IN_MS
	end
	local is_crowded = is_progress and now - since(SOME) < IN_MS
	return math.max(since(AT_MOST) + IN_MS, is_crowded and since(1) + APART_MS or 0) - now
end

local function hold(server, r, held)
	local p = r.progress
	if p.held and p.held.is_progress and not held.is_progress then
		advance(p, text_of(p.held) or "", true) -- what it has measured counts
	end
	p.held = held
	if p.waits then
		return
	end
	p.waits = true
	server.outside.spawn(function()
		while p.held do
			local ms = wait_ms(server, p, true)
			if ms > 0 then
				server.outside.sleep(ms)
			else
				send(server, r, p.held)
			end
		end
		p.waits = false
	end)
end

local function tell_progress(server, r, text, line)
	r.progress = r.progress or { at = {}, count = 0, done = 0, since = 0 }
	local p, held = r.progress, { text = text, line = line, is_progress = text:find('"event":"progress"', 1, true) ~= nil }
	if p.held and not held.is_progress and wait_ms(server, p) <= 0 then
		send(server, r, p.held)
	end
	if wait_ms(server, p, held.is_progress) > 0 then
		hold(server, r, held)
	else
		send(server, r, held)
	end
end

---The call has ended: its last progress is told.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
function M.ended(server, r)
	local held = r.progress and r.progress.held
	if held then
		send(server, r, held, true)
	end
end

---Tell the client of an event of a call, if it wants to know.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param event {kind: "stderr", text: string}
function M.tell(server, r, event)
	local token, wants = r.caller.progress_token, r.caller.log_level
	local line = wants and event.text:find('"event":"log"', 1, true) and own_line(event.text) or nil
	local message = line and line.event == "log" and LEVELS[line.level] and message_of(line, event.text)
	if message then
		server:message(r, LEVELS[line.level], { command = line.command, message = message })
	end
	if token ~= nil and event.text ~= "" and utf8.len(event.text) then
		tell_progress(server, r, event.text, line)
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
