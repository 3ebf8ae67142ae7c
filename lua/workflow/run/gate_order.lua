-- gate_order: what an edited file would have run before a person is asked anew, and what it had not in front of that step before.

local inner_lists = require "runner.workflow.file.inner_lists"
local steps = require "runner.workflow.file.steps"

local M = {}

local function add(list, from, prefix, set)
	inner_lists.each(table.move(list, from, #list, 1, {}), function(_, key) set[key] = true end, prefix)
end

-- Is the step in this list? Then `after` gets what waits for it, and what holds it.
local function find(list, wanted, prefix, side_by_side, after)
	for i, step in ipairs(list) do
		local key = (prefix or "") .. step.key
		local found = key == wanted
		for _, inner in ipairs(inner_lists.of(step)) do
			local is_of_items = step.kind == "foreach" and inner == step.steps
			if not found then
				found = find(inner, wanted, is_of_items and key .. "[*]." or prefix, step.kind == "parallel" and inner == step.steps, after)
			elseif not (step.approve and step.approve.notify and inner == step.approve.notify.steps) then
				add(inner, 1, prefix, after) -- its hooks
			end
		end
		if found then
			after[key] = true
			local _ = side_by_side or add(list, i + 1, prefix, after)
			return true
		end
	end
	return false
end

-- What doesn't wait for a step, by key and by what it does.
local function in_front(workflow, wanted)
	local after, keys, texts = {}, {}, {}
	local is_there = find(workflow.steps, wanted, nil, false, after)
	inner_lists.each(workflow.steps, function(step, key)
		if is_there and not after[key] then
			keys[#keys + 1], keys[key] = key, steps.text(step) or ""
			texts[keys[key]] = true
		end
	end)
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
		inner_lists.each(before.steps, function(step, key)
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
