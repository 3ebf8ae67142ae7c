-- resources: what an agent may read beside the tools: the project's pages, what each tool is, and
-- the reports of workflow runs. Runs are read by the commands that show them, so a policy holds.

local json = require "runner.json"
local lists = require "runner.mcp.lists"
local rpc = require "runner.mcp.rpc"

local M = {}

local DOCS, COMMANDS, RUNS = "runner://docs/", "runner://commands/", "runner://runs/"
local RUNS_MAX = 20
local MARKDOWN, JSON = "text/markdown", "application/json"

-- What RFC 3986 keeps for itself, as %XX.
local function escaped(name)
	return (name:gsub("[^%w._~/-]", function(c)
		return ("%%%02X"):format(c:byte())
	end))
end

-- --- which there are ---------------------------------------------------------------------------

local function add_documents(server, out)
	for _, document in ipairs(server.outside.documents.list()) do
		out[#out + 1] = { uri = DOCS .. escaped(document.name), name = document.name, mimeType = MARKDOWN, size = document.size }
	end
end

local function add_commands(rows, out)
	for _, row in ipairs(rows) do
		out[#out + 1] = { uri = COMMANDS .. row.tool.name, name = row.tool.title, description = row.tool.description, mimeType = JSON }
	end
end

local function add_runs(server, r, rows, out)
	local envelope = lists.has(rows, "workflow.list") and lists.has(rows, "workflow.show")
		and server:execute(r, { command = { "self", "workflow", "list" }, flags = { "--limit=" .. RUNS_MAX } })
	for _, run in ipairs(envelope and envelope.ok and envelope.data or {}) do
		out[#out + 1] = { uri = RUNS .. run.id, name = run.id, mimeType = JSON,
			description = ("Run of workflow %s: %s, %s"):format(run.workflow, run.state, run.created) }
	end
end

---resources/list.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.list(server, r)
	local rows, fault = lists.rows(server, r, true)
	if not rows then
		return nil, fault
	end
	local out = json.array {}
	add_documents(server, out)
	add_commands(rows, out)
	add_runs(server, r, rows, out)
	return { resources = out }
end

---resources/templates/list.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.templates(server, r)
	local rows, fault = lists.rows(server, r, false)
	if not rows then
		return nil, fault
	end
	local run = { uriTemplate = RUNS .. "{id}", name = "run", title = "Report of a workflow run", mimeType = JSON }
	return { resourceTemplates = json.array { lists.has(rows, "workflow.show") and run or nil } }
end

-- --- one of them -------------------------------------------------------------------------------

local function read_document(server, uri)
	for _, document in ipairs(server.outside.documents.list()) do
		if uri == DOCS .. escaped(document.name) then
			return server.outside.documents.read(document), MARKDOWN
		end
	end
end

local function read_command(server, uri)
	for _, row in ipairs(server:rows(true) or {}) do
		if uri == COMMANDS .. row.tool.name then
			return assert(json.encode { tool = row.tool, examples = row.examples }), JSON
		end
	end
end

local function read_run(server, uri, r)
	local id = uri:match("^" .. RUNS .. "(run_%w+)$")
	local envelope = id and server:has_command "workflow.show"
		and server:execute(r, { command = { "self", "workflow", "show" }, arguments = { id = id } })
	if envelope and envelope.ok then
		return assert(json.encode(envelope.data)), JSON
	end
end

local READERS = { [DOCS] = read_document, [COMMANDS] = read_command, [RUNS] = read_run }

---resources/read.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.read(server, r)
	local uri = r.params.uri
	if type(uri) ~= "string" then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "uri must be a string")
	end
	local read = READERS[uri:match "^runner://%l+/" or ""]
	local text, kind
	if read then
		text, kind = read(server, uri, r)
	end
	if not text then
		return nil, rpc.fault(r.caller.modern and rpc.INVALID_PARAMS or rpc.RESOURCE_NOT_FOUND, "Resource not found", { uri = uri })
	end
	return { contents = json.array { { uri = uri, mimeType = kind, text = text } } }
end

return M
