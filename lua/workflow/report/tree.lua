-- tree: the steps of a run as lines for a terminal: each with its state, how long it has run or
-- waits, what it has cost, its attempt, and the last line that it printed; and one for all of them. A loop is one line that
-- counts, and one for each of its steps that runs or has failed, named by its item. Pure: it is told what happens, and when.

local amounts = require "runner.core.amounts"
local host = require "runner.host"
local reference = require "runner.core.reference"

local M = {}

local MOST = 20 -- lines
local FAILED = 5 -- of a loop's steps that are shown
local TAIL = 3 -- lines that a step has printed last
local TEXT = 400 -- bytes of a line's text
local ITEM = 24 -- characters of an item in a name
local US = "\x1f" -- between the fields of a line: src/supervisor/block.h

-- The letter of a colour, and the mark.
local MARKS = { completed = "g✓", failed = "r✗", running = "c▸", waiting = "y↻", pending = "d·", skipped = "d-",
	interrupted = "y!" }

local OVER = { completed = true, failed = true, skipped = true, interrupted = true }

-- Which lines stay where there is no room for all.
local RANKS = { running = 1, waiting = 1, failed = 2, interrupted = 2, completed = 4, skipped = 4, pending = 3 }

---@class runner.workflow.Node a step
---@field key string
---@field name string
---@field depth integer
---@field label string
---@field state string
---@field below runner.workflow.Node[]
---@field parent? runner.workflow.Node
---@field item? string of the innermost loop that it is in
---@field cost? integer micro-dollars, of all that is inside too
---@field started? number host.now(), of the first attempt
---@field wake? number when its wait is over
---@field took? number ms, of a step that is over
---@field attempt? integer
---@field retries? integer as many as there may be: the number after / in every line about attempts
---@field text? string what became of it
---@field line? string what it printed last
---@field tail? string[]
---@field loop? {done: integer, failed: integer, total: integer?}

---@class runner.workflow.Tree
---@field top runner.workflow.Node[]
---@field nodes table<string, runner.workflow.Node>
---@field now fun(): number
---@field mask fun(text: string): string
---@field began number
---@field spent integer micro-dollars, of all steps
---@field budget? integer
---@field planned? boolean it has the steps to come
local Tree = {}
Tree.__index = Tree

-- --- the steps ---------------------------------------------------------------------------------

