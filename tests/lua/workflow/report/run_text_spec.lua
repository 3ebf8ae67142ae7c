-- A run as text for people.

local run_text = require "runner.workflow.report.run_text"

local function run_with(fields, ...)
	local run = { id = "run_1", workflow = "w", file = "/w.yaml", state = "completed", created = "then", steps = { ... } }
	for name, value in pairs(fields) do
		run[name] = value
	end
	return run_text.of_run(run)
end

local function step(fields)
	fields.key, fields.state, fields.attempts = fields.key or "1", fields.state or "completed", fields.attempts or 1
	return fields
end

local FAILED = { attempt_number = 1, code = "UNAVAILABLE", error = "HTTP 500", delay_before_next = 0.25 }

describe("the story of a run", function()
	it("has a line for each step, with the first line of its output", function()
		local text = run_with({}, step { output = "one\ntwo" }, step { key = "longer", output = "x" })
		assert.truthy(text:find("\n  1       completed  one (2 lines)\n  longer  completed  x\n", 1, true), text)
	end)

	it("begins with what failed where there are many steps, and says of which item", function()
		local steps = {}
		for i = 1, 20 do
			steps[i] = step { key = ("l[%d].a"):format(i), item = "item " .. i }
		end
		steps[15].state, steps[15].code, steps[15].message = "failed", "X", "no"
		local text = run_with({}, table.unpack(steps))
		assert.truthy(text:find("\nsteps:\n  l[1].a   completed\n", 1, true), text)
		assert.truthy(text:find("  l[15].a  failed     item 15: X: no\n", 1, true), text)
		text = run_with({}, step { key = "first" }, table.unpack(steps))
		assert.truthy(text:find("\nfailed:\n  l[15].a  failed  item 15: X: no\nsteps:\n  first    completed\n", 1, true), text)
	end)

	it("says whose it is, of what is known", function()
		local client = { transport = "mcp-stdio", name = "claude-code", version = "2.1" }
		local text = run_with { subject = "agent-7", client = client }
		assert.truthy(text:find("\nof:       agent-7, through mcp-stdio by claude-code 2.1\n", 1, true), text)
		assert.truthy(run_with({ client = { transport = "exec" } }):find("\nof:       through exec\n", 1, true))
		assert.truthy(run_with({ subject = "\27[31magent" }):find("\nof:       agent\n", 1, true))
		assert.falsy(run_with({}):find("\nof:", 1, true))
	end)

	it("leaves no blanks behind a step without an output", function()
		assert.truthy(run_with({}, step { state = "skipped" }):find("\n  1  skipped\n", 1, true))
	end)

	it("cuts a long output between characters", function()
		local text = run_with({}, step { output = ("é"):rep(100) })
		assert.truthy(text:find("\n  1  completed  " .. ("é"):rep(72) .. "…\n", 1, true), text)
	end)

	it("tells every failure of a step that was repeated, and the waits", function()
		local text = run_with({}, step { attempts = 2, output = "ok", retry = { error_history = { FAILED } } })
		assert.truthy(text:find("\n    attempt 1: UNAVAILABLE: HTTP 500, then waited 0.2s\n", 1, true), text)
	end)

	it("tells what a waiting step waits for, and after which failure", function()
		local text = run_with({}, step { state = "waiting", wake = "soon", retry = { error_history = { FAILED } } })
		assert.truthy(text:find("\n  1  waiting  for its next attempt, at soon\n    attempt 1: UNAVAILABLE", 1, true), text)
	end)

	it("says how to go on with a run that failed or was interrupted, and with no other", function()
		for state, says in pairs { failed = true, interrupted = true, completed = false, cancelled = false, running = false } do
			local text = run_with { state = state }
			assert.equal(says, text:find("resume:   runner workflow resume run_1", 1, true) ~= nil, state)
		end
	end)

	it("lets no output move the cursor", function()
		local text = run_with({}, step { output = "a\27[2Jb\7" })
		assert.falsy(text:find("[\27\7]"), text)
	end)

	it("tells code and message of a step that failed", function()
		local text = run_with({ state = "failed", code = "TIMEOUT", message = "too late" },
			step { state = "failed", code = "TIMEOUT", message = "too late" })
		assert.truthy(text:find("\nerror:    TIMEOUT: too late\n", 1, true), text)
		assert.truthy(text:find("\n  1  failed  TIMEOUT: too late\n", 1, true), text)
	end)
end)

-- Runs as rows for people.

local NOW <const> = 1795392000000

local function ago(ms)
	return run_text.ago(NOW - ms, NOW)
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
		return run_text.table({ fields }, { a = "a" }, { a = NOW - 90000 }, NOW)[1].took
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
