-- names: which `${…}` of a workflow file mean something. Uses are collected while
-- the file is read, and judged when all variables and steps are known. What a
-- value is when the run comes there is not known here.

local sorted = require "runner.core.sorted"
local check_of = require "runner.workflow.file.check"
local expression = require "runner.workflow.expr.expression"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- What a result has; true: something may follow behind a dot.
local RESULT = { output = false, data = true, status = false, ok = false, error = true }
local LOOPED = "captured" -- no variable of vars has the name
local RUN = { id = false, name = false }

---Is it taken as a name by the runner itself?
---@param name string
---@return boolean
function M.is_reserved(name)
	return variables.groups[name] or variables.loop[name] or false
end

local function use(check, node, reference, mode)
	check.uses[#check.uses + 1] = { node = node, name = reference.name, offset = reference.offset, mode = mode,
		operator = reference.operator, order = check.order, in_loop = check.loops > 0 }
end

---A text with `${…}` in it: read it, and keep the names it uses.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param mode "value"|"shell" in a shell text an unknown plain name is the shell's
function M.template(check, node, mode)
	if not node.text:find("${", 1, true) then
		return
	end
	local template, message, offset = variables.parse(node.text, { shell = mode == "shell" })
	if not template then
		return check:add_in(node, offset, message)
	end
	for _, reference in ipairs(variables.names(template)) do
		use(check, node, reference, mode)
	end
end

---A condition, and the names it uses.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param text string
---@return table? ast
function M.condition(check, node, text)
	local ast, message, offset = expression.parse(text)
	if not ast then
		return check:add_in(node, offset, "when: " .. message)
	end
	for _, reference in ipairs(expression.names(ast)) do
		use(check, node, reference, "value")
	end
	return ast
end

-- --- judging ----------------------------------------------------------------------------

local function complain(check, u, message, suggestion)
	check:add_in(u.node, u.offset, ("${%s}: %s"):format(u.name, message), suggestion)
end

local function listed(set)
	return table.concat(sorted.keys(set), ", ")
end

-- The rest of a path, behind "shell." or "steps.ID.".
local function judge_field(check, u, fields, rest)
	local field, more = rest:match("^([^.]*)%.?(.*)$")
	if fields[field] == nil then
		complain(check, u, field == "" and "a name is missing behind it" or ("there is no '%s' here"):format(field),
			field ~= "" and check_of.meant(field, sorted.keys(fields)) or "Here are: " .. listed(fields))
	elseif more ~= "" and not fields[field] then
		complain(check, u, ("'%s' is one value, nothing stands behind a dot"):format(field))
	end
end

-- The environment of the workflow is made before the first step.
local function too_early(check, u)
	if u.order == 0 then
		complain(check, u, "no step has run yet where this is used", "Use it in the steps")
	end
	return u.order == 0
end

local function judge_step(check, u, rest)
	local id, field = rest:match("^([^.]*)%.?(.*)$")
	local step = check.ids[id]
	if not step then
		local near = check_of.meant(id, sorted.keys(check.ids))
		complain(check, u, ("no step has the id '%s'"):format(id), near or next(check.ids) and "Ids: " .. listed(check.ids)
			or ("Write id: %s beside the step that is meant"):format(id))
	elseif too_early(check, u) then
		return
	elseif step.loops > 0 and not u.in_loop then
		complain(check, u, ("step '%s' (line %d) belongs to the items of a foreach, which this does not"):format(id, step.line),
			"Give the foreach an id: its output has a line for each item, its data a list")
	elseif step.order >= u.order then
		complain(check, u, ("step '%s' (line %d) has not run yet where this is used"):format(id, step.line))
	else
		judge_field(check, u, RESULT, field)
	end
end

local function judge_result(check, u, rest)
	if not too_early(check, u) then
		judge_field(check, u, RESULT, rest)
	end
end

local GROUPS = {
	steps = judge_step, shell = judge_result, claude = judge_result, runner = judge_result,
	run = function(check, u, rest) judge_field(check, u, RUN, rest) end,
	env = function() end,
}

local function judge_unknown(check, u, head, known)
	if u.mode == "shell" and head == u.name then
		return
	end
	local near = check_of.meant(head, sorted.keys(known))
	complain(check, u, "there is no such variable", near or ("Declare it: vars: { %s: }"):format(head))
end

-- Does only a step within a foreach give it, and this is none of its steps?
local function out_of_loop(check, u, head, known)
	return (check.captures[head] or 0) > 0 and known[head] == LOOPED and not u.in_loop
end

local function judge(check, u, known)
	local head, rest = u.name:match("^([^.]+)%.?(.*)$")
	if GROUPS[head] and rest ~= "" then
		GROUPS[head](check, u, rest)
	elseif variables.loop[head] then
		if not u.in_loop then
			complain(check, u, "only the steps of a foreach have it")
		end
	elseif GROUPS[head] and u.mode ~= "shell" then
		complain(check, u, ("'%s' is no value by itself"):format(head), ("Write ${%s.%s}"):format(head,
			head == "steps" and "ID.output" or head == "run" and "id" or head == "env" and "NAME" or "output"))
	elseif not known[head] then
		judge_unknown(check, u, head, known)
	elseif out_of_loop(check, u, head, known) then
		complain(check, u, "is captured for each item of a foreach, outside of which it has no value",
			"Give the foreach an id, and use its output or data")
	elseif u.operator then
		complain(check, u, "is a variable of the workflow, which the shell's operators don't reach",
			("Write ${%s}, with its default under vars"):format(head))
	end
end

---Judge every use.
---@param check runner.workflow.Check
---@param known table<string, any> variables; what steps capture is added
function M.judge(check, known)
	local all = {}
	for name in pairs(check.captures) do
		all[name] = LOOPED
	end
	for name in pairs(known) do
		all[name] = true
	end
	for _, u in ipairs(check.uses) do
		judge(check, u, all)
	end
end

return M
