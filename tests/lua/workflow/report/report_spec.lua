-- What is told of a run while another process changes it: between any two steps of the
-- telling, of which each is a call of SQLite or a look at the lock.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local fs = require "runner.fs"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local json = require "runner.json"
local report = require "runner.workflow.report.report"
local sqlite = require "runner.sqlite"
local store = require "runner.workflow.store.store"

local STEP = { key = "1", id = "a", kind = "shell", label = "x" }

local dir, path

help.in_a_place(before_each, after_each, function(d, p)
	dir, path = d, p
end)

-- A run that its owner is at; in its hands.
local function begun(db)
	local lock = db:own "r"
	db:create { id = "r", workflow = "w", variables = {}, env_names = json.array {}, seed = 1 }
	db:start_attempt("r", STEP, {})
	return lock
end

local function complete(db, lock)
	db:end_attempt("r", "1", 1, { status = 0 }, { state = "completed" })
	db:set_run("r", { state = "completed" })
	lock:release()
end

local function fail(db, lock)
	db:end_attempt("r", "1", 1, { status = 1, code = "SUBPROCESS_FAILED" }, { state = "failed" })
	db:set_run("r", { state = "failed", code = "SUBPROCESS_FAILED", failed_step = "1", retryable = true })
	lock:release()
end

local function resume(db)
	local lock = db:own "r"
	db:set_run("r", { state = "running", resumes = 1 })
	db:start_attempt("r", STEP, { round = 2 })
	return lock
end

-- Calls read(db) for each step of it again, with act(writer) of another in front of that
-- step, and judge(what it gave) behind. `prepare` makes the run.
local function between_any_two(prepare, act, read, judge)
	local sqlite_open, locked = sqlite.open, fs.locked
	local at, steps = 0
	repeat
		fs.remove_tree(dir .. "/state")
		local writer = store.open { path = path }
		local made = prepare(writer)
		steps, at = 0, at + 1
		local function step()
			steps = steps + 1
			if steps == at then
				sqlite.open, fs.locked = sqlite_open, locked
				act(writer, made)
			end
		end
		sqlite.open = function(...)
			local conn = assert(sqlite_open(...))
			return setmetatable({}, { __index = function(_, method)
				return function(_, ...)
					step()
					return conn[method](conn, ...)
				end
			end })
		end
		fs.locked = function(...)
			step()
			return locked(...)
		end
		local db = store.open { path = path, readonly = true }
		local ok, told = pcall(read, db)
		sqlite.open, fs.locked = sqlite_open, locked
		db:close()
		writer:close()
		assert(ok, told)
		judge(told, at)
	until steps < at
	assert.is_true(at > 3, "steps: " .. at)
end

local function listed(db)
	return report.summary(report.settled(db, db:list {}[1]))
end

local function shown(db)
	return report.full(db, "r")
end

describe("a run", function()
	for name, read in pairs { listed = listed, shown = shown } do
		it("that ends while it is " .. name .. " was never interrupted", function()
			between_any_two(begun, complete, read, function(told, at)
				assert.are.equal(told.ended and "completed" or "running", told.state, "at step " .. at)
			end)
		end)

		it("that is resumed while it is " .. name .. " has failed, or runs", function()
			between_any_two(function(db)
				fail(db, begun(db))
			end, resume, read, function(told, at)
				assert.are.equal(told.code and "failed" or "running", told.state, "at step " .. at)
			end)
		end)
	end

	it("is shown with the steps of its state", function()
		between_any_two(function(db)
			fail(db, begun(db))
		end, resume, shown, function(told, at)
			assert.are.equal(told.state, told.steps[1].state, "at step " .. at)
		end)
	end)

	it("whose runner died is interrupted, also if another has resumed it and died as well", function()
		local function die(db)
			resume(db):release()
		end
		for _, read in ipairs { listed, shown } do
			between_any_two(function(db)
				begun(db):release()
			end, die, read, function(told, at)
				assert.are.equal("interrupted", told.state, "at step " .. at)
			end)
		end
	end)
end)
