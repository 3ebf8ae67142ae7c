local placements = require "runner.workflow.store.placements"
local statistics = require "runner.workflow.report.statistics"

local function unit(more)
	local row = { workflow = "w", run = "run_1", key = "each", executor = "q", kind = "command", items = 100, timed = 100, timed_ms = 100000,
		measured = 100, cpu_ms = 500, peak_bytes = 100 << 20, settings = '{"at_once":5,"side_by_side":2}' }
	for name, value in pairs(more or {}) do
		row[name] = value
	end
	return row
end

describe("what is proposed for a placed step", function()
	it("comes from the largest process, as many as run at once, and a margin", function()
		local row = statistics.proposals({ unit(), unit { run = "run_2", peak_bytes = 200 << 20 } })[1]
		assert.same({ 2, 200, 1000, 200 << 20, "576M" }, { row.runs, row.measured, row.cpu_ms, row.peak_bytes, row.memory })
	end)

	it("has a chunk run for five minutes, but leaves work for all tasks that may run at once", function()
		assert.equal(20, statistics.proposals({ unit() })[1].chunk)
		assert.equal(300, statistics.proposals({ unit { items = 100000 } })[1].chunk)
		assert.equal(1, statistics.proposals({ unit { timed_ms = 100 * 3600000 } })[1].chunk)
		assert.is_nil(statistics.proposals({ unit { items = 0 } })[1].chunk)
	end)

	it("is nothing where little was measured, and that is said", function()
		local row = statistics.proposals({ unit { measured = 9, timed = 9 } })[1]
		assert.same({}, { row.memory, row.chunk })
		assert.matches("^memory: 9 measured, and 10 are the least. chunk: 9 items timed", row.why)
	end)

	it("says how many were not measured", function()
		assert.matches("of 60 measured %(40 were not%)", statistics.proposals({ unit { measured = 60 } })[1].why)
	end)

	it("sums up the rounds and the items that a step was placed for", function()
		assert.equal(1, #statistics.proposals { unit { key = "a[1].each" }, unit { key = "a[2].each@2" } })
	end)

	it("believes only amounts of what a task says", function()
		for _, used in ipairs { { cpu_ms = -1, peak_bytes = 1 }, { cpu_ms = 1 << 51, peak_bytes = 1 }, { cpu_ms = 1.5, peak_bytes = 1 },
			{ cpu_ms = "1", peak_bytes = 1 }, { cpu_ms = 1 }, "used", 1 } do
			assert.is_nil(placements.used(used))
		end
		assert.same({ cpu_ms = 0, peak_bytes = 1 }, placements.used { cpu_ms = 0, peak_bytes = 1, more = "x" })
	end)
end)
