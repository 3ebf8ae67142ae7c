-- The failure table of docs/scale.md, row by row.

local conclusions = require "runner.workflow.executors.conclusions"

local DONE = { generation = 2, state = "completed" }
local OLD = { generation = 1, state = "completed" }

local function ended(how)
	return { state = "ended", ended = how }
end

-- what is seen → what is concluded at once, and after enough polls
local TABLE = {
	{ "a result of its generation is its end, whatever the queue says", { result = DONE }, "import", "import" },
	{ "also where its fence is held", { result = DONE, fence = "held" }, "import", "import" },
	{ "an older generation's result is nothing", { result = OLD, known = false }, "miss", "lost" },
	{ "the queue can't be asked: nothing is concluded", {}, "wait", "wait" },
	{ "the job is unknown, the fence free", { known = false }, "miss", "lost" },
	{ "the job is unknown, the fence held", { known = false, fence = "held" }, "running", "running" },
	{ "a node failed, the fence held", { known = true, task = ended "node_failed", fence = "held" }, "running", "running" },
	{ "a node failed, the fence free", { known = true, task = ended "node_failed" }, "miss", "lost" },
	{ "its memory was too small", { known = true, task = ended "out_of_memory" }, "miss", "memory" },
	{ "it was preempted", { known = true, task = ended "preempted" }, "miss", "again" },
	{ "its node could not start it", { known = true, task = ended "boot_failed" }, "miss", "again" },
	{ "the site's time limit ended it", { known = true, task = ended "timeout" }, "miss", "again" },
	{ "somebody cancelled it", { known = true, task = ended "cancelled" }, "miss", "cancelled" },
	{ "it ended and left nothing", { known = true, task = ended "completed" }, "miss", "lost" },
	{ "it ended in a way that nobody has heard of", { known = true, task = ended "strange" }, "miss", "lost" },
	{ "it waits in the queue", { known = true, task = { state = "pending" } }, "wait", "wait" },
	{ "it runs", { known = true, task = { state = "running" } }, "running", "running" },
	{ "the queue knows the job, and not this task of it", { known = true }, "miss", "lost" },
}

describe("the rules for a chunk that was placed", function()
	for _, row in ipairs(TABLE) do
		it(row[1], function()
			local seen = { generation = 2, fence = "free", misses = 0, needed = 4 }
			for name, value in pairs(row[2]) do
				seen[name] = value
			end
			assert.equal(row[3], conclusions.verdict(seen))
			seen.misses = 3
			assert.equal(row[4], conclusions.verdict(seen))
			assert.is_truthy(conclusions.words(row[4], seen):find "%w")
		end)
	end

	it("place again what was lost, later and later, and not forever", function()
		assert.same({ 4, 5 }, { conclusions.MISSES, conclusions.FAILURES }) -- as the page says
		local chunk, last = { memory = 1, failures = 0 }, 0
		for _ = 1, conclusions.FAILURES do
			local after = conclusions.after("lost", chunk, 1)
			assert.equal("planned", after.state)
			assert.is_true(after.wait_ms > last)
			chunk, last = after, after.wait_ms
		end
		local after = conclusions.after("lost", chunk, 1)
		assert.same({ "failed", "UNAVAILABLE", true }, { after.state, after.code, after.transient })
	end)

	it("ask for the next size after a limit of time, as long as there is one", function()
		local after = conclusions.after("again", { memory = 1, failures = 3 }, 1, 2)
		assert.same({ "planned", 2, 3 }, { after.state, after.memory, after.failures })
		after = conclusions.after("again", after, 1, 2)
		assert.same({ "planned", 2, 4 }, { after.state, after.memory, after.failures })
		assert.equal(1, conclusions.after("again", { memory = 1, failures = 0 }, 4).memory)
	end)

	it("wait at most a minute between placements", function()
		assert.equal(1000, conclusions.backoff(1))
		assert.equal(60000, conclusions.backoff(7))
		assert.equal(60000, conclusions.backoff(100000))
	end)

	it("take the next size of memory, without counting that as a failure", function()
		assert.same({ state = "planned", memory = 2, failures = 3 }, conclusions.after("memory", { memory = 1, failures = 3 }, 2, 0))
		assert.equal("RESOURCE_EXHAUSTED", conclusions.after("memory", { memory = 2, failures = 0 }, 2, 0).code)
		assert.equal("RESOURCE_EXHAUSTED", conclusions.after("memory", { memory = 1, failures = 0 }, 0, 0).code)
	end)

	it("don't place again what somebody cancelled", function()
		assert.equal("failed", conclusions.after("cancelled", { memory = 1, failures = 0 }, 1, 0).state)
	end)
end)

describe("the rules for a submission", function()
	it("submit again at once only what was certainly not taken", function()
		assert.equal("submitted", conclusions.submitted { job = "1" })
		assert.equal("refused", conclusions.submitted { kind = "refused" })
		assert.equal("later", conclusions.submitted { kind = "busy" })
		assert.equal("look", conclusions.submitted { kind = "unknown" })
	end)

	it("believe that nobody knows it only after several answers", function()
		assert.equal("look", conclusions.looked_up(nil, 100, 4))
		assert.equal("look", conclusions.looked_up(false, 0, 4))
		assert.equal("later", conclusions.looked_up(false, 3, 4))
		assert.equal("submitted", conclusions.looked_up(true, 3, 4))
	end)
end)
