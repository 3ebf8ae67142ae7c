-- coordinator: one unit, from its first chunk to its last: which chunk is placed when, what
-- became of it, and in which order its results go on. It commits before it submits, looks a
-- submission up by its token after any doubt, and imports a chunk in one transaction, so that
-- it may be killed anywhere: another one, with the same rows, goes on.
--
-- The world is an argument (runner.workflow.World): time, the place, the unit's folder, the
-- rows. submit.lua places chunks, poll.lua judges them by conclusions.lua. It holds nothing for
-- each item, and little for each chunk that is over.

local conclusions = require "runner.workflow.executors.conclusions"
local errors = require "runner.core.errors"
local poll = require "runner.workflow.executors.poll"
local submit = require "runner.workflow.executors.submit"

local M = {}

local PAGE = 500 -- rows of chunks that are read at once
local STOP_MS = 30000 -- what a unit that has failed waits for its other chunks to be gone
local ASK_MS, ASK_MAX_MS = 100, 1000 -- between looks: the user waits for this
local AGAIN = 8 -- looks after which what still lives is cancelled once more

---@class runner.workflow.World
---@field now fun(): number ms that only grow: all that is waited for in memory is of it
---@field wall fun(): integer ms since the epoch, which may jump: for rows
---@field sleep fun(ms: number): boolean? true: something may have changed; raises a cancellation
---@field place table the functions of an executor's kind, and `misses` where it differs (conclusions.MISSES)
---@field executor table at_once?, poll_ms, submit_rate?, memory?, and what the place reads of it
---@field argv fun(token: string): string[] of a task, without its index
---@field unit table the folder: dir, put_chunk, set_generation, put_tasks, result, fence
---@field ledger table the rows: commit, add_chunk, set_chunk, add_placement, set_placement, chunks, live_placements, last_placement
---@field token fun(number: integer): string
---@field next_item? fun(): any nil at the end; without it the unit is a step that is no loop
---@field per_chunk integer
---@field import fun(chunk: table, also?: fun(db: table)): table with `error` of a failure, and `results`, an iterator
---@field deliver fun(chunk: integer, results: function) in the order of the chunks
---@field options? table what the user has decided on what earlier processes left
---@field check? fun() raises what ends the run meanwhile
---@field note? fun(c: runner.workflow.Coordinator) what there is to show has changed

---@class runner.workflow.Coordinator
---@field world runner.workflow.World
---@field chunks table<integer, runner.workflow.ChunkRow> those that are not over
---@field over table<integer, integer> chunk → generation, of those whose results wait for their turn
---@field placements table<string, table> by token; phase: "later" (to be submitted), "look" (in doubt) or "submitted"
---@field window integer how many chunks are placed at once, at most
---@field array integer how many in one submission
---@field planned integer chunks that wait to be placed
---@field placed integer chunks that are placed
---@field total integer chunks so far
---@field items integer in them
---@field completed integer chunks
---@field following integer the chunk whose results go on next
---@field more boolean there may be items left
---@field problem runner.Error?

-- --- from the rows ---------------------------------------------------------------------------

---Nothing of the unit is read yet.
---@param world runner.workflow.World
---@return runner.workflow.Coordinator
function M.new(world)
	local array = math.max(world.place:limits().array or 1, 1)
	local at_once = world.executor.at_once
	local window = at_once and at_once * 2 or array
	return { world = world, ledger = world.ledger, array = math.min(array, window), window = window, chunks = {}, over = {},
		placements = {}, planned = 0, placed = 0, total = 0, items = 0, completed = 0, following = 1, number = 0, poll_at = world.now(),
		submit_at = world.now(), behind = {}, busy = 0, more = true, needed = world.place.misses or conclusions.MISSES, over_now = M.deliver }
end

local PLACED = { placed = true, running = true }

local function take_row(c, row)
	local placement = PLACED[row.state] and c.placements[row.token] or nil
	c.total, c.items, row.misses = row.chunk, c.items + row.count, 0
	if row.state == "completed" then
		c.over[row.chunk], c.completed = row.generation, c.completed + 1
		return
	end
	c.chunks[row.chunk], row.earlier = row, row.generation > 0 or nil
	if placement then
		c.placed = c.placed + 1
		placement.chunks[row.task], placement.open = row, placement.open + 1
	else
		row.state, c.planned = "planned", c.planned + 1
		-- what is left of its wait, which a clock that has jumped makes no longer
		local left = row.due_ms and math.min(row.due_ms - c.world.wall(), row.due_ms - (row.ended_ms or 0))
		row.due_at = left and c.world.now() + left
	end
end

-- Items of chunks that are known were read by an earlier process.
local function skip_items(c)
	for _ = 1, c.world.next_item and c.items or 0 do
		if c.world.next_item() == nil then
			errors.raise("CONFLICT", "The loop has fewer items now than when it was placed",
				{ suggestion = "Restore what it loops over, then resume the run" })
		end
	end
	c.more = c.world.next_item ~= nil or c.total == 0
end

