local file = require "runner.workflow.file.reader"
local host = require "runner.host"

-- The retry of a step of `kind` with its own `retry` text under the workflow's.
local function retry_of(kind, own, workflow, key)
	local text = (workflow and "retry: " .. workflow .. "\n" or "") .. "commands:\n  - " .. kind .. ": x\n"
		.. (own and "    " .. (key or "retry") .. ": " .. own .. "\n" or "")
	local loaded, problems = file.parse(text, "x.yaml")
	if not loaded then
		error(problems[1].message, 2)
	end
	return loaded.steps[1].retry
end

local function policy_of(...)
	local retry = retry_of(...)
	return retry and retry.policy
end

local function told(own, opts)
	local _, problems = file.parse("commands:\n  - claude: x\n    retry: " .. own .. "\n", "x.yaml", opts)
	local out = {}
	for i, p in ipairs(problems or {}) do
		out[i] = ("%d:%d %s%s"):format(p.line, p.column, p.message, p.suggestion and " [" .. p.suggestion .. "]" or "")
	end
	return table.concat(out, "\n")
end

-- The waits of a policy without its jitter.
local function waits(flat)
	local out = {}
	flat.jitter, flat.jitter_ppm = "none", 0
	for i = 1, flat.retries do
		out[i] = host.policy_delay(flat, i - 1)
	end
	return out
end

local DEFAULT = { retries = 5, strategy = "exponential", delay_ms = 5000, max_delay_ms = 120000, jitter = "factor",
	jitter_ppm = 250000, delays = {}, maybe = false }

describe("the default policy", function()
	it("of a claude step is Spec 185's (FR2)", function()
		assert.same({ policy = DEFAULT, limit_wait_ms = 6 * 3600000 }, retry_of("claude"))
	end)

	it("waits 5, 10, 20, 40 and 80 s before jitter (AC5)", function()
		assert.same({ 5000, 10000, 20000, 40000, 80000 }, waits(policy_of("claude")))
	end)

	it("of shell and runner steps is none, unless they ask for one", function()
		for _, kind in ipairs { "shell", "runner" } do
			assert.is_nil(retry_of(kind))
			assert.is_nil(retry_of(kind, "false"))
			assert.same(DEFAULT, policy_of(kind, "true"))
			assert.same(DEFAULT, policy_of(kind, "{}"))
		end
	end)

	it("is switched off by retry: false, at either level", function()
		assert.is_nil(retry_of("claude", "false"))
		assert.is_nil(retry_of("claude", nil, "false"))
		assert.is_nil(retry_of("claude", "false", "{ max_attempts: 2 }"))
		assert.is_nil(retry_of("claude", "{ max_attempts: 0 }"))
	end)

	it("comes back where a step asks for it under a workflow's false", function()
		assert.same(DEFAULT, policy_of("claude", "true", "false"))
		assert.equal(2, retry_of("claude", "{ max_attempts: 2 }", "false").policy.retries)
	end)
end)

