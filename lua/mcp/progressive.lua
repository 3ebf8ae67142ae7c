-- progressive: three tools in place of hundreds, so that a long list of commands fills no context:
-- `search` finds commands, `describe` shows one as a tool, `call` calls it, under the same rules
-- as a call of its own name.

local answer = require "runner.mcp.answer"
local call = require "runner.mcp.call"
local json = require "runner.json"
local listing = require "runner.mcp.listing"
local rpc = require "runner.mcp.rpc"
local tables = require "runner.core.tables"
local tasks = require "runner.mcp.tasks"
local visible = require "runner.core.visible"

local M = {}

local FOUND_MAX = 10

-- --- search ---------------------------------------------------------------------------------

-- A model reads the text; without an outputSchema nothing needs the same once more as structuredContent.
local function success(data)
	local result = answer.of { ok = true, data = data }
	result.structuredContent = nil
	return result
end

-- How many there are by the first word of their names.
local function groups_of(rows)
	local counts = {}
	for _, row in ipairs(rows) do
		local word = row.tool.title:match "^%S+"
		counts[word] = (counts[word] or 0) + 1
	end
	return counts
end

-- Without words all of them, if they are few.
local function fitting(rows, query)
	if not query:find "%S" then
		return #rows > FOUND_MAX and {} or rows
	end
	return listing.fitting(rows, query)
end

local function search(server, _, arguments)
	local rows, fault = server:rows(true)
	if not rows then
		return nil, fault
	end
	local found, tools = fitting(rows, arguments.query or ""), json.array {}
	for i = 1, math.min(#found, FOUND_MAX) do
		local row = found[i]
		tools[i] = { name = row.tool.name, description = row.tool.description, danger_level = row.danger_level }
	end
	return success { tools = tools, total = found[1] and #found or #rows, groups = not found[1] and groups_of(rows) or nil }
end

-- --- describe and call ------------------------------------------------------------------------

local SAID_MAX, ASKED_MAX = 1000, 100 -- bytes of a name in a message, and in a question

local function short(name, most)
	local text, left = visible.cut(name, most or SAID_MAX)
	return left > 0 and text .. "…" or text
end

local function unknown(server, name, fault)
	local words = short(name, ASKED_MAX):gsub("[%p%c%s]+", " "):match "^%s*(.-)%s*$"
	local near = listing.near(server, name)
	return fault and fault.code == rpc.INTERNAL_ERROR and fault.message or ("There is no tool '%s'"):format(short(name)),
		{ suggestion = "Call search " .. json.encode { query = words ~= "" and words or "…" },
			context = near and { usage = json.array(near) } or nil }
end

local function describe(server, _, arguments)
	local row, fault = server:find(arguments.name)
	if not row then
		return answer.refusal("NOT_FOUND", unknown(server, arguments.name, fault))
	end
	return success(row.tool)
end

local function call_one(server, r, arguments)
	local row, fault = server:find(arguments.name)
	if not row then
		server:record(r, "refused", { command = arguments.name:sub(1, 128), by = "server", reason = fault and fault.message or nil })
		return answer.refusal("NOT_FOUND", unknown(server, arguments.name, fault))
	end
	return call.run(server, r, call.prepare(row, arguments.arguments))
end

-- --- the three ----------------------------------------------------------------------------------

local function text(description)
	return { type = "string", description = description }
end

local NAME = text "Its name, as search gives it"

local function schema(properties, required)
	return { type = "object", properties = properties, required = required and json.array(required) or nil, additionalProperties = false }
end

---@alias runner.mcp.Handler fun(server: runner.mcp.Server, r: runner.mcp.Request, arguments: table): table?, runner.mcp.Fault?

---@type { tool: table, form: string, run: runner.mcp.Handler }[]
local TOOLS = {
	{ run = call_one, form = '{"name":"…","arguments":{…}}',
		tool = { name = "call", title = "Call a command", annotations = { readOnlyHint = false, destructiveHint = true },
		description = "Call a command. Search for it and describe it first; a destructive one asks the person",
		inputSchema = schema({ name = NAME, arguments = { type = "object", description = "As its inputSchema says" } }, { "name" }) } },
	{ run = describe, form = '{"name":"…"}', tool = { name = "describe", title = "Describe a command", annotations = { readOnlyHint = true },
		description = "Show what a command does and which arguments it takes",
		inputSchema = schema({ name = NAME }, { "name" }) } },
	{ run = search, form = '{"query":"…"}',
		tool = { name = "search", title = "Search the commands", annotations = { readOnlyHint = true },
		description = ("Find commands by what they do, in plain words, best first, %d at most; without a query, the groups"):format(FOUND_MAX),
		inputSchema = schema { query = text "What is to be done" } } },
}

---@return {tool: table, task?: string}[] in the order of their names, as rows are
function M.tools()
	local out = {}
	for i, one in ipairs(TOOLS) do
		out[i] = { tool = one.tool, task = one.run == call_one and "any" or nil }
	end
	return out
end

-- By the schemas above: texts and one object, and nothing else.
local function problem_of(tool, arguments, names)
	local properties = tool.inputSchema.properties
	for name, v in next, arguments do
		local property = properties[name]
		if not property then
			return ("There is no argument '%s': %s takes %s"):format(short(name), tool.name, table.concat(names, " and "))
		elseif property.type == "object" and not rpc.is_object(v) or property.type == "string" and type(v) ~= "string" then
			return ("%s must be %s"):format(name, property.type == "object" and "an object" or "a string")
		end
	end
	for _, name in ipairs(tool.inputSchema.required or {}) do
		if arguments[name] == nil then
			return name .. " is missing"
		end
	end
end

---tools/call of one of the three.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.handle(server, r)
	local problem = call.problem(r.params)
	if problem then
		return nil, rpc.fault(rpc.INVALID_PARAMS, problem)
	end
	local arguments = r.params.arguments or {}
	for _, one in ipairs(TOOLS) do
		if one.tool.name == r.params.name then
			local fault = one.run ~= call_one and tasks.problem(r)
			if fault then
				return nil, fault
			end
			problem = problem_of(one.tool, arguments, tables.sorted_keys(one.tool.inputSchema.properties))
			if problem then
				return answer.refusal("VALIDATION_ERROR", problem, { suggestion = ("Call %s %s"):format(one.tool.name, one.form) })
			end
			return one.run(server, r, arguments)
		end
	end
	local message = ("Unknown tool: %s. The tools are call, describe and search"):format(short(r.params.name, ASKED_MAX))
	return nil, rpc.fault(rpc.INVALID_PARAMS, message)
end

return M
