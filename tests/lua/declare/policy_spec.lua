local policy = require "runner.declare.policy"
local rules = require "runner.core.rules"

describe("rules.duration", function()
	it("takes text as users write it, and numbers of seconds", function()
		for _, case in ipairs({ { "500ms", 500 }, { "2s", 2000 }, { "5m", 300000 }, { "1h", 3600000 }, { "none", 0 },
			{ "0", 0 }, { 0, 0 }, { 1.5, 1500 }, { 30, 30000 }, { 0.0001, 1 } }) do
			local ms = rules.duration(case[1])
			assert.equal(case[2], ms, case[1])
			assert.equal("integer", math.type(ms), case[1])
		end
	end)

	it("refuses everything else", function()
		for _, v in ipairs({ "5x", "", "-1s", -1, 0 / 0, math.huge, 1e12, true, {}, print }) do
			assert.is_nil(rules.duration(v), tostring(v))
		end
		assert.is_nil(rules.duration(nil))
	end)
end)

describe("policy.over", function()
	it("makes a valid table of any two", function()
		local tables = {}
		for _, retries in ipairs { false, 0, 3 } do
			for _, delays in ipairs { false, { "1s" } } do
				for _, strategy in ipairs { false, "linear", "custom" } do
					for _, delay in ipairs { false, "0", "2s" } do
						for _, max_delay in ipairs { false, "5s" } do
							local t = { retries = retries or nil, delays = delays or nil, strategy = strategy or nil,
								delay = delay or nil, max_delay = max_delay or nil }
							tables[#tables + 1] = policy.normalise(t) and t
						end
					end
				end
			end
		end
		assert.is_true(#tables > 40)
		for _, below in ipairs(tables) do
			for _, own in ipairs(tables) do
				local both = policy.over(below, own)
				assert(policy.normalise(both))
				for key, v in pairs(own) do
					assert.equal(v, both[key])
				end
			end
		end
	end)
end)

describe("policy.normalise", function()
	it("allows no retry without a table, and keeps the defaults for --retries", function()
		local defaults = {
			retries = 0, strategy = "exponential", delay_ms = 1000, max_delay_ms = 30000, jitter = "factor",
			jitter_ppm = 250000, delays = {}, maybe = false,
		}
		assert.same(defaults, policy.normalise(nil))
		assert.same(defaults, require("runner.host").default_policy())
		defaults.retries = 4
		assert.same(defaults, policy.normalise(nil, { retries = 4 }))
	end)

	it("takes every key", function()
		assert.same({
			retries = 3, strategy = "fibonacci", delay_ms = 500, max_delay_ms = 60000, jitter = "full", jitter_ppm = 0,
			delays = {}, seed = 42, on = { "UNAVAILABLE", "TIMEOUT" }, maybe = true,
		}, policy.normalise({
			retries = 3, strategy = "fibonacci", delay = "500ms", max_delay = "1m", jitter = "full", seed = 42,
			on = { "UNAVAILABLE", "TIMEOUT" }, maybe = true,
		}))
	end)

	it("turns a jitter factor into millionths, and 0 into none", function()
		local function jitter(v)
			local flat = policy.normalise({ retries = 1, jitter = v })
			return { flat.jitter, flat.jitter_ppm }
		end
		assert.same({ "factor", 100000 }, jitter(0.1))
		assert.same({ "factor", 1000000 }, jitter(1))
		assert.same({ "none", 0 }, jitter(0))
		for _, name in ipairs({ "none", "full", "equal", "decorrelated" }) do
			assert.same({ name, 0 }, jitter(name))
		end
	end)

	it("reads delays as a custom strategy that bounds itself", function()
		local flat = policy.normalise({ delays = { "1s", 2, "500ms" } })
		assert.equal("custom", flat.strategy)
		assert.same({ 1000, 2000, 500 }, flat.delays)
		assert.equal(3, flat.retries)
		assert.equal(9, policy.normalise({ delays = { 1 }, retries = 9 }).retries)
	end)

	it("is unbounded where only max_delay is given: time bounds it", function()
		assert.equal(-1, policy.normalise({ max_delay = "10s" }).retries)
		assert.is_nil((policy.normalise({ max_delay = "none" })))
	end)

	it("never cuts a declared delay by a cap that nobody wrote", function()
		assert.equal(60000, policy.normalise({ retries = 1, delay = "1m" }).max_delay_ms)
		assert.equal(90000, policy.normalise({ delays = { "90s", "1s" } }).max_delay_ms)
		assert.equal(5000, policy.normalise({ retries = 1, delay = "1m", max_delay = "5s" }).max_delay_ms)
		assert.equal(0, policy.normalise({ retries = 1, max_delay = "none" }).max_delay_ms)
	end)

	it("lets --retries and --retry-delay win, and 0 switch all off", function()
		local declared = { retries = 3, delay = "1s" }
		local flat = policy.normalise(declared, { retries = 0, retry_delay_ms = 20 })
		assert.equal(0, flat.retries)
		assert.equal(20, flat.delay_ms)
		assert.equal(7, policy.normalise({ delays = { 1 } }, { retries = 7 }).retries)
		assert.same({ retries = 3, delay = "1s" }, declared)
	end)

	it("replaces custom delays by --retry-delay", function()
		local flat = policy.normalise({ delays = { "1s", "9s" } }, { retry_delay_ms = 20 })
		assert.same({ "constant", 20, {}, 2 }, { flat.strategy, flat.delay_ms, flat.delays, flat.retries })
	end)

	it("prefers the declared seed", function()
		assert.equal(1, policy.normalise({ retries = 1, seed = 1 }, { seed = 2 }).seed)
		assert.equal(2, policy.normalise({ retries = 1 }, { seed = 2 }).seed)
	end)

	local WRONG = {
		{ {}, "no bound" }, { { delay = "1s" }, "no bound" }, { { retries = -1 }, "retries" },
		{ { retries = 1.5 }, "retries" }, { { retries = "3" }, "retries" }, { { retries = 1001 }, "retries" },
		{ { retries = 1, delay = "soon" }, "delay" }, { { retries = 1, max_delay = -1 }, "max_delay" },
		{ { retries = 1, strategy = "expo" }, "strategy" }, { { retries = 1, strategy = "custom" }, "delays" },
		{ { delays = { 1 }, strategy = "linear" }, "delays" }, { { delays = {} }, "delays" },
		{ { delays = { 1, "x" } }, "delays" }, { { delays = { 1, nil, 3 } }, "delays" },
		{ { delays = { 1, n = 2 } }, "delays" }, { { retries = 1, jitter = 2 }, "jitter" },
		{ { retries = 1, jitter = "some" }, "jitter" }, { { retries = 1, jitter = -0.1 }, "jitter" },
		{ { retries = 1, seed = "x" }, "seed" }, { { retries = 1, on = "TIMEOUT" }, "on" },
		{ { retries = 1, on = { "timeout" } }, "on" }, { { retries = 1, on = {} }, "on" },
		{ { retries = 1, maybe = 1 }, "maybe" }, { { retry = 3 }, "unknown key" }, { { 3 }, "unknown key" },
		{ 3, "retry is 3" }, { "3", "retry is" }, { true, "retry is true" }, { false, "retry is false" },
	}
	for i, case in ipairs(WRONG) do
		it("refuses wrong table " .. i .. ": " .. case[2], function()
			local flat, message = policy.normalise(case[1])
			assert.is_nil(flat)
			assert.truthy(message:find(case[2], 1, true), message)
		end)
	end

	it("refuses more delays than the engine holds", function()
		local delays = {}
		for i = 1, 65 do
			delays[i] = 1
		end
		assert.is_nil((policy.normalise({ delays = delays })))
		delays[65] = nil
		assert.equal(64, policy.normalise({ delays = delays }).retries)
	end)

	it("makes a form that the engine takes", function()
		local host = require "runner.host"
		local flat = policy.normalise({ delays = { "10ms", "20ms" }, jitter = "none" })
		assert.equal(10, host.policy_delay(flat, 0))
		assert.equal(20, host.policy_delay(flat, 1))
	end)
end)
