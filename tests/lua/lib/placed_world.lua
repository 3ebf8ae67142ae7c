-- placed_world: the world of a coordinator (lua/workflow/executors/coordinator.lua) around a fake
-- cluster, with rows in memory or in a real database; and a coordinator that is killed at any
-- of its calls and started again.

local fake = dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "fake_cluster.lua")

local M = { fake = fake }

M.KILLED = setmetatable({}, { __tostring = function() return "killed" end })

-- --- rows in memory: a transaction is whole or nothing ---------------------------------------------

local function copy(row)
	local out = {}
	for _, name in ipairs { "chunk", "first", "count", "state", "generation", "token", "task", "memory", "failures", "again", "due_ms",
			"queued_ms", "started_ms", "ended_ms", "why", "number", "tasks", "job", "submitted_ms" } do
		out[name] = row[name] or nil
	end
	return out
end

function M.rows()
	local chunks, placements = {}, {}
	local ledger = { all = chunks, commits = 0 }
	function ledger.commit(fn)
		ledger.commits = ledger.commits + 1
		local todo = {}
		fn(todo)
		for _, write in ipairs(todo) do
			write()
		end
	end
	local function writer(fn)
		return function(todo, row)
			local kept = copy(row)
			todo[#todo + 1] = function() fn(kept) end
		end
	end
	ledger.add_chunk = writer(function(row) chunks[row.chunk] = row end)
	ledger.set_chunk = writer(function(row) chunks[row.chunk] = row end)
	ledger.add_placement = writer(function(row) placements[row.token] = row end)
	ledger.set_placement = writer(function(row)
		local known = placements[row.token]
		known.state, known.job, known.why = row.state, row.job, row.why
	end)
	function ledger.chunks(after, most)
		local page = {}
		for i = after + 1, math.min(after + most, #chunks) do
			page[#page + 1] = copy(chunks[i])
		end
		return page
	end
	function ledger.live_placements()
		local list = {}
		for _, row in pairs(placements) do
			list[#list + 1] = row.state ~= "over" and copy(row) or nil
		end
		table.sort(list, function(a, b) return a.number < b.number end)
		return list
	end
	function ledger.last_placement()
		local last = 0
		for _, row in pairs(placements) do
			last = math.max(last, row.number)
		end
		return last
	end
	return ledger
end

-- --- the world -------------------------------------------------------------------------------------

-- Each call may be the last one, before or after its effect.
local function mortal(dies, f)
	return function(...)
		if dies() then
			error(M.KILLED, 0)
		end
		local results = table.pack(f(...))
		if dies() then
			error(M.KILLED, 0)
		end
		return table.unpack(results, 1, results.n)
	end
end

local function counter(count)
	local i = 0
	return function()
		i = i + 1
		return i <= count and i or nil
	end
end

-- What import.chunk does to the rows of the run, here: the chunk's result is looked at.
local function importer(cluster, ledger, seen)
	return function(chunk, also)
		local file = cluster:file(chunk.chunk)
		assert(not ledger.all or chunk.generation == ledger.all[chunk.chunk].generation, "whose generation?")
		if also then
			assert(file.result.generation == chunk.generation, "the result of an old generation was believed")
			ledger.commit(also)
			seen.imports = (seen.imports or 0) + 1
		end
		return { state = file.result.state, results = file,
			error = file.result.state ~= "completed" and { code = file.result.state == "doubt" and "STEP_IN_DOUBT" or "FAILED" } or nil }
	end
end

---@param cluster table of fake_cluster
---@param ledger table
---@param options { items: integer?, per_chunk: integer?, executor: table?, dies: (fun(): boolean)?, seen: table }
function M.world(cluster, ledger, options)
	local dies, seen = options.dies or function() return false end, options.seen
	local unit, place, mortal_unit, mortal_place = cluster:unit(), fake.place(cluster), {}, {}
	for _, name in ipairs { "put_chunk", "set_generation", "put_tasks", "result", "fence", "is_whole" } do
		mortal_unit[name] = mortal(dies, unit[name])
	end
	for _, name in ipairs { "limits", "submit", "states", "cancel" } do
		mortal_place[name] = mortal(dies, function(_, ...) return place[name](place, ...) end)
	end
	mortal_unit.dir = unit.dir
	local own = setmetatable({}, { __index = ledger })
	own.commit = mortal(dies, ledger.commit)
	local executor = options.executor or { poll_ms = 5000, submit_rate = 1, memory = { "1", "2", "3" } }
	local function sleep(ms)
		cluster:advance(ms)
		cluster.step_ms = options.jump and options.jump() or cluster.step_ms
	end
	return { now = function() return cluster.now_ms end, wall = function() return cluster:wall() end, sleep = mortal(dies, sleep),
		place = mortal_place, unit = mortal_unit, ledger = own, executor = executor, argv = function() return {} end,
		token = function(number) return (options.name or "rn-1") .. "." .. number end, per_chunk = options.per_chunk or 3,
		next_item = options.items and counter(options.items),
		import = importer(cluster, own, seen),
		deliver = function(chunk)
			assert(chunk == (seen.delivered or 0) + 1, "out of order")
			seen.delivered = chunk
		end }
end

return M
