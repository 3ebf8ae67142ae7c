-- items: what a foreach loops over. It runs nothing.

local errors = require "runner.core.errors"
local json = require "runner.json"
local variables = require "runner.workflow.expr.variables"

local M = {}

local function lines_of(text)
	local items = {}
	for line in text:gmatch("[^\r\n]+") do
		items[#items + 1] = line
	end
	return items
end

local function expanded(items, scope)
	local out = {}
	for i, item in ipairs(items) do
		out[i] = type(item) == "string" and variables.value(item, scope) or item
	end
	return out
end

---What to loop over. Raises PRECONDITION where it isn't a list.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@return any[]
function M.of(step, scope)
	local items = step.items
	if type(items) == "string" then
		items = variables.value(items, scope)
	else
		items = expanded(items, scope)
	end
	if type(items) == "string" then
		items = lines_of(items)
	elseif type(items) ~= "table" or items[1] == nil and next(items) ~= nil then
		errors.raise("PRECONDITION", ("foreach needs a list, not %s"):format(variables.text(items)))
	end
	return json.array(step.max_items and table.move(items, 1, math.min(#items, step.max_items), 1, {}) or items)
end

return M
