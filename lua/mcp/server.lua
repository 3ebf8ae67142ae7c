-- server: one connection of MCP: reads a line, finds out which client speaks, answers. Each request that
-- may wait has a task of its own; whatever a client sends, there is one answer to each request
-- and none to anything else. How lines come and go, how tasks run and how commands are called
-- is handed in (lua/mcp/serve.lua), so that every rule here is tested without a process.

local answer = require "runner.mcp.answer"
local bounded = require "runner.mcp.bounded"
local confirmations = require "runner.mcp.confirmations"
local era = require "runner.mcp.era"
local json = require "runner.json"
local lists = require "runner.mcp.lists"
local methods = require "runner.mcp.methods"
local notifications = require "runner.mcp.notifications"
local queues = require "runner.mcp.queues"
local rpc = require "runner.mcp.rpc"

local M = {}

local WAITS_MAX = 32 -- calls that only wait, two processes each
local AGAIN_MS = 5000 -- until another one may find room
local PENDING_MAX = 256 -- requests without an answer
local SMALL = 512 << 10 -- bytes of memory; so many requests of these are taken whatever their size
local LARGE_MAX = 256 << 20 -- bytes of memory of all larger requests that are open

---@class runner.mcp.Outside what a server is connected to
---@field send fun(message: table, may_drop?: boolean) hand one message to the client
---@field spawn fun(fn: function) run fn as a task
---@field gate fun(): runner.Gate
---@field wait_for_room fun() until the client has taken enough of what was sent
---@field now fun(): number ms
---@field run fun(request: table): table a call of a command: its envelope
---@field rows fun(exact: boolean): runner.mcp.Row[]?, string? every command; or nil and why there are none; exact: as the files
---  are at this moment, else as they were up to a second ago
---@field left_out fun(): runner.mcp.LeftOut[] commands that `rows` last found broken
---@field documents { list: fun(): runner.mcp.Document[], read: fun(document: runner.mcp.Document): string? }
---@field tasks table lua/mcp/task_jobs.lua, or what stands in for it
---@field sleep fun(ms: number) in a task
---@field log fun(line: string) what a call wrote to stderr
---@field info {name: string, version: string} of ours
---@field instructions? string for models
---@field at_once? integer calls that run at a time

---@class runner.mcp.Request
---@field id runner.mcp.Id
---@field method string
---@field params table
---@field caller runner.mcp.Caller
---@field cancelled? boolean the client wants no answer any more
---@field handle? table of the call that runs for it
---@field waits? runner.Gate where its task waits for the client
---@field progress? runner.mcp.Progress what the client was told
---@field row? runner.mcp.Row the tool that it calls
---@field command? string the dot path of the tool that it asks about
---@field task? string the task whose result it asks for
---@field large integer its bytes in memory, if they count

---@class runner.mcp.Server
---@field outside runner.mcp.Outside
---@field settings runner.mcp.Settings
---@field session? runner.mcp.Session
---@field requests table<string, runner.mcp.Request> without an answer yet
---@field pending integer how many these are
---@field held integer requests that still cost memory: without an answer, or cancelled and not yet ended
---@field large integer bytes of the larger ones among these
---@field fewer runner.Gate opened when a request has got its answer
---@field asked table<string, table> our own requests → what has become of them
---@field subscriptions runner.mcp.Request[] those that listen
---@field confirmations runner.mcp.Confirmations
---@field tasks { started: string[], ended: runner.mcp.Task[] } jobs that may run; results that are kept without one, oldest first
local Server = {}
Server.__index = Server

---@param outside runner.mcp.Outside
---@param settings runner.mcp.Settings
---@return runner.mcp.Server
function M.new(outside, settings)
	return setmetatable({
		outside = outside, settings = settings, requests = {}, pending = 0, held = 0, large = 0, asked = {}, asked_count = 0, subscriptions = {},
		fewer = outside.gate(), confirmations = confirmations.new(outside.now), slots = queues.slots(outside.gate, outside.at_once or 4),
		waits = queues.slots(outside.gate, WAITS_MAX),
		tasks = { started = {}, ended = {} },
	}, Server)
end

-- --- what handlers use ----------------------------------------------------------------------

---Send a notification about a request, unless the client wants to hear nothing more of it.
---@param r runner.mcp.Request
---@param method string
---@param params table
---@param may_drop? boolean it may be lost while the client doesn't read
function Server:notify(r, method, params, may_drop)
	if not r.cancelled then
		self.outside.send(rpc.notification(method, params), may_drop)
	end
end

