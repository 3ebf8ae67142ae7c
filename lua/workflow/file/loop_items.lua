-- loop_items: what stands behind `foreach:` in a workflow file: a list, a variable, or the
-- name of a file. What they are when the loop runs is up to lua/workflow/run/items.lua.

local keys = require "runner.workflow.file.keys"
local names = require "runner.workflow.file.names"
local values = require "runner.workflow.file.values"
local yaml = require "runner.core.yaml.parser"

local M = {}

-- A list of values, whose texts may be templates, or one template.
local function items_of(check, node)
	if node.kind == "list" then
		for _, item in ipairs(node.items) do
			if item.kind == "text" then
				names.template(check, item, "value")
			end
		end
		return yaml.value(node)
	elseif node.kind == "text" and node.text:find("${", 1, true) then
		names.template(check, node, "value")
		return node.text
	end
	values.refuse(check, node, "foreach", "a list such as [a, b], a variable such as \"${files}\", or { file: PATH }",
		node.kind == "text" and ("Write foreach: [%s]"):format(node.text) or nil)
end

-- foreach: { file: … }
local function file_of(check, node)
	local problems = #check.list
	local file = values.fields(check, node, keys.items, "foreach").file
	if not file and #check.list == problems then
		check:add(node, "foreach needs file: the file whose lines are the items")
	end
	return file
end

---@param check runner.workflow.Check
---@param node runner.yaml.Node?
---@return string|any[]|nil items a template, or values, whose texts are templates
---@return string? file template
function M.read(check, node)
	if node and node.kind == "map" then
		return nil, file_of(check, node)
	end
	return node and items_of(check, node), nil
end

return M
