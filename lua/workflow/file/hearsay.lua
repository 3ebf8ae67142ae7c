-- hearsay: which prompts of a workflow have in them what another model said, where the step that gets it may change something: that text
-- may tell it what to do. Hints for the command `check`. What goes by a shell step, a file or another workflow isn't followed. Loaded for
-- workflows with claude steps.

local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- --- what a model said ---------------------------------------------------------------------------

-- May what the schema says of the member hold a sentence?
local function is_free(schema, path)
	for name in path:gmatch "[^.]+" do
		schema = type(schema) == "table" and (tonumber(name) and schema.items or (schema.properties or {})[name]) or {}
	end
	local kind = schema.type
	return not (schema.enum or schema.const ~= nil or kind == "number" or kind == "integer" or kind == "boolean" or kind == "null")
end

-- Of a result: source is the claude step, or true: one is inside.
local function is_said(source, rest)
	local field, path = rest:match "^(%a+)%.?(.*)$"
	return source and (field == "output" or field == "data" and (source == true or not source.schema or is_free(source.schema, path)))
end

-- place: what `item`, `attempt` and `check` are of, there.
local function is_hearsay(all, place, name)
	local head, rest = name:match "^([^.]+)%.?(.*)$"
	if head == "steps" then
		return is_said(all.ids[rest:match "^[^.]*"], rest:match "%.(.*)" or "")
	elseif head == "claude" then
		return is_said(all.last, rest)
	elseif head == "attempt" or head == "check" then
		return is_said(place[head], rest)
	end
	return head == "item" and place.item or all.captured[head]
end

-- The first name of a text that is.
local function hearsay_in(all, place, text)
	for _, reference in ipairs(variables.names(variables.parse(text) or {})) do
		if is_hearsay(all, place, reference.name) then
			return reference.name
		end
	end
end

-- --- who may change something --------------------------------------------------------------------

local READS = tables.set "Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite"
local WRITES = tables.set "acceptEdits auto bypassPermissions"

-- What lets it, as it is written.
local function license(step, args)
	for _, tool in ipairs(step.options.allowed_tools or {}) do
		for name in tool:gsub("%b()", ""):gmatch "[^%s,]+" do
			if not READS[name] then
				return "allowed_tools: " .. tool
			end
		end
	end
	local words = table.concat(args, " ") .. " " .. table.concat(step.args or {}, " ")
	return words:match "%-%-dangerously%-skip%-permissions"
		or WRITES[step.options.permission_mode] and "permission_mode: " .. step.options.permission_mode
end

local function judge(all, place, step)
	local by = not step.confine and license(step, all.args)
	for _, text in ipairs(by and { step.text, step.options.system_prompt or "", step.options.append_system_prompt or "" } or {}) do
		local name = hearsay_in(all, place, text)
		if name then
			all.check.hints[#all.check.hints + 1] = { line = step.line, column = step.column, code = "MODEL_FEEDS_MODEL",
				message = ("${%s} is what a model said, which may tell this step what to do, and this step may change something (%s):"
					.. " confine it, let it only read, or give it what is no text, such as a number of a schema"):format(name, by) }
		end
	end
end

-- --- the steps, in the order in which they run ---------------------------------------------------

-- Returns the claude step whose result the list's is, or true where it is of several; and the same for what is anywhere in the list.
local function walk(all, list, place)
	local last, any
	for _, step in ipairs(list or {}) do
		local source = step.kind == "claude" and step or nil
		if source then
			judge(all, place, step)
			all.last = step
		end
		local item = step.kind == "foreach" and { item = type(step.items) == "string" and hearsay_in(all, place, step.items) }
		local inner, within = walk(all, not step.child and step.steps or nil, item and setmetatable(item, { __index = place }) or place)
		source = source or step.kind == "steps" and inner or step.kind ~= "steps" and within and true or nil
		local near = setmetatable({ attempt = source or false }, { __index = place })
		near.check = select(2, walk(all, (step.check or {}).steps, near)) or false
		walk(all, (step.repair or {}).steps, near)
		walk(all, (step.on_failure or {}).steps, place)
		walk(all, (step.on_success or {}).steps, place)
		all.ids[step.id or ""] = source
		all.captured[type(step.capture) == "string" and step.capture or ""] = source
		last, any = source, source and any and true or source or any
	end
	return last, any
end

---@param check runner.workflow.Check gets the hints
---@param workflow table with its steps and the options of its claude steps
function M.judge(check, workflow)
	walk({ check = check, ids = {}, captured = {}, args = workflow.claude.args or {} }, workflow.all, {})
end

return M
