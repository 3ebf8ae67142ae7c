-- drift: how far a list of tools that is kept in a file, or served, is from what the commands are (REQ-O-035).

local era = require "runner.mcp.era"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

local function type_text(schema)
	local kind = type(schema) == "table" and schema.type
	if type(kind) == "table" then
		kind = table.concat(kind, "|")
	end
	local items = kind == "array" and type_text(schema.items)
	return items and items ~= "any" and ("array of %s"):format(items) or kind or "any"
end

-- Name of an argument → its type, and whether it must be given.
local function fields_of(schema)
	local required, out = {}, {}
	for _, name in ipairs(type(schema) == "table" and schema.required or {}) do
		required[name] = true
	end
	for name, property in next, type(schema) == "table" and schema.properties or {} do
		out[name] = type_text(property) .. (required[name] and ", required" or "")
	end
	return out
end

local function compare(row, theirs, drift)
	local ours, others = fields_of(row.tool.inputSchema), fields_of(theirs.inputSchema)
	for _, name in ipairs(tables.sorted_keys(ours)) do
		if others[name] == nil then
			table.insert(drift.added, row.tool.name .. "." .. name)
		elseif others[name] ~= ours[name] then
			table.insert(drift.changed, { command = row.command, field = name, cli_type = ours[name], mcp_type = others[name] })
		end
	end
	for _, name in ipairs(tables.sorted_keys(others)) do
		if ours[name] == nil then
			table.insert(drift.removed, row.tool.name .. "." .. name)
		end
	end
end

---@class runner.mcp.Drift
---@field added string[] "TOOL.ARGUMENT" that the list does not know
---@field removed string[] "TOOL" and "TOOL.ARGUMENT" that are there no more
---@field changed {command: string, field: string, cli_type: string, mcp_type: string}[]
---@field missing_from_mcp string[] tools that the list does not have

---@param rows runner.mcp.Row[] every command that may be a tool
---@param listed fun(row: runner.mcp.Row): boolean is it one?
---@param tools table[] Tools
---@return runner.mcp.Drift drift
---@return integer count of differences
function M.of(rows, listed, tools)
	local drift = { added = json.array {}, removed = json.array {}, changed = json.array {}, missing_from_mcp = json.array {} }
	local theirs = {}
	for _, tool in ipairs(tools) do
		theirs[tool.name] = tool
	end
	for _, row in ipairs(rows) do
		local tool = theirs[row.tool.name]
		theirs[row.tool.name] = nil
		if tool then
			compare(row, tool, drift)
		elseif listed(row) then
			table.insert(drift.missing_from_mcp, row.tool.name)
		end
	end
	table.move(tables.sorted_keys(theirs), 1, #tables.sorted_keys(theirs), #drift.removed + 1, drift.removed)
	return drift, #drift.added + #drift.removed + #drift.changed + #drift.missing_from_mcp
end

local function is_tools(v)
	for _, tool in ipairs(type(v) == "table" and json.is_array(v) and v or { false }) do
		if type(tool) ~= "table" or type(tool.name) ~= "string" then
			return false
		end
	end
	return type(v) == "table" and json.is_array(v)
end

---The tools in a document: a list of them, a result of tools/list, a whole answer to it, or what
---`runner mcp tools` prints.
---@param document any
---@return table[]? tools nil: there are none
function M.tools_in(document)
	local inner = type(document) == "table" and (document.result or document.data) or nil
	local found = type(inner) == "table" and inner or document
	found = type(found) == "table" and found.tools or found
	if type(found) == "table" and json.is_array(found) and type(found[1]) == "table" and type(found[1].tool) == "table" then
		local tools = json.array {}
		for i, row in ipairs(found) do
			tools[i] = type(row) == "table" and row.tool or false
		end
		found = tools
	end
	return is_tools(found) and found or nil
end

-- --- the tools of a server over HTTP ---------------------------------------------------

local CLIENT = { name = "runner", version = "1" }

-- An answer as JSON, or as the first event of a stream that has a response in it.
local function message_of(response)
	if not (response.headers["content-type"] or ""):find "event%-stream" then
		return json.decode(response.body)
	end
	for line in response.body:gmatch "[^\r\n]+" do
		local v = line:find "^data:" and json.decode(line:sub(6))
		if type(v) == "table" and (v.result or v.error) then
			return v
		end
	end
end

local function post(ctx, url, body, headers)
	headers.Accept = "application/json, text/event-stream"
	local response = ctx:http { url = url, json = body, headers = headers, check = false }
	if response.error and not response.status then
		error(response.error, 0)
	end
	return message_of(response), response
end

local function request(method, params)
	return { jsonrpc = "2.0", id = 1, method = method, params = params }
end

local function ask_modern(ctx, url)
	local meta = { ["io.modelcontextprotocol/protocolVersion"] = era.MODERN, ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}",
		["io.modelcontextprotocol/clientInfo"] = CLIENT }
	return (post(ctx, url, request("tools/list", { _meta = meta }), { ["MCP-Protocol-Version"] = era.MODERN, ["Mcp-Method"] = "tools/list" }))
end

local function ask_in_session(ctx, url)
	local begun, response = post(ctx, url, request("initialize", { protocolVersion = era.LEGACY[1], capabilities = json.decode "{}",
		clientInfo = CLIENT }), {})
	local version = type(begun) == "table" and type(begun.result) == "table" and begun.result.protocolVersion
	if type(version) ~= "string" then
		return nil
	end
	local function headers()
		return { ["MCP-Protocol-Version"] = version, ["Mcp-Session-Id"] = response.headers["mcp-session-id"] }
	end
	post(ctx, url, { jsonrpc = "2.0", method = "notifications/initialized" }, headers())
	return (post(ctx, url, request "tools/list", headers()))
end

---Ask for them as 2026-07-28 does, else in a session.
---@param ctx runner.Context
---@param url string
---@return table[]? tools nil: it answers, but not with tools
function M.tools_of_server(ctx, url)
	return M.tools_in(ask_modern(ctx, url)) or M.tools_in(ask_in_session(ctx, url))
end

return M
