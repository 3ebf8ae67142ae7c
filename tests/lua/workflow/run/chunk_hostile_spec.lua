-- What a task and an import meet in a shared directory: tasks that are killed, stopped and woken
-- too late, full disks, folders and files that aren't ours, journals that say too much.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local HERE = debug.getinfo(1, "S").source:match "^@(.*tests/lua/)"
local help = dofile(HERE .. "lib/workflow_help.lua")
local placed = dofile(HERE .. "lib/placed_help.lua")
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local step_folder = require "runner.workflow.executors.step_folder"

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

local function kill(pid, signal)
	os.execute(("kill -%s %d 2>/dev/null"):format(signal, pid))
end

local function is_gone(pid)
	return (fs.read("/proc/" .. pid .. "/stat") or "1 (x) Z"):match "%) Z" ~= nil
end

local function ends(pid)
	return function()
		return is_gone(pid) and world.unit:fence(1) == "free"
	end
end

-- The process that runs our Lua: the supervisor's child; the supervisor where that has none (any more).
local function worker_of(pid)
	return placed.until_true(function()
		local child = (fs.read(("/proc/%d/task/%d/children"):format(pid, pid)) or ""):match "%d+"
		return math.tointeger(tonumber(child)) or is_gone(pid) and pid
	end)
end

local LOOP = [[
commands:
  - id: each
    foreach: [1, 2, 3, 4, 5, 6]
    parallel: 2
    do:
      id: x
      shell: "echo ${item} >>effects; %s"
      verify: touch effects; grep -qx ${item} effects
]]
local ITEMS = { 1, 2, 3, 4, 5, 6 }

local function sorted_effects()
	local list = world:effects()
	table.sort(list)
	return table.concat(list, " ")
end

