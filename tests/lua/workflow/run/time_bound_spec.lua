local time_bound = require "runner.workflow.run.time_bound"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")

local HEAD = "executors:\n  c: { kind: slurm, directory: /s, time: 30m }\n  n: { kind: slurm, directory: /s }\n"
	.. "  l: { kind: local, time: 1s }\n"

local function flow(body)
	return help.parse(HEAD .. "commands:\n" .. body)
end

-- "message [suggestion]" of the only problem, or "CODE message" of the only hint; "" where all fits.
local function told(body)
	local problems, hints = time_bound.judge(flow(body))
	assert.is_true(#problems + #hints <= 1)
	local p, h = problems[1], hints[1]
	return p and ("%s [%s]"):format(p.message, p.suggestion) or h and ("%s %s"):format(h.code, h.message) or ""
end

-- The longest time of one item of a loop with these steps, in ms.
local function worst(steps)
	return time_bound.worst(flow("  - foreach: [a]\n    on: c\n    do:\n" .. steps).steps[1])
end

describe("the time of an executor", function()
	it("bounds the items of a chunk, and the largest chunk that fits is named", function()
		local body = "  - { foreach: { file: a }, on: c, chunk: %d, parallel: %d, do: { shell: a, timeout: 58s } }\n"
		assert.equal("", told(body:format(30, 1)))
		assert.equal("chunk: 31 items may take 31m, and the time of executor 'c' is 30m "
			.. "[Write chunk: 30, the most that fits; or give the executor time: 1860s]", told(body:format(31, 1)))
		assert.equal("", told(body:format(120, 4)))
		assert.matches("Write chunk: 120,", told(body:format(121, 4)), 1, true)
	end)

	it("bounds a single item, and a step that is no loop, whose remedy is another", function()
		assert.equal("one item may take 1802s, and the time of executor 'c' is 30m "
			.. "[Give the executor time: 1802s, or its steps shorter timeouts or fewer retries]",
			told "  - { foreach: { file: a }, on: c, do: { shell: a, timeout: 30m } }\n")
		assert.matches("this step may take 3602s", told "  - { shell: a, on: c, timeout: 1h }\n", 1, true)
		assert.equal("", told "  - { shell: a, on: c, timeout: 29m }\n")
	end)

	it("is only warned of where nothing bounds a step, a loop inside, or a hook", function()
		for steps, at in pairs { ["{ shell: a }"] = "on line 6", ["{ foreach: { file: a }, do: { shell: a, timeout: 1s } }"] = "max_items",
			["{ shell: a, timeout: 1s, on_failure: { shell: b } }"] = "on line 6" } do
			local text = told("  - { foreach: { file: a }, on: c, chunk: 9, do: " .. steps .. " }\n")
			assert.matches("TIME_UNBOUNDED", text, 1, true)
			assert.matches(at, text, 1, true)
		end
	end)

	it("is no matter where there is none, or the queue is this machine, or the chunk holds all items", function()
		for _, body in ipairs { "on: n, chunk: 1000", "on: l, chunk: 1000", "chunk: 1000, on: c" } do
			local items = body:find "on: c" and "[1, 2]" or "{ file: a }"
			assert.equal("", told(("  - { foreach: %s, %s, do: { shell: a, timeout: 58s } }\n"):format(items, body)))
		end
	end)

	it("is looked at wherever a placed step stands", function()
		assert.matches("this step", told("  - { shell: a, on_failure: { steps: [{ shell: b, on: c, timeout: 2h }] } }\n"), 1, true)
		assert.matches("this step", told("  - { foreach: [a], do: [{ shell: b, on: c, timeout: 2h }] }\n"), 1, true)
	end)
end)

describe("the longest time of an item", function()
	for steps, ms in pairs {
		["      - { shell: a, timeout: 8s }\n      - { shell: b, timeout: 8s }\n"] = 20000,
		["      - { shell: a, timeout: 8s, grace: 0 }\n"] = 8000,
		["      - { shell: a, timeout: 8s, retry: { max_attempts: 2, initial_delay: 1s, jitter: 0 } }\n"] = 30000 + 3000,
		["      - { shell: a, timeout: 8s, retry: { max_attempts: 1, initial_delay: 1s, jitter: 0.5 } }\n"] = 20000 + 1500,
		["      - { shell: a, timeout: 8s, retry: { max_attempts: 1, initial_delay: 1s, max_delay: 4s, jitter: decorrelated } }\n"] = 24000,
		["      - { shell: a, timeout: 8s, on_retry: b, retry: { max_attempts: 1, initial_delay: 1s, jitter: 0 } }\n"] = 52000,
		["      - { shell: a, timeout: 8s, retry: { max_attempts: 1, delays: [61s], jitter: 0 } }\n"] = 20000, -- parked meanwhile
		["      - { parallel: [{ shell: a, timeout: 8s, retry: { max_attempts: 1, delays: [61s], jitter: 0 } }] }\n"] = 81000,
		["      - { shell: a, timeout: 8s, total_timeout: 9s, retry: { max_attempts: 5 } }\n"] = 11000,
		["      - { shell: a, timeout: 8s, on_failure: { shell: b, timeout: 3s }, on_success: { shell: b, timeout: 1s } }\n"] = 15000,
		["      - { parallel: [{ shell: a, timeout: 8s }, { shell: a, timeout: 1s }] }\n"] = 10000,
		["      - { parallel: [{ shell: a, timeout: 8s }, { shell: a, timeout: 1s }], limit: 1 }\n"] = 13000,
		["      - { foreach: [1, 2, 3], parallel: 2, do: { shell: a, timeout: 8s } }\n"] = 20000,
		["      - { foreach: { file: x }, max_items: 4, do: { shell: a, timeout: 8s } }\n"] = 40000,
	} do
		it(("of %s is %d ms"):format(steps:gsub("\n", ""), ms), function()
			assert.equal(ms, worst(steps))
		end)
	end
end)
