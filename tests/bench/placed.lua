-- A million items through the coordinator of steps on an executor, with a model of a cluster in
-- place of one (tests/lua/lib/fake_cluster.lua), and the rows in a real database: what the
-- coordinator itself costs. Prints one JSON object.
--
--   lua5.4 tests/bench/placed.lua [ITEMS] [PER_CHUNK]

dofile "tests/lua/init.lua"

local coordinator = require "runner.workflow.executors.coordinator"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local placements = require "runner.workflow.store.placements"
local store = require "runner.workflow.store.store"
local worlds = dofile "tests/lua/lib/placed_world.lua"

local items, per_chunk = math.tointeger(arg[1] or 1000000), math.tointeger(arg[2] or 100)

local path = os.tmpname()
os.remove(path)
local db = store.open { path = path .. ".db" }
db:create { id = "r", workflow = "w" }
db:together(placements.add_unit, "r", "each", { executor = "x", kind = "fake", per_chunk = per_chunk })

local cluster = worlds.fake.new { seed = 1, array = 1000, nodes = 200, whole = true, item_ms = 1000 }
local world = worlds.world(cluster, placements.ledger(db, "r", "each"), { items = items, per_chunk = per_chunk, seen = {},
	executor = { poll_ms = 5000, submit_rate = 1, at_once = 200 } })

-- What the model itself takes is not the coordinator's.
local model_ms = 0
local function not_ours(f)
	return function(...)
		local from = host.now()
		local results = table.pack(f(...))
		model_ms = model_ms + host.now() - from
		return table.unpack(results, 1, results.n)
	end
end
for _, part in ipairs { world.place, world.unit } do
	for name, f in pairs(part) do
		part[name] = type(f) == "function" and not_ours(f) or f
	end
end
world.sleep = not_ours(world.sleep)

-- The model keeps nothing of what went on, so that all growth is the coordinator's.
local notes, most = 0, 0
world.deliver = function(chunk)
	cluster.files[chunk] = nil
end
local function forget_over()
	for token, job in pairs(cluster.known) do
		local live = false
		for _, task in ipairs(job.tasks) do
			live = live or not task.over or cluster.now_ms - task.ended_ms < 60000
		end
		if not live then
			cluster.known[token], cluster.tasks_of[token] = nil, nil
		end
	end
end
world.note = function()
	notes = notes + 1
	if notes % 10 == 0 then
		forget_over()
		collectgarbage()
		most = math.max(most, collectgarbage "count")
	end
end

collectgarbage()
local before, from = collectgarbage "count", host.now()
local problem = coordinator.run(world)
local ms = host.now() - from - model_ms
assert(not problem, problem and problem.message)
db:close()
print(json.encode { items = items, chunks = items // per_chunk, us_per_item = math.floor(ms * 1000 / items * 100) / 100,
	coordinator_ms = math.floor(ms), model_ms = math.floor(model_ms), memory_kb = math.ceil(most - before),
	database_bytes = fs.stat(path .. ".db").size, submissions = cluster.submissions, queue_calls = cluster.asked,
	simulated_hours = (cluster.now_ms - 1000000) // 3600000 })
os.remove(path .. ".db")
