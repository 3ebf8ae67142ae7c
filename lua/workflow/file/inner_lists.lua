-- inner_lists: the lists of steps that a step holds, for what walks a whole workflow.

local M = {}

local NAMES = { "check", "repair", "worktree", "on_failure", "on_success" }

---What is inside a step, then what belongs to its check, its repair, its worktree, its hooks and what it notifies.
---@param step runner.workflow.Step
---@return runner.workflow.Step[][] lists
function M.of(step)
	local lists = { step.steps }
	for _, name in ipairs(NAMES) do
		local holder = step[name]
		lists[#lists + 1] = holder and holder.steps or nil
	end
	lists[#lists + 1] = step.approve and step.approve.notify and step.approve.notify.steps
	return lists
end

---Call f(step, key) for all of them; key: as in a first round, with [*] for the items of loops.
---@param steps runner.workflow.Step[]
---@param f fun(step: runner.workflow.Step, key: string)
---@param prefix? string
function M.each(steps, f, prefix)
	for _, step in ipairs(steps) do
		local key = (prefix or "") .. step.key
		f(step, key)
		for _, list in ipairs(M.of(step)) do
			M.each(list, f, step.kind == "foreach" and list == step.steps and key .. "[*]." or prefix)
		end
	end
end

return M
