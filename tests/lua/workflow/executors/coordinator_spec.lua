-- The coordinator of steps on an executor, against a model of a cluster: random schedules of
-- faults on both sides. Whatever happens, no item is done twice unasked, and a run ends.

local needs = dofile "tests/lua/lib/needs.lua" (_ENV)
local LIB = debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/"
local worlds = dofile(LIB .. "placed_world.lua")
local coordinator = require "runner.workflow.executors.coordinator"
local placements = require "runner.workflow.store.placements"
local store = require "runner.workflow.store.store"

local SCHEDULES = tonumber(os.getenv "SCHEDULES") or 4500 -- for all families together, twice: about 10,000
local ITEMS = 14

local FAULTS = {
	none = {},
	submissions = { unknown = 0.3, busy = 0.2, twin = 0.3, slow = 0.1, unreachable = 0.2, job_lost = 0.2 },
	nodes = { node_fails = 0.05, preempted = 0.05, boot_failed = 0.1, queue_loses = 0.03, lease_expires = 0.05, unreachable = 0.1 },
	all = { unknown = 0.2, busy = 0.1, twin = 0.2, slow = 0.1, unreachable = 0.1, job_lost = 0.1, node_fails = 0.03, preempted = 0.02,
		boot_failed = 0.05, queue_loses = 0.02, lease_expires = 0.03 },
}

-- For options.dies: so many calls are answered; nil: all.
local function dying(after)
	local calls = 0
	return function()
		calls = calls + 1
		return after and calls > after
	end
end

-- Run it until it is killed behind so many calls. Whoever goes on with it lives.
local function run_until_killed(cluster, ledger, options, after)
	options.dies = dying(after)
	pcall(coordinator.run, worlds.world(cluster, ledger, options))
	options.dies, options.seen = nil, {}
end

-- Run it to its end, however often it is killed. Gives the problem of the last one.
local function to_the_end(cluster, options)
	local ledger, starts = options.ledger or worlds.rows(), 0
	local ok, problem, left
	repeat
		starts = starts + 1
		assert(starts < 500, "it never ends")
		options.seen = {}
		options.dies = dying(options.kills and starts < 60 and math.floor(cluster:random() * options.kills) or nil)
		ok, problem, left = pcall(coordinator.run, worlds.world(cluster, ledger, options))
		if not ok and problem ~= worlds.KILLED then
			error(problem, 0)
		elseif not ok then
			cluster:advance(math.floor(cluster:random() * 20000))
		end
	until ok
	return problem, left, ledger, starts
end

-- The items in doubt, by number.
local function doubts(cluster)
	local all = {}
	for _, file in pairs(cluster.files) do
		for item in pairs(file.doubts or {}) do
			all[item] = true
		end
	end
	return all
end

local function check(cluster, problem, name)
	local doubtful = doubts(cluster)
	for item = 1, ITEMS do
		local times = cluster.effects[item] or 0
		assert(times <= 1 or cluster.idempotent, ("%s: item %d was done %d times"):format(name, item, times))
		assert(problem or times >= 1, ("%s: item %d was not done"):format(name, item))
	end
	assert(problem or cluster.idempotent or next(doubtful) == nil, name .. ": a doubt was passed over")
end

local function schedule(seed, faults, kills, idempotent)
	local cluster = worlds.fake.new { seed = seed, faults = faults, array = 4, idempotent = idempotent }
	local problem, left = to_the_end(cluster, { items = ITEMS, per_chunk = 3, kills = kills })
	return cluster, problem, left
end