describe("a retry map", function()
	it("overrides the defaults key by key", function()
		local flat = policy_of("claude", "{ max_attempts: 10, initial_delay_secs: 2 }")
		assert.same({ 10, 2000, 120000, 250000, "exponential" },
			{ flat.retries, flat.delay_ms, flat.max_delay_ms, flat.jitter_ppm, flat.strategy })
	end)

	it("is read as Spec 185's test_retry_policy_parsing wants it", function()
		local flat = policy_of("claude", "{ strategy: exponential, initial_delay_secs: 2, max_attempts: 3, jitter: 0.1, max_delay_secs: 30 }")
		assert.same({ "exponential", 2000, 3, "factor", 100000, 30000 },
			{ flat.strategy, flat.delay_ms, flat.retries, flat.jitter, flat.jitter_ppm, flat.max_delay_ms })
	end)

	it("overrides the workflow's key by key", function()
		local retry = retry_of("claude", "{ max_attempts: 9 }", "{ max_attempts: 2, initial_delay: 1s, jitter: 0.1, retry_budget: 3m }")
		assert.same({ 9, 1000, 100000, 180000 },
			{ retry.policy.retries, retry.policy.delay_ms, retry.policy.jitter_ppm, retry.budget_ms })
	end)

	it("of the workflow gives its keys to claude steps, and to others that have a retry of their own", function()
		local workflow = "{ max_attempts: 2, strategy: linear }"
		assert.same({ 2, "linear" }, { policy_of("claude", nil, workflow).retries, policy_of("claude", nil, workflow).strategy })
		assert.is_nil(retry_of("shell", nil, workflow))
		assert.equal("linear", policy_of("shell", "true", workflow).strategy)
		assert.same({ 7, "linear" }, { policy_of("runner", "{ max_attempts: 7 }", workflow).retries,
			policy_of("runner", "{ max_attempts: 7 }", workflow).strategy })
	end)

	it("reaches the steps within others, and the hooks", function()
		local steps = file.parse([[
retry: { max_attempts: 3 }
timeout: 7
commands:
  - foreach: [1]
    do: { parallel: [{ claude: a, on_failure: { claude: b } }] }
]], "x.yaml").steps
		local inner = steps[1].steps[1].steps[1]
		assert.same({ 3, 3, 7000, "1.1", "1.1.on_failure.1" }, { inner.retry.policy.retries,
			inner.on_failure.steps[1].retry.policy.retries, inner.timeout_ms, inner.key, inner.on_failure.steps[1].key })
	end)

	it("may be spelt retry_config, with attempts, backoff and jitter_factor", function()
		local retry = retry_of("shell", "{ attempts: 3, backoff: fibonacci, initial_delay: 500ms, max_delay: 30s, jitter: true, "
			.. "jitter_factor: 0.1 }", nil, "retry_config")
		assert.same({ retries = 3, strategy = "fibonacci", delay_ms = 500, max_delay_ms = 30000, jitter = "factor",
			jitter_ppm = 100000, delays = {}, maybe = false }, retry.policy)
	end)

	it("takes every strategy", function()
		for strategy, expected in pairs { constant = { 1000, 1000, 1000, 1000 }, linear = { 1000, 2000, 3000, 4000 },
			exponential = { 1000, 2000, 4000, 8000 }, fibonacci = { 1000, 1000, 2000, 3000 } } do
			assert.same(expected, waits(policy_of("claude", ("{ strategy: %s, initial_delay: 1s, max_attempts: 4 }"):format(strategy))))
		end
	end)

	it("takes delays as the custom strategy, which counts its own retries", function()
		for _, text in ipairs { "{ delays: [1s, 5, 500ms] }", "{ strategy: custom, delays: [1s, 5, 500ms] }" } do
			local retry = retry_of("claude", text)
			assert.same({ "custom", 3 }, { retry.policy.strategy, retry.policy.retries })
			assert.same({ 1000, 5000, 500 }, waits(retry.policy))
		end
		assert.equal(8, retry_of("claude", "{ delays: [1s], max_attempts: 8 }").policy.retries)
	end)

	it("replaces the workflow's strategy by its delays, and delays by its strategy", function()
		assert.equal("custom", policy_of("claude", "{ delays: [1s] }", "{ strategy: linear }").strategy)
		local flat = policy_of("claude", "{ strategy: linear }", "{ delays: [1s, 2s, 3s] }")
		assert.same({ "linear", {}, 3 }, { flat.strategy, flat.delays, flat.retries })
		assert.same({ 1000 }, policy_of("claude", "{ strategy: custom }", "{ delays: [1s] }").delays)
	end)

	it("reads jitter as a factor, a name, or yes and no", function()
		local function jitter(own, workflow)
			local flat = policy_of("claude", own, workflow)
			return { flat.jitter, flat.jitter_ppm }
		end
		local cases = {
			{ "{ jitter: 0.1 }", nil, "factor", 100000 }, { "{ jitter: 1 }", nil, "factor", 1000000 },
			{ "{ jitter: 0 }", nil, "none", 0 }, { "{ jitter: false }", nil, "none", 0 },
			{ "{ jitter: true }", nil, "factor", 250000 }, { "{ jitter: full }", nil, "full", 0 },
			{ "{ jitter: equal }", nil, "equal", 0 }, { "{ jitter: decorrelated }", nil, "decorrelated", 0 },
			{ "{ jitter: none }", nil, "none", 0 }, { "{ jitter_factor: 0.5 }", nil, "factor", 500000 },
			{ "{ jitter: true, jitter_factor: 0.5 }", nil, "factor", 500000 },
			{ "{ jitter: false, jitter_factor: 0.5 }", nil, "none", 0 },
			{ "{ jitter: true }", "{ jitter: 0.1 }", "factor", 100000 }, { "{ jitter: true }", "{ jitter: false }", "factor", 250000 },
			{ "{ jitter: true }", "{ jitter: full }", "full", 0 }, { "{ jitter: true }", "{ jitter: none }", "factor", 250000 },
		}
		for i, case in ipairs(cases) do
			assert.same({ case[3], case[4] }, jitter(case[1], case[2]), "case " .. i)
		end
	end)

	it("never cuts a declared delay by a cap that nobody wrote", function()
		assert.equal(300000, policy_of("claude", "{ initial_delay: 5m }").max_delay_ms)
		assert.equal(600000, policy_of("claude", "{ delays: [1s, 10m] }").max_delay_ms)
		assert.equal(10000, policy_of("claude", "{ initial_delay: 5m, max_delay: 10s }").max_delay_ms)
		assert.equal(30000, policy_of("claude", "{ max_delay_secs: 30 }").max_delay_ms)
		assert.equal(0, policy_of("claude", "{ max_delay: none }").max_delay_ms)
	end)

	it("has a budget in either spelling", function()
		assert.equal(300000, retry_of("claude", "{ retry_budget: 5m }").budget_ms)
		assert.equal(90000, retry_of("claude", "{ retry_budget_secs: 90 }").budget_ms)
		assert.is_nil(retry_of("claude", "{ retry_budget: none }", "{ retry_budget: 5m }").budget_ms)
	end)

	it("says what else is transient", function()
		assert.same({ { exit = { [75] = true } } }, retry_of("shell", "{ retry_on: { exit: 75 } }").rules)
		assert.same({ { exit = { [1] = true, [255] = true }, code = "UNAVAILABLE" }, { stderr = "locked" }, { pattern = "lock(ed)?" } },
			retry_of("shell", "{ retry_on: [{ exit: [1, 255], code: UNAVAILABLE }, { stderr: locked }, { pattern: 'lock(ed)?' }] }").rules)
		assert.is_nil(retry_of("shell", "{ retry_on: { exit: 75 } }").policy.on)
	end)

	it("says which classes alone are tried again", function()
		local retry = retry_of("claude", "{ retry_on: [server_error, rate_limit, timeout, network, process, LOCKED] }")
		assert.same({ "UNAVAILABLE", "RATE_LIMITED", "TIMEOUT", "NETWORK_ERROR", "SUBPROCESS_FAILED", "LOCKED" }, retry.policy.on)
		assert.is_nil(retry.on)
		assert.same({ "TIMEOUT" }, policy_of("claude", "{ retry_on: TIMEOUT }").on)
	end)

	it("says whether a failure that fits no class is tried again", function()
		assert.equal(5400000, retry_of("claude", "{ limit_wait: 90m }").limit_wait_ms)
		assert.equal(0, retry_of("claude", "{}", "{ limit_wait: 0 }").limit_wait_ms)
		assert.is_nil(retry_of("claude", "{}").unknown_transient)
		assert.is_false(retry_of("claude", "{ retry_unknown: false }").unknown_transient)
		assert.is_false(retry_of("claude", "{ max_attempts: 2 }", "{ retry_unknown: false }").unknown_transient)
		assert.is_true(retry_of("claude", "{ retry_unknown: true }", "{ retry_unknown: false }").unknown_transient)
	end)

	it("replaces the workflow's retry_on as one key", function()
		local both = retry_of("claude", "{ retry_on: [TIMEOUT] }", "{ retry_on: { exit: 75 } }")
		assert.same({ nil, { "TIMEOUT" } }, { both.rules, both.policy.on })
		both = retry_of("claude", "{ retry_on: { exit: 75 } }", "{ retry_on: [TIMEOUT] }")
		assert.same({ { { exit = { [75] = true } } }, nil }, { both.rules, both.policy.on })
		assert.same({ "TIMEOUT" }, policy_of("claude", "{ max_attempts: 2 }", "{ retry_on: [TIMEOUT] }").on)
	end)

	it("gives a policy that the engine takes, whatever keys it has", function()
		local keys = { "max_attempts: 3", "initial_delay: 1s", "max_delay: 9s", "jitter: full", "retry_budget: 1m" }
		for n = 0, 31 do
			local chosen = {}
			for i, key in ipairs(keys) do
				chosen[#chosen + 1] = n & (1 << (i - 1)) ~= 0 and key or nil
			end
			local flat = policy_of("shell", "{ " .. table.concat(chosen, ", ") .. " }")
			flat.seed = n
			assert.is_true(host.policy_delay(flat, 0) >= 0)
		end
	end)

	local STRATEGIES = "write constant, linear, exponential, fibonacci or custom"
	local WRONG = {
		{ "{ strategy: lineer }", "3:24 strategy is 'lineer': " .. STRATEGIES .. " [Did you mean 'linear'?]" },
		{ "{ backoff: fixed }", "3:23 backoff is 'fixed': " .. STRATEGIES .. " [Did you mean 'constant'?]" },
		{ "{ strategy: 3 }", "3:24 strategy is 3: " .. STRATEGIES }, { "{ strategy: [linear] }", "3:24 strategy is a list" },
		{ "{ strategy: custom }", "3:14 strategy custom needs delays, such as delays: [1s, 5s]" },
		{ "{ strategy: linear, delays: [1s] }", "3:32 delays imply strategy custom, but strategy is linear: remove one of them" },
		{ "{ delays: [] }", "3:22 delays is an empty list: write a list of 1 to 64 durations such as [1s, 5s]" },
		{ "{ delays: 5s }", "3:22 delays is '5s': write a list" },
		{ "{ delays: [1s, soon] }", "3:27 delays[2] is 'soon': write a duration" },
		{ "{ max_attempts: -1 }", "3:28 max_attempts is -1: write a whole number from 0 to 1000" },
		{ "{ max_attempts: 2.5 }", "3:28 max_attempts is 2.5: write a whole number" },
		{ "{ max_attempts: 1001 }", "3:28 max_attempts is 1001" }, { "{ max_attempts: '3' }", "3:28 max_attempts is '3'" },
		{ "{ attempts: many }", "3:24 attempts is 'many': write a whole number from 0 to 1000" },
		{ "{ max_attempts: }", "max_attempts is empty: write a whole number" },
		{ "{ max_attempts: 3, attempts: 4 }", "3:31 'attempts' and 'max_attempts' (line 3) mean the same: remove one of them" },
		{ "{ initial_delay: soon }", "3:29 initial_delay is 'soon': write a duration" },
		{ "{ initial_delay_secs: 2s }", "3:34 initial_delay_secs is '2s': write a number of seconds [Write initial_delay: 2s]" },
		{ "{ max_delay_secs: 2m }", "[Write max_delay: 2m]" }, { "{ max_delay: -1 }", "3:25 max_delay is -1: write a duration" },
		{ "{ jitter: 2 }", "3:22 jitter is 2: write a number from 0 to 1, true, false, full, equal, decorrelated or none" },
		{ "{ jitter: -0.1 }", "3:22 jitter is -0.1" }, { "{ jitter: some }", "3:22 jitter is 'some'" }, { "{ jitter: .nan }", "jitter is .nan" },
		{ "{ jitter_factor: 1.5 }", "3:29 jitter_factor is 1.5: write a number from 0 to 1" },
		{ "{ jitter_factor: true }", "3:29 jitter_factor is true" },
		{ "{ jitter: 0.2, jitter_factor: 0.3 }", "3:27 jitter_factor goes with jitter: true; this jitter already sets the factor" },
		{ "{ retry_unknown: no }", "3:29 retry_unknown is 'no': write true or false [Write retry_unknown: false]" },
		{ "{ retry_budget: x }", "3:28 retry_budget is 'x': write a duration" },
		{ "{ retry_on: }", "retry_on is empty: write a rule such as { exit: 75 }, or a list of classes such as [timeout, network]" },
		{ "{ retry_on: [] }", "3:24 retry_on is an empty list: write a rule such as" },
		{ "{ retry_on: [timout] }", "3:25 retry_on[1] is 'timout': write a failure class such as UNAVAILABLE, rate_limit, network "
			.. "or timeout [Did you mean 'timeout'?]" },
		{ "{ retry_on: [UNAVAILBLE] }", "[Did you mean 'UNAVAILABLE'?]" }, { "{ retry_on: [503] }", "3:25 retry_on[1] is 503" },
		{ "{ retry_on: often }", "3:24 retry_on is 'often': write a failure class" },
		{ "{ retry_on: [TIMEOUT, { exit: 1 }] }", "3:34 retry_on mixes rules (maps) and classes (names): use one or the other" },
		{ "{ retry_on: [{ exit: 1 }, [a]] }", "3:38 retry_on mixes" },
		{ "{ retry_on: { exit: 0 } }", "3:32 exit is 0: write a whole number from 1 to 255" },
		{ "{ retry_on: { exit: [1, 256] } }", "3:36 exit[2] is 256" }, { "{ retry_on: { exit: x } }", "3:32 exit is 'x'" },
		{ "{ retry_on: { stderr: '' } }", "3:34 stderr is '': write a string" },
		{ "{ retry_on: { pattern: ')(' } }", "3:35 pattern: invalid regular expression" },
		{ "{ retry_on: { pattern: '(?x)a #b' } }", "3:35 pattern: invalid regular expression: it can't stand in a group" },
		{ "{ retry_on: { pattern: '(' } }", "3:35 pattern: invalid regular expression" },
		{ "{ retry_on: { exit: 1, code: unavailable } }", "3:41 code is 'unavailable': write an error code such as UNAVAILABLE" },
		{ "{ retry_on: { code: X } }", "3:24 a retry_on rule needs exit, stderr or pattern" },
		{ "{ retry_on: { exits: 1 } }", "3:26 unknown key 'exits' in a retry_on rule [Did you mean 'exit'?]" },
		{ "{ retries: 3 }", "3:14 unknown key 'retries' in retry" },
		{ "{ max_atempts: 3 }", "3:14 unknown key 'max_atempts' in retry [Did you mean 'max_attempts'?]" },
		{ "always", "3:12 retry is 'always': write true, false, or a map" }, { "", "retry is empty: write true, false, or a map" },
		{ "[3]", "3:12 retry is a list: write true, false, or a map" },
	}
	for _, case in ipairs(WRONG) do
		it(("is refused where it is wrong: %s"):format(case[1]), function()
			local text = told(case[1])
			assert.truthy(text:find(case[2], 1, true), text)
		end)
	end

	it("of the workflow is refused where it is wrong, once", function()
		local _, problems = file.parse("retry: { strategy: custom }\ncommands: [{ claude: a }, { claude: b }]", "x.yaml")
		assert.equal(1, #problems)
		assert.same({ 1, 10 }, { problems[1].line, problems[1].column })
	end)
end)

describe("an unknown strategy, where run is lenient", function()
	local function lenient(text)
		local workflow = assert(file.parse(text, "x.yaml", { lenient = true }))
		return workflow, workflow.steps[1].retry.policy
	end

	it("stands for exponential, also over the workflow's own strategy", function()
		local workflow, flat = lenient "retry: { strategy: linear }\ncommands: [{ claude: a, retry: { backoff: sudden } }]"
		assert.same({ { "Unknown retry strategy 'sudden', using exponential" }, "exponential" }, { workflow.warnings, flat.strategy })
	end)

	it("does not argue with delays", function()
		local _, flat = lenient "commands: [{ claude: a, retry: { strategy: mine, delays: [1s, 2s] } }]"
		assert.same({ "custom", { 1000, 2000 } }, { flat.strategy, flat.delays })
	end)

	it("is no excuse for a known one that does", function()
		assert.truthy(told("{ strategy: linear, delays: [1s] }", { lenient = true }):find("remove one of them", 1, true))
	end)
end)
