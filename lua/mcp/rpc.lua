-- rpc: the frames of JSON-RPC 2.0 as MCP uses them: one message a line, ids that are strings or
-- integers, params that are objects, no batches. Pure.

local json = require "runner.json"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

-- Codes of JSON-RPC, and those that MCP adds (basic/index.mdx, "Error Codes").
M.PARSE_ERROR = -32700
M.INVALID_REQUEST = -32600
M.METHOD_NOT_FOUND = -32601
M.INVALID_PARAMS = -32602
M.INTERNAL_ERROR = -32603
M.RESOURCE_NOT_FOUND = -32002 -- before 2026-07-28
M.MISSING_CAPABILITY = -32021
M.UNSUPPORTED_VERSION = -32022

-- A message may become as much memory as 350,000 arrays or objects, or a million of other values.
local OF_MESSAGE = { unique = true, memory = 64 << 20 }

---@alias runner.mcp.Id string|integer|number

---@class runner.mcp.Message
---@field kind "request"|"notification"|"response"
---@field id? runner.mcp.Id
---@field method? string
---@field params? table nil: there are none
---@field result? any of a response
---@field error? table of a response

---@class runner.mcp.Fault what a request is refused with
---@field code integer
---@field message string
---@field data? table

---@param code integer
---@param message string
---@param data? table
---@return runner.mcp.Fault
function M.fault(code, message, data)
	return { code = code, message = message, data = data }
end

local ID_MAX, SAID_MAX = 256, 1000 -- bytes: of an id, and of a text of the client's that it is sent again

---A request's id: a string, or a number without a fraction (1.0 is the integer 1 in JSON Schema). Each answer repeats it.
---@param v any
---@return boolean
function M.is_id(v)
	return type(v) == "string" and #v <= ID_MAX or math.type(v) == "integer" or math.type(v) == "float" and math.tointeger(v) ~= nil
end

---Is it a JSON object? An empty one has no mark of its own.
---@param v any
---@return boolean
function M.is_object(v)
	return type(v) == "table" and not json.is_array(v)
end

local function short(v)
	return type(v) == "string" and #v > SAID_MAX and (visible.cut(v, SAID_MAX)) .. "…" or v
end

---What a client has sent isn't sent back in whole.
---@param id? runner.mcp.Id nil: it could not be read
---@param fault runner.mcp.Fault
---@return table message
function M.error(id, fault)
	local data = fault.data and tables.add({}, fault.data)
	for key, v in next, data or {} do
		data[key] = short(v)
	end
	return { jsonrpc = "2.0", id = id, error = M.fault(fault.code, short(fault.message), data) }
end

---@param id runner.mcp.Id
---@param result table
---@return table message
function M.result(id, result)
	return { jsonrpc = "2.0", id = id, result = result }
end

---@param method string
---@param params? table
---@return table message
function M.notification(method, params)
	return { jsonrpc = "2.0", method = method, params = params }
end

---@param id runner.mcp.Id
---@param method string
---@param params table
---@return table message
function M.request(id, method, params)
	return { jsonrpc = "2.0", id = id, method = method, params = params }
end

-- --- reading ---------------------------------------------------------------------------

local function refuse(v, message)
	return nil, M.error(M.is_id(v.id) and v.id or nil, M.fault(M.INVALID_REQUEST, message))
end

-- A message with a method.
local function call_of(v)
	if type(v.method) ~= "string" then
		return refuse(v, "method must be a string")
	elseif v.id ~= nil and not M.is_id(v.id) then
		return refuse(v, ("id must be a string of at most %d bytes, or an integer"):format(ID_MAX))
	elseif v.params ~= nil and not M.is_object(v.params) then
		local fault = M.fault(M.INVALID_PARAMS, "params must be an object")
		return nil, v.id ~= nil and M.error(v.id, fault) or nil
	end
	return { kind = v.id ~= nil and "request" or "notification", id = v.id, method = v.method, params = v.params }
end

local function response_of(v)
	if not M.is_id(v.id) or (v.result == nil) == (v.error == nil) then
		return nil -- nothing that we could have asked for: a response gets no answer
	end
	return { kind = "response", id = v.id, result = v.result, error = v.error }
end

-- What a message that isn't read was: the response to us, or a request that has its answer now, if its id can be found.
local function of_members(members, fault)
	local id = M.is_id(members.id) and utf8.len(members.id) and members.id or nil
	if id ~= nil and members.method == nil then
		return { kind = "response", id = id, error = fault }
	end
	return nil, M.error(id, fault)
end

---Text that is not read: the request in it gets its answer, if its id can be found.
---@param text string
---@param fault runner.mcp.Fault
---@return runner.mcp.Message? message as M.read
---@return table? answer
function M.unread(text, fault)
	return of_members(require("runner.core.json_text").outline(text) or {}, fault)
end

---A line that was too long to be kept.
---@param outline? string its outermost object, as lua/task/channel.lua has it
---@param fault runner.mcp.Fault
---@return runner.mcp.Message? message as M.read
---@return table? answer
function M.too_long(outline, fault)
	local members = outline and json.decode(outline, OF_MESSAGE)
	return of_members(M.is_object(members) and members or {}, fault)
end

---Read one line.
---@param text string
---@return runner.mcp.Message? message nil: there is none that could be dealt with
---@return table? answer what is to be sent instead; nil: nothing
function M.read(text)
	local v, why, code = json.decode(text, OF_MESSAGE)
	if code == "TOO_LARGE" then
		return M.unread(text, M.fault(M.INVALID_REQUEST, "The message is too large: " .. why))
	elseif why then
		return M.unread(text, M.fault(M.PARSE_ERROR, "Parse error: " .. why))
	elseif type(v) ~= "table" then
		return nil, M.error(nil, M.fault(M.INVALID_REQUEST, "A message must be an object"))
	elseif not M.is_object(v) then
		return nil, M.error(nil, M.fault(M.INVALID_REQUEST, "A message must be an object; MCP has no batches"))
	elseif v.jsonrpc ~= "2.0" then
		return refuse(v, 'jsonrpc must be "2.0"')
	elseif v.method ~= nil then
		return call_of(v)
	elseif v.result ~= nil or v.error ~= nil then
		return response_of(v)
	end
	return refuse(v, "A message needs a method, a result or an error")
end

return M
