-- Runs as rows for people.

local run_list = require "runner.workflow.report.run_list"

local NOW <const> = 1795392000000

local function ago(ms)
	return run_list.ago(NOW - ms, NOW)
end

describe("how long ago a run began", function()
	it("is in its largest unit, and a date where that is long", function()
		assert.are.equal("now", ago(999))
		assert.are.equal("now", ago(-5000)) -- the clock was set back
		assert.are.equal("1s ago", ago(1000))
		assert.are.equal("59s ago", ago(59999))
		assert.are.equal("1m ago", ago(60000))
		assert.are.equal("59m ago", ago(3599999))
		assert.are.equal("23h ago", ago(86399999))
		assert.are.equal("99d ago", ago(99 * 86400000))
		assert.matches("^%d%d%d%d%-%d%d%-%d%d$", ago(100 * 86400000))
	end)
end)

describe("how long a run took", function()
	local function took(fields)
		fields.id, fields.workflow, fields.state = "a", "w", fields.state or "completed"
		return run_list.rows({ fields }, { a = "a" }, { a = NOW - 90000 }, NOW)[1].took
	end

	it("is rounded down, and counts on while it runs", function()
		assert.are.equal("0ms", took { duration_ms = 0 })
		assert.are.equal("999ms", took { duration_ms = 999 })
		assert.are.equal("9.9s", took { duration_ms = 9999 })
		assert.are.equal("2m 5s", took { duration_ms = 125999 })
		assert.are.equal("59s", took { duration_ms = 59999 })
		assert.are.equal("2h 5m", took { duration_ms = 7559999 })
		assert.are.equal("3d 1h", took { duration_ms = 73 * 3600000 })
		assert.are.equal("1m 30s", took { state = "running" })
		assert.is_nil(took { state = "interrupted" })
	end)
end)
