-- A run as text for people.

local report_text = require "runner.workflow.report.report_text"

local function run_with(fields, ...)
	local run = { id = "run_1", workflow = "w", file = "/w.yaml", state = "completed", created = "then", steps = { ... } }
	for name, value in pairs(fields) do
		run[name] = value
	end
	return report_text.text(run)
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
