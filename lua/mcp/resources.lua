-- resources: what an agent may read beside the tools: the project's pages, what each tool is, the reports of workflow
-- runs, and what commands say that are resources (mcp = { resource = URI }). Commands are called, so a policy holds.

local answer = require "runner.mcp.answer"
local attachments = require "runner.mcp.attachments"
local attempt = require "runner.core.attempt"
local bounded = require "runner.mcp.bounded"
local encoding = require "runner.core.encoding"
local fs = require "runner.fs"
local json = require "runner.json"
local lists = require "runner.mcp.lists"
local prompts = require "runner.mcp.prompts"
local rpc = require "runner.mcp.rpc"
local visible = require "runner.core.visible"

local M = {}

-- --- the pages of a project ------------------------------------------------------------

-- README.md and the Markdown below docs/. Only regular files that were found by listing can be read; no path of a client
-- is opened.

M.documents = {} -- as the server is handed them

local DEPTH_MAX, COUNT_MAX, BYTES_MAX = 4, 200, 1 << 20

---@class runner.mcp.Document
---@field name string relative to the project: "docs/guide.md"
---@field path string
---@field size integer bytes

local function add_file(out, root, name)
	local path = root .. "/" .. name
	local about = #out < COUNT_MAX and fs.lstat(path)
	if about and about.type == "file" and about.nlink == 1 and about.size <= BYTES_MAX and utf8.len(name) and not name:find "%c"
		and visible.text(name) == name then
		out[#out + 1] = { name = name, path = path, size = about.size }
	end
end

local function add_folder(out, root, folder, depth)
	for _, name in ipairs(depth <= DEPTH_MAX and fs.list(root .. "/" .. folder) or {}) do
		local below = folder .. "/" .. name
		local about = name:sub(1, 1) ~= "." and fs.lstat(root .. "/" .. below)
		if about and about.type == "directory" then
			add_folder(out, root, below, depth + 1)
		elseif about and name:find "%.md$" then
			add_file(out, root, below)
		end
	end
end

---The pages there are, in the order of their names.
---@return runner.mcp.Document[]
function M.documents.list()
	local root, out = attempt.project.root, {}
	if root then
		add_file(out, root, "README.md")
		local docs = fs.lstat(root .. "/docs")
		if docs and docs.type == "directory" then
			add_folder(out, root, "docs", 1)
		end
	end
	return out
end

---The text of a page; nil: it is gone, or no text.
---@param document runner.mcp.Document
---@return string?
function M.documents.read(document)
	local text = fs.read(document.path, BYTES_MAX)
	return text and utf8.len(text) and text or nil
end

local DOCS, COMMANDS, RUNS = "runner://docs/", "runner://commands/", "runner://runs/"
local RUNS_MAX = 20
local MARKDOWN, JSON = "text/markdown", "application/json"

local function escaped(name)
	return encoding.percent(name, "%w._~/-")
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

-- Those that commands are: a URI with {NAME} is a template.
local function add_declared(server, templates, out)
	for _, row in ipairs(server:rows(false, "resource") or {}) do
		local is_template = row.uri:find("{", 1, true) ~= nil
		out[#out + 1] = is_template == templates and { [templates and "uriTemplate" or "uri"] = row.uri, name = row.tool.name,
			title = row.tool.title, description = row.tool.description, mimeType = row.mime_type } or nil
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
	add_declared(server, false, out)
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
	local rest = { uriTemplate = attachments.URI .. "{name}", name = "answer", title = "A file of an answer, or what it had no room for" }
	local out = json.array { rest, lists.has(rows, "workflow.show") and run or nil }
	add_declared(server, true, out)
	return { resourceTemplates = out }
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
		return assert(json.encode(visible.value(envelope.data))), JSON
	end
end

local function read_answer(_, uri)
	return attachments.read(uri)
end

local READERS = { [attachments.URI] = read_answer, [DOCS] = read_document, [COMMANDS] = read_command, [RUNS] = read_run }

-- --- those that commands are --------------------------------------------------------------------

-- One part of a path, and no way out of its folder, however it was spelled.
local function is_one_name(text)
	return text and utf8.len(text) and not text:find "[/\0]" and text ~= "." and text ~= ".."
end

-- The arguments that a URI names; nil: it is none of this template's. Each goes on to where what follows it stands first, so
-- that a long URI takes no longer than its bytes.
local function arguments_in(template, uri)
	local begins = template:match "^[^{]*"
	local at, out = #begins + 1, {}
	if uri:sub(1, #begins) ~= begins then
		return nil
	end
	for name, follows, from in template:gmatch "{([%w_]+)}([^{]*)()" do
		local stop = from > #template and #uri - #follows + 1 or uri:find(follows, at, true)
		local value = stop and uri:sub(at, stop - 1) or ""
		out[name] = not value:find "[/?#]" and value ~= "" and encoding.from_percent(value) or nil
		if not (is_one_name(out[name]) and uri:sub(stop, stop + #follows - 1) == follows) then
			return nil
		end
		at = stop + #follows
	end
	return at > #uri and out or nil
end

-- The file that the command attaches, or what it returns: a text as it is, anything else as JSON. What of it isn't kept is a
-- failure: nothing else stands for it.
local function content_of(uri, envelope, row)
	local content = answer.of(envelope).structuredContent
	local link, why = attachments.links(content)[1], attachments.missing(content)
	local bytes, kind, kept
	if why then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, why)
	elseif link then
		bytes, kind, kept = attachments.read(link.uri), row.mime_type or link.mimeType, link.uri
	else
		local data = visible.value(envelope.data)
		local text = type(data) == "table" and type(data.value) == "string" and next(data, next(data)) == nil and data.value
		bytes, kind = text or assert(json.encode(data)), row.mime_type or text and "text/plain" or JSON
		kept, why = bounded.uri_of(bytes, kind)
	end
	local part = bytes and bounded.part(uri, bytes, kind, 0, kept)
	if part and why and part.contents[1]._meta then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, "What a message has no room for can't be kept: " .. why)
	end
	return part
end

---@return table? result nil: no command is this resource
---@return runner.mcp.Fault? fault
local function read_declared(server, uri, r)
	for _, row in ipairs(server:rows(false, "resource") or {}) do
		local arguments = arguments_in(row.uri, uri)
		local envelope = arguments and server:execute(r, { command = row.command, arguments = prompts.values(row, arguments) })
		if envelope and envelope.ok then
			return content_of(uri, envelope, row)
		elseif envelope and envelope.error.code ~= "NOT_FOUND" then
			return nil, prompts.failure(envelope)
		end
	end
end

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
	local name, from = uri:match "^(.*)%?from=(%d+)$"
	name, from = name or uri, math.tointeger(tonumber(from or 0))
	local read = READERS[name:match "^runner://%l+/" or ""]
	local part, text, kind, fault
	if read then
		text, kind = read(server, name, r)
		part = text and from and bounded.part(name, text, kind, from)
	elseif not uri:find "^runner:" then
		part, fault = read_declared(server, uri, r)
	end
	return part, not part and (fault or rpc.fault(r.caller.modern and rpc.INVALID_PARAMS or rpc.RESOURCE_NOT_FOUND, "Resource not found",
		{ uri = uri })) or nil
end

return M
