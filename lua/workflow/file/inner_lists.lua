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

return M
