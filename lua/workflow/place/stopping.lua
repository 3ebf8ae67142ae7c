-- stopping: ending what is placed of a unit, with proof: the wish is committed, everything is
-- cancelled by its token, and a chunk counts as gone only when its fence is free and the queue
-- knows no living task of it. It goes back to the planned ones, with a new generation, so that
-- a submission that arrives late finds that it is too old.

local watching = require "runner.workflow.place.watching"

local M = {}

local ASK_MS, ASK_MAX_MS = 100, 1000 -- between looks: somebody waits for this
local AGAIN = 8 -- looks after which what still lives is cancelled once more

local function wish(c, rows)
	c.ledger.commit(function(db)
		for _, row in ipairs(rows) do
			row.why = "cancelled"
			c.ledger.set_placement(db, row)
		end
	end)
end

-- The file before the row: a task of the old generation is refused from here on. One that took the fence
-- behind our look at it, and before that, ends when it looks again: until then it is not gone.
local function give_back(c, chunk)
	c.world.unit:set_generation(chunk.chunk, chunk.generation + 1)
	if c.world.unit:fence(chunk.chunk) == "free" then
		watching.leave(c, chunk, { state = "planned", generation = chunk.generation + 1, due_ms = false, why = "cancelled" })
	end
end

local function is_gone(row, answers, task)
	local answer = answers and answers[row.token]
	local of_task = answer and answer.tasks[task]
	return row.phase == "later" or row.gone or answers and (not of_task or of_task.state == "ended")
end

local function look_at(c, row, answers)
	for task = 1, row.tasks do
		local chunk = row.chunks[task]
		if chunk then
			local result, fence = watching.folder(c, chunk)
			if result then
				watching.import(c, chunk, result)
			elseif fence == "free" and is_gone(row, answers, task) then
				give_back(c, chunk)
			end
		end
	end
end

local function what_is_left(c)
	local list = {}
	for _, chunk in pairs(c.chunks) do
		list[#list + 1] = chunk.state ~= "planned" and chunk.chunk or nil
	end
	table.sort(list)
	return list
end

---End it, or say what may still run.
---@param c runner.workflow.Coordinator
---@param limit_ms integer how long to wait for the proof
---@return integer[] left numbers of chunks
function M.run(c, limit_ms)
	local world = c.world
	local give_up = world.now() + limit_ms
	local rows, tokens = watching.live(c)
	local looks, cancelled = 0, false
	if rows[1] then
		wish(c, rows)
	end
	while rows[1] do
		cancelled = looks % AGAIN > 0 and cancelled or not tokens[1] or world.place:cancel(tokens)
		looks = looks + 1
		local answers = tokens[1] and world.place:states(tokens) or nil
		for _, row in ipairs(rows) do
			look_at(c, row, answers)
		end
		rows, tokens = watching.live(c)
		if rows[1] and world.now() >= give_up then
			break
		elseif rows[1] then
			world.sleep(math.min(ASK_MS << math.min(looks - 1, 5), ASK_MAX_MS))
		end
	end
	return what_is_left(c)
end

return M
