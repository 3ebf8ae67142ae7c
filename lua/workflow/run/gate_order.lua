-- gate_order: what an edited file would have run before a person is asked anew, and what it had not in front of that step before.

local inner_lists = require "runner.workflow.file.inner_lists"
local steps = require "runner.workflow.file.steps"

local M = {}

-- With the last steps of the files that they run.
local function each(list, f, prefix)
	inner_lists.each(list, function(step, key)
		f(step, key)
		local last = step.child and step.child.finally
		local _ = last and each(last.steps, f, key:sub(1, #key - #step.key))
	end, prefix)
end

local function add(list, from, prefix, set)
	each(table.move(list, from, #list, 1, {}), function(_, key) set[key] = true end, prefix)
end

local BEHIND = { "check", "worktree", "on_success" } -- what is done where a step has succeeded

local function goes_on(step)
	return step.continue_on_error or step.on_failure and step.on_failure.go == "continue"
end

-- Is the step in this list? Then `after` gets what it and all that holds it have to succeed for.
local function find(list, wanted, prefix, side_by_side, after)
	for i, step in ipairs(list) do
		local key = (prefix or "") .. step.key
		local found = key == wanted and "there"
		for _, inner in ipairs(found and {} or inner_lists.of(step)) do
			local is_of_items = step.kind == "foreach" and inner == step.steps
			found = found or find(inner, wanted, is_of_items and key .. "[*]." or prefix, step.kind == "parallel" and inner == step.steps, after)
		end
		if found then
			after[key] = true
			found = goes_on(step) and "passed over" or found
			for _, name in ipairs(found == "there" and BEHIND or {}) do
				add(step[name] and step[name].steps or {}, 1, prefix, after)
			end
			local _ = side_by_side or found ~= "there" or add(list, i + 1, prefix, after)
			return found
		end
	end
end

-- What doesn't wait for somebody to agree to a step, by key and by what it does.
local function in_front(workflow, wanted)
	local after, keys, texts = {}, {}, {}
	find(workflow.steps, wanted, nil, false, after)
	for _, list in ipairs { workflow.steps, (workflow.finally or {}).steps } do
		each(list, function(step, key)
			if not after[key] then
				keys[#keys + 1], keys[key] = key, steps.text(step) or ""
				texts[keys[key]] = true
			end
		end)
	end
	return keys, texts
end

---The first step that could run before another one is asked, where it could not, or wasn't there, in the file as it was.
---@param before? table workflow; nil: nothing is known of it
---@param now table workflow
---@param gate string key of a step that asks, as in a first round
---@return string? key
function M.moved(before, now, gate)
	local keys, known, was, waited = in_front(now, gate), {}, {}, {}
	if before then
		known, was = in_front(before, gate)
		each(before.steps, function(step, key)
			waited[steps.text(step) or ""] = known[key] == nil or nil
		end)
	end
	for _, key in ipairs(keys) do
		local text = keys[key]
		if not known[key] or text ~= known[key] and waited[text] and not was[text] then
			return key
		end
	end
end

return M