local function load(c)
	for _, row in ipairs(c.ledger.live_placements()) do
		submit.add(c, row)
	end
	c.number = c.ledger.last_placement()
	c.taken = c.number > 0 -- by an earlier coordinator
	local after = 0
	repeat
		local page = c.ledger.chunks(after, PAGE)
		for _, row in ipairs(page) do
			take_row(c, row)
		end
		after = page[1] and page[#page].chunk
	until not after
	skip_items(c)
end

-- --- in order ------------------------------------------------------------------------------------

---Results go on in the order of the items; those of a chunk that isn't next are read again from
---its journal when it is.
---@param c runner.workflow.Coordinator
---@param chunk? integer one that is over by now
---@param imported? table what importing it gave
function M.deliver(c, chunk, imported)
	while c.over[c.following] do
		local now = chunk == c.following and imported or c.world.import({ chunk = c.following, generation = c.over[c.following] })
		c.world.deliver(c.following, now.results)
		c.over[c.following] = nil
		c.following = c.following + 1
	end
end

-- --- ending early ------------------------------------------------------------------------------
--
-- With proof: the wish is committed, everything is cancelled by its token, and a chunk counts as gone
-- only when its fence is free and the queue knows no living task of it. It goes back to the planned
-- ones, with a new generation, so that a submission that arrives late finds that it is too old.

local function wish(c, rows)
	c.ledger.commit(function(db)
		for _, row in ipairs(rows) do
			row.why = "cancelled"
			c.ledger.set_placement(db, row)
		end
	end)
end

-- The file before the row: a task of the old generation is refused from here on. One that took the fence
-- after our look at it, and before that, ends when it looks again: until then it is not gone.
local function give_back(c, chunks)
	for _, chunk in ipairs(chunks) do
		c.world.unit:set_generation(chunk.chunk, chunk.generation + 1)
	end
	poll.refresh(c, { { chunks = chunks } })
	for _, chunk in ipairs(chunks) do
		if c.world.unit:fence(chunk.chunk) == "free" then
			poll.leave(c, chunk, { state = "planned", generation = chunk.generation + 1, due_ms = false, due_at = false, why = "cancelled" })
		end
	end
end

local function is_gone(row, answers, task)
	local known, of_task = conclusions.said(answers, row.token, task)
	return row.phase == "later" or row.gone or row.phase == "submitted" and known ~= nil and (not of_task or of_task.state == "ended")
end

-- One in doubt may still arrive, until the queue has said several times that it knows none; then it is to be cancelled once more.
local function look_at(c, row, answers, gone)
	local arrived = row.phase == "look" and poll.look_up(c, row, answers)
	for task = 1, row.tasks do
		local chunk = row.chunks[task]
		if chunk then
			local result, fence = poll.folder(c, chunk)
			if result then
				poll.import(c, chunk, result)
			elseif fence == "free" and is_gone(row, answers, task) then
				gone[#gone + 1] = chunk
			end
		end
	end
	return arrived
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
local function end_all(c, limit_ms)
	local world = c.world
	local give_up = world.now() + limit_ms
	local rows, tokens = poll.live(c)
	local looks, cancelled = 0, false
	if rows[1] then
		wish(c, rows)
	end
	while rows[1] do
		cancelled = looks % AGAIN > 0 and cancelled or not tokens[1] or world.place:cancel(tokens)
		looks = looks + 1
		local answers, gone = tokens[1] and world.place:states(tokens) or nil, {}
		poll.refresh(c, rows)
		for _, row in ipairs(rows) do
			cancelled = not look_at(c, row, answers, gone) and cancelled
		end
		give_back(c, gone)
		rows, tokens = poll.live(c)
		if rows[1] and world.now() >= give_up then
			break
		elseif rows[1] then
			world.sleep(math.min(ASK_MS << math.min(looks - 1, 5), ASK_MAX_MS))
		end
	end
	poll.tidy(c)
	return what_is_left(c)
end

-- --- the loop ------------------------------------------------------------------------------------

local function is_done(c)
	return not c.more and next(c.chunks) == nil
end

-- Until the next thing that is due.
local function rest(c)
	local now, at = c.world.now(), c.wanting or math.huge
	if c.placed > 0 then
		at = math.min(at, c.poll_at)
	end
	at = math.min(at, math.max(submit.next_due(c), c.submit_at), now + c.world.executor.poll_ms)
	return math.max(at - now, 1)
end

local function turn(c)
	submit.more(c)
	if c.placed > 0 and c.world.now() >= c.poll_at then
		poll.look(c)
	end
	if c.world.note then
		c.world.note(c)
	end
end

---Run a unit to its end. Its rows say how far an earlier process has come.
---@param world runner.workflow.World
---@return runner.Error? problem what failed
---@return integer[]? left then: chunks of which something may still run
function M.run(world)
	local c = M.new(world)
	load(c)
	M.deliver(c)
	while not is_done(c) and not c.problem do
		turn(c)
		if not is_done(c) and not c.problem then
			if world.check then
				world.check()
			end
			if world.sleep(rest(c)) then
				c.poll_at = world.now()
			end
		end
	end
	if c.problem then
		return c.problem, end_all(c, STOP_MS)
	end
end

---End what an earlier process, or this one, has placed of a unit: cancel, and wait for the proof.
---@param world runner.workflow.World
---@param limit_ms integer
---@return integer[] left chunks of which something may still run
function M.cancel(world, limit_ms)
	local c = M.new(world)
	world.next_item, c.over_now = nil, function() end -- nothing reads on
	load(c)
	return end_all(c, limit_ms)
end

return M