describe("tasks that are killed at any instant", function()
	it("do each item once, where verify tells what became of it", function()
		open(LOOP:format "sleep 0.1")
		local kills = 0
		local token = world:place(1, 1, ITEMS)
		for round = 1, 40 do
			local pid = world:start(token)
			host.sleep(20 + (round * 37) % 140) -- any instant will do
			kill(round % 2 == 0 and worker_of(pid) or pid, "KILL")
			placed.until_true(ends(pid))
			if world.unit:result(1) then
				break
			end
			kills = kills + 1
			token = world:place(1)
		end
		assert.equal("completed", world.unit:result(1) and world.unit:result(1).state or world:task(token).data.state)
		assert.equal("1 2 3 4 5 6", sorted_effects())
		local imported = world:import(1)
		assert.equal(6, #placed.listed(imported))
		assert.same({}, world.run.db:contradictions(world.run.id))
		assert.is_true(kills > 0)
	end)

	it("leave every other task out while anything of them lives", function()
		open(LOOP:format "until test -e go; do sleep 0.05; done")
		local pid = world:start(world:place(1, 1, ITEMS))
		placed.until_true(function()
			return #world:effects() >= 2
		end)
		for _ = 1, 3 do
			local token = world:place(1)
			assert.equal("held", world:task(token).data.state)
		end
		kill(pid, "KILL")
		placed.until_true(ends(pid))
		assert(fs.write(dir .. "/go", ""))
		assert.equal("completed", world:task(world:place(1)).data.state)
		assert.equal("1 2 3 4 5 6", sorted_effects())
	end)

	it("leave what one of their placement has begun to the next placement", function()
		open(LOOP:format "until test -e go; do sleep 0.05; done")
		local token = world:place(1, 1, ITEMS)
		local pid = world:start(token)
		placed.until_true(function()
			return #world:effects() >= 2
		end)
		kill(pid, "KILL")
		placed.until_true(ends(pid))
		assert(fs.write(dir .. "/go", ""))
		assert.equal("begun", world:task(token).data.state)
		assert.equal("1 2", sorted_effects())
		assert.equal("completed", world:task(world:place(1)).data.state)
		assert.equal("1 2 3 4 5 6", sorted_effects())
	end)

	it("notice a twin of their own placement in the journal, and end", function()
		open(LOOP:format "until test -e go; do sleep 0.05; done")
		local pid = world:start(world:place(1, 1, ITEMS))
		placed.until_true(function()
			return #world:effects() >= 2
		end)
		assert(fs.append(world.unit:path(1, "journal"), '[1,5,"begin",{"host":"twin"}]\n'))
		assert(fs.write(dir .. "/go", ""))
		placed.until_true(ends(pid))
		assert.equal("CONFLICT", json.decode(fs.read(dir .. "/answer")).error.code)
		assert.is_nil(world.unit:result(1))
		assert.equal("1 2", sorted_effects())
	end)

	it("write nothing that counts when they were stopped and wake up behind their successor", function()
		open(LOOP:format "until test -e go || test ${item} -gt 2; do sleep 0.05; done")
		local pid = world:start(world:place(1, 1, ITEMS))
		placed.until_true(function()
			return #world:effects() >= 2
		end)
		os.execute(("kill -STOP %d %d"):format(pid, worker_of(pid)))
		assert(fs.unlink(world.unit:path(1, "lock"))) -- the lease of the lock expires, as on NFS
		assert(fs.write(dir .. "/go", ""))
		assert.equal("completed", world:task(world:place(1)).data.state)
		local size = fs.stat(world.unit:path(1, "journal")).size
		os.execute(("kill -CONT %d %d"):format(pid, worker_of(pid)))
		placed.until_true(function()
			return is_gone(pid)
		end)
		assert.equal(size, fs.stat(world.unit:path(1, "journal")).size)
		assert.equal(2, world.unit:result(1).generation)
		assert.equal("1 2 3 4 5 6", sorted_effects())
		assert.equal("completed", world:import(1).state)
	end)
end)

describe("an old task's lines in the journal", function()
	it("don't count behind the beginning of a newer one", function()
		open(LOOP:format "true")
		world:task(world:place(1, 1, { 1 }))
		local stale = '[1,5,"set_step",{"key":"each[1].x"},"failed",{"code":"EVIL"}]\n'
		world:task(world:place(1))
		assert(fs.append(world.unit:path(1, "journal"), stale))
		world:task(world:place(1))
		assert.equal("completed", world:import(1).state)
		assert.is_nil(world.run.db:step(world.run.id, "each[1].x").code)
	end)
end)

-- The result says that the journal has this text behind its first line.
local function forge(text, fields)
	local path = world.unit:path(1, "journal")
	local head = fs.read(path):match "^[^\n]*\n"
	assert(fs.write(path, head .. text))
	local result = { generation = 1, state = "completed", bytes = #head + #text, items = {}, started_ms = 1, ended_ms = 2, host = "h" }
	for name, value in pairs(fields or {}) do
		result[name] = value
	end
	assert(fs.write(world.unit:path(1, "result"), json.encode(result)))
end

describe("an import", function()
	before_each(function()
		open(LOOP:format "true")
		world:task(world:place(1, 1, { 1, 2 }))
	end)

	local function refuses(words)
		local ok, e = pcall(world.import, world, 1)
		assert.is_false(ok)
		assert.equal("PRECONDITION", e.code)
		assert.truthy(e.message:find(words, 1, true), e.message)
		assert.equal(0, #world:rows "SELECT key FROM steps")
	end

	it("refuses a journal that speaks of steps that are none of its chunk's", function()
		for _, key in ipairs { "each[3].x", "each", "other", "each[1]", "each[01x].y", "each[99999999999999999999].x", "" } do
			forge(('[1,5,"set_step",{"key":"%s"},"completed",{}]\n'):format(key))
			refuses "none of its chunk"
		end
	end)

	it("refuses methods, arguments and fields that no task writes", function()
		for line, words in pairs {
			['[1,5,"set_run","each[1].x",{"state":"completed"}]'] = "known form",
			['[1,5,"interrupt"]'] = "known form", ['{"a":1}'] = "known form", ["garbage"] = "known form", [""] = "known form",
			["null"] = "known form", ["[]"] = "known form", ['[1,5,"set_step"]'] = "known form",
			['[1,"5","set_step",{"key":"each[1].x"},"completed",{}]'] = "known form",
			['[0,5,"set_step",{"key":"each[1].x"},"completed",{}]'] = "known form",
			['[2,5,"set_step",{"key":"each[1].x"},"completed",{}]'] = "not begun",
			['[1,5,"set_step",{"key":"each[1].x"},"completed",{},1]'] = "known form",
			['[1,5,"stop_step","each[1].x","gone"]'] = "known form",
			['[1,5,"set_step",{"key":"each[1].x"},"wild",{}]'] = "unknown state",
			['[1,5,"set_step",{"key":"each[1].x"},"completed",{"key":"y"}]'] = "unknown field",
			['[1,5,"set_step",{"key":"each[1].x"},"completed",{"code":{"a":1}}]'] = "damaged",
			['[1,5,"set_step",{"key":"each[1].x"},"completed",{"held":{"output":{"file":"../../x","bytes":1}}}]'] = "outside",
			['[1,5,"set_step",{"key":"each[1].x"},"completed",{"held":{"output":{"file":"..","bytes":1}}}]'] = "outside",
		} do
			forge(line .. "\n" .. '[1,6,"item",1,{}]\n')
			refuses(words)
		end
	end)

	it("refuses a journal that is shorter than its result says, or a link", function()
		forge("", { bytes = 1 << 40 })
		refuses "shorter"
		local path = world.unit:path(1, "journal")
		forge ""
		assert(fs.rename(path, dir .. "/elsewhere"))
		assert(fs.symlink(dir .. "/elsewhere", path))
		refuses "link"
	end)

	it("refuses a result that isn't one", function()
		for _, text in ipairs { "", "garbage", "[]", "{}", '{"generation":1}', '{"generation":"1","state":"completed","bytes":0}',
			'{"generation":1,"state":"done","bytes":0,"started_ms":1,"ended_ms":1}' } do
			assert(fs.write(world.unit:path(1, "result"), text))
			refuses "damaged"
		end
		forge("", { error = { code = "no code" } })
		refuses "damaged"
	end)

	it("takes any other bytes for what they are: lines that count, or damage that it names", function()
		local path, seed = world.unit:path(1, "journal"), 12345
		local function random(n)
			seed = (seed * 1103515245 + 12345) & 0x7fffffff
			return (seed >> 8) % n + 1
		end
		local whole, refused = fs.read(path), 0
		for _ = 1, 300 do
			local text = whole
			for _ = 1, random(3) do
				local at, n = random(#text), random(40)
				local piece = ({ "", string.char(random(256) - 1), text:sub(n, n + at % 200), '"', "[1,", "null", "-1", "{}" })[random(8)]
				text = text:sub(1, at - 1) .. piece .. text:sub(at + n % 4)
			end
			forge(text:match "\n(.*)" or "")
			local ok, e = pcall(world.import, world, 1)
			refused = refused + (ok and 0 or 1)
			assert.is_true(ok or e.code == "PRECONDITION", not ok and tostring(e) .. " of " .. text or nil)
			assert.same({}, world.run.db:contradictions("none"))
			world.run.db:_open():exec "DELETE FROM imports; DELETE FROM attempts; DELETE FROM steps; DELETE FROM usage"
		end
		assert.is_true(refused > 50)
	end)

	it("has nothing for a generation that isn't the latest", function()
		world:place(1)
		assert.is_nil(world:import(1))
	end)

	it("survives items of a result that are no results", function()
		local path = world.unit:path(1, "result")
		local result = json.decode(fs.read(path))
		for _, items in ipairs { { 1, "x" }, { { key = 7 } }, { { key = "nothing" } }, { { error = 5 } },
			{ false, false, false, { key = "x" } } } do
			result.items = items
			assert(fs.write(path, json.encode(result)))
			local ok, e = pcall(function()
				return placed.listed(world:import(1))
			end)
			assert.is_true(ok, not ok and tostring(e) or nil)
		end
	end)
end)

describe("a folder of a unit", function()
	local function raises(words, f, ...)
		local ok, e = pcall(f, ...)
		assert.is_false(ok)
		assert.equal("PRECONDITION", e.code)
		assert.truthy(e.message:find(words, 1, true), e.message)
	end

	it("is refused where it, or one above it, is a link, or open to others, or somebody else's", function()
		open(LOOP:format "true")
		local above = world.unit.dir:match "^(.*)/[^/]+/[^/]+$"
		for _, path in ipairs { world.unit.dir, above, world.unit.dir .. "/unit.json", world.unit.dir .. "/secrets.json" } do
			os.execute(("chmod o+x '%s'"):format(path))
			raises("is open to other users", function()
				step_folder.open(world.unit.dir):payload()
			end)
			os.execute(("chmod o-x '%s'"):format(path))
		end
		assert(fs.rename(above, dir .. "/moved"))
		assert(fs.symlink(dir .. "/moved", above))
		raises("is a link", step_folder.open, world.unit.dir)
		raises("is a link", step_folder.root, dir .. "/shared")
		assert.equal("PRECONDITION", world:task("rn-TEST-1.1").error.code)
		assert(fs.unlink(above))
		raises("isn't there", step_folder.open, world.unit.dir)
		assert(fs.rename(dir .. "/moved", above))
		if fs.stat(dir).uid == 0 and os.execute(("chown 1234 '%s'"):format(above)) then
			raises("belongs to another user", step_folder.open, world.unit.dir)
			raises("belongs to another user", step_folder.root, dir .. "/shared")
		end
	end)

	it("is made again by whoever finds it, with what was placed in it", function()
		open(LOOP:format "true")
		local token = world:place(1, 1, { 1 })
		local whole = { prefix = "", suffix = "", scope = world.run.scope }
		local again = step_folder.create(world.run, world.step, world.key, whole, world.executor, 1)
		assert.equal(world.unit.dir, again.dir)
		assert.equal("completed", world:task(token).data.state)
	end)

	it("names what is wrong with a token, a task and its numbers", function()
		open(LOOP:format "true")
		local token = world:place(1, 1, { 1 })
		for _, given in ipairs { { token, 2 }, { "rn-other", 1 }, { "../x", 1 }, { "", 1 }, { ("x"):rep(61), 1 }, { "-x", 1 } } do
			raises("has no task", world.unit.task, world.unit, given[1], given[2])
		end
		for _, text in ipairs { "", "1 1", "1 1 1 never\n", "x 1 1\n", "1 1 1" } do
			assert(fs.write(world.unit.dir .. "/" .. token .. ".tasks", text, 384))
			raises("has no task", world.unit.task, world.unit, token, 1)
		end
	end)

	it("keeps a step's logs and long outputs when it is over, and nothing else; then nothing at all", function()
		open [[
commands:
  - { id: each, foreach: [1], do: { id: x, shell: "yes 0123456789 | head -c 1500000", capture_limit: 4M, on_success: { shell: echo } } }
]]
		world:task(world:place(1, 1, { 1 }))
		world:import(1)
		world.unit:finish()
		assert.same({ "1.logs", "1.out" }, fs.list(world.unit.dir))
		assert.equal(1500000, fs.stat(fs.realpath(world.unit.dir .. "/1.out/each%5B1%5D.x")).size)
		assert(world.unit:remove())
		assert.is_nil(fs.stat(world.unit.dir:match "^(.*)/"))
	end)
end)

describe("secrets", function()
	it("are in no file of the folder but secrets.json, and reach the steps", function()
		open([[
commands:
  - id: each
    foreach: [1, 2]
    do:
      - { id: x, shell: "test $TOKEN = hunter2hunter2 && echo it is $TOKEN and ${word}; echo $TOKEN >&2; test ${item} = 1" }
]], { secrets = { "hunter2hunter2" }, env = { TOKEN = "hunter2hunter2" }, vars = { word = "say hunter2hunter2" } })
		world:task(world:place(1, 1, { 1, 2 }))
		local imported = world:import(1)
		assert.equal("it is *** and say ***", world.run.db:step(world.run.id, "each[1].x").output)
		assert.equal("failed", imported.state)
		for _, name in ipairs(fs.list(world.unit.dir)) do
			local text = fs.read(world.unit.dir .. "/" .. name) or ""
			assert.equal(name == "secrets.json", text:find("hunter2", 1, true) ~= nil, name)
			assert.equal(0, fs.stat(world.unit.dir .. "/" .. name).mode & 63)
		end
		assert.is_nil((fs.read(dir .. "/lines") .. fs.read(dir .. "/answer")):find("hunter2", 1, true))
	end)
end)

describe("a full shared directory", function()
	it("ends a task before it runs what it can't record, and another one goes on", function()
		assert(fs.mkdir(dir .. "/shared"))
		local mounted = os.execute(("mount -t tmpfs -o size=256k,mode=700 tmpfs '%s/shared' 2>/dev/null"):format(dir))
		if not mounted then
			pending "tmpfs can't be mounted here"
			return
		end
		local ok, raised = pcall(function()
			open(LOOP:format "test ${item} != 2 || cat /dev/zero >shared/fill 2>/dev/null || true")
			world:place(1, 1, ITEMS)
			local answer = world:task "rn-TEST-1.1"
			assert.equal("RESOURCE_EXHAUSTED", answer.error.code)
			assert.is_nil(world.unit:result(1))
			assert(fs.unlink(dir .. "/shared/fill"))
			assert.equal("completed", world:task(world:place(1)).data.state)
			assert.equal("1 2 3 4 5 6", sorted_effects())
			assert.equal(6, #placed.listed(world:import(1)))
		end)
		os.execute(("umount -l '%s/shared'"):format(dir))
		assert.is_true(ok, not ok and tostring(raised) or nil)
	end)
end)
