-- One look at what is placed (lua/workflow/executors/poll.lua): what the queue and the folder say, and what becomes of it.

local poll = require "runner.workflow.executors.poll"

-- A coordinator with one placement of two chunks. answer: what the queue says of it, false: that it knows
-- none, nil: nothing.
local function coordinator(phase)
	local c = { needed = 3, placed = 2, planned = 0, completed = 0, placements = {}, chunks = {}, over = {},
		behind = {}, over_now = function() end }
	local row = { token = "t", number = 1, tasks = 2, open = 2, nones = 0, phase = phase, chunks = {}, job = "1",
		state = phase == "submitted" and phase or "submitting" }
	for i = 1, 2 do
		local chunk = { chunk = i, task = i, token = "t", state = "placed", generation = 7, misses = 0, memory = 1, failures = 0, again = 0 }
		row.chunks[i], c.chunks[i] = chunk, chunk
	end
	c.placements.t, c.row, c.set, c.results, c.fences = row, row, {}, {}, {}
	c.ledger = { commit = function(fn) fn {} end,
		set_chunk = function(_, chunk) table.insert(c.set, ("%d %s"):format(chunk.chunk, chunk.state)) end,
		set_placement = function(_, r) table.insert(c.set, ("%s %s %s"):format(r.state, r.job, r.why)) end }
	c.world = { now = function() return 5 end, wall = function() return 1000000 end, executor = { poll_ms = 10 },
		import = function() return {} end,
		unit = { is_whole = function() return c.whole ~= false end,
			result = function(_, chunk) return c.results[chunk] end, fence = function(_, chunk) return c.fences[chunk] or "free" end },
		place = { states = function(_, tokens)
			c.asked = table.concat(tokens, " ")
			if c.answer == nil then
				return nil, { message = "down" }
			end
			return { t = c.answer or nil }
		end } }
	return c
end

local function look(c, answer)
	c.answer, c.set = answer, {}
	poll.look(c)
	return ("%s %d; %s %d, %s %d"):format(c.row.phase, c.row.nones, c.row.chunks[1] and c.row.chunks[1].state or "left",
		c.row.chunks[1] and c.row.chunks[1].misses or 0, c.row.chunks[2] and c.row.chunks[2].state or "left",
		c.row.chunks[2] and c.row.chunks[2].misses or 0)
end

local function tasks(one, two, why)
	return { job = "2", tasks = { { state = one, why = why, ended = "failed" }, { state = two, ended = "failed" } } }
end

describe("a look at a submission in doubt", function()
	it("finds that it has arrived, and judges its tasks from then on", function()
		local c = coordinator "look"
		assert.equal("submitted 0; placed 0, running 0", look(c, tasks("pending", "running")))
		assert.same({ "submitted 2 nil", "2 running" }, c.set)
		assert.equal("submitted 0; placed 1, running 1", look(c, tasks("ended", "ended")))
	end)

	it("counts how often the queue knows none, and lets it be submitted again after some", function()
		local c = coordinator "look"
		assert.equal("look 1; placed 0, placed 0", look(c, false))
		assert.equal("look 1; placed 0, placed 0", look(c, nil)) -- says nothing
		assert.equal("look 2; placed 0, placed 0", look(c, false))
		assert.equal("later 3; placed 0, placed 0", look(c, false))
		assert.same({}, c.set)
	end)

	it("waits before a submission that failed is made again, and gives up one that is never taken", function()
		local c = coordinator "look"
		c.row.failure, c.submit_at = { message = "reservation" }, 0
		for n = 1, 9 do
			c.row.phase, c.row.nones = "look", 2
			look(c, false)
			assert.same({ "submitting 1 reservation" }, c.set)
			assert.equal(5 + math.min(1000 << (n - 1), 60000), c.submit_at)
			assert.is_nil(c.problem or c.row.gone)
		end
		c.row.phase, c.row.nones, c.placed = "look", 2, 3
		look(c, false)
		assert.is_nil(c.problem) -- something of ours is in the queue
		c.row.phase, c.row.nones, c.placed = "look", 2, 2
		look(c, false)
		assert.equal("UNAVAILABLE", c.problem.code)
		assert.truthy(c.problem.message:find("11 times: reservation", 1, true))
		assert.is_true(c.row.gone)
	end)

	it("knows no failure of an earlier process", function()
		local c = coordinator "look"
		for _ = 1, 3 do
			look(c, false)
		end
		assert.equal("later", c.row.phase)
		assert.same({}, c.set)
		c.asked = nil
		assert.equal("later 3; placed 0, placed 0", look(c, false))
		assert.is_nil(c.asked)
	end)

	it("waits as long as a task has asked for, whatever the clock of its host says", function()
		local DAY = 24 * 3600 * 1000
		for off, wait in pairs { [0] = 298000, [-DAY] = 300000, [DAY] = 300000 } do
			local c = coordinator "submitted"
			local chunk = c.chunks[1]
			chunk.queued_ms = 990000 -- by our clock, which says 1,000,000 now
			c.results[1] = { generation = 7, state = "parked", ended_ms = 998000 + off, wake_ms = 1298000 + off, wait_ms = 300000 }
			look(c, tasks("running", "running"))
			assert.same({ "planned", 1000000 + wait, 5 + wait }, { chunk.state, chunk.due_ms, chunk.due_at }, tostring(off))
		end
	end)

	it("believes what its folder has, whatever the queue says", function()
		for _, phase in ipairs { "look", "later", "submitted" } do
			for _, answer in ipairs { 0, false } do
				local c = coordinator(phase)
				c.results[1], c.fences[2] = { generation = 7, state = "completed" }, "held"
				assert.matches("; left 0, running 0$", look(c, answer ~= 0 and answer or nil))
				assert.same({ 1, 1 }, { c.completed, c.placed })
				assert.is_nil(c.chunks[1])
				assert.matches("; left 0, running 0$", look(c, answer ~= 0 and answer or nil)) -- again, without it
				assert.equal(1, c.completed)
			end
		end
	end)
end)