---The tools of this server, or the commands that are prompts or resources.
---@param exact boolean
---@param role? "prompt"|"resource"
---@return runner.mcp.Row[]? rows
---@return runner.mcp.Fault? fault
function Server:rows(exact, role)
	local rows, why = self.outside.rows(exact)
	if not rows then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, "The commands can't be read: " .. why)
	end
	return require("runner.mcp.listing").chosen(self.settings, rows, role)
end

local function named(rows, name)
	for _, row in ipairs(rows or {}) do
		if row.tool.name == name then
			return row
		end
	end
end

---The tool of a name. Of one that is new, or that a person is asked about, the file itself counts.
---@param name string
---@return runner.mcp.Row?
---@return runner.mcp.Fault? fault
function Server:find(name)
	local rows, fault = self:rows(false)
	local row = named(rows, name)
	if rows and (not row or row.danger_level == "destructive") then
		rows, fault = self:rows(true)
		row = named(rows, name)
	end
	return row, not row and (fault or rpc.fault(rpc.INVALID_PARAMS, "Unknown tool: " .. name)) or nil
end

---Tell the client of a request something that a person may want to know, if it wants messages of this
---severity (server/utilities/logging.mdx).
---@param r runner.mcp.Request
---@param level string "warning"
---@param data any
function Server:message(r, level, data)
	local least = r.caller.log_level
	if least and era.severity(level) >= least then
		self:notify(r, "notifications/message", { level = level, logger = "runner", data = data }, true)
	end
end

---Is a command a tool of this server?
---@param command string dot path
---@return boolean
function Server:has_command(command)
	return lists.has(self:rows(false) or {}, command)
end

local CANCELLED = { ok = false, error = { code = "CANCELLED", message = "The client cancelled the call" } }

local NO_ROOM = { ok = false, error = { code = "RATE_LIMITED", message = ("%d calls wait already"):format(WAITS_MAX), retryable = true,
	retry_after_ms = AGAIN_MS, retry_strategy = "exponential_backoff", max_retries = 3, side_effects = "none", phase = "validation",
	suggestion = "Cancel one of them, or ask now and then: job_status" } }

