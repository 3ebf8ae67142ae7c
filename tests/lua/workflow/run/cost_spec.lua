-- The budget of a run: what is reserved, charged and refused, alone and side by side, and
-- that the store says the same.

local needs = dofile "tests/lua/lib/needs.lua" (_ENV)
local cost = require "runner.workflow.run.cost"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local store = require "runner.workflow.store.store"

-- rows: what earlier processes charged
local function run_with(max, rows)
	local run, charged = { id = "r" }, 0
	for _, row in ipairs(rows or {}) do
		charged = charged + row.charged_micros
	end
	run.budget = cost.budget(charged, max)
	for _, row in ipairs(rows or {}) do
		cost.begin(run, row.key, row.charged_micros)
	end
	return run
end

-- Inside a task.
local function tasks(...)
	local list = { ... }
	return scheduler.run(function()
		return scheduler.all(list)
	end)
end

local function reserve(run, step, key)
	local results = tasks(function()
		return cost.reserve(run, step, key)
	end)
	return results[1].value, results[1].error
end

describe("a reservation", function()
	it("is all that is left of the step's budget and of the run's, whichever is less", function()
		assert.is_nil((reserve(run_with(nil), {}, "a")))
		assert.equal(300, (reserve(run_with(nil), { max_cost = 300 }, "a")))
		assert.equal(500, (reserve(run_with(500), {}, "a")))
		assert.equal(300, (reserve(run_with(500), { max_cost = 300 }, "a")))
		assert.equal(500, (reserve(run_with(500), { max_cost = 900 }, "a")))
	end)

	it("gives back what the attempt didn't cost, and keeps all where nobody knows", function()
		local run = run_with(1000)
		assert.equal(1000, (reserve(run, {}, "a")))
		cost.settle(run, "a", 1000, 300)
		assert.equal(700, (reserve(run, {}, "b")))
		cost.settle(run, "b", 700, 0)
		assert.equal(400, (reserve(run, { max_cost = 400 }, "c")))
		cost.settle(run, "c", 400, nil)
		assert.same({ 700, 0, { a = 300, b = 0, c = 400 } }, { run.budget.total, run.budget.reserved, run.budget.by_step })
	end)

	it("leaves nothing behind of steps that are over, however many there are", function()
		local run = run_with(nil)
		for i, micros in ipairs { 0, 7 } do
			local key = ("each[%d].1"):format(i)
			cost.begin(run, key)
			cost.settle(run, key, nil, micros)
			cost.over(run, key)
		end
		assert.same({ {}, 7 }, { run.budget.by_step, run.budget.total })
	end)

	it("counts what earlier processes were charged", function()
		local rows = { { key = "a", charged_micros = 250 }, { key = "b", charged_micros = 100 } }
		assert.equal(150, (reserve(run_with(500, rows), {}, "c")))
		assert.equal(50, (reserve(run_with(nil, rows), { max_cost = 300 }, "a")))
	end)

	it("is refused where nothing is left, with whose budget it was and the way on", function()
		local _, e = reserve(run_with(500000, { { key = "a", charged_micros = 525000 } }), {}, "b")
		assert.same({ "BUDGET_EXHAUSTED", "The budget of the run is used up: $0.53 of $0.50", 0.5, 0.525 },
			{ e.code, e.message, e.context.max_cost_usd, e.context.cost_usd })
		assert.equal("runner workflow resume r --max-cost USD", e.suggestion)
		_, e = reserve(run_with(nil, { { key = "a", charged_micros = 300000 } }), { max_cost = 300000 }, "a")
		assert.equal("The budget of step a is used up: $0.30 of $0.30", e.message)
		assert.matches("max_cost of step a", e.suggestion)
	end)

	it("waits where others have reserved everything, and takes what they leave", function()
		local run, order = run_with(1000), {}
		local results = tasks(function()
			local amount = cost.reserve(run, {}, "a")
			scheduler.sleep(50)
			order[1] = "a"
			cost.settle(run, "a", amount, 400)
			return amount
		end, function()
			local amount = cost.reserve(run, {}, "b")
			order[2] = "b"
			cost.settle(run, "b", amount, nil)
			return amount
		end, function()
			return cost.reserve(run, {}, "c")
		end)
		assert.same({ 1000, 600, "BUDGET_EXHAUSTED", { "a", "b" } },
			{ results[1].value, results[2].value, results[3].error.code, order })
	end)
end)

