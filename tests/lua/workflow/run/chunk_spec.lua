-- A task of a placed step: it runs its chunk once, under a fence, leaves a journal and a result,
-- and both are imported as if its steps had run here.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local help = dofile(debug.getinfo(1, "S").source:match "^@(.*tests/lua/)" .. "lib/workflow_help.lua")
local placed = dofile(debug.getinfo(1, "S").source:match "^@(.*tests/lua/)" .. "lib/placed_help.lua")
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"

local dir, world

help.in_a_place(before_each, after_each, function(d)
	dir = d
end)

local function open(text, opts)
	world = placed.world(dir, text, opts)
	return world
end

after_each(function()
	if world then
		world:close()
		world = nil
	end
end)

local LOOP = [[
commands:
  - id: each
    foreach: [a, b, c, d]
    do:
      - { id: x, shell: "echo ${item}${item_index} >>effects; echo x-${item}" }
      - { id: y, shell: "echo y-${steps.x.output}" }
]]

local function step_rows()
	return world:rows "SELECT key, state, output, attempts, code FROM steps ORDER BY key"
end

local function all_rows()
	return json.encode { world:rows "SELECT * FROM steps ORDER BY key", world:rows "SELECT * FROM attempts ORDER BY key" }
end

local function state_of(key)
	local row = world.run.db:step(world.run.id, key)
	return row and row.state
end

local function kill(pid, signal)
	os.execute(("kill -%s %d"):format(signal, pid))
end

-- The processes of a task, whose supervisor is `pid`.
local function is_gone(pid)
	return not fs.stat("/proc/" .. pid) or (fs.read("/proc/" .. pid .. "/stat") or "Z"):match "%) Z" ~= nil
end

local function has_effects(n)
	return function()
		return #world:effects() >= n
	end
end

