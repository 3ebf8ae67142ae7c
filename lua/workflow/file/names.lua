-- names: which `${…}` references of a workflow file are valid. Uses are collected
-- while the file is read, and checked once all variables and steps are known. Values
-- at run time are not known here.

local check_of = require "runner.workflow.file.check"
local condition = require "runner.workflow.expr.condition"
local shell = require "runner.workflow.file.shell"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = {}

-- The fields of a result; true: a path may continue after a dot.
local RESULT = { output = false, output_path = false, data = true, status = false, ok = false, error = true }
local OF_CLAUDE = { output = false, output_path = false, data = true, status = false, ok = false, error = true,
	session_id = false }
local OF_LOOP = { output = false, output_path = false, data = true, status = false, ok = false, error = true, total = false, failed = false,
	succeeded = false }
local OF_WORKFLOW = { output = false, output_path = false, data = true, outputs = true, status = false, ok = false, error = true }
local FIELDS = { claude = OF_CLAUDE, foreach = OF_LOOP, parallel = OF_LOOP }
local LOOPED = "captured" -- no variable of vars has the name
local RUN = { id = false, name = false }
local ENDED = { id = false, name = false, state = false, code = false, error = false } -- in finally
-- What a check and a repair know of their step, and a repair of the check. Elsewhere these may be variables of the workflow.
local GUARDED = { attempt = { output = false, output_path = false, data = true, status = false, error = false, code = false,
		head = false, number = false, repair = false },
	check = { output = false, output_path = false, data = true, status = false, error = false } }

local WORKTREE = { path = false, branch = false, base = false, into = false }

---Is the name reserved for runner itself?
---@param name string
---@return boolean
function M.is_reserved(name)
	return variables.groups[name] or variables.loop[name] or false
end

local function use(check, node, reference, mode, reader)
	check.uses[#check.uses + 1] = { node = node, name = reference.name, offset = reference.offset, mode = mode, reader = reader,
		operator = reference.operator, order = check.order, in_loop = check.loops > 0, guarded = check.guards > 0, last = check.last,
		in_worktree = check.worktrees > 0 }
end

