-- The check of an executor (lua/workflow/executors/probe.lua), of the side that asks: what the queue says
-- of itself, and what two tasks wrote.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local host = require "runner.host"
local json = require "runner.json"
local probe = require "runner.workflow.executors.probe"

local dir

help.in_a_place(before_each, after_each, function(d)
	dir = d
end)

-- A place whose tasks have written `wrote` at once. says: what it finds of itself.
local function place(wrote, says)
	local p = { submissions = 0 }
	function p.check() return says or {} end
	function p.submit(_, request)
		p.submissions, p.request = p.submissions + 1, request
		if wrote == nil then
			return nil, { message = "no", suggestion = "ask" }
		end
		for i, row in pairs(wrote) do
			row.node, row.version, row.at_ms = row.node or "n" .. i, row.version or attempt.launch.version, row.at_ms or host.wall_ms()
			assert(fs.write(("%s/%d.json"):format(dir, i), json.encode(row)))
		end
		return { job = "42" }
	end
	function p.states() return { t = { tasks = p.tasks or {} } } end
	return p
end

local function check(p, about)
	about = about or { dir = dir, token = "t", wait_ms = 5000 }
	local rows, found = probe.run(p, { runner = "runner", memory = { "1G", "2G" } }, about), {}
	for i, row in ipairs(rows) do
		found[i] = row.name .. (row.ok and "" or " fails")
		found[row.name] = row
	end
	return table.concat(found, ", "), found
end

-- While the lock is held by another process, as a task would.
local function held(fn)
	local ready = dir .. "/ready"
	local holder = assert(io.popen(("exec flock '%s/lock' sh -c 'touch %s; cat'"):format(dir, ready), "w"))
	while not fs.stat(ready) do
		host.sleep(5)
	end
	fn()
	holder:close()
end

describe("the check of an executor", function()
	it("submits nothing where the queue itself has a fault", function()
		local p = place({}, { { name = "queue", ok = true, detail = "x" }, { name = "account", ok = false, detail = "y" } })
		assert.equal("queue, account fails", (check(p)))
		assert.equal(0, p.submissions)
	end)

	it("goes on behind what is right, and says so when nothing is taken", function()
		local about = { dir = dir, token = "t", wait_ms = 5000 }
		local names, found = check(place(nil, { { name = "queue", ok = true, detail = "x" } }), about)
		assert.equal("queue, directory, submission fails", names)
		assert.same({ "no", "ask" }, { found.submission.detail, found.submission.remedy })
		assert.equal(dir:match "^(.*)/" .. " is ours alone", found.directory.detail)
		assert.is_nil(about.telling)
	end)

	it("passes where two tasks ran at once and agreed", function()
		held(function()
			local p, from = place { { locked = true }, { together = true, locked = false } }, host.now()
			local names, found = check(p)
			assert.is_true(host.now() - from < 5000) -- it waits for nothing
			assert.equal("directory, submission, tasks, runner, clock, lock", names)
			assert.same({ token = "t", tasks = 2, dir = dir, argv = { "runner", "self", "executor", "probe", dir }, memory = "1G" },
				{ token = p.request.token, tasks = p.request.tasks, dir = p.request.dir, argv = p.request.argv, memory = p.request.memory })
			assert.equal("two tasks were submitted as 42", found.submission.detail)
			assert.equal("the clock there agrees with ours", found.clock.detail)
			assert.equal(("runner %s is there"):format(attempt.launch.version), found.runner.detail)
			p.tasks = { { node = "queue's" }, {} }
			assert.equal("two tasks ran, on queue's and n2, and wrote into the directory", select(2, check(p)).tasks.detail)
			assert.equal("a lock holds between n1 and n2, and this machine", found.lock.detail)
		end)
	end)

	it("names what tasks of one node can't prove", function()
		held(function()
			local _, found = check(place { { locked = true, node = "a" }, { together = true, locked = false, node = "a" } })
			assert.equal("a lock holds between two tasks on a, and this machine", found.lock.detail)
			local _, alone = check(place { { locked = true }, { together = false, locked = false } })
			assert.equal("a lock holds between n1, and this machine", alone.lock.detail)
		end)
	end)

	it("finds a lock that doesn't hold, another version and another time", function()
		for name, wrote in pairs {
			["could not lock"] = { { locked = false }, { together = true, locked = false } },
			["held the same lock at the same time"] = { { locked = true }, { together = true, locked = true } },
			["never ran at the same time"] = { { locked = true }, { together = false, locked = false } },
		} do
			local names, found = check(place(wrote))
			assert.equal("directory, submission, tasks, runner, clock, lock fails", names)
			assert.is_truthy(found.lock.detail:find(name, 1, true), found.lock.detail)
		end
		local both = { { locked = true, version = "0" }, { together = true, locked = false } }
		assert.matches("runner fails, clock, lock$", (check(place(both))))
		both = { { locked = true }, { together = true, locked = false, version = "0" } }
		assert.matches("runner fails, clock, lock$", (check(place(both))))
		for _, off in ipairs { -60000, 60000 } do
			both = { { locked = true, at_ms = host.wall_ms() + off }, { together = true, locked = false } }
			assert.matches("runner, clock fails, lock$", (check(place(both))))
		end
	end)

	it("says how many tasks wrote, and why the others did not", function()
		for _, case in ipairs {
			{ tasks = { { state = "pending", reason = "Priority" }, { state = "pending" } }, says = "within 10ms (Priority)" },
			{ tasks = { { state = "ended", ended = "failed" }, { state = "ended" } }, says = "within 10ms: they ended (failed)" },
			{ tasks = {}, says = "within 10ms" },
		} do
			for index = 0, 2 do
				fs.remove_tree(dir)
				assert(fs.mkdir(dir))
				local about = { dir = dir, token = "t", wait_ms = 10 }
				local p = place { [index] = { locked = true } } -- (0 is no task)
				p.tasks = case.tasks
				local names, found = check(p, about)
				assert.equal("directory, submission, tasks fails", names)
				assert.equal(("%d of 2 tasks wrote into the directory %s"):format(index > 0 and 1 or 0, case.says), found.tasks.detail)
				assert.is_true(about.telling)
			end
		end
	end)

	it("has a private folder, which stays only where it tells more", function()
		for _, telling in ipairs { false, true } do
			local about, cancelled = probe.prepare { directory = dir }, nil
			assert.equal(448, fs.stat(about.dir).mode) -- 0700
			assert.equal("rn-" .. about.dir:match "[^/]+$", about.token)
			about.telling = telling
			probe.clean_up({ cancel = function(_, tokens) cancelled = tokens end }, about)
			assert.same({ about.token }, cancelled)
			assert.equal(telling, fs.stat(about.dir) ~= nil)
		end
	end)
end)
