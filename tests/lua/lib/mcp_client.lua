-- mcp_client: a client for the tests of lua/mcp, with a stand-in for tasks and commands. Every
-- message that the server sends is checked against the official schema of its era.

local json = require "runner.json"
local json_schema = require "runner.core.json_schema"
local server = require "runner.mcp.server"

local M = {}

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/lib/mcp_client%.lua$")

local function schema(version)
	local file <close> = assert(io.open(ROOT .. "tests/mcp/schema/" .. version .. ".json"))
	return assert(json.decode(file:read "a"))
end

local MODERN, LEGACY = schema "2026-07-28", schema "2025-11-25"

local function check(document, name, value)
	local whole = setmetatable({ ["$ref"] = "#/$defs/" .. name }, { __index = document })
	local problems = json_schema.problems(whole, json.decode((assert(json.encode(value)))))
	if problems[1] then
		error(("%s: %s\n%s"):format(name, json_schema.text(problems[1]), json.encode(value)), 0)
	end
end

local RESULTS = {
	["server/discover"] = "DiscoverResult", ["tools/list"] = "ListToolsResult", ["tools/call"] = "CallToolResult",
	["subscriptions/listen"] = "SubscriptionsListenResult", initialize = "InitializeResult", ping = "EmptyResult",
	["logging/setLevel"] = "EmptyResult", ["resources/list"] = "ListResourcesResult", ["resources/read"] = "ReadResourceResult",
	["resources/templates/list"] = "ListResourceTemplatesResult", ["prompts/list"] = "ListPromptsResult",
	["prompts/get"] = "GetPromptResult", ["tasks/get"] = "GetTaskResult", ["tasks/result"] = "GetTaskPayloadResult",
	["tasks/list"] = "ListTasksResult", ["tasks/cancel"] = "CancelTaskResult",
}

