-- selection: which items a loop has, and in which order: those at a path of a JSON file, those for which `where` holds,
-- as `sort` has them. It is decided once, when the loop begins.

local condition = require "runner.workflow.expr.condition"
local errors = require "runner.core.errors"
local json = require "runner.json"
local scopes = require "runner.workflow.run.scope"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- All of a list or of a map: `*`; else what a value has by a name, or by a number from 0.
local function members(value, name)
	if type(value) ~= "table" then
		return {}
	elseif name ~= "*" then
		return { (variables.lookup({ vars = { at = value } }, "at." .. name)) }
	elseif json.is_array(value) then
		return value
	end
	local out = {}
	for i, key in ipairs(tables.sorted_keys(value)) do
		out[i] = value[key]
	end
	return out
end

local SHOWN = 10 -- members that a message names

-- What is where a path doesn't go on, in a few words.
local function holds(value)
	if type(value) ~= "table" then
		return "there is " .. (value == json.null and "null" or "a " .. type(value))
	elseif json.is_array(value) then
		return ("there is a list of %d"):format(#value)
	end
	local names = tables.sorted_keys(value)
	return names[1] and "there are: " .. table.concat(names, ", ", 1, math.min(#names, SHOWN)) .. (names[SHOWN + 1] and ", …" or "")
		or "there is an empty map"
end

-- A loop over what isn't there would be a success that does nothing.
local function raise_missing(file, path, name, value)
	local shown = ("$." .. table.concat(path, ".")):gsub("%.([%d*]+)%f[.\0]", "[%1]")
	errors.raise("PRECONDITION", ("foreach: %s of %s: %s; %s"):format(shown, file,
		name == "*" and "[*] needs a list or a map" or ("there is no member '%s'"):format(name), holds(value)),
		{ suggestion = "Fix path. A list that may be missing has to be there as [] for no items" })
end

---The items at a path of a JSON text: the elements of the list there, or all that the path finds. Raises PRECONDITION where nothing
---has the member that it names next.
---@param text string
---@param path string[] as lua/workflow/expr/variables.lua reads one
---@param file string for messages
---@return any[]? items nil: it isn't JSON
function M.of_json(text, path, file)
	local value = json.decode(text)
	local found = { value }
	for _, name in ipairs(path) do
		local below, is_there = {}, found[1] == nil
		for _, of in ipairs(found) do
			local more = members(of, name)
			is_there = is_there or more[1] ~= nil or name == "*" and type(of) == "table"
			table.move(more, 1, #more, #below + 1, below)
		end
		found = is_there and below or raise_missing(file, path, name, found[1])
	end
	local is_list = path[#path] ~= "*" and #found == 1 and json.is_array(found[1])
	return value ~= nil and (is_list and found[1] or found) or nil
end

local function filtered(items, where, scope)
	local out = {}
	for i, item in ipairs(items) do
		if condition.eval(where.ast, scopes.inner_scope(scope, { item = item, item_index = i, choosing = true }, true)) then
			out[#out + 1] = item
		end
	end
	return out
end

local RANKS = { number = 1, string = 2 } -- what has no order comes last

-- By one of its members, which are compared as in a condition; those that are equal in it stay in their order.
local function sorted(items, by)
	local rows = {}
	for i, item in ipairs(items) do
		local key = variables.lookup({ item = item }, by.path)
		key = type(key) == "boolean" and tostring(key) or condition.number(key) or key
		rows[i] = { item = item, i = i, key = key, rank = RANKS[type(key)] or 3 }
	end
	table.sort(rows, function(a, b)
		if a.rank ~= b.rank then
			return (a.rank < b.rank) ~= (by.descending and a.rank + b.rank == 3)
		elseif a.rank == 3 or a.key == b.key then
			return a.i < b.i
		end
		return (a.key < b.key) ~= by.descending
	end)
	for i, row in ipairs(rows) do
		rows[i] = row.item
	end
	return rows
end

---Those of the items for which `where` holds, as `sort` has them.
---@param step runner.workflow.Step
---@param items any[]
---@param scope runner.workflow.Scope
---@return any[] chosen none_of: of how many `where` holds for none
function M.chosen(step, items, scope)
	local total = #items
	items = step.where and filtered(items, step.where, scope) or items
	if total > 0 and not items[1] then
		return { none_of = total }
	end
	for n = #(step.sort or {}), 1, -1 do
		items = sorted(items, step.sort[n])
	end
	return items
end

return M