---Parse a text with `${…}` in it, and record the names it uses.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param mode "value"|"shell" in a shell text an unknown plain name is the shell's
function M.template(check, node, mode)
	if node.text:find("$ARG", 1, true) then
		check.texts[#check.texts + 1] = node
	end
	if mode == "shell" then
		shell.collect(node.text, check.script_reads)
	end
	if not node.text:find("${", 1, true) then
		return
	end
	local template, message, offset = variables.parse(node.text, { shell = mode == "shell" })
	if not template then
		return check:add_in(node, offset, message)
	end
	local references = variables.names(template)
	local readers = mode == "shell" and shell.readers(node.text, references) or {}
	for _, reference in ipairs(references) do
		use(check, node, reference, mode, readers[reference.offset])
	end
end

---The id of a step whose session is continued.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param id string
function M.session(check, node, id)
	use(check, node, { name = ("steps.%s.session_id"):format(id), offset = 1 }, "session")
end

---A condition, and the names it uses.
---@param check runner.workflow.Check
---@param node runner.yaml.Node
---@param text string
---@return table? ast
function M.condition(check, node, text)
	local ast, message, offset = condition.parse(text)
	if not ast then
		return check:add_in(node, offset, "when: " .. message)
	end
	for _, reference in ipairs(condition.names(ast)) do
		use(check, node, reference, "condition")
	end
	return ast
end

---What the texts read of the environment: `${env.NAME}`, and whether a condition does, where a
---missing variable is a value too; and `$NAME` in shell texts.
---@param check runner.workflow.Check
---@return {env: table<string, "text"|"condition">, scripts: table<string, true>}
function M.reads(check)
	local env = {}
	for _, u in ipairs(check.uses) do
		local name = u.name:match "^env%.(.+)"
		if name and env[name] ~= "condition" then
			env[name] = u.mode == "condition" and "condition" or "text"
		end
	end
	return { env = env, scripts = check.script_reads }
end

-- --- judging ----------------------------------------------------------------------------

local function report(check, u, message, suggestion)
	local what = u.mode == "session" and "session" or ("${%s}"):format(u.name)
	check:add_in(u.node, u.offset, ("%s: %s"):format(what, message), suggestion)
end

local function listed(set)
	return table.concat(tables.sorted_keys(set), ", ")
end

-- The structured output of a claude step was a member of its data.
local function hint_old_name(check, u)
	local old = "%.data%.structured_output%f[%z.]"
	if u.name:find(old) then
		check:hint_in(u.node, u.offset, "NAME_DEPRECATED", ("${%s}: the structured output is the step's data itself, and this name goes with"
			.. " the next version. Write ${%s}"):format(u.name, (u.name:gsub(old, ".data"))))
	end
end

-- The rest of a path, after "shell." or "steps.ID.".
local function judge_field(check, u, fields, rest)
	local field, more = rest:match("^([^.]*)%.?(.*)$")
	if fields[field] == nil then
		report(check, u, field == "" and "a name is missing after the dot" or ("unknown field '%s'"):format(field),
			field ~= "" and check_of.meant(field, tables.sorted_keys(fields)) or "Valid fields: " .. listed(fields))
	elseif more ~= "" and not fields[field] then
		report(check, u, ("'%s' is a single value: nothing may follow it"):format(field))
	end
end

-- The environment of the workflow is built before the first step.
local function too_early(check, u)
	if u.order == 0 then
		report(check, u, "used before any step has run", "Use it in a step")
	end
	return u.order == 0
end

-- Only claude steps have one, and only where it is used do they keep it.
local function judge_session(check, u, step, id)
	if step.step.kind ~= "claude" then
		report(check, u, ("step '%s' (line %d) is not a claude step, so it has no session"):format(id, step.line))
	end
	step.step.keeps_session = true
end

-- Of a file that gives something else.
local function judge_output(check, u, child, field)
	local name = field:match "^outputs%.([^.]+)" or field:match "^data%.([^.]+)"
	if child and name and not child.outputs[name] then
		report(check, u, ("%s has no output '%s'"):format(child.path, name), check_of.meant(name, tables.sorted_keys(child.outputs))
			or "Its outputs: " .. (next(child.outputs) and listed(child.outputs) or "none"))
	end
end

local function judge_step(check, u, rest)
	local id, field = rest:match("^([^.]*)%.?(.*)$")
	local step = check.ids[id]
	if not step then
		local near = check_of.meant(id, tables.sorted_keys(check.ids))
		report(check, u, ("no step has the id '%s'"):format(id), near or next(check.ids) and "Ids: " .. listed(check.ids)
			or ("Add id: %s to the step you mean"):format(id))
	elseif too_early(check, u) then
		return
	elseif step.loops > 0 and not u.in_loop then
		report(check, u, ("step '%s' (line %d) is inside a foreach, and this is not"):format(id, step.line),
			"Give the foreach an id: its output has one line per item, its data is a list")
	elseif step.order >= u.order then
		report(check, u, ("step '%s' (line %d) has not run yet at this point"):format(id, step.line))
	elseif field == "session_id" then
		judge_session(check, u, step, id)
	else
		if step.step.kind ~= "shell" and step.step.kind ~= "runner" then
			hint_old_name(check, u)
		end
		judge_field(check, u, FIELDS[step.step.kind] or step.step.given and OF_WORKFLOW or RESULT, field)
		judge_output(check, u, step.step.child, field)
	end
end

local function judge_result(check, u, rest)
	if not too_early(check, u) then
		if u.name:find "^claude%." then
			hint_old_name(check, u)
		end
		judge_field(check, u, RESULT, rest)
	end
end

local GROUPS = {
	steps = judge_step,
	run = function(check, u, rest) judge_field(check, u, u.last and ENDED or RUN, rest) end,
	env = function() end,
}
for _, kind in ipairs(variables.kinds) do
	GROUPS[kind] = judge_result
end

local function judge_unknown(check, u, head, known)
	if u.mode == "shell" and head == u.name then
		return shell.judge_unknown(check, u, known)
	end
	local near = shell.foreign[head] or check_of.meant(head, tables.sorted_keys(known))
	local of_item = u.mode == "condition" and u.in_loop and ("Write item.%s if it is a member of the item. Or declare it"):format(u.name)
	report(check, u, "unknown variable", near or ("%s: vars: { %s: }"):format(of_item or "Declare it", head))
end

-- Is it captured only inside a foreach, and used outside?
local function out_of_loop(check, u, head, known)
	return (check.captures[head] or 0) > 0 and known[head] == LOOPED and not u.in_loop
end

local function judge(check, u, known)
	local head, rest = u.name:match("^([^.]+)%.?(.*)$")
	if GROUPS[head] and rest ~= "" then
		GROUPS[head](check, u, rest)
	elseif u.guarded and rest ~= "" and GUARDED[head] then
		judge_field(check, u, GUARDED[head], rest)
	elseif u.in_worktree and rest ~= "" and head == "worktree" then
		judge_field(check, u, WORKTREE, rest)
	elseif variables.loop[head] then
		if not u.in_loop then
			report(check, u, "only available inside a foreach")
		end
	elseif GROUPS[head] and u.mode ~= "shell" then
		report(check, u, ("'%s' is not a value by itself"):format(head), ("Write ${%s.%s}"):format(head,
			head == "steps" and "ID.output" or head == "run" and "id" or head == "env" and "NAME" or "output"))
	elseif not known[head] then
		judge_unknown(check, u, head, known)
	elseif out_of_loop(check, u, head, known) then
		report(check, u, "captured once per item of a foreach, and has no value outside it",
			"Give the foreach an id, and use its output or data")
	elseif rest ~= "" and check.single[head] and not check.captures[head] then
		report(check, u, ("'%s' is a single value: nothing may follow it"):format(head))
	elseif u.operator then
		report(check, u, "a workflow variable: shell operators don't apply to it",
			("Write ${%s}, and put its default under vars"):format(head))
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
		local head = u.name:match "^[^.]+"
		if u.reader and (all[head] or variables.loop[head] or M.is_reserved(head) and u.name ~= head) then
			shell.judge_nested(check, u)
		end
	end
	for _, node in ipairs(not all.ARG and check.texts or {}) do
		shell.judge_text(check, node)
	end
end

return M
