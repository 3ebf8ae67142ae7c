-- drift: how far a list of tools that somebody keeps, or serves, is from what the commands are
-- (REQ-O-035). Pure.

local json = require "runner.json"
local sorted = require "runner.core.sorted"

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
	for _, name in ipairs(sorted.keys(ours)) do
		if others[name] == nil then
			table.insert(drift.added, row.tool.name .. "." .. name)
		elseif others[name] ~= ours[name] then
			table.insert(drift.changed, { command = row.command, field = name, cli_type = ours[name], mcp_type = others[name] })
		end
	end
	for _, name in ipairs(sorted.keys(others)) do
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
	table.move(sorted.keys(theirs), 1, #sorted.keys(theirs), #drift.removed + 1, drift.removed)
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

return M
