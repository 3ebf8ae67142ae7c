-- remote: the tools of an MCP server over HTTP, asked for as 2026-07-28 does, else in a session.

local drift = require "runner.mcp.drift"
local era = require "runner.mcp.era"
local json = require "runner.json"

local M = {}

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

---@param ctx runner.Context
---@param url string
---@return table[]? tools nil: it answers, but not with tools
function M.tools(ctx, url)
	return drift.tools_in(ask_modern(ctx, url)) or drift.tools_in(ask_in_session(ctx, url))
end

return M
