-- submit: from items to chunks, and from chunks to submissions. A placement is committed
-- before it is submitted; a process that finds its row later looks it up by its token.

local errors = require "runner.core.errors"
local conclusions = require "runner.workflow.executors.conclusions"
local sizes = require "runner.workflow.executors.sizes"

local M = {}

-- --- chunks and their items ------------------------------------------------------------------

local function read_items(c)
	local items = {}
	while #items < c.world.per_chunk do
		local item = c.world.next_item()
		if item == nil then
			c.more = false
			break
		end
		items[#items + 1] = item
	end
	return items
end

-- The next items are in a file before a row says that they are there.
local function next_chunk(c)
	local is_loop = c.world.next_item ~= nil
	local items = is_loop and read_items(c) or {}
	c.more = c.more and is_loop
	if is_loop and not items[1] then
		return nil
	end
	local chunk = { chunk = c.total + 1, first = c.items + 1, count = #items, state = "planned", generation = 0, memory = 1,
		failures = 0, again = 0, misses = 0 }
	c.world.unit:put_chunk(chunk.chunk, chunk.first, items)
	c.total, c.items = chunk.chunk, c.items + chunk.count
	return chunk
end

local function plan(c, count)
	local new_ones = {}
	while c.more and c.planned + #new_ones < count do
		new_ones[#new_ones + 1] = next_chunk(c)
	end
	if not new_ones[1] then
		return
	end
	c.ledger.commit(function(db)
		for _, chunk in ipairs(new_ones) do
			c.ledger.add_chunk(db, chunk)
		end
	end)
	for _, chunk in ipairs(new_ones) do
		c.chunks[chunk.chunk], c.planned = chunk, c.planned + 1
	end
end

-- The chunks that are due, in order, that need the same memory as the first of them, and the same
-- of the user's decisions: those are on what an earlier process has left.
local function due(c, most)
	local list, now = {}, c.world.now()
	for _, chunk in pairs(c.chunks) do
		if chunk.state == "planned" and (chunk.due_at or now) <= now then
			list[#list + 1] = chunk
		end
	end
	table.sort(list, function(a, b) return a.chunk < b.chunk end)
	local same = {}
	for _, chunk in ipairs(list) do
		same[#same + 1] = #same < most and chunk.memory == list[1].memory and chunk.earlier == list[1].earlier and chunk or nil
	end
	return same
end

---When the next chunk that has to wait may be placed.
---@param c runner.workflow.Coordinator
---@return number of world.now(); math.huge: none waits
function M.next_due(c)
	local at, now = math.huge, c.world.now()
	for _, chunk in pairs(c.planned > 0 and c.chunks or {}) do
		if chunk.state == "planned" and (chunk.due_at or now) > now then
			at = math.min(at, chunk.due_at)
		end
	end
	return at
end

-- --- submissions -----------------------------------------------------------------------------

---A placement that is known by its row.
---@param c runner.workflow.Coordinator
---@param row table as the store has it; gets what is kept of it
function M.add(c, row)
	row.chunks, row.open, row.nones = {}, 0, 0
	row.phase = row.state == "submitted" and "submitted" or "look"
	c.placements[row.token] = row
end

-- What changes of a chunk that is placed.
local function placed_as(chunk, row, task)
	return setmetatable({ state = "placed", generation = chunk.generation + 1, token = row.token, task = task,
		queued_ms = row.submitted_ms, started_ms = false, ended_ms = false, due_ms = false, due_at = false, misses = 0 }, { __index = chunk })
end

-- From here on the chunks have a new generation: who writes for an older one is refused.
local function commit(c, chunks)
	c.number = c.number + 1
	local row = { token = c.world.token(c.number), number = c.number, tasks = #chunks, memory = chunks[1].memory,
		state = "submitting", submitted_ms = c.world.wall(), earlier = chunks[1].earlier }
	c.ledger.commit(function(db)
		c.ledger.add_placement(db, row)
		for i, chunk in ipairs(chunks) do
			c.ledger.set_chunk(db, placed_as(chunk, row, i))
		end
	end)
	M.add(c, row)
	row.phase, row.open = "later", #chunks
	for i, chunk in ipairs(chunks) do
		row.chunks[i], chunk.earlier = chunk, nil
		for name, value in next, placed_as(chunk, row, i) do
			chunk[name] = value or nil
		end
	end
	c.planned, c.placed = c.planned - #chunks, c.placed + #chunks
	return row
end

-- What the tasks will read, from the rows: the same again after a crash.
local function write_tasks(c, row)
	local list, unit = {}, c.world.unit
	for i = 1, row.tasks do
		local chunk = row.chunks[i]
		if chunk then
			unit:set_generation(chunk.chunk, chunk.generation)
		end
		list[i] = { chunk = chunk and chunk.chunk or 0, generation = chunk and chunk.generation or 0, memory = row.memory,
			again = chunk ~= nil and chunk.again == 1 }
	end
	unit:put_tasks(row.token, list, row.earlier and c.world.options or nil)
end

---Write what became of a placement that isn't over.
---@param c runner.workflow.Coordinator
---@param row table
---@param state "submitting"|"submitted"
---@param why? string for people
function M.set(c, row, state, why)
	row.state, row.why = state, why
	c.ledger.commit(function(db)
		c.ledger.set_placement(db, row)
	end)
end

-- Nothing of the unit has begun, as long as the queue may have taken nothing of it.
local function effects_so_far(c)
	return c.taken and "partial" or "none"
end

-- The site won't have it: the unit ends. (The coordinator gives its chunks back.)
local function refused(c, row, problem)
	row.gone = true
	M.set(c, row, "submitting", problem.message)
	c.problem = c.problem or errors.new(problem.code or "PRECONDITION", problem.message,
		{ suggestion = problem.suggestion, retryable = false, side_effects = effects_so_far(c) })
end

-- Nothing was taken, so many times in a row; the same again, later. A queue that takes nothing of ours for so long, though
-- nothing of ours is in it, won't.
local function again_later(c, row, times, most, problem)
	if times >= most and c.placed == row.open then
		row.gone = true
		c.problem = c.problem or errors.new("UNAVAILABLE", ("The executor took no submission, %d times: %s"):format(times, problem.message),
			{ suggestion = problem.suggestion, retryable = false, side_effects = effects_so_far(c), context = { transient = true } })
	end
	c.submit_at = math.max(c.submit_at, c.world.now() + conclusions.backoff(times))
	M.set(c, row, "submitting", problem.message)
end

---A submission has failed, and the queue has proved by now that it doesn't have it.
---@param c runner.workflow.Coordinator
---@param row table
function M.not_taken(c, row)
	if row.failure then
		row.failures = (row.failures or 0) + 1
		again_later(c, row, row.failures, conclusions.NOT_TAKEN, row.failure)
	end
end

local function next_turn(c)
	local rate = c.world.executor.submit_rate
	c.submit_at = c.world.now() + (rate and rate > 0 and math.ceil(1000 / rate) or 0)
end

local function submit(c, row)
	local world = c.world
	write_tasks(c, row)
	row.nones, row.phase = 0, "look" -- whatever happens here
	local executor, memory = sizes.sized(world.executor, row.memory)
	local answer, problem = world.place:submit { token = row.token, tasks = row.tasks, dir = world.unit.dir, unit = world.unit,
		argv = world.argv(row.token), executor = executor, memory = memory }
	next_turn(c)
	row.phase = conclusions.submitted(answer or problem)
	c.taken = c.taken or row.phase ~= "refused" and row.phase ~= "later"
	if row.phase == "submitted" then
		c.busy, row.job = 0, answer.job
		M.set(c, row, "submitted")
	elseif row.phase == "refused" then
		refused(c, row, problem)
	elseif row.phase == "later" then
		c.busy = c.busy + 1
		again_later(c, row, c.busy, conclusions.BUSY, problem)
	else
		row.failure = problem
		M.set(c, row, "submitting", problem.message)
	end
	c.poll_at = math.min(c.poll_at, world.now() + world.executor.poll_ms)
end

-- A submission that didn't arrive, or that the queue doesn't know: those come first.
local function unsettled(c)
	local found
	for _, row in pairs(c.placements) do
		if row.phase ~= "submitted" and not (found and found.number < row.number) then
			found = row
		end
	end
	return found
end

-- Small submissions are put together, as long as enough is placed to keep the executor busy.
local function room(c)
	local free = c.window - c.placed
	if c.more and free * 4 < c.window and c.placed > 0 then
		return 0
	end
	return math.min(free, c.array)
end

---Submit what waits for its turn, or else more chunks, if there is room.
---@param c runner.workflow.Coordinator
function M.more(c)
	local row = unsettled(c)
	local count = row and 0 or room(c)
	c.wanting = nil
	if row and row.phase == "look" or not row and (count <= 0 or not c.more and c.planned == 0) then
		return
	elseif c.world.now() < c.submit_at then
		c.wanting = c.submit_at
	elseif row then
		submit(c, row)
	else
		plan(c, count)
		local chunks = due(c, count)
		if chunks[1] then
			submit(c, commit(c, chunks))
			c.wanting = c.submit_at
		end
	end
end

return M