describe("a look at what was submitted", function()
	it("counts misses only where the queue has answered, and gives up after some", function()
		local c = coordinator "submitted"
		assert.equal("submitted 0; placed 1, placed 1", look(c, false))
		assert.equal("submitted 0; placed 1, placed 1", look(c, nil))
		assert.equal("down", c.unreachable.message)
		assert.equal("submitted 0; placed 2, running 0", look(c, tasks("ended", "running")))
		assert.is_nil(c.unreachable)
		assert.equal("1", tostring(c.placements.t.open - 1)) -- both are there still
		look(c, false)
		assert.same({ "planned", 1, 0 }, { c.chunks[1].state, c.chunks[1].failures, c.chunks[1].misses })
		assert.same({ 1, 1, 1 }, { c.placed, c.planned, c.row.open })
		assert.same({ "running", 1 }, { c.chunks[2].state, c.chunks[2].misses })
	end)

	it("doesn't judge what waits in the queue, and says why that waits when the reason changes", function()
		local c = coordinator "submitted"
		assert.equal("submitted 0; placed 0, placed 0", look(c, tasks("pending", "pending", "Priority")))
		assert.same({ "submitted 2 Priority" }, c.set)
		look(c, tasks("pending", "pending", "Priority"))
		assert.same({}, c.set)
		look(c, tasks("pending", "pending"))
		assert.same({ "submitted 2 nil" }, c.set)
		c.row.why = "cancelled"
		look(c, tasks("pending", "pending", "Priority"))
		assert.same({}, c.set)
	end)

	it("records once that a chunk runs, with the time when that was seen first", function()
		local c = coordinator "submitted"
		look(c, tasks("pending", "running"))
		assert.same({ "2 running" }, c.set)
		c.world.wall = function() return 2000000 end
		look(c, tasks("running", "running"))
		assert.same({ "1 running" }, c.set)
		assert.same({ 2000000, 1000000 }, { c.chunks[1].started_ms, c.chunks[2].started_ms })
		look(c, tasks("running", "running"))
		assert.same({}, c.set)
		look(c, { tasks = { { state = "running", why = "x" }, { state = "pending" } } }) -- no reason to wait
		assert.same({}, c.set)
	end)

	it("fails the unit when the queue has not answered for more than a day", function()
		local c, now = coordinator "submitted", 1000000
		c.world.now = function() return now end
		for _, passes in ipairs { 0, 24 * 3600 * 1000 } do
			now = now + passes
			look(c, nil)
			assert.is_nil(c.problem)
		end
		now = now + 1
		look(c, nil)
		assert.same({ "UNAVAILABLE", "The executor has not answered for a day: down" }, { c.problem.code, c.problem.message })
		local first = c.problem
		look(c, nil)
		assert.equal(first, c.problem)
		c.problem = nil
		look(c, false)
		look(c, nil)
		assert.is_nil(c.problem)
	end)

	it("asks for the oldest submission first", function()
		local c = coordinator "submitted"
		for number = 9, 2, -1 do
			c.placements["t" .. number] = { token = "t" .. number, number = number, tasks = 0, chunks = {}, phase = "submitted" }
		end
		look(c, false)
		assert.equal("t t2 t3 t4 t5 t6 t7 t8 t9", c.asked)
	end)

	it("waits for the journal that a result stands on, but not for ever", function()
		local c, now = coordinator "submitted", 0
		c.world.now = function() return now end
		c.results[1], c.whole = { generation = 7, state = "completed" }, false
		for _ = 1, 4 do
			assert.matches("^submitted 0; placed 0, ", look(c, tasks("ended", "running")))
			now = now + 20000
		end
		c.whole = true
		assert.matches("^submitted 0; left 0, ", look(c, tasks("ended", "running")))
		c = coordinator "submitted"
		c.world.now = function() return now end
		c.results[1], c.whole = { generation = 7, state = "completed" }, false
		look(c, tasks("ended", "running"))
		now = now + 120000
		assert.matches("^submitted 0; left 0, ", look(c, tasks("ended", "running"))) -- import says what is wrong with it
	end)

	it("places a task again with more memory that has seen a step killed for want of it, whatever the queue says", function()
		local c = coordinator "submitted"
		c.world.executor.memory = { "1G", "2G" }
		c.results[1] = { generation = 7, state = "memory" }
		local chunk = c.chunks[1]
		assert.equal("submitted 0; left 0, running 0", look(c, tasks("running", "running")))
		assert.same({ "planned", 2 }, { chunk.state, chunk.memory })
		c.results[2] = { generation = 7, state = "memory" }
		c.chunks[2].memory = 2
		look(c, tasks("running", "running"))
		assert.equal("RESOURCE_EXHAUSTED", c.problem.code)
	end)

	it("takes a result before a task that waits in the queue", function()
		local c = coordinator "submitted"
		c.results[1] = { generation = 6, state = "completed" } -- of an earlier generation
		assert.equal("submitted 0; placed 1, running 0", look(c, tasks("ended", "running")))
		assert.equal(15, c.poll_at)
	end)
end)