-- The results of the extension io.modelcontextprotocol/tasks, whose schema is in no revision of the
-- specification: what its text says of them (github.com/modelcontextprotocol/ext-tasks). The
-- official conformance runner checks the same (tests/mcp/official.py).
local TASK = { type = "object", required = { "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "resultType" },
	properties = { taskId = { type = "string" }, status = { enum = { "working", "input_required", "completed", "failed", "cancelled" } },
		statusMessage = { type = "string" }, createdAt = { type = "string" }, lastUpdatedAt = { type = "string" },
		ttlMs = { type = { "integer", "null" } }, pollIntervalMs = { type = "integer" }, requestState = false, ttl = false, pollInterval = false,
		task = false, result = { ["$ref"] = "#/$defs/Inlined" } } }
local EXTENSION = { ["$defs"] = {
	Inlined = { type = "object", required = { "content" }, properties = { content = { type = "array" }, isError = { type = "boolean" } } },
	Task = TASK, Created = { allOf = { { ["$ref"] = "#/$defs/Task" } }, properties = { resultType = { const = "task" }, result = false } },
	Got = { allOf = { { ["$ref"] = "#/$defs/Task" } }, properties = { resultType = { const = "complete" } },
		["if"] = { properties = { status = { const = "completed" } } }, ["then"] = { required = { "result" } },
		["else"] = { properties = { result = false } } },
	Empty = { type = "object", properties = { resultType = { const = "complete" } }, required = { "resultType" }, maxProperties = 2 },
} }
local OF_EXTENSION = { ["tasks/get"] = "Got", ["tasks/cancel"] = "Empty", ["tasks/update"] = "Empty", ["tools/call"] = "Created" }

-- The document and the definition in it that a result has to keep to.
local function definition(method, result)
	if result.resultType == "task" or result.resultType and method:find "^tasks/" then
		return EXTENSION, OF_EXTENSION[method]
	elseif result.resultType == nil and result.task then
		return LEGACY, "CreateTaskResult"
	end
	return result.resultType and MODERN or LEGACY, result.resultType == "input_required" and "InputRequiredResult" or RESULTS[method]
end

---@class test.McpClient
local Client = {}
Client.__index = Client

-- --- tasks that a test can look into ---------------------------------------------------------

local Gate = {}
Gate.__index = Gate

function Gate:wait()
	self[#self + 1] = coroutine.running()
	coroutine.yield()
end

function Gate:open()
	local waiting = table.move(self, 1, #self, 1, {})
	for i, task in ipairs(waiting) do
		self[i] = nil
		assert(coroutine.resume(task))
	end
end

function M.gate()
	return setmetatable({}, Gate)
end

local function spawn(fn)
	assert(coroutine.resume(coroutine.create(fn)))
end

-- --- what it receives -------------------------------------------------------------------------

local function validate(self, message)
	if message.result then
		local method = self.sent[json.encode(message.id)]
		local document, name = definition(method, message.result)
		check(document, assert(name, method), message.result)
	elseif message.error then
		check(MODERN, "JSONRPCErrorResponse", message)
	elseif message.id ~= nil then
		check(LEGACY, "ElicitRequest", message)
	else
		check(MODERN, "ServerNotification", message.params and message or { jsonrpc = "2.0", method = message.method, params = {} })
	end
end

local function take(self, message)
	local text = assert(json.encode(message))
	assert(not text:find "\n", "a line break in a message")
	local copy = assert(json.decode(text))
	validate(self, copy)
	table.insert(self.received, copy)
end

-- --- what it sends ----------------------------------------------------------------------------

M.META = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientCapabilities"] = {} }

---The _meta of a modern request.
---@param more? table further or other members
---@param capabilities? table
function M.meta(more, capabilities)
	local out = {}
	for key, v in pairs(M.META) do
		out[key] = v
	end
	out["io.modelcontextprotocol/clientCapabilities"] = capabilities or {}
	for key, v in pairs(more or {}) do
		out[key] = v
	end
	return out
end

M.ELICITS = { elicitation = { form = {} } }
M.TASKS = { extensions = { ["io.modelcontextprotocol/tasks"] = {} } }

---Send one line.
---@param text string
function Client:line(text)
	self.server:line(text)
end

---Send a request; the answer, if there is one already.
---@param id any
---@param method string
---@param params? table
---@return table?
function Client:ask(id, method, params)
	self.sent[json.encode(id)] = method
	self:line((assert(json.encode { jsonrpc = "2.0", id = id, method = method, params = params })))
	return self:answer(id)
end

---A modern request.
function Client:modern(id, method, params, capabilities)
	params = params or {}
	params._meta = params._meta or M.meta(nil, capabilities)
	return self:ask(id, method, params)
end

---@param id any
---@return table? message
function Client:answer(id)
	for _, message in ipairs(self.received) do
		if message.id == id and message.method == nil then
			return message
		end
	end
end

---The last message.
function Client:last()
	return self.received[#self.received]
end

---A notification.
function Client:tell(method, params)
	self:line((assert(json.encode { jsonrpc = "2.0", method = method, params = params })))
end

---Begin a session of an earlier era.
function Client:initialize(version, capabilities)
	local answer = self:ask("init", "initialize", { protocolVersion = version or "2025-11-25", capabilities = capabilities or {},
		clientInfo = { name = "test", version = "1" } })
	self:tell "notifications/initialized"
	return answer
end

-- Jobs that never were: ID → runner.mcp.Task. A test ends them.
local function fake_tasks(jobs, now)
	return { KEPT_MS = 24 * 3600 * 1000, now = now, find = function(id) return jobs[id] and jobs[id].command and jobs[id] end,
		keep = function(id, command, ttl_ms)
			jobs[id] = { id = id, command = command, created_ms = now(), updated_ms = now(), ttl_ms = ttl_ms, running = true, cancelled = false }
			return true
		end,
		names = function()
			local names = {}
			for id in pairs(jobs) do
				names[#names + 1] = id
			end
			table.sort(names, function(a, b) return a > b end)
			return names
		end,
		runs = function(id) return jobs[id].running end,
		ask_to_end = function(id)
			jobs[id].asked = true
			return true
		end,
		mark_cancelled = function(id) jobs[id].cancelled = true end, remove = function(id) jobs[id] = nil end }
end

---@param options { rows?: table[], run?: function, settings?: table, now?: function, spawn?: function }
---@return test.McpClient
function M.new(options)
	local self = setmetatable({ received = {}, sent = {}, calls = {}, log = {}, jobs = {}, tick = M.gate() }, Client)
	local now = options.now or function() return 0 end
	self.server = server.new({
		send = function(message) take(self, message) end, spawn = options.spawn or spawn, gate = M.gate,
		wait_for_room = options.wait_for_room or function() end, now = now,
		tasks = fake_tasks(self.jobs, now), sleep = function() self.tick:wait() end,
		run = function(request)
			table.insert(self.calls, request)
			return options.run and options.run(request, self) or { ok = true, data = { effect = "noop" }, warnings = json.array {}, meta = {} }
		end,
		rows = function()
			return options.rows or {}, "none"
		end,
		left_out = function() return options.left_out or {} end,
		documents = options.documents or { list = function() return {} end },
		log = function(line) table.insert(self.log, line) end, info = { name = "runner", version = "0" }, at_once = options.at_once,
	}, options.settings or {})
	return self
end

return M
