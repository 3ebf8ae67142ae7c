-- What C and Lua must agree on, as host offers it to Lua.

local host = require "runner.host"

describe("host.names", function()
	it("lists an enumeration by the key that users know, in its order", function()
		assert.same({ "constant", "linear", "exponential", "fibonacci", "custom" }, host.names "strategy")
		assert.same({ "none", "factor", "full", "equal", "decorrelated" }, host.names "jitter")
		assert.same({ "safe", "mutating", "destructive" }, host.names "danger_level")
		assert.same({ "json", "jsonl", "tsv", "plain", "table", "id", "text" }, host.names "format")
		assert.same({ "standard", "classic" }, host.names "exit_table")
	end)

	it("leaves out values that have no name", function()
		assert.same({ "false", "true", "maybe" }, host.names "retryable")
		assert.same({ "none", "complete", "partial" }, host.names "side_effects")
		assert.same({ "immediate", "linear_backoff", "exponential_backoff" }, host.names "retry_strategy")
	end)

	it("gives a list of its own to every caller", function()
		host.names("jitter")[1] = "changed"
		assert.equal("none", host.names("jitter")[1])
	end)

	it("raises for an enumeration that is none", function()
		assert.error_matches(function() host.names "backoff" end, "no such enumeration")
	end)
end)

describe("host.remaining", function()
	it("is nil where there is no deadline", function()
		assert.equal(0, select("#", host.remaining()))
	end)
end)

describe("host.default and host.bound", function()
	it("are the numbers of the reference", function()
		assert.equal(30000, host.default "timeout_ms")
		assert.equal(2000, host.default "grace_ms")
		assert.equal(0, host.default "attempt_timeout_ms")
		assert.equal(0, host.default "retries")
		assert.equal(1000, host.bound "retries")
		assert.equal(64, host.bound "delays")
	end)

	it("raise for a number that is none", function()
		assert.error_matches(function() host.default "timeout" end, "no such number")
		assert.error_matches(function() host.bound "timeout_ms" end, "no such number")
	end)
end)

describe("host.default_policy", function()
	it("is the flat form, a fresh one for every caller", function()
		local policy = host.default_policy()
		assert.same({ retries = 0, strategy = "exponential", delay_ms = 1000, max_delay_ms = 30000, delays = {},
			jitter = "factor", jitter_ppm = 250000, maybe = false }, policy)
		policy.delays[1] = 5
		assert.same({}, host.default_policy().delays)
	end)

	it("is what an empty table means to host.policy_delay", function()
		for n = 0, 20 do
			assert.equal(host.policy_delay({ seed = 7 }, n),
				host.policy_delay(setmetatable({ seed = 7 }, { __index = host.default_policy() }), n))
		end
	end)
end)
