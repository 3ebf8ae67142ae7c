-- prompts: messages that a person picks for the model: the examples of the tools, and what commands return that are prompts
-- (mcp = "prompt"), with the arguments that these declare. And completion of such arguments.

local attachments = require "runner.mcp.attachments"
local answer = require "runner.mcp.answer"
local bounded = require "runner.mcp.bounded"
local json = require "runner.json"
local listing = require "runner.mcp.listing"
local lists = require "runner.mcp.lists"
local rpc = require "runner.mcp.rpc"
local tables = require "runner.core.tables"

local M = {}

local ROLES = tables.set "user assistant"
local VALUES_MAX = 100 -- of a completion (server/utilities/completion.mdx)

-- --- what there is -------------------------------------------------------------------------

-- Each example of each tool: its name, the row, the example.
local function each_example(server, rows, visit)
	for _, row in ipairs(rows) do
		for i, example in ipairs(listing.has_prompts(server.settings, row) and row.examples or {}) do
			visit(("%s-%d"):format(row.tool.name, i), row, example)
		end
	end
end

---prompts/list.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.list(server, r)
	local rows, fault = lists.rows(server, r, true)
	if not rows then
		return nil, fault
	end
	local prompts = json.array {}
	for _, row in ipairs(server:rows(false, "prompt") or {}) do
		prompts[#prompts + 1] = { name = row.tool.name, title = row.tool.title, description = row.tool.description,
			arguments = json.array(row.arguments) }
	end
	each_example(server, rows, function(name, row, example)
		prompts[#prompts + 1] = { name = name, title = ("%s: %s"):format(row.tool.title, example.description), description = example.command }
	end)
	return { prompts = prompts }
end

-- --- one that is a command -------------------------------------------------------------------

-- A client has texts only: the value that one spells, by the schema of its argument. A number is one as on a command line.
local READERS = tables.add({ array = json.decode, object = json.decode }, require("runner.project.argv_parser").reads)

---The arguments of a call, of texts.
---@param row runner.mcp.Row
---@param texts table<string, string>
---@return table
function M.values(row, texts)
	local out = {}
	for name, text in next, texts do
		local read = READERS[((row.tool.inputSchema.properties or {})[name] or {}).type]
		local value = read and read(text)
		out[name] = value == nil and text or value
	end
	return out
end

---Why a call of a command gives nothing.
---@param envelope table
---@return runner.mcp.Fault
function M.failure(envelope)
	local e = envelope.error
	return rpc.fault(e.phase == "validation" and rpc.INVALID_PARAMS or rpc.INTERNAL_ERROR, e.message,
		{ code = e.code, suggestion = e.suggestion or e.fix_required })
end

local function message(role, content)
	return { role = role, content = content }
end

-- A text is one message of the person; a list has { role, text } of several; anything else is JSON.
local function add_texts(out, data)
	local list = type(data) == "table" and json.is_array(data) and data[1] and data or nil
	for _, one in ipairs(list or {}) do
		list = list and type(one) == "table" and ROLES[one.role] and type(one.text) == "string" and list or nil
	end
	for _, one in ipairs(list or {}) do
		out[#out + 1] = message(one.role, { type = "text", text = one.text })
	end
	local text = type(data) == "table" and type(data.value) == "string" and data.value or data ~= json.null and data and json.encode(data)
	out[#out + 1] = not list and text and message("user", { type = "text", text = text }) or nil
end

-- What the command has attached stands before what it says of it.
local function messages_of(envelope)
	local texts, out, room = {}, json.array {}, bounded.room()
	add_texts(texts, envelope.data)
	local content = answer.of(envelope).structuredContent
	local links, why = attachments.links(content), attachments.missing(content)
	if why then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, why)
	end
	for _, block in ipairs(attachments.blocks(links, room - bounded.size(texts))) do
		out[#out + 1] = message("user", block)
	end
	table.move(texts, 1, #texts, #out + 1, out)
	local bytes = bounded.size(out)
	if bytes > room then
		return nil, rpc.fault(rpc.INTERNAL_ERROR, ("The prompt has %d bytes; a message has room for %d"):format(bytes, room))
	end
	return out
end

local function of_command(server, r, row)
	local given = r.params.arguments or {}
	if not rpc.is_object(given) then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "arguments must be an object")
	end
	for name, text in next, given do
		if type(text) ~= "string" then
			return nil, rpc.fault(rpc.INVALID_PARAMS, ("The argument %s must be a string"):format(name))
		end
	end
	local envelope = server:execute(r, { command = row.command, arguments = M.values(row, given) })
	if not envelope.ok then
		return nil, M.failure(envelope)
	end
	local messages, fault = messages_of(envelope)
	return messages and { description = row.tool.description, messages = messages }, fault
end

-- --- one -----------------------------------------------------------------------------------

local function text_of(row, example)
	return ("%s. Use the tool %s: its arguments are those of the command line `%s`."):format(example.description,
		row.tool.name, example.command)
end

-- The command that is a prompt of this name; or the prompt that an example is.
local function find(server, name)
	if type(name) ~= "string" then
		return nil, nil, rpc.fault(rpc.INVALID_PARAMS, "name must be a string")
	end
	local rows, fault = server:rows(false)
	if not rows then
		return nil, nil, fault
	end
	for _, row in ipairs(server:rows(false, "prompt")) do
		if row.tool.name == name then
			return row
		end
	end
	local found
	each_example(server, rows, function(known, row, example)
		if known == name then
			found = { description = example.description, messages = json.array { message("user", { type = "text", text = text_of(row, example) }) } }
		end
	end)
	return nil, found, not found and rpc.fault(rpc.INVALID_PARAMS, "Unknown prompt: " .. name) or nil
end

---prompts/get.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.get(server, r)
	local row, found, fault = find(server, r.params.name)
	if row then
		return of_command(server, r, row)
	end
	return found, fault
end

-- --- completion ------------------------------------------------------------------------------

local function resource_of(server, uri)
	if type(uri) ~= "string" then
		return nil, nil, rpc.fault(rpc.INVALID_PARAMS, "uri must be a string")
	end
	for _, row in ipairs(server:rows(false, "resource") or {}) do
		if row.uri == uri then
			return row
		end
	end
	return nil, nil, rpc.fault(rpc.INVALID_PARAMS, "Unknown resource template: " .. uri)
end

local FINDERS = {
	["ref/prompt"] = function(server, ref) return find(server, ref.name) end,
	["ref/resource"] = function(server, ref) return resource_of(server, ref.uri) end,
}

-- The values of an argument that begin so, as its declaration names them.
local function values_of(schema, begun)
	local out, count = json.array {}, 0
	for _, value in ipairs(schema.enum or schema.type == "boolean" and { "true", "false" } or {}) do
		local text = tostring(value)
		if text:sub(1, #begun):lower() == begun:lower() then
			count = count + 1
			out[#out + 1] = count <= VALUES_MAX and text or nil
		end
	end
	return { values = out, total = count, hasMore = count > #out }
end

---completion/complete.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.complete(server, r)
	local ref, argument = r.params.ref, r.params.argument
	if not (rpc.is_object(ref) and FINDERS[ref.type]) then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "ref must be a ref/prompt or a ref/resource")
	elseif not (rpc.is_object(argument) and type(argument.name) == "string" and type(argument.value) == "string") then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "argument must have a name and a value, which are strings")
	end
	local row, _, fault = FINDERS[ref.type](server, ref)
	if fault then
		return nil, fault
	end
	local schema = row and (row.tool.inputSchema.properties or {})[argument.name]
	if not schema then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "There is no argument " .. argument.name)
	end
	return { completion = values_of(schema, argument.value) }
end

return M
