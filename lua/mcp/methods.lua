-- methods: what a client may ask for, in which era, and what each era adds to a result.

local era = require "runner.mcp.era"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

local M = {}

---What a handler returns that leaves its request without an answer for now.
M.LATER = {}

-- How long a client may take a list for fresh (server/utilities/caching.mdx). A change of the
-- commands is also told to clients that listen.
local LIST_MS, DISCOVER_MS = 10000, 3600000

---@class runner.mcp.Method
---@field modern? boolean there in 2026-07-28
---@field legacy? boolean there before
---@field at_once? boolean it waits for nothing: it is done before the next line is read
---@field without_session? boolean a legacy client may send it before `initialize`
---@field fresh_ms? integer of a result that clients may keep
---@field handle fun(server: runner.mcp.Server, r: runner.mcp.Request): table?, runner.mcp.Fault?

-- --- the beginning --------------------------------------------------------------------------

local function capabilities(caller)
	local out = { tools = { listChanged = true }, resources = {}, prompts = {}, completions = {} }
	if caller.modern then
		out.extensions = { [era.TASKS] = {} }
		return out
	end
	out.logging = {}
	out.tasks = era.has_tasks(caller) and { list = {}, cancel = {}, requests = { tools = { call = {} } } } or nil
	return out
end

local function discover(server, r)
	return { supportedVersions = json.array { era.MODERN }, capabilities = capabilities(r.caller),
		instructions = server.outside.instructions }
end

local function initialize(server, r)
	local session, fault = era.begin(r.params)
	if not session then
		return nil, fault
	end
	server.session = session
	return { protocolVersion = session.version, capabilities = capabilities(session), serverInfo = server.outside.info,
		instructions = server.outside.instructions }
end

local function set_level(server, r)
	local level = era.severity(r.params.level)
	if not level then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "level must be a level of severity, such as warning")
	end
	server.session.log_level = level
	return {}
end

local function nothing()
	return {}
end

-- A handler of a module that is loaded when it is needed.
local function of(module, name)
	return function(server, r)
		return require("runner.mcp." .. module)[name](server, r)
	end
end

local function call(server, r)
	return of(server.settings.progressive and "progressive" or "call", "handle")(server, r)
end

-- --- the table ------------------------------------------------------------------------------

---@type table<string, runner.mcp.Method>
M.rows = {
	["server/discover"] = { modern = true, at_once = true, fresh_ms = DISCOVER_MS, handle = discover },
	initialize = { legacy = true, at_once = true, without_session = true, handle = initialize },
	ping = { legacy = true, at_once = true, without_session = true, handle = nothing },
	["logging/setLevel"] = { legacy = true, at_once = true, handle = set_level },
	["tools/list"] = { modern = true, legacy = true, fresh_ms = LIST_MS, handle = of("lists", "tools") },
	["tools/call"] = { modern = true, legacy = true, handle = call },
	["tasks/get"] = { modern = true, legacy = true, handle = of("tasks", "get") },
	["tasks/cancel"] = { modern = true, legacy = true, handle = of("tasks", "cancel") },
	["tasks/update"] = { modern = true, handle = of("tasks", "update") },
	["tasks/result"] = { legacy = true, handle = of("tasks", "result") },
	["tasks/list"] = { legacy = true, handle = of("tasks", "list") },
	["resources/list"] = { modern = true, legacy = true, fresh_ms = LIST_MS, handle = of("resources", "list") },
	["resources/templates/list"] = { modern = true, legacy = true, fresh_ms = LIST_MS, handle = of("resources", "templates") },
	["resources/read"] = { modern = true, legacy = true, fresh_ms = 0, handle = of("resources", "read") },
	["prompts/list"] = { modern = true, legacy = true, fresh_ms = LIST_MS, handle = of("prompts", "list") },
	["prompts/get"] = { modern = true, legacy = true, handle = of("prompts", "get") },
	["completion/complete"] = { modern = true, legacy = true, handle = of("prompts", "complete") },
	["subscriptions/listen"] = { modern = true, at_once = true, handle = of("notifications", "listen") },
}

local NO_SESSION = { modern = false, version = era.LEGACY[1], capabilities = {} }

local function caller_of(server, method, message)
	local caller, fault = era.of(server.session, message.params)
	if not caller and method.without_session and not server.session and fault.code == rpc.INVALID_PARAMS then
		local meta = message.params and message.params._meta
		return (meta == nil or rpc.is_object(meta)) and NO_SESSION or nil, fault
	end
	return caller, fault
end

---The method of a request and the client that sends it; or why it is refused.
---@param server runner.mcp.Server
---@param message runner.mcp.Message
---@return runner.mcp.Method? method
---@return runner.mcp.Caller? caller
---@return runner.mcp.Fault? fault
function M.find(server, message)
	local method = M.rows[message.method]
	local unknown = rpc.fault(rpc.METHOD_NOT_FOUND, "Method not found: " .. message.method)
	if not method then
		return nil, nil, unknown
	end
	local caller, fault = caller_of(server, method, message)
	if not caller then
		return nil, nil, fault
	elseif not (caller.modern and method.modern or not caller.modern and method.legacy) then
		return nil, nil, unknown
	end
	return method, caller
end

---A result with what its era adds.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param result table
---@return table
function M.complete(server, r, result)
	if not r.caller.modern then
		return result
	end
	result.resultType = result.resultType or "complete"
	result._meta = result._meta or {}
	result._meta[era.SERVER_INFO] = server.outside.info
	local fresh_ms = M.rows[r.method].fresh_ms
	if fresh_ms and result.resultType == "complete" then
		result.ttlMs, result.cacheScope = fresh_ms, "private"
	end
	return result
end

return M
