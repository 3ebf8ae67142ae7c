-- each: ctx:each, the same work for many items, where one that fails doesn't stop the others: a
-- result for each, and PARTIAL_FAILURE if any failed. Loaded on first use.

local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local function misused(...)
	require("runner.ctx.misuse").raise("ctx:each", ...)
end

-- What names an item: itself, its field `id` or `name`, else its place.
local function id_of(item, i)
	local id = type(item) == "table" and (item.id or item.name) or item
	return (type(id) == "string" or math.type(id)) and id or i
end

local RETRYABLE = { ["true"] = true, maybe = "maybe" }

local function error_of(e)
	local retryable = e.retryable
	if retryable == nil then
		local known = host.registry_code(e.code)
		retryable = known and RETRYABLE[known.retryable] or false
	end
	return { code = e.code, message = e.message, retryable = retryable }
end

-- One item's row. What the function returns stands beside its id; a scalar is its `value`.
local function row_of(id, ok, value, why, third)
	local row = {}
	if ok and (value ~= nil or why == nil) then
		for key, v in next, type(value) == "table" and value or { value = value } do
			row[key] = v
		end
	else
		row.error = error_of(ok and require("runner.core.returned").failure(value, why, third) or errors.normalise(value, why))
	end
	row.id, row.ok = id, row.error == nil
	return row
end

local function work(fn, items)
	local results, failed = json.array {}, 0
	for i, item in ipairs(items) do
		local ok, value, why, third = host.protect(fn, item, i)
		if not ok and third then
			error("cancelled", 0)
		end
		results[i] = row_of(id_of(item, i), ok, value, why, third)
		failed = failed + (results[i].ok and 0 or 1)
	end
	return results, failed
end

---Call fn for each item, whatever becomes of the others. Raises PARTIAL_FAILURE if any failed, with
---the same table as its data and `partial: true`.
---@param _ runner.Context
---@param items any[]
---@param fn fun(item: any, i: integer): any what it returns becomes the item's row
---@return {summary: {total: integer, succeeded: integer, failed: integer}, results: table[]}
function M.each(_, items, fn)
	if type(items) ~= "table" or type(fn) ~= "function" then
		misused("it needs a list and a function", "Write ctx:each(names, function(name) … end)")
	end
	local results, failed = work(fn, items)
	local data = { summary = { total = #results, succeeded = #results - failed, failed = failed }, results = results }
	if failed > 0 then
		data.partial = true
		errors.raise("PARTIAL_FAILURE", ("%d of %d failed"):format(failed, #results), {
			data = data, side_effects = failed < #results and "partial" or nil,
			suggestion = "Call it again for those in data.results that failed",
		})
	end
	return data
end

return M