describe("the coordinator", function()
	it("runs a loop of many chunks in order, with few submissions and questions", function()
		local cluster = worlds.fake.new { seed = 1, array = 8, whole = true, item_ms = 10, nodes = 8 }
		local options = { items = 1000, per_chunk = 10, executor = { poll_ms = 1000, at_once = 8 } }
		local problem = to_the_end(cluster, options)
		assert.is_nil(problem)
		assert.equal(100, options.seen.delivered)
		assert.is_true(cluster.submissions <= 40, cluster.submissions .. " submissions")
	end)

	it("runs a step that is no loop as one chunk without items", function()
		local cluster = worlds.fake.new { seed = 1 }
		local options = { per_chunk = 1 }
		assert.is_nil((to_the_end(cluster, options)))
		assert.same({ 1, 1 }, { options.seen.delivered, cluster.submissions })
	end)

	for name, faults in pairs(FAULTS) do
		it("does no item twice, whatever goes wrong: " .. name, function()
			for seed = 1, SCHEDULES // 4 do
				local cluster, problem = schedule(seed, faults, nil, false)
				check(cluster, problem, ("%s, schedule %d"):format(name, seed))
			end
		end)

		it("survives being killed anywhere: " .. name, function()
			for seed = 1, SCHEDULES // 4 do
				local cluster, problem = schedule(seed, faults, 40, false)
				check(cluster, problem, ("%s, killed, schedule %d"):format(name, seed))
			end
		end)
	end

	it("finishes whatever is idempotent", function()
		local finished = 0
		for seed = 1, SCHEDULES // 4 do
			local cluster, problem = schedule(seed, FAULTS.all, 40, true)
			check(cluster, problem, "idempotent, schedule " .. seed)
			finished = finished + (problem and 0 or 1)
		end
		assert.is_true(finished > SCHEDULES // 4 * 0.9, finished .. " finished")
	end)

	it("finds its way by the rows of a real database, killed anywhere", needs "sqlite3" or function()
		local db <close> = store.open { path = os.tmpname() .. ".db" }
		db:create { id = "r", workflow = "w" }
		for seed = 1, 20 do
			local key = "step" .. seed
			db:together(placements.add_unit, "r", key, { executor = "x", kind = "fake", per_chunk = 3 })
			local cluster = worlds.fake.new { seed = seed, faults = FAULTS.all, array = 4, idempotent = true }
			local problem = to_the_end(cluster, { items = ITEMS, kills = 40, name = key, ledger = placements.ledger(db, "r", key) })
			check(cluster, problem, "real rows, schedule " .. seed)
			assert.same({}, db:live_placements("r", key))
			for _, chunk in ipairs(not problem and db:chunks("r", key, 0, 100) or {}) do
				assert.equal("completed", chunk.state)
			end
		end
		local unit = db:units "r"[1]
		assert.same({ 14, 5, 5 }, { unit.items, unit.chunks, unit.completed })
	end)

	it("gives more memory to what ran out of it, and to nothing else", function()
		local cluster = worlds.fake.new { seed = 3, memory_needed = function(chunk) return chunk == 2 and 3 or 1 end }
		local problem, _, ledger = to_the_end(cluster, { items = 9 })
		assert.is_nil(problem)
		assert.same({ 1, 3, 1 }, { ledger.all[1].memory, ledger.all[2].memory, ledger.all[3].memory })
	end)

	it("gives up what runs out of the largest memory", function()
		local cluster = worlds.fake.new { seed = 3, memory_needed = function(chunk) return chunk == 2 and 4 or 1 end }
		local problem = to_the_end(cluster, { items = 9 })
		assert.equal("RESOURCE_EXHAUSTED", problem.code)
	end)

	it("places a parked chunk again when its time has come, and not before", function()
		local cluster = worlds.fake.new { seed = 4, parks = function(chunk, generation)
			return chunk == 1 and generation == 1 and 600000 or nil
		end }
		local began = cluster.now_ms
		local problem, _, ledger = to_the_end(cluster, { items = 6 })
		assert.is_nil(problem)
		assert.is_true(cluster.now_ms - began >= 600000)
		assert.same({ 2, 1 }, { ledger.all[1].generation, ledger.all[2].generation })
	end)

	-- The same schedule of faults takes the same time, whatever the wall clock does between two looks.
	local HOUR_MS = 3600000
	for name, jump in pairs { ["back an hour"] = function() return -HOUR_MS end, ["on an hour"] = function() return HOUR_MS end,
		["back 20 s"] = function() return -20000 end, ["to and fro"] = function(n) return n % 2 * 2 * HOUR_MS - HOUR_MS end,
		["on and on"] = function(n) return n * HOUR_MS end, ["back and back"] = function(n) return -n * 20000 end } do
		it("is delayed by no more than two looks where the clock goes " .. name, function()
			for seed = 1, 60 do
				local function run(jumps)
					local looks, from = 0, seed % 12
					local cluster = worlds.fake.new { seed = seed, faults = seed % 3 > 0 and FAULTS.all or {}, array = 4, idempotent = true,
						parks = function(chunk, generation) return chunk == 2 and generation == 1 and 600000 or nil end }
					local problem = to_the_end(cluster, { items = ITEMS, per_chunk = 3, jump = jumps and function()
						looks = looks + 1
						return looks > from and jump(looks) or nil
					end })
					return cluster.now_ms, problem and problem.code
				end
				local expected, code = run(false)
				local took, other = run(true)
				assert.equal(code, other)
				assert.is_true(took <= expected + 2 * 5000, ("seed %d: %d ms late"):format(seed, took - expected))
			end
		end)

		it("and is killed, waits for nothing longer than it would have: clock goes " .. name, function()
			for seed = 1, 60 do
				local looks = 0
				local cluster = worlds.fake.new { seed = seed, faults = FAULTS.submissions, array = 4, idempotent = true,
					parks = function(chunk, generation) return chunk == 2 and generation == 1 and 600000 or nil end }
				to_the_end(cluster, { items = ITEMS, per_chunk = 3, kills = 40, jump = function()
					looks = looks + 1
					return jump(looks)
				end })
				assert.is_true(cluster.now_ms < 2 * HOUR_MS, ("seed %d: %d ms"):format(seed, cluster.now_ms))
			end
		end)
	end

	it("ends the rest when a chunk fails, and leaves it to be planned again", function()
		local cluster = worlds.fake.new { seed = 5, fails = { [1] = true }, nodes = 2 }
		local problem, left, ledger = to_the_end(cluster, { items = 60 })
		assert.equal("FAILED", problem.code)
		assert.same({}, left)
		assert.equal("failed", ledger.all[1].state)
		for i = 2, #ledger.all do
			assert.is_truthy(ledger.all[i].state == "planned" or ledger.all[i].state == "completed")
		end
		assert.same({}, ledger.live_placements())
	end)

	it("is told no by the site once, and submits no more", function()
		local cluster = worlds.fake.new { seed = 6, faults = { refused = 1 } }
		local problem, left = to_the_end(cluster, { items = 12 })
		assert.same({ "PRECONDITION", 1, {} }, { problem.code, cluster.submissions, left })
	end)

	it("gives up on a queue that takes nothing, or does not answer, for very long", function()
		local cluster = worlds.fake.new { seed = 6, faults = { busy = 1 } }
		local began = cluster.now_ms
		local problem, left = to_the_end(cluster, { items = 12 })
		assert.same({ "UNAVAILABLE", {}, 100 }, { problem.code, left, cluster.submissions })
		assert.is_true(cluster.now_ms - began > 3600000 and cluster.now_ms - began < 100 * 61000)
		cluster = worlds.fake.new { seed = 6, faults = { unreachable = 1 }, item_ms = 1000000000 }
		began = cluster.now_ms
		problem = to_the_end(cluster, { items = 3, executor = { poll_ms = 600000 } })
		assert.equal("UNAVAILABLE", problem.code)
		assert.is_true(cluster.now_ms - began > 24 * 3600000)
	end)

	it("submits the same to a busy queue later and later, and as long as something of the step is in it", function()
		local cluster = worlds.fake.new { seed = 6, item_ms = 3 * 3600000, nodes = 1 }
		local times, options = {}, { items = 12, executor = { poll_ms = 5000, at_once = 1 } }
		function cluster.happens(_, what)
			local is_busy = what == "busy" and cluster.jobs > 0 and #times < 300
			times[#times + 1] = is_busy and cluster.now_ms or nil
			return is_busy
		end
		assert.is_nil((to_the_end(cluster, options)))
		assert.equal(300, #times)
		for i = 2, #times do
			local waited = times[i] - times[i - 1]
			assert.is_true(waited >= math.min(1000 << math.min(i - 2, 6), 60000) and waited <= 65000, i .. ": " .. waited)
		end
	end)

	it("takes results over while the queue does not answer", function()
		local cluster = worlds.fake.new { seed = 6, faults = { unreachable = 1 } }
		assert.is_nil((to_the_end(cluster, { items = 12 })))
	end)

	it("fences a submission that arrives after it was cancelled", function()
		for seed = 1, 60 do
			local cluster = worlds.fake.new { seed = seed, faults = { unknown = 0.7 } }
			local ledger, options = worlds.rows(), { items = 12, seen = {} }
			run_until_killed(cluster, ledger, options, 26 + seed % 4)
			local left = coordinator.cancel(worlds.world(cluster, ledger, options), 60000)
			assert.same({}, left)
			local before = {}
			for item, times in pairs(cluster.effects) do
				before[item] = times
			end
			cluster:advance(200000)
			assert.same(before, cluster.effects)
		end
	end)

	it("calls nothing gone that begins behind the look at its fence", function()
		local begun = 0
		for seed = 1, 60 do
			local cluster = worlds.fake.new { seed = seed, faults = { unknown = 0.9 }, item_ms = 20000 }
			local ledger, options = worlds.rows(), { items = 12, seen = {} }
			run_until_killed(cluster, ledger, options, 26 + seed % 4)
			local world = worlds.world(cluster, ledger, options)
			local fence = world.unit.fence
			function world.unit.fence(...)
				local state, before = fence(...), next(cluster.effects)
				cluster:advance(state == "free" and 10000 or 0)
				begun = begun + (not before and next(cluster.effects) and 1 or 0)
				return state
			end
			local left = coordinator.cancel(world, 600000)
			assert.same({}, left)
			for chunk, file in pairs(cluster.files) do
				assert.is_nil(file.holder, ("seed %d, chunk %d"):format(seed, chunk))
			end
		end
		assert.is_true(begun > 0)
	end)

	it("never places again what holds its fence, though the queue calls its node dead", function()
		local cluster = worlds.fake.new { seed = 7, faults = { queue_loses = 1 }, item_ms = 100000 }
		assert.is_nil((to_the_end(cluster, { items = 9 })))
		assert.same({ 1, 0 }, { cluster.submissions, cluster.twins })
	end)

	it("looks up what an earlier process may have submitted, before it submits that again", function()
		for calls_left = 16, 26 do -- around the submission
			local cluster = worlds.fake.new { seed = 8, array = 3 }
			local ledger, options = worlds.rows(), { items = 9, seen = {} }
			run_until_killed(cluster, ledger, options, calls_left)
			assert.is_nil(coordinator.run(worlds.world(cluster, ledger, options)))
			assert.same({ 1, 0 }, { cluster.submissions, cluster.twins }, "killed after call " .. calls_left)
		end
	end)

	it("names what it could not end", function()
		local cluster = worlds.fake.new { seed = 9, item_ms = 10000000 }
		local ledger, options = worlds.rows(), { items = 12, seen = {} }
		run_until_killed(cluster, ledger, options, 60)
		cluster.faults.unreachable = 1
		local left = coordinator.cancel(worlds.world(cluster, ledger, options), 5000)
		assert.is_true(#left > 0)
	end)
end)
