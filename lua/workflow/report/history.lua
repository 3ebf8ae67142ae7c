-- history: all that a run has done, as a tree: steps with what is inside of them, loops with their items, each with
-- its attempts and with what all of it has cost; and what failed in it. It reads the store.

local host = require "runner.host"
local reference = require "runner.core.reference"
local report = require "runner.workflow.report.report"

local M = {}

---@class runner.workflow.HistoryNode a step, or an item of a loop
---@field name string within what it is in
---@field state string
---@field parent? runner.workflow.HistoryNode
---@field below runner.workflow.HistoryNode[] in the order of their starts
---@field items? runner.workflow.HistoryNode[] of a loop, in this order; they are not in `below`
---@field cost integer micro-dollars, of all that is inside, too
---@field failures integer steps that have failed, it and all that is inside, but for what was repaired in there
---@field number? integer of a step: its place in the order of all starts
---@field step? table of a step: its row in the store, without its output
---@field tries? table[] of a step: its attempts, the oldest first
---@field from? number of an item: ms since the epoch, when the first of its steps began …
---@field to? number … and the last one ended

---@class runner.workflow.History
---@field run table as report.full has it, without steps
---@field top runner.workflow.HistoryNode[]
---@field nodes table<string, runner.workflow.HistoryNode> steps, by key
---@field failed runner.workflow.HistoryNode[] in the order of their starts, without what failed of one of them
---@field cause? runner.workflow.HistoryNode the one of them that ended the run
---@field from_ms integer when it began
---@field to_ms integer when the last thing happened; now, of a run that goes on
---@field spent integer micro-dollars that attempts have cost which are over
---@field codes {code: string, attempts: integer, retries: integer, wait_ms: integer}[] the most frequent first

local BAD = { failed = true, interrupted = true }
local WORSE = { skipped = 1, completed = 2, pending = 3, waiting = 3, running = 4, interrupted = 5, failed = 6 }

-- --- the tree --------------------------------------------------------------------------------------

local function item_of(history, loop_key, number, step)
	local loop = history.nodes[loop_key]
	if not loop then
		return nil
	end
	loop.items, loop.by_number = loop.items or {}, loop.by_number or {}
	local item = loop.by_number[number]
	if not item then
		item = { name = step.item or "#" .. number, state = step.state, below = {}, parent = loop, cost = 0, failures = 0,
			index = tonumber(number) }
		loop.items[#loop.items + 1], loop.by_number[number] = item, item
	end
	item.state = WORSE[step.state] > WORSE[item.state] and step.state or item.state
	item.from = math.min(item.from or math.huge, step.started_ms or math.huge)
	item.to = math.max(item.to or 0, step.ended_ms or 0)
	return item
end

-- The nearest step, or item of a loop, that it is inside, and its key without rounds; of a step with rounds the one of the same.
local function holder_of(history, step)
	local at, rounds = reference.split(step.key)
	while at do
		local loop_key, number = at:match "^(.*)%[(%d+)%]$"
		if loop_key then
			return item_of(history, loop_key, number, step), at
		end
		at = at:match "^(.*)%.[^.]*$"
		local found, of = nil, rounds
		while at and of and not found do
			found, of = history.nodes[at .. of], of:match "^(.*)@%d*$"
		end
		if found then
			return found, at
		end
	end
end

-- "repair.1, round 2"
local function name_of(key, holder_key)
	local base, rounds = reference.split(key)
	local round = rounds:match "(%d+)$"
	return base:sub(holder_key and #holder_key + 2 or 1) .. (round and ", round " .. round or "")
end

local function add(history, step, cost)
	local holder, key = holder_of(history, step)
	local node = { name = name_of(step.key, holder and key), state = step.state, parent = holder, below = {}, cost = 0, failures = 0,
		step = step, tries = {}, number = step.position }
	history.nodes[step.key] = node
	local list = holder and holder.below or history.top
	list[#list + 1] = node
	local at, bad = node, BAD[step.state] and 1 or 0
	while at do
		at.cost, at.failures = at.cost + cost, at.failures + bad
		bad = at.step and at.step.kind == "steps" and at.state == "completed" and 0 or bad -- it was repaired
		at = at.parent
	end
end

local function in_order(nodes)
	for _, node in pairs(nodes) do
		if node.items then
			node.by_number = nil
			table.sort(node.items, function(a, b) return a.index < b.index end)
		end
	end
end

---What an item, or a step, holds; of a loop what followed it, too.
---@param node runner.workflow.HistoryNode
---@return runner.workflow.HistoryNode[]
function M.inside(node)
	local items = node.items
	return items and table.move(node.below, 1, #node.below, #items + 1, table.move(items, 1, #items, 1, {})) or node.below
end

-- --- what failed ------------------------------------------------------------------------------------

local function is_inside(node, other)
	while node and node ~= other do
		node = node.parent
	end
	return node ~= nil
end

-- Where something inside has failed, that is why. The last one inside of the step that the run has failed of has ended it.
local function add_failures(history, steps)
	local ended = history.nodes[history.run.failed_step or ""]
	for _, step in ipairs(steps) do
		local node = history.nodes[step.key]
		if BAD[step.state] and node.failures == 1 then
			history.failed[#history.failed + 1] = node
			history.cause = ended and is_inside(node, ended) and node or history.cause
		end
	end
end

---What became of the run by this failure.
---@param history runner.workflow.History
---@param node runner.workflow.HistoryNode
---@return string
function M.fate(history, node)
	local at, beside = node.parent, false
	if node == history.cause or node.state == "interrupted" then
		return node == history.cause and "ended the run" or "was cut off"
	end
	while at do
		local step = at.step or {}
		if step.kind == "steps" then
			return at.state == "completed" and "was repaired" or "a repair was to follow"
		elseif step.state == "completed" then
			return "the run went on"
		end
		beside = beside or is_inside(history.cause, at)
		at = at.parent
	end
	return beside and "failed beside others" or "the run went on"
end

-- --- the whole ----------------------------------------------------------------------------------------

-- What goes on in a run that no process executes any more was cut off.
local function settle(steps, state)
	for _, step in ipairs(steps) do
		if state == "interrupted" and step.state == "running" then
			step.state = "interrupted"
		end
	end
end

---@param db table the open store
---@param id string of the run
---@return runner.workflow.History
function M.of(db, id)
	local run = report.full(db, id, { limit = 1 })
	return db:snapshot(function()
		local steps, costs, spent = db:steps(id, { brief = true }), db:costs(id)
		local from = db:find(id).created_ms
		local history = { run = run, top = {}, nodes = {}, failed = {}, spent = spent, codes = db:codes(id), from_ms = from,
			to_ms = run.state == "running" and host.wall_ms() or from }
		settle(steps, run.state)
		for _, step in ipairs(steps) do
			add(history, step, costs[step.key] or 0)
			history.to_ms = math.max(history.to_ms, step.ended_ms or step.started_ms or 0)
		end
		for _, try in ipairs(db:attempts(id)) do
			table.insert(history.nodes[try.key].tries, try)
		end
		in_order(history.nodes)
		add_failures(history, steps)
		return history
	end)
end

return M
