-- A loop that runs in chunks on other machines, and the same loop in one process: the same
-- outputs, order, attempts, waits (seeds) and failures.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local HERE = debug.getinfo(1, "S").source:match "^@(.*tests/lua/)"
local help = dofile(HERE .. "lib/workflow_help.lua")
local placed = dofile(HERE .. "lib/placed_help.lua")
local codec = require "runner.workflow.store.codec"
local fs = require "runner.fs"
local loop = require "runner.workflow.run.loop"
local json = require "runner.json"
local outputs = require "runner.workflow.run.outputs"
local paths = require "runner.core.paths"
local large_value = require "runner.workflow.expr.large_value"
local store = require "runner.workflow.store.store"

local dir

help.in_a_place(before_each, after_each, function(d)
	dir = d
end)

local function quoted(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The workflow in one process; the envelope, and the open store.
local function plainly(text)
	local here = dir .. "/plain"
	assert(fs.mkdir(here))
	assert(fs.write(here .. "/flow.yaml", text))
	os.execute(("cd %s && env -i PATH=\"$PATH\" HOME=/dev/null XDG_STATE_HOME=%s/state LC_ALL=C.UTF-8 %s workflow run flow.yaml --seed 42 "
		.. ">answer 2>lines </dev/null"):format(quoted(here), quoted(here), quoted(placed.RUNNER)))
	local answer = json.decode(assert(fs.read(here .. "/answer")))
	local db = store.open { path = here .. "/state/runner/runs.db", readonly = true }
	return answer, db, db:find("@last").id
end

-- The same in chunks of two items: what all of them together come to, and the first error.
local function in_chunks(world)
	local items = loop.items(world.step, world.run.scope, { cwd = world.dir })
	local all, problem = loop.gather({ id = world.run.id, mask = function(v) return v end }, world.key, function(i)
		return { item = items.stored[i] }
	end), nil
	local take = all.in_order(function(result)
		problem = problem or not world.step.continue_on_error and not result.ok and result.error
	end)
	local chunk, first, list = 0, 1, {}
	local function run()
		chunk = chunk + 1
		world:task(world:place(chunk, first, list))
		local imported = assert(world:import(chunk))
		for i, result in imported.results do
			take(i, result)
		end
		first, list = first + #list, {}
		return imported.state
	end
	for item in items.next do
		list[#list + 1] = item
		if #list == 2 and run() ~= "completed" then
			return nil, problem
		end
	end
	if list[1] then
		run()
	end
	return not problem and all.finish() or nil, problem
end

local STEPS = [[
	SELECT key, state, id, kind, label, round, attempts, status, code, message, data, output, held FROM steps
	WHERE run = ? AND key LIKE 'each[%' ORDER BY key]]
local ATTEMPTS = [[
	SELECT key, number, round, nth, status, signal, code, message, delay_ms, limit_ms FROM attempts
	WHERE run = ? AND key LIKE 'each[%' ORDER BY key, number]]

-- Names of files apart, which say where they are.
local function without_places(rows)
	for _, row in ipairs(rows) do
		local where = row.held and codec.decode({ data = row.held }).data or {}
		where.used = nil -- is of tasks on executors
		for _, stored in pairs(where) do
			stored.file = stored.file and stored.file:match "[^/]*$"
		end
		row.held = where
	end
	return rows
end

local function compare(text)
	local world <close> = placed.world(dir, text, { env = { FROM_FILE = "set" } })
	paths.keep_elsewhere(world.run.id, dir .. "/gathered", dir .. "/gathered.logs")
	local outcome, problem = in_chunks(world)
	local answer, db <close>, id = plainly(text)
	assert.same(without_places(db:_open():rows(STEPS, id)), without_places(world:rows(STEPS, world.run.id)))
	assert.same(db:_open():rows(ATTEMPTS, id), world:rows(ATTEMPTS, world.run.id))
	return outcome, problem, answer, db:step(id, "each")
end

local HEAD = "env: { FROM_FILE: set }\nvars: { word: 'it''s', list: [1, {a: 2.5}] }\ncommands:\n"

describe("a loop in chunks", function()
	it("has the outputs, data, conditions, captures and inner loops of one that runs here", function()
		local outcome, problem, answer, row = compare(HEAD .. [[
  - id: each
    foreach: [a, "b c", { k: [1, null] }, "${word}", 5]
    do:
      - { id: x, shell: "printf '%s' \"${item}|${item_index}|$FROM_FILE|${list}\"", capture_output: taken }
      - { id: cond, when: "item == 'a'", shell: "echo only-a" }
      - { id: j, shell: "echo '{\"n\": [1, 2], \"t\": \"x\"}'" }
      - id: inner
        foreach: "${steps.j.data.n}"
        parallel: 2
        do: { shell: "echo ${item}:${taken}" }
      - id: sides
        parallel:
          - { id: l, shell: "echo l${steps.inner.output}" }
          - { id: r, shell: "echo r", on_success: { shell: "echo ok" } }
      - { id: bad, shell: "echo left; exit 3", on_failure: continue }
      - { when: "steps.bad.ok == false", shell: "echo ${steps.bad.output} ${steps.sides.output} ${shell.output}" }
]])
		assert.falsy(problem)
		assert.is_true(answer.ok)
		assert.equal(row.output, outcome.output)
		assert.same(row.data, codec.decode({ data = codec.encode("data", outcome.data) }).data)
	end)

	it("draws the waits of its retries from the same seeds, and fails where it does", function()
		local outcome, problem, answer = compare(HEAD .. [[
  - id: each
    foreach: [a, b, c, d]
    do:
      - id: x
        shell: "echo >>n-${item_index}; test $(wc -l <n-${item_index}) -gt 2 || exit 75; test ${item} != c"
        retry: { max_attempts: 3, initial_delay: 20ms, jitter: full }
]])
		assert.is_nil(outcome)
		assert.same({ answer.error.code, answer.error.context.step_key, answer.error.context.status },
			{ problem.code, problem.context.step_key, problem.context.status })
		assert.truthy(answer.error.message:find(problem.message, 1, true))
		assert.equal("each[3].x", problem.context.step_key)
	end)

	it("goes on after failures, and keeps outputs that are long, cut, or no text", function()
		local outcome, problem, answer, row = compare(HEAD .. [[
  - id: each
    foreach: [long, cut, fails, bytes]
    continue_on_error: true
    do:
      - { id: keep, when: "item == 'long'", shell: "yes 0123456789 | head -c 1500000", capture_limit: 4M }
      - { id: cut, when: "item == 'cut'", shell: "yes 0123456789 | head -c 1500000" }
      - { id: fail, when: "item == 'fails'", shell: "echo out; exit 1" }
      - { id: bytes, when: "item == 'bytes'", shell: "printf 'a\\377\\001b'" }
]])
		assert.falsy(problem)
		assert.is_true(answer.ok)
		assert.same({ row.held.output.cut, row.held.output.bytes }, { outcome.held.output.cut, outcome.held.output.bytes })
		local here = large_value.value(outputs.result({ id = "run_TEST" }, "each", outcome, true).data)
		assert.equal(1500000, #large_value.value(here[1].output))
		assert.is_true(large_value.is(here[2].output))
		assert.same({ false, true, "a\255\1b" }, { here[3].ok, here[4].ok, here[4].output })
	end)
end)
