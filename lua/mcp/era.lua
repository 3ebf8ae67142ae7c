-- era: which revision of MCP a request speaks. The one of 2026-07-28 says so in each request
-- (params._meta); those before it begin with `initialize`, which holds until the end of the
-- connection. Both may come on the same connection, so each request is looked at by itself.

local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

local M = {}

M.MODERN = "2026-07-28"
M.LEGACY = { "2025-11-25", "2025-06-18" }

local PREFIX = "io.modelcontextprotocol/"
M.SERVER_INFO = PREFIX .. "serverInfo"
M.TASKS = PREFIX .. "tasks"
M.SUBSCRIPTION = PREFIX .. "subscriptionId"

local VERSION, CAPABILITIES = PREFIX .. "protocolVersion", PREFIX .. "clientCapabilities"
local CLIENT, LOG_LEVEL = PREFIX .. "clientInfo", PREFIX .. "logLevel"

local LEVELS = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

---@class runner.mcp.Caller the client that asks, as far as one request says
---@field modern boolean
---@field version string of the protocol
---@field capabilities table of the client
---@field client? table what it says of itself: name, version
---@field log_level? integer least severity of the messages that it wants; nil: none
---@field progress_token? string|number
---@field traceparent? string the span that the request belongs to

---The rank of a level of severity; nil: it is none.
---@param level any
---@return integer?
function M.severity(level)
	return type(level) == "string" and LEVELS[level] or nil
end

local function invalid(message)
	return nil, rpc.fault(rpc.INVALID_PARAMS, message)
end

local function progress_token(meta)
	local token = meta and meta.progressToken
	return rpc.is_id(token) and token or nil
end

-- W3C Trace Context; what is none is as if there were none.
local function trace_parent(meta)
	local text = meta and type(meta.traceparent) == "string" and meta.traceparent or ""
	local trace, span = text:match "^%x%x%-(%x+)%-(%x+)%-%x%x$"
	return trace and #trace == 32 and #span == 16 and not text:find "^ff" and not text:find "%u" and trace:find "[^0]" and span:find "[^0]"
		and text or nil
end

local function modern(meta)
	local version, capabilities, level = meta[VERSION], meta[CAPABILITIES], meta[LOG_LEVEL]
	if type(version) ~= "string" then
		return invalid(("_meta[%q] must be a string"):format(VERSION))
	elseif version ~= M.MODERN then
		return nil, rpc.fault(rpc.UNSUPPORTED_VERSION, "Unsupported protocol version",
			{ supported = json.array { M.MODERN }, requested = version })
	elseif not rpc.is_object(capabilities) then
		return invalid(("_meta[%q] must be an object"):format(CAPABILITIES))
	elseif meta[CLIENT] ~= nil and not rpc.is_object(meta[CLIENT]) then
		return invalid(("_meta[%q] must be an object"):format(CLIENT))
	elseif level ~= nil and not M.severity(level) then
		return invalid(("_meta[%q] is no level"):format(LOG_LEVEL))
	end
	return { modern = true, version = version, capabilities = capabilities, log_level = M.severity(level), client = meta[CLIENT],
		progress_token = progress_token(meta), traceparent = trace_parent(meta) }
end

local NO_ERA = ('Begin with initialize, or send params._meta with %q (%q) and %q'):format(VERSION, M.MODERN, CAPABILITIES)

---The client that sends a request.
---@param session? runner.mcp.Session of an `initialize` that came before
---@param params? table
---@return runner.mcp.Caller? caller
---@return runner.mcp.Fault? fault
function M.of(session, params)
	local meta = params and params._meta
	if meta ~= nil and not rpc.is_object(meta) then
		return invalid "_meta must be an object"
	elseif meta and (meta[VERSION] ~= nil or meta[CAPABILITIES] ~= nil) then
		return modern(meta)
	elseif not session then
		return invalid(NO_ERA)
	end
	return { modern = false, version = session.version, capabilities = session.capabilities, log_level = session.log_level,
		client = session.client, progress_token = progress_token(meta), traceparent = trace_parent(meta) }
end

---@class runner.mcp.Session what `initialize` agreed on
---@field version string
---@field capabilities table of the client
---@field log_level integer as `logging/setLevel` says; before that, that of warnings

---The session that an `initialize` begins. A revision that we don't know gets our latest one of
---its kind, as lifecycle (2025-11-25) asks: the client decides whether it can go on.
---@param params? table
---@return runner.mcp.Session? session
---@return runner.mcp.Fault? fault
function M.begin(params)
	if not params or type(params.protocolVersion) ~= "string" then
		return invalid "protocolVersion must be a string"
	elseif not rpc.is_object(params.capabilities) then
		return invalid "capabilities must be an object"
	elseif not rpc.is_object(params.clientInfo) then
		return invalid "clientInfo must be an object"
	end
	local version = M.LEGACY[1]
	for _, known in ipairs(M.LEGACY) do
		version = known == params.protocolVersion and known or version
	end
	return { version = version, capabilities = params.capabilities, client = params.clientInfo, log_level = LEVELS.warning }
end

---Whom a call is made for, as the audit ledger has it.
---@param caller runner.mcp.Caller
---@return {transport: string, name?: string, version?: string}
function M.client(caller)
	local said = caller.client or {}
	local function text(v)
		return type(v) == "string" and v:sub(1, utf8.offset(v, 101) and utf8.offset(v, 101) - 1) or nil
	end
	return { transport = "mcp-stdio", name = text(said.name), version = text(said.version) }
end

---What a client must have for tasks, in the form of an error's data.
M.NEEDS_TASKS = { requiredCapabilities = { extensions = { [M.TASKS] = {} } } }

---Does the caller's revision, and the client itself where it has to say so, know tasks?
---@param caller runner.mcp.Caller
---@return boolean
function M.has_tasks(caller)
	if not caller.modern then
		return caller.version == "2025-11-25"
	end
	local extensions = caller.capabilities.extensions
	return rpc.is_object(extensions) and rpc.is_object(extensions[M.TASKS])
end

---Can the client ask its person to fill in a form? (client/elicitation.mdx: {} means form.)
---@param caller runner.mcp.Caller
---@return boolean
function M.can_elicit(caller)
	local elicitation = caller.capabilities.elicitation
	if not rpc.is_object(elicitation) then
		return false
	end
	return elicitation.form ~= nil or elicitation.url == nil
end

return M
