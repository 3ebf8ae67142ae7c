-- The journal of a task: what it does when it is not the chunk's own any more.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local HERE = debug.getinfo(1, "S").source:match "^@(.*tests/lua/)"
local help = dofile(HERE .. "lib/workflow_help.lua")
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local journal = require "runner.workflow.store.journal"

local RUN = "run_01M7Z2W42BXW1ZB4RJTXYJAKFF"
local STEP = { key = "each[1].x", id = "x", kind = "shell", label = "x", position = 1 }

local path

help.in_a_place(before_each, after_each, function(dir)
	path = dir .. "/1.journal"
end)

-- The journal of a task of generation 1, and what the test changes: `generation` of the chunk, and
-- `behind`, called behind the look in front of the next line.
local function begun()
	local world = { generation = 1, dead = 0 }
	local db = assert(journal.open(path, { run = RUN, workflow = "flow", generation = 1, about = {},
		mine = function() return true end,
		on_dead = function() world.dead = world.dead + 1 end,
		check = function()
			if world.generation ~= 1 then
				errors.raise("CONFLICT", "placed again", { retryable = false })
			end
			local behind = world.behind
			world.behind = nil
			if behind then
				behind()
			end
		end,
	}))
	return db, world
end

local function raises_conflict(f, ...)
	local ok, e = pcall(f, ...)
	assert.is_false(ok)
	assert.equal("CONFLICT", e.code)
end

describe("a chunk that is placed again between a task's look and its line", function()
	local db, world

	before_each(function()
		db, world = begun()
		world.behind = function()
			world.generation = 2
		end
	end)

	it("has no start take effect: the line is there, and the task may not act on it", function()
		raises_conflict(db.set_step, db, RUN, STEP, "running", {})
		assert.truthy(fs.read(path):find('"set_step"', 1, true))
		assert.is_nil(db:step(RUN, STEP.key))
	end)

	it("has nothing that was put off take effect either", function()
		db:soon("set_step", RUN, STEP, "running", {})
		raises_conflict(db.flush, db)
		assert.is_nil(db:step(RUN, STEP.key))
	end)

	it("ends the task: it is told once, and writes no more", function()
		raises_conflict(db.set_step, db, RUN, STEP, "running", {})
		local bytes = fs.stat(path).size
		world.generation = 1 -- whatever it would see from now on
		raises_conflict(db.set_step, db, RUN, STEP, "completed", {})
		assert.equal(1, world.dead)
		assert.equal(bytes, fs.stat(path).size)
	end)
end)

describe("a chunk that was placed again before a task looks", function()
	it("gets no line of the task", function()
		local db, world = begun()
		local bytes = fs.stat(path).size
		world.generation = 2
		raises_conflict(db.set_step, db, RUN, STEP, "running", {})
		assert.equal(bytes, fs.stat(path).size)
		assert.is_nil(db:step(RUN, STEP.key))
	end)
end)

describe("a chunk that stays its task's", function()
	it("has what is written, for this task and for the next one", function()
		local db, world = begun()
		db:set_step(RUN, STEP, "running", {})
		assert.equal("running", db:step(RUN, STEP.key).state)
		assert.equal(0, world.dead)
		local said = {}
		journal.replay(path, { mine = function() return true end }, function(_, method)
			said[#said + 1] = method
		end)
		assert.same({ "begin", "set_step" }, said)
	end)
end)

describe("a line of an earlier task that was not there when its journal was read", function()
	it("ends the task in front of its own: it counts", function()
		begun()
		local behind = function()
			assert(fs.append(path, '[1,5,"item",1,{}]\n', 384))
		end
		raises_conflict(journal.open, path, { run = RUN, workflow = "flow", generation = 2, about = {}, mine = function() return true end,
			on_dead = function() end, check = behind })
	end)
end)

describe("what a chunk may say something of", function()
	it("is the steps of its own items", function()
		local mine = journal.keys_of { key = "each", loop = true, first = 3, count = 2 }
		for _, key in ipairs { "each[3].x", "each[4].x", "each[4].x.y[1].z" } do
			assert.is_true(mine(key), key)
		end
		for _, key in ipairs { "each[2].x", "each[5].x", "each", "each[3]", "each[3x].x", "each2[3].x", "else[3].x", "x.each[3].x", "" } do
			assert.is_false(mine(key), key)
		end
	end)
end)
