-- scope: what steps know of each other: the scope in which their texts are expanded, and
-- what a step that has ended leaves there. It runs nothing and knows no store.

local M = {}

---Kind of a step that runs a process → its noun.
M.NOUNS = { claude = "Claude", shell = "shell", runner = "runner" }

---What a step leaves for those that follow.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param given {ok: boolean, output: string?, data: any, status: integer?}
---@return table given
function M.remember(step, scope, given)
	if step.id then
		scope.steps[step.id] = given
	end
	if M.NOUNS[step.kind] then
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
---@param left? {output: any, session_id: string?} its result; nil of a step that holds others
---@return table given
function M.remember_failure(step, scope, e, left)
	return M.remember(step, scope, { ok = false, output = left and left.output or "", status = e.context and e.context.status,
		error = { code = e.code, message = e.message }, session_id = left and left.session_id })
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