---Call a command for a request, when there is room for it. What only waits for something that goes on
---elsewhere takes no place of a call that does something: it begins at once, or not at all.
---@param r runner.mcp.Request
---@param request table as the calls room takes it
---@param waits? boolean it only waits
---@return table envelope
function Server:execute(r, request, waits)
	if waits and self.waits:is_full() then
		return NO_ROOM
	end
	local _ <close> = self[waits and "waits" or "slots"]:take(r)
	self.outside.wait_for_room()
	if r.cancelled then
		return CANCELLED
	end
	request.client, request.traceparent = era.client(r.caller), r.caller.traceparent
	request.on_start = function(handle)
		r.handle = handle
		if r.cancelled then
			handle:cancel()
		end
	end
	if notifications.wants_all(r) then
		request.flags = table.move(request.flags or {}, 1, #(request.flags or {}), 2, { "--verbose" })
	end
	request.on_event = function(event)
		self.outside.log(event.text)
		notifications.tell(self, r, event)
	end
	local envelope = self.outside.run(request)
	r.handle = nil
	notifications.ended(self, r)
	return envelope
end

---Have it written down that a call was not made.
---@param r runner.mcp.Request
---@param decision "declined"|"refused"
---@param fields table command, args, by, reason
function Server:record(r, decision, fields)
	if self.outside.record then
		fields.decision, fields.client = decision, era.client(r.caller)
		fields.reason = fields.reason and fields.reason:sub(1, 300)
		self.outside.record(fields)
	end
end

---Ask the client something, as servers did before 2026-07-28, and wait for its answer.
---@param r runner.mcp.Request
---@param method string
---@param params table
---@return table? result
---@return string? why there is none, as the rest of a sentence
function Server:ask(r, method, params)
	self.asked_count = self.asked_count + 1
	local id = "runner-" .. self.asked_count
	local question = { gate = self.outside.gate() }
	self.asked[id], r.waits = question, question.gate
	self.outside.send(rpc.request(id, method, params))
	while not (question.reply or r.cancelled) do
		question.gate:wait()
	end
	self.asked[id], r.waits = nil, nil
	if r.cancelled then
		self.outside.send(rpc.notification("notifications/cancelled", { requestId = id }))
		return nil, "the call was cancelled"
	end
	return question.reply.result, "the client could not ask the person"
end

-- --- requests -------------------------------------------------------------------------------

-- 1 and "1" are two ids; 1 and 1.0 are one.
local function key_of(id)
	return type(id) == "string" and "s" .. id or ("n%d"):format(id)
end

-- The task of a request has ended, or it has been told that it is not listened to any more.
local function release(self, r)
	self.held, self.large, r.large = self.held - 1, self.large - r.large, 0
end

local function forget(self, r)
	local key = key_of(r.id)
	if self.requests[key] == r then
		self.requests[key], self.pending = nil, self.pending - 1
		if r.listens then
			release(self, r)
		end
		self.fewer:open()
	end
end

local function finish(self, r, result, fault)
	forget(self, r)
	if r.cancelled then
		return
	elseif not result then
		return self.outside.send(rpc.error(r.id, fault))
	end
	self.outside.send(rpc.result(r.id, methods.complete(self, r, bounded.result(self, r, result))))
end

-- A fault of ours is an answer too; a cancellation of the whole server is not.
local function handle(self, r, handler)
	local ok, result, fault = pcall(handler, self, r)
	if not ok then
		if type(result) == "userdata" then
			error(result, 0)
		end
		result, fault = nil, rpc.fault(rpc.INTERNAL_ERROR, "Internal error: " .. answer.raised(result))
	end
	r.params, r.listens = nil, result == methods.LATER
	if not r.listens then
		release(self, r)
		finish(self, r, result, fault)
	end
end

-- The client that sends it, and what is to be done; or why it is refused.
local function admit(self, message)
	if self.requests[key_of(message.id)] then
		return nil, nil, rpc.fault(rpc.INVALID_REQUEST, ("The id %s is that of a request that has no answer yet"):format(message.id))
	elseif self.held >= PENDING_MAX then
		return nil, nil, rpc.fault(rpc.INTERNAL_ERROR, ("%d requests have no answer yet; wait for some"):format(PENDING_MAX))
	end
	return methods.find(self, message)
end

local function request(self, message, size)
	local is_known = self.requests[key_of(message.id)] ~= nil
	local method, caller, fault = admit(self, message)
	if not method then
		return self.outside.send(rpc.error(not is_known and message.id or nil, fault))
	end
	local r = { id = message.id, method = message.method, params = message.params or {}, caller = caller,
		large = size > SMALL and size or 0 }
	self.requests[key_of(r.id)], self.pending, self.held, self.large = r, self.pending + 1, self.held + 1, self.large + r.large
	if method.at_once then
		return handle(self, r, method.handle)
	end
	self.outside.spawn(function()
		handle(self, r, method.handle)
	end)
end

-- --- notifications and answers --------------------------------------------------------------

local function cancel(self, params)
	local id = params and params.requestId
	local r = rpc.is_id(id) and self.requests[key_of(id)]
	if not r or r.method == "initialize" then
		return
	end
	r.cancelled = true
	notifications.forget(self, r)
	forget(self, r)
	if r.handle then
		r.handle:cancel()
	end
	if r.waits then
		r.waits:open()
	end
end

local function answered(self, message)
	local question = self.asked[message.id]
	if question and not question.reply then
		question.reply = message
		question.gate:open()
	end
end

-- --- lines ----------------------------------------------------------------------------------

local TOO_MUCH = rpc.fault(rpc.INTERNAL_ERROR,
	("Requests that take %d MiB of memory have no answer yet; wait for some before you send another large one"):format(LARGE_MAX >> 20))

-- What would be too much to keep is not even read: as a table a text takes many times its bytes.
local function read(self, text)
	local size = #text > SMALL / 256 and json.weight(text) or 0
	if size > SMALL and self.large > 0 and self.large + size > LARGE_MAX then
		return rpc.unread(text, TOO_MUCH)
	end
	local message, fault = rpc.read(text)
	return message, fault, size
end

local function deal_with(self, message, fault, size)
	if not message then
		if fault then
			self.outside.send(fault)
		end
	elseif message.kind == "request" then
		request(self, message, size)
	elseif message.kind == "response" then
		answered(self, message)
	elseif message.method == "notifications/cancelled" then
		cancel(self, message.params)
	end
end

---Deal with one line of the client.
---@param text string
function Server:line(text)
	if text:find "%S" then
		deal_with(self, read(self, text))
	end
end

---Answer a line that was too long to be read.
---@param most integer bytes
---@param outline? string of its outermost object
function Server:too_long(most, outline)
	deal_with(self, rpc.too_long(outline, rpc.fault(rpc.INVALID_REQUEST, ("A message may have at most %d bytes"):format(most))))
end

---Wait until each request has its answer, but for those that listen.
---@param is_over fun(): boolean asked after each answer, and whenever `fewer` is opened
function Server:wait_for_answers(is_over)
	while self.pending > #self.subscriptions and not is_over() do
		self.fewer:wait()
	end
end

---The client has gone, or the server is to end: nothing more is said about what still runs.
function Server:close()
	notifications.close(self)
	for _, r in pairs(self.requests) do
		r.cancelled = true
		if r.handle then
			r.handle:cancel()
		end
	end
end

return M