describe("a task", function()
	it("runs the items of its chunk and nothing else, and its import has their results in order", function()
		open(LOOP)
		local answer, status = world:task(world:place(2, 3, { "c", "d" }))
		assert.same({ "completed", 2, "created", 0 }, { answer.data.state, answer.data.chunk, answer.data.effect, status })
		assert.same({ "c3", "d4" }, world:effects())
		local noted = 0
		local imported = world:import(2, function()
			noted = noted + 1
		end)
		assert.same({ "completed", { { 3, true, "y-x-c" }, { 4, true, "y-x-d" } } }, { imported.state, placed.listed(imported) })
		assert.same({ "each[3].x", "each[3].y", "each[4].x", "each[4].y" }, { step_rows()[1].key, step_rows()[2].key, step_rows()[3].key,
			step_rows()[4].key })
		assert.equal(1, noted)
	end)

	it("leaves logs that are read where the run is", function()
		open(LOOP)
		world:task(world:place(1, 1, { "a" }))
		world:import(1)
		local records = {}
		for _, row in ipairs(world.run.db:attempts(world.run.id)) do
			records[#records + 1] = assert(logs.of(world.run.id, row)).stdout
		end
		assert.same({ "x-a\n", "y-x-a\n" }, records)
	end)

	it("is imported once: a second import of the same chunk changes nothing and has the same results", function()
		open(LOOP)
		world:task(world:place(1, 1, { "a", "b" }))
		local first, noted = placed.listed(world:import(1)), 0
		local before = all_rows()
		assert.same(first, placed.listed(world:import(1, function()
			noted = noted + 1
		end)))
		assert.equal(before, all_rows())
		assert.equal(0, noted)
	end)

	it("leaves the database as it was where what the coordinator adds to the import fails", function()
		open(LOOP)
		world:task(world:place(1, 1, { "a" }))
		assert.is_false(pcall(world.import, world, 1, function()
			error("no", 0)
		end))
		assert.same({}, step_rows())
		assert.same({ { 1, true, "y-x-a" } }, placed.listed(world:import(1)))
	end)

	it("ends at once where its chunk is over, was placed again, or is run by another task", function()
		open(LOOP)
		local token = world:place(1, 1, { "a" })
		world:task(token)
		assert.equal("over", world:task(token).data.state)
		world:place(1)
		assert.equal("replaced", world:task(token).data.state)
		local lock = assert(fs.lock(world.unit:path(1, "lock")))
		assert.equal("held", world:task(world:place(1)).data.state)
		assert.equal("held", world.unit:fence(1))
		lock:release()
		assert.equal("free", world.unit:fence(1))
		assert.same({ "a1" }, world:effects())
	end)

	it("stops at the first failure and says which step it was", function()
		open [[
commands:
  - id: each
    foreach: [a, b, c]
    do: { id: x, shell: "echo ${item} >>effects; test ${item} != b" }
]]
		local answer, status = world:task(world:place(1, 1, { "a", "b", "c" }))
		assert.same({ "failed", 0 }, { answer.data.state, status })
		local imported = world:import(1)
		assert.same({ "failed", "SUBPROCESS_FAILED", "each[2].x" }, { imported.state, imported.error.code, imported.error.context.step_key })
		assert.same({ { 1, true, "" }, { 2, false, "SUBPROCESS_FAILED" } }, placed.listed(imported))
		assert.same({ "a", "b" }, world:effects())
		assert.is_false(world.run.failures["each[2].x"].transient)
	end)

	it("goes on after failures where the step says so", function()
		open [[
commands:
  - id: each
    foreach: [a, b, c]
    continue_on_error: true
    do: { id: x, shell: "test ${item} != b; echo ${item}" }
]]
		world:task(world:place(1, 1, { "a", "b", "c" }))
		local imported = world:import(1)
		assert.equal("completed", imported.state)
		assert.same({ { 1, true, "a" }, { 2, false, "SUBPROCESS_FAILED" }, { 3, true, "c" } }, placed.listed(imported))
		world:task(world:place(2, 4, { "b" })) -- nothing but a failure
		assert.same({ { 4, false, "SUBPROCESS_FAILED" } }, placed.listed(world:import(2)))
	end)

	it("runs what failed for good once more only where the user wants it", function()
		open [[
commands:
  - id: each
    foreach: [a, b]
    do: { id: x, shell: "echo ${item} >>effects; test ${item} != b || test -e go" }
]]
		world:task(world:place(1, 1, { "a", "b" }))
		world:import(1)
		world:task(world:place(1)) -- as after a loss
		assert.same({ "a", "b" }, world:effects())
		assert.equal("failed", world:import(1).state)
		assert(fs.write(dir .. "/go", ""))
		world:task(world:place(1, nil, nil, true))
		assert.same({ "a", "b", "b" }, world:effects())
		assert.equal("completed", world:import(1).state)
		assert.equal("completed", state_of "each[2].x")
	end)
end)

describe("a step that is no loop", function()
	it("gives its result, or its failure with what it left", function()
		open [[
commands:
  - { id: one, shell: "echo out; exit $(cat code)" }
]]
		assert(fs.write(dir .. "/code", "3"))
		world:task(world:place(1))
		local imported = world:import(1)
		local _, result = imported.results()
		assert.same({ "failed", false, "SUBPROCESS_FAILED", "out" }, { imported.state, result.ok, result.error.code, result.left.output })
		assert(fs.write(dir .. "/code", "0"))
		world:task(world:place(1, nil, nil, true))
		imported = world:import(1)
		_, result = imported.results()
		assert.same({ "completed", true, "out" }, { imported.state, result.ok, result.value.output })
		assert.equal(2, #world.run.db:attempts(world.run.id, "one"))
	end)

	it("may hold others that run in parallel", function()
		open [[
commands:
  - id: both
    parallel:
      - { id: l, shell: "echo left" }
      - { id: r, shell: "echo right" }
]]
		world:task(world:place(1))
		local _, result = world:import(1).results()
		assert.equal("left\nright", result.value.output)
		assert.equal("completed", state_of "both.l")
	end)
end)

describe("a task that is killed", function()
	local TWO = [[
commands:
  - id: each
    foreach: [a, b]
    do: { id: x, shell: "echo ${item} >>effects; test -e go || sleep 60; echo ${item}"%s }
]]

	local function killed_at_second(how)
		local token = world:place(1, 1, { "a", "b" })
		local pid = world:start(token)
		placed.until_true(has_effects(1))
		kill(pid, how)
		placed.until_true(function()
			return is_gone(pid) and world.unit:fence(1) == "free"
		end)
		assert(fs.write(dir .. "/go", ""))
	end

	it("leaves its step in doubt, which the next one names and doesn't run", function()
		open(TWO:format "")
		killed_at_second "KILL"
		assert.is_nil(world.unit:result(1))
		assert.is_true(fs.lstat(world.unit:path(1, "journal")).size > 0)
		assert.equal("doubt", world:task(world:place(1)).data.state)
		local imported = world:import(1)
		assert.same({ "doubt", "STEP_IN_DOUBT", "each[1].x" }, { imported.state, imported.error.code, imported.error.context.step_key })
		assert.same({ "a" }, world:effects())
		assert.same({ "each[1].x" }, world.run.db:steps_in_doubt(world.run.id))
	end)

	it("may be told what became of the step", function()
		open(TWO:format "")
		killed_at_second "KILL"
		world:task(world:place(1, nil, nil, true, { retry_in_doubt = true }))
		assert.same({ "a", "a", "b" }, world:effects())
		assert.same({ { 1, true, "a" }, { 2, true, "b" } }, placed.listed(world:import(1)))
	end)

	it("has an idempotent step run again by the next one", function()
		open(TWO:format ", idempotent: true")
		killed_at_second "KILL"
		assert.equal("completed", world:task(world:place(1)).data.state)
		assert.same({ "a", "a", "b" }, world:effects())
	end)

	it("has its step cut off by SIGTERM, as the end of an allocation sends it: the next one goes on", function()
		open(TWO:format "")
		killed_at_second "TERM"
		assert.is_nil(world.unit:result(1))
		assert.equal("completed", world:task(world:place(1)).data.state)
		assert.same({ { 1, true, "a" }, { 2, true, "b" } }, placed.listed(world:import(1)))
		local first = world.run.db:attempts(world.run.id, "each[1].x")[1]
		assert.equal("CANCELLED", first.code)
	end)
end)

describe("a long wait", function()
	it("is left to the coordinator: the other items go on, and the next task tries again", function()
		open([[
commands:
  - id: each
    foreach: [a, b]
    do:
      - id: x
        shell: echo ${item} >>effects; test ${item} != a || test -e go
        retry: { delays: [100s], jitter: false, retry_on: [{ exit: 1 }] }
]])
		local before = host.wall_ms()
		assert.equal("parked", world:task(world:place(1, 1, { "a", "b" })).data.state)
		assert.same({ "a", "b" }, world:effects())
		local imported = world:import(1)
		assert.equal("parked", imported.state)
		assert.is_true(imported.wake_ms >= before + 99000 and imported.wake_ms <= host.wall_ms() + 101000)
		assert.equal("waiting", state_of "each[1].x")
		world:place(1) -- and lost before it began: nobody has waited for this one
		assert.equal("parked", world:task(world:place(1)).data.state)
		assert.same({ "a", "b" }, world:effects())
	end)

	it("is over for the task that the coordinator places after it, whatever the clock says", function()
		open [[
commands:
  - id: each
    foreach: [a]
    do:
      - id: x
        shell: echo ${item} >>effects; test -e second || { touch second; exit 1; }
        retry: { delays: [100s], jitter: false, retry_on: [{ exit: 1 }] }
]]
		assert.equal("parked", world:task(world:place(1, 1, { "a" })).data.state)
		world:import(1)
		assert.equal("completed", world:task(world:place(1)).data.state)
		assert.same({ "a", "a" }, world:effects())
	end)

	it("is waited for here where it is shorter", function()
		open [[
commands:
  - id: each
    foreach: [a]
    do:
      - id: x
        shell: echo ${item} >>effects; test -e second || { touch second; exit 1; }
        retry: { delays: [50ms], retry_on: [{ exit: 1 }] }
]]
		assert.equal("completed", world:task(world:place(1, 1, { "a" })).data.state)
		assert.same({ "a", "a" }, world:effects())
		world:import(1)
		assert.equal(2, #world.run.db:attempts(world.run.id, "each[1].x"))
	end)
end)

describe("a task whose chunk was placed again", function()
	it("is ended by its next write, with all that it has started, and writes nothing more", function()
		open [[
commands:
  - id: each
    foreach: [a, b]
    parallel: 2
    do: { id: x, shell: "echo ${item} >>effects; test ${item} = b || exec sleep 60; until test -e go; do sleep 0.05; done" }
]]
		local pid = world:start(world:place(1, 1, { "a", "b" }))
		placed.until_true(has_effects(2))
		local size = fs.stat(world.unit:path(1, "journal")).size
		world:place(1)
		assert(fs.write(dir .. "/go", ""))
		placed.until_true(function()
			return is_gone(pid)
		end)
		assert.equal(size, fs.stat(world.unit:path(1, "journal")).size)
		assert.is_nil(world.unit:result(1))
		assert.equal("CONFLICT", json.decode(fs.read(dir .. "/answer")).error.code)
		placed.until_true(function()
			return world.unit:fence(1) == "free"
		end)
	end)
end)
