-- scope: what steps know of each other: the scope in which their texts are expanded, and
-- what a step that has ended leaves there. It runs nothing and knows no store.

local host = require "runner.host"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- What kind of step a result is of; no name that ${steps.ID} could have.
local MARKS = {}
for _, kind in ipairs(variables.kinds) do
	MARKS[kind] = { kind = kind }
end

local SHOWN = 80 -- bytes of an item
local NAMES = { "id", "name", "title", "path", "file", "key" }

-- What an object is called, where a member says so.
local function named(item)
	for _, name in ipairs(NAMES) do
		local kind = type(item[name])
		if kind == "string" or kind == "number" then
			return tostring(item[name])
		end
	end
end

---An item as people read it, on one line.
---@param item any masked
---@return string
function M.item_text(item)
	local text = type(item) == "string" and item or type(item) == "table" and named(item) or json.encode(item) or "?"
	text = host.clean(text:sub(1, 16 * SHOWN)):gsub("%s+", " ")
	return #text > SHOWN and text:sub(1, (utf8.offset(text, 0, SHOWN) or SHOWN) - 1) .. "…" or text
end

---What a step is called in the store, with the item of the loop that it is in.
---@param run table
---@param step runner.workflow.Step
---@param key string
---@param scope runner.workflow.Scope
---@return {key: string, id: string?, kind: string, label: string, item: string?}
function M.ident(run, step, key, scope)
	local item = scope.item
	return { key = key, id = step.id, kind = step.kind, label = step.label, item = item ~= nil and M.item_text(run.mask(item)) or nil }
end

local COUNTS = { total = true, failed = true, succeeded = true }

-- How many items a loop had, counted in its data, which say it of each.
local function count(given, name)
	local rows = COUNTS[name] and large_value.value(rawget(given, "data"))
	local n = rows and { total = #rows, failed = 0, succeeded = 0 } or {}
	for _, row in ipairs(rows or {}) do
		local of = row.ok == true and "succeeded" or "failed"
		n[of] = n[of] + 1
	end
	return n[name]
end

local LOOP = { __index = count }

---What a step leaves for those that follow.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param given {ok: boolean, output: string?, data: any, status: integer?}
---@return table given
function M.remember(step, scope, given)
	local is_block = step.kind == "steps" -- its result is that of its last step
	setmetatable(given, MARKS[step.kind] or step.steps and not is_block and LOOP or getmetatable(given))
	if step.id then
		scope.steps[step.id] = given
	end
	if MARKS[step.kind] then
		scope[step.kind] = given
	end
	if type(step.capture) == "string" then
		scope.vars[step.capture] = given.output
	end
	return given
end

---What the steps of on_failure, and later ones, can see of a failure.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param e runner.Error
---@param left? {output: any, status: integer?, session_id: string?} its result; nil of a loop
---@return table given
function M.remember_failure(step, scope, e, left)
	local status = e.context and e.context.status
	return M.remember(step, scope, { ok = false, output = left and left.output or "", status = status or left and left.status,
		error = { code = e.code, message = e.message }, session_id = left and left.session_id })
end

---The result of a block that has passed, whatever became of its last step.
---@param given table of that step
---@return table
function M.passed(given)
	local out = setmetatable(tables.add({}, given), getmetatable(given))
	out.ok, out.error = true, nil
	return out
end

---Tables of an item's own, which inherit from the outer ones.
---@param scope runner.workflow.Scope
---@param fields table what it has of its own
---@param own_steps boolean
---@return runner.workflow.Scope
function M.inner_scope(scope, fields, own_steps)
	local inner = setmetatable(fields, { __index = scope })
	inner.vars = rawget(fields, "vars") or setmetatable({}, { __index = scope.vars })
	inner.steps = own_steps and setmetatable({}, { __index = scope.steps }) or scope.steps
	return inner
end

---Ids and captured variables are shared; the last step of a kind is its own.
---@param scope runner.workflow.Scope
---@return runner.workflow.Scope
function M.side_scope(scope)
	return M.inner_scope(scope, { vars = scope.vars }, false)
end

return M
