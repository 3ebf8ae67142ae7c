-- poll: what became of chunks that were placed: one question to the queue for all, the
-- files of the unit, and conclusions.lua. Every result that is there is imported, also
-- while the queue can't be asked.

local errors = require "runner.core.errors"
local submit = require "runner.workflow.executors.submit"
local conclusions = require "runner.workflow.executors.conclusions"

local M = {}

local STALE_MS = 120000 -- how long a journal may look older than the result that stands on it: twice what NFS caches

-- --- a chunk leaves its placement ---------------------------------------------------------------

local function write(c, db, chunk, changes)
	local row = c.placements[chunk.token]
	c.ledger.set_chunk(db, setmetatable(changes, { __index = chunk }))
	if row and row.open == 1 then
		c.ledger.set_placement(db, { token = row.token, state = "over", job = row.job, why = row.why, ended_ms = c.world.wall() })
	end
end

-- The same in memory, once it is committed.
local function left(c, chunk, changes)
	local row = c.placements[chunk.token]
	for name, value in next, changes do
		chunk[name] = value or nil
	end
	if row then
		row.chunks[chunk.task], row.open = nil, row.open - 1
		c.placements[chunk.token] = row.open > 0 and row or nil
		c.behind[#c.behind + 1] = row.open == 0 and row.doubtful and row.token or nil
	end
	c.placed = c.placed - 1
	if chunk.state == "planned" then
		c.planned, chunk.misses = c.planned + 1, 0
	else
		c.chunks[chunk.chunk] = nil
	end
end

---A placed chunk is something else now; its placement is over with the last of them.
---@param c runner.workflow.Coordinator
---@param chunk runner.workflow.ChunkRow
---@param changes table columns; false: NULL
function M.leave(c, chunk, changes)
	c.ledger.commit(function(db)
		write(c, db, chunk, changes)
	end)
	left(c, chunk, changes)
end

-- The first in the order of the items is what the unit fails with.
local function failed(c, chunk, e)
	if not c.problem or c.problem_at and chunk.chunk < c.problem_at then
		c.problem, c.problem_at = e, chunk.chunk
	end
end

local STATES = { completed = "completed", failed = "failed", doubt = "doubt", parked = "planned" }

-- One that is parked waits until its time has come, and no longer than it said, whatever clocks say. What has ended before it was
-- submitted has another clock, by which no time is up.
local function of_result(c, chunk, result)
	local wall = c.world.wall()
	local is_ahead = (result.ended_ms or wall) < (chunk.queued_ms or 0)
	local wait = result.state == "parked" and (is_ahead and result.wait_ms
		or math.min(math.max(result.wake_ms - wall, 0), result.wait_ms or math.huge))
	return { state = STATES[result.state], failures = 0, again = 0, started_ms = math.min(result.started_ms or wall, wall),
		ended_ms = math.min(result.ended_ms or wall, wall), due_ms = wait and wall + wait, due_at = wait and c.world.now() + wait, why = false }
end

-- It is over, and left nothing.
local function conclude(c, chunk, verdict, seen)
	if verdict == "cancelled" and c.placements[chunk.token].why == "cancelled" then
		return M.leave(c, chunk, { state = "planned", due_ms = false, due_at = false, why = "cancelled" }) -- an earlier process wanted it
	end
	c.placements[chunk.token].doubtful = c.placements[chunk.token].doubtful or not seen.task
	local executor = c.world.executor
	local after = conclusions.after(verdict, chunk, #(executor.memory or {}),
		seen.task and seen.task.ended == "timeout" and #(executor.times or {}) or nil)
	local why, wait, wall = conclusions.words(verdict, seen), after.wait_ms, c.world.wall()
	M.leave(c, chunk, { state = after.state, memory = after.memory, failures = after.failures, ended_ms = wall,
		due_ms = wait and wall + wait or false, due_at = wait and c.world.now() + wait or false, why = why })
	if after.code then
		failed(c, chunk, errors.new(after.code, ("Part %d of the step was given up: %s"):format(chunk.chunk, why),
			{ retryable = false, side_effects = "partial",
				context = { chunk = chunk.chunk, failures = chunk.failures, transient = after.transient } }))
	end
end

---A chunk has a result: its journal, its rows and its state in one transaction.
---@param c runner.workflow.Coordinator
---@param chunk runner.workflow.ChunkRow
---@param result {state: string, wake_ms: integer?}
function M.import(c, chunk, result)
	if result.state == "memory" then
		return conclude(c, chunk, "memory", { task = { ended = "out_of_memory" } })
	end
	chunk.seen_at = chunk.seen_at or c.world.now()
	if c.world.now() - chunk.seen_at < STALE_MS and not c.world.unit:is_whole(chunk.chunk, result) then
		return
	end
	chunk.seen_at = nil
	local changes = of_result(c, chunk, result)
	local imported = c.world.import(chunk, function(db)
		write(c, db, chunk, changes)
	end)
	left(c, chunk, changes)
	if chunk.state == "completed" then
		c.over[chunk.chunk], c.completed = chunk.generation, c.completed + 1
		c.over_now(c, chunk.chunk, imported)
	elseif chunk.state ~= "planned" then
		failed(c, chunk, imported.error)
	end
end

-- --- what is seen ---------------------------------------------------------------------------------

---What a unit's folder says of a chunk, the fence before the result: a free one means that
---the task that wrote has written.
---@param c runner.workflow.Coordinator
---@param chunk runner.workflow.ChunkRow
---@return table? result of this generation
---@return "free"|"held" fence
function M.folder(c, chunk)
	local unit = c.world.unit
	local result, fence = unit:result(chunk.chunk), "held"
	if not result or result.generation ~= chunk.generation then
		fence = unit:fence(chunk.chunk)
		result = unit:result(chunk.chunk)
	end
	return result and result.generation == chunk.generation and result or nil, fence
end

local function judge(c, chunk, known, task)
	local result, fence = M.folder(c, chunk)
	local seen = { result = result, generation = chunk.generation, fence = fence, known = known, task = task,
		misses = chunk.misses, needed = c.needed }
	local verdict = conclusions.verdict(seen)
	if verdict == "import" then
		M.import(c, chunk, result)
	elseif verdict == "running" then
		c.started[#c.started + 1] = chunk.state ~= "running" and chunk or nil
		chunk.state, chunk.started_ms, chunk.misses = "running", chunk.started_ms or c.world.wall(), 0
	elseif verdict == "miss" then
		chunk.misses = chunk.misses + 1
	elseif verdict ~= "wait" then
		conclude(c, chunk, verdict, seen)
	end
end

---A placement that may have arrived or not.
---@param c runner.workflow.Coordinator
---@param row table in doubt
---@param answers? table<string, runner.workflow.Answer>
---@return boolean arrived
function M.look_up(c, row, answers)
	local known = conclusions.said(answers, row.token, 1)
	row.phase = conclusions.looked_up(known, row.nones, c.needed)
	row.nones, row.doubtful = known == false and row.nones + 1 or row.nones, row.doubtful or row.phase == "later"
	if row.phase == "submitted" then
		submit.set(c, row, "submitted", row.why == "cancelled" and row.why or nil)
	end
	return row.phase == "submitted"
end

local function why_pending(answer)
	for _, task in pairs(answer and answer.tasks or {}) do
		if task.state == "pending" and (task.why or task.reason) then
			return task.why or task.reason
		end
	end
end

-- For people, when it changes.
local function note_pending(c, row, answer)
	local why = why_pending(answer)
	if why ~= row.why and row.why ~= "cancelled" then
		submit.set(c, row, row.state, why)
	end
end

-- answers: nil where the queue couldn't be asked.
local function look_at(c, row, answers)
	local answer = answers and answers[row.token]
	row.job = answer and answer.job or row.job
	if row.phase == "look" then
		answers = M.look_up(c, row, answers) and answers or nil
		if row.phase == "later" then
			submit.not_taken(c, row)
		end
	elseif answer then
		note_pending(c, row, answer)
	end
	for task = 1, row.tasks do
		local chunk = row.chunks[task]
		local known, of_task = conclusions.said(answers, row.token, task)
		if chunk and not (of_task and of_task.state == "pending") then
			judge(c, chunk, known, of_task)
		end
	end
end

---Of a folder that is on the other side of ssh: look at it there.
---@param c runner.workflow.Coordinator
---@param rows table[] placements
---@return runner.PlaceProblem? problem of its chunks nothing is known now
function M.refresh(c, rows)
	local chunks = {}
	for _, row in ipairs(c.world.unit.refresh and rows or {}) do
		for _, chunk in pairs(row.chunks) do
			chunks[#chunks + 1] = chunk
		end
	end
	return chunks[1] and c.world.unit:refresh(chunks) or nil
end

---The placements, oldest first, and the tokens that may be known by now.
---@param c runner.workflow.Coordinator
---@return table[] rows, string[] tokens
function M.live(c)
	local tokens, rows = {}, {}
	for _, row in pairs(c.placements) do
		rows[#rows + 1] = row
	end
	table.sort(rows, function(a, b) return a.number < b.number end)
	for _, row in ipairs(rows) do
		tokens[#tokens + 1] = row.phase ~= "later" and row.token or nil
	end
	return rows, tokens
end

-- For people: those that were seen running for the first time.
local function note_started(c)
	if c.started[1] then
		c.ledger.commit(function(db)
			for _, chunk in ipairs(c.started) do
				if chunk.state == "running" then
					c.ledger.set_chunk(db, chunk)
				end
			end
		end)
	end
end

local function is_silent(tokens, answers)
	for _, token in ipairs(tokens) do
		if conclusions.said(answers, token, 1) == nil then
			return true
		end
	end
	return false
end

-- A queue may be down for a while: results come all the same.
local function note_silence(c, silent)
	local now = c.world.now()
	c.silent_since = silent and (c.silent_since or now) or nil
	if silent and now - c.silent_since > conclusions.SILENCE_MS then
		c.problem = c.problem or errors.new("UNAVAILABLE", ("The executor has not answered for a day: %s"):format(c.unreachable.message),
			{ retryable = false, side_effects = "partial", context = { transient = true } })
	end
end

---The queue may still have something of a placement that is over: one that it didn't know, or that was submitted twice.
---@param c runner.workflow.Coordinator
function M.tidy(c)
	if c.behind[1] and c.world.place:cancel(c.behind) then
		c.behind = {}
	end
end

---Look at everything that is placed.
---@param c runner.workflow.Coordinator
function M.look(c)
	local rows, tokens = M.live(c)
	local answers, problem
	if tokens[1] then
		answers, problem = c.world.place:states(tokens)
	end
	local unseen = M.refresh(c, rows)
	c.unreachable, c.started = unseen or problem, {}
	note_silence(c, unseen ~= nil or is_silent(tokens, answers))
	for _, row in ipairs(rows) do
		local asked = row.phase ~= "later"
		look_at(c, row, asked and answers or nil)
	end
	note_started(c)
	M.tidy(c)
	c.poll_at = c.world.now() + c.world.executor.poll_ms
end

return M