local function add(tree, parent, key, name, label)
	local node = { key = key, name = name, label = label or "", state = "pending", below = {}, parent = parent,
		depth = parent and parent.depth + 1 or 0 }
	local list = parent and parent.below or tree.top
	list[#list + 1] = node
	tree.nodes[key] = node
	return node
end

local function add_steps(tree, parent, steps)
	for _, step in ipairs(steps) do
		local name = parent and step.key:sub(#parent.key + 2) or step.key
		local node = add(tree, parent, step.key, name, step.label)
		if step.kind == "foreach" then
			node.loop = { done = 0, failed = 0 }
		else
			add_steps(tree, node, step.steps or {})
		end
	end
end

local function empty(mask, now)
	now = now or host.now
	return setmetatable({ top = {}, nodes = {}, mask = mask, now = now, began = now(), spent = 0 }, Tree)
end

---@param steps runner.workflow.Step[] of the workflow
---@param mask fun(text: string): string
---@param now? fun(): number default: host.now
---@return runner.workflow.Tree
function M.new(steps, mask, now)
	local tree = empty(mask, now)
	add_steps(tree, nil, steps)
	tree.planned = true
	return tree
end

-- The step whose hook, check, merge or repair a step is of.
local function owner_of(key)
	return key:match "^(.+)%.on_success%." or key:match "^(.+)%.on_failure%." or key:match "^(.+)%.check%." or key:match "^(.+)%.merge%."
		or key:match "^(.+)%.repair%."
end

-- "[3].check[7].ask" with the items in the place of their numbers. That of an outer loop is known of the inner one.
local function named(tree, key, from, item)
	local text, at = "", from
	for open, after in key:gmatch "()%[%d+%]()" do
		local inner = key:find("[", after, true)
		local holder = inner and tree.nodes[key:sub(1, inner - 1)]
		local value = not inner and item or holder and holder.item
		if value and open >= from then
			local cut = (utf8.len(value) or 0) > ITEM and utf8.offset(value, -ITEM)
			text, at = ("%s%s[%s]"):format(text, key:sub(at, open - 1), cut and "…" .. value:sub(cut) or value), after
		end
	end
	return text .. key:sub(at)
end

-- A step inside a loop belongs to the outermost one; a hook's to the step before it.
local function add_late(tree, key, item)
	local loop = key:match "^([^%[]+)%["
	local owner = loop or owner_of(key)
	local parent = owner and tree.nodes[owner]
	local node = add(tree, parent, key, named(tree, key, parent and #owner + (loop and 1 or 2) or 1, item))
	node.item = item
	return node
end

local function node_of(tree, key, item)
	local base = reference.split(key)
	return tree.nodes[base] or add_late(tree, base, item)
end

-- Is it a step inside a loop? Then its line goes when it is over.
local function loop_of(tree, node)
	local key = node.key:match "^([^%[]+)%["
	return key and tree.nodes[key]
end

local function forget(tree, parent, node)
	tree.nodes[node.key] = nil
	for i = #parent.below, 1, -1 do
		if parent.below[i] == node then
			return table.remove(parent.below, i)
		end
	end
end

local function failures(parent)
	local count, first = 0, nil
	for _, node in ipairs(parent.below) do
		if node.state == "failed" then
			count, first = count + 1, first or node
		end
	end
	return count, first
end

-- --- what happens ----------------------------------------------------------------------------------

---A step begins, or one of its attempts.
---@param key string
---@param about {label?: string, item?: string, attempt?: integer, retries?: integer, total?: integer} total: of a loop's items
function Tree:runs(key, about)
	local node = node_of(self, key, about.item)
	node.state, node.wake, node.text = "running", nil, nil
	node.started = node.started or self.now()
	node.label = about.label or node.label
	node.attempt, node.retries = about.attempt or node.attempt, about.retries or node.retries
	if node.loop then
		node.loop.total = about.total or node.loop.total
	end
end

---A step waits for its next attempt.
---@param key string
---@param left_ms number
---@param about {attempt: integer, retries: integer, text?: string}
function Tree:waits(key, left_ms, about)
	local node = node_of(self, key)
	node.state, node.wake, node.line = "waiting", self.now() + left_ms, nil
	node.attempt, node.retries, node.text = about.attempt, about.retries, about.text or node.text
end

---Its program printed a line.
---@param key string
---@param text string
function Tree:prints(key, text)
	local node = node_of(self, key)
	local tail = node.tail or {}
	node.line, node.tail = text, tail
	tail[#tail + 1] = text
	if #tail > TAIL then
		table.remove(tail, 1)
	end
end

---A step is over.
---@param key string
---@param state "completed"|"failed"|"skipped"
---@param text? string why it failed
function Tree:ends(key, state, text)
	local node = node_of(self, key)
	local parent = loop_of(self, node)
	node.state, node.text, node.wake = state, text, nil
	node.took = node.started and self.now() - node.started
	if parent and parent ~= node then
		local count, first = failures(parent)
		if state ~= "failed" then
			forget(self, parent, node)
		elseif count > FAILED then
			forget(self, parent, first)
		end
	end
end

---A step, or one in a loop, has cost something.
---@param key string
---@param micros integer
function Tree:cost(key, micros)
	local base = reference.split(key)
	local node = self.nodes[key] or self.nodes[base] or self.nodes[base:match "^([^%[]+)%[" or owner_of(base)]
	self.spent = self.spent + micros
	while node do
		node.cost, node = (node.cost or 0) + micros, node.parent
	end
end

---What steps have cost before now, and what the run may cost.
---@param costs table<string, integer> by key
---@param budget? integer micro-dollars
function Tree:costs(costs, budget)
	self.budget = budget
	for key, micros in pairs(costs) do
		self:cost(key, micros)
	end
end

---An item of a loop is over.
---@param key string of the loop
---@param ok boolean
function Tree:item(key, ok)
	local loop = node_of(self, key).loop
	if loop then
		loop.done, loop.failed = loop.done + 1, loop.failed + (ok and 0 or 1)
	end
end

---What an earlier process of the run left.
---@param rows table<string, table> of the store, by key; each may be read when it is asked for
function Tree:resumes(rows)
	for key, node in pairs(self.nodes) do
		local row = rows[key]
		if row then
			node.state = OVER[row.state] and row.state or "pending"
			node.took = row.ended_ms and row.started_ms and math.max(row.ended_ms - row.started_ms, 0) or nil
		end
	end
end

local function place_of(tree, row, loop)
	local owner = loop or owner_of(row.key) or row.key:match "^(.+)%."
	local parent = owner and tree.nodes[owner]
	return parent, parent and row.key:sub(#owner + (loop and 1 or 2)) or row.key
end

local function read(tree, row, wall_ms)
	local loop = row.key:match "^([^%[]+)%["
	local parent, name = place_of(tree, row, loop)
	local over = OVER[row.state]
	if loop and parent and over then
		parent.loop = parent.loop or { done = 0, failed = 0 }
		parent.loop.done, parent.loop.failed = parent.loop.done + 1, parent.loop.failed + (row.state == "failed" and 1 or 0)
		if row.state ~= "failed" or parent.loop.failed > FAILED then
			return
		end
	end
	local node = add(tree, parent, row.key, name and named(tree, row.key, #row.key - #name + 1, row.item), row.label)
	node.item = row.item
	node.state, node.attempt = row.state, math.max(row.attempts or 0, 1)
	node.started = tree.now() - math.max(wall_ms - (row.started_ms or wall_ms), 0)
	node.wake = tree.now() + math.max((row.wake_ms or wall_ms) - wall_ms, 0)
	node.took = over and row.ended_ms and row.started_ms and math.max(row.ended_ms - row.started_ms, 0) or nil
	node.text = row.state ~= "completed" and row.message or nil
	node.loop = row.kind == "foreach" and { done = 0, failed = 0 } or nil
end

---The steps of a run that another process executes, as far as they have started. The counter of
---a loop counts steps here.
---@param rows table[] of store:steps
---@param mask fun(text: string): string
---@param wall_ms integer when they were read
---@param now? fun(): number default: host.now
---@return runner.workflow.Tree
function M.of_rows(rows, mask, wall_ms, now)
	local tree = empty(mask, now)
	for _, row in ipairs(rows) do
		read(tree, row, wall_ms)
	end
	return tree
end

---The last lines that a step printed, which are then forgotten.
---@param key string
---@return string[]
function Tree:tail(key)
	local node = self.nodes[key]
	local tail = node and node.tail or {}
	if node then
		node.tail, node.line = nil, nil
	end
	return tail
end

-- --- lines --------------------------------------------------------------------------------------------

-- On one line; of what a program writes over its own line, the last.
local function clean(tree, text)
	local last = tree.mask(text):gsub("\r+$", ""):match "[^\r]*$"
	local line = host.clean(last):gsub("%c+", " "):gsub("^ +", "")
	return #line > TEXT and host.clean(line:sub(1, TEXT)) or line
end

local function counted(loop)
	local text = loop.total and ("%d of %d"):format(loop.done, loop.total) or ("%d done"):format(loop.done)
	return loop.failed > 0 and ("%s, %d failed"):format(text, loop.failed) or text
end

local function attempt_of(node)
	return node.retries and node.attempt > 1 and ("retry %d/%d"):format(node.attempt - 1, node.retries) or ("attempt %d"):format(node.attempt)
end

local function joined(a, b)
	return a and b and b ~= "" and a .. " · " .. b or a or b
end

local TEXTS = {
	running = function(node)
		return joined(node.loop and counted(node.loop) or (node.attempt or 1) > 1 and attempt_of(node) or nil,
			node.line or node.label)
	end,
	waiting = function(node) return joined(attempt_of(node), node.text) end,
	failed = function(node) return joined(node.loop and counted(node.loop), node.text) end,
	interrupted = function(node) return node.text end,
	completed = function(node)
		return node.loop and counted(node.loop) or (node.attempt or 1) > 1 and ("%d attempts"):format(node.attempt) or ""
	end,
	skipped = function(node) return node.text end,
	pending = function(node) return node.label end,
}

local function clock_of(tree, node)
	if node.state == "running" then
		return ("+%d"):format(math.max(tree.now() - node.started, 0) // 1)
	elseif node.state == "waiting" then
		return ("-%d"):format(math.max(node.wake - tree.now(), 0) // 1)
	end
	return node.took and ("=%d"):format(node.took // 1) or ""
end

-- Did something in it fail that it went on without?
local function holds_failures(node)
	return node.loop and node.loop.failed > 0 or failures(node) > 0
end

local function line_of(tree, node)
	local mark = MARKS[node.state == "completed" and holds_failures(node) and "interrupted" or node.state]
	return table.concat({ mark:sub(1, 1) .. ("  "):rep(node.depth) .. mark:sub(2), clean(tree, node.name), clock_of(tree, node),
		clean(tree, joined(node.cost and amounts.shown(node.cost), TEXTS[node.state](node)) or "") }, US)
end

-- What is inside of a step that has ended well is one line. At the end of the run, so is all that
-- hasn't failed.
local function walk(out, nodes, failed_only)
	for _, node in ipairs(nodes) do
		if not failed_only or node.depth == 0 or node.state == "failed" then
			out[#out + 1] = node
		end
		if node.state ~= "completed" and node.state ~= "skipped" then
			walk(out, node.below, failed_only)
		end
	end
	return out
end

-- The nearest to what happens now: the last ones that are over, the first ones to come.
local function chosen(nodes, most)
	local order, keep = {}, {}
	for i, node in ipairs(nodes) do
		order[i] = { node = node, rank = RANKS[node.state], at = RANKS[node.state] == 4 and -i or i }
	end
	table.sort(order, function(a, b)
		return a.rank < b.rank or a.rank == b.rank and a.at < b.at
	end)
	for i = 1, math.min(most, #order) do
		keep[order[i].node] = true
	end
	return keep
end

local COUNTED = { "running", "waiting", "failed", "interrupted", "pending" }

local function rest(left)
	local parts = {}
	for _, state in ipairs(COUNTED) do
		parts[#parts + 1] = left[state] and ("%d %s"):format(left[state], state) or nil
	end
	return parts[1] and table.concat({ "d…", "", "", table.concat(parts, ", ") .. " more" }, US)
end

---The line of all of them: how long, how far, and at what cost.
---@return string
function Tree:total()
	local done, cost = 0, amounts.shown(self.spent)
	for _, node in ipairs(self.top) do
		done = done + (OVER[node.state] and 1 or 0)
	end
	local text = self.planned and "%d of %d steps" or done == 1 and "%d step is over" or "%d steps are over"
	text = text:format(done, #self.top)
	if self.budget then
		text = ("%s of %s, %s"):format(cost, amounts.shown(self.budget), text)
	elseif self.spent > 0 then
		text = ("%s, %s"):format(cost, text)
	end
	return table.concat({ "d=", "total", ("+%d"):format((self.now() - self.began) // 1), text }, US)
end

---The lines as they are now, as src/supervisor/block.h has them.
---@param most? integer default 20
---@param at_end? boolean the run is over: what remains to be seen
---@return string[]
function Tree:lines(most, at_end)
	most = most or MOST
	local nodes, lines, left = walk({}, self.top, at_end), {}, {}
	local keep = chosen(nodes, #nodes > most and most - 2 or most)
	for _, node in ipairs(nodes) do
		if keep[node] then
			lines[#lines + 1] = line_of(self, node)
		else
			left[node.state] = (left[node.state] or 0) + 1
		end
	end
	local over = (left.completed or 0) + (left.skipped or 0)
	if over > 0 then
		table.insert(lines, 1, table.concat({ "d…", "", "", (over == 1 and "%d step is over" or "%d steps are over"):format(over) }, US))
	end
	lines[#lines + 1] = rest(left)
	return lines
end

return M
