-- prompts: the examples of the tools, as messages that a person picks for the model.

local json = require "runner.json"
local lists = require "runner.mcp.lists"
local rpc = require "runner.mcp.rpc"

local M = {}

-- Each example of each tool: its name, the row, the example.
local function each_example(rows, visit)
	for _, row in ipairs(rows) do
		for i, example in ipairs(row.examples) do
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
	each_example(rows, function(name, row, example)
		prompts[#prompts + 1] = { name = name, title = ("%s: %s"):format(row.tool.title, example.description), description = example.command }
	end)
	return { prompts = prompts }
end

local function text_of(row, example)
	return ("%s. Use the tool %s: its arguments are those of the command line `%s`."):format(example.description,
		row.tool.name, example.command)
end

---prompts/get.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.get(server, r)
	local rows, fault = server:rows(false)
	if not rows then
		return nil, fault
	end
	local found
	each_example(rows, function(name, row, example)
		if name == r.params.name then
			found = { description = example.description,
				messages = json.array { { role = "user", content = { type = "text", text = text_of(row, example) } } } }
		end
	end)
	if not found then
		return nil, rpc.fault(rpc.INVALID_PARAMS, "Unknown prompt: " .. tostring(r.params.name))
	end
	return found
end

return M