describe("any sequence of reservations", function()
	-- A generator of its own, so that a failure can be repeated.
	local function random_from(seed)
		local state = seed
		return function(n)
			state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
			return (state >> 33) % n
		end
	end

	local function attempt(run, random, key, sum)
		local step = { max_cost = random(3) > 0 and 1 + random(400000) or nil }
		local ok, amount = pcall(cost.reserve, run, step, key)
		if not ok then
			assert.equal("BUDGET_EXHAUSTED", amount.code)
			return
		end
		assert.is_true(amount > 0 and run.budget.reserved <= run.budget.max, "more was reserved than there is")
		scheduler.sleep(random(3))
		local micros = random(4) > 0 and random(amount + 1000) or nil -- a program may go over it
		cost.settle(run, key, amount, micros)
		sum.charged = sum.charged + (micros or amount)
		sum.over = sum.over + math.max((micros or 0) - amount, 0)
	end

	it("charges each attempt once, and exceeds the budget by no more than the programs did", function()
		for seed = 1, 60 do
			local random, run, sum = random_from(seed), run_with(1000000), { charged = 0, over = 0 }
			local list = {}
			for i = 1, 12 do
				list[i] = function()
					for _ = 1, 3 do
						attempt(run, random, "k" .. i % 5, sum)
					end
				end
			end
			scheduler.run(function()
				for _, result in ipairs(scheduler.all(list, 1 + random(6))) do
					assert.is_true(result.ok, tostring(result.error and result.error.message))
				end
			end)
			local by_step = 0
			for _, micros in pairs(run.budget.by_step) do
				by_step = by_step + micros
			end
			assert.same({ sum.charged, sum.charged, 0 }, { run.budget.total, by_step, run.budget.reserved }, "seed " .. seed)
			assert.is_true(run.budget.total <= 1000000 + sum.over, "seed " .. seed)
		end
	end)
end)

describe("the store", function()
	local path

	help.in_a_place(before_each, after_each, function(_, p)
		path = p
	end)

	it("charges a reservation in full until the cost is known", needs "sqlite3" or function()
		local db <close> = store.open { path = path }
		local lock <close> = db:own "r"
		assert.truthy(lock)
		db:create { id = "r", workflow = "w", variables = {}, env_names = json.array {}, seed = 1 }
		local a, b = { key = "a", kind = "claude" }, { key = "b", kind = "claude" }
		db:start_attempt("r", a, { usage = { session_id = "s", reserved_micros = 500 } })
		assert.same({ 500, 500 }, { db:usage("r", "a").charged_micros, db:charged "r" })
		db:end_attempt("r", "a", 1, { code = "TIMEOUT", usage = { session_id = "s", reserved_micros = 500, cost_micros = 120, turns = 3 } },
			{ state = "failed" })
		db:start_attempt("r", a, { round = 2, usage = { reserved_micros = 80 } })
		db:interrupt "r"
		db:start_attempt("r", b, { usage = { cost_micros = 7 } })
		local of_a, of_b = db:usage("r", "a"), db:usage("r", "b")
		assert.same({ { "a", 2, 200, 3 }, { "b", 1, 7 } }, { { of_a.key, of_a.number, of_a.charged_micros, of_a.turns },
			{ of_b.key, of_b.number, of_b.charged_micros } })
		assert.is_nil(of_a.session_id)
		assert.is_nil(db:usage("r", "c"))
		assert.same({ 207, 0 }, { db:charged "r", db:charged "another" })
	end)

	it("sums costs up by step, workflow and day", needs "sqlite3" or function()
		local db <close> = store.open { path = path }
		for i, name in ipairs { "one", "one", "two" } do
			local id = "r" .. i
			db:create { id = id, workflow = name, variables = {}, env_names = json.array {}, seed = 1 }
			db:start_attempt(id, { key = "a", kind = "claude" }, { started_ms = 1700000000000 + (i - 1) * 86400000,
				usage = { cost_micros = i * 100000, input_tokens = 10, output_tokens = i } })
			db:start_attempt(id, { key = "b", kind = "shell" }, { started_ms = 1700000000000 })
		end
		local stats = db:stats()
		assert.same({ 0.6, 30, 6, 6 }, { stats.cost_usd, stats.input_tokens, stats.output_tokens, stats.attempts })
		local one, two = stats.by_workflow[1], stats.by_workflow[2]
		assert.same({ "one", 0.3, 2, "two", 0.3, 1 }, { one.workflow, one.cost_usd, one.runs, two.workflow, two.cost_usd, two.runs })
		assert.same({ { "2023-11-16", 0.3 }, { "2023-11-15", 0.2 }, { "2023-11-14", 0.1, 4 } }, {
			{ stats.by_day[1].day, stats.by_day[1].cost_usd }, { stats.by_day[2].day, stats.by_day[2].cost_usd },
			{ stats.by_day[3].day, stats.by_day[3].cost_usd, stats.by_day[3].attempts } })
		local costs = {}
		for _, row in ipairs(stats.by_step) do
			costs[row.workflow .. "." .. row.key] = row.cost_usd
		end
		assert.same({ ["one.a"] = 0.3, ["one.b"] = 0, ["two.a"] = 0.3, ["two.b"] = 0 }, costs)
		assert.equal(0.3, db:stats { workflow = "two" }.cost_usd)
	end)
end)
