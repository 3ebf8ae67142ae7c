-- When the store commits: what is put off, what is committed together, and what a failure leaves.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local errors = require "runner.core.errors"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local store = require "runner.workflow.store.store"

local STEPS = { { key = "1" }, { key = "2" }, { key = "3" } }
local db, reader

-- The states that another connection sees.
local function committed()
	local states = {}
	for _, step in ipairs(reader:steps "r") do
		states[step.key] = step.state
	end
	return states
end

local function succeed(key)
	db:soon("end_attempt", "r", key, 1, { status = 0 }, { state = "completed", output = "done" })
end

-- No room for a large output, but for a small one.
local function limit_pages(more)
	local pages = db._database:row("PRAGMA page_count").page_count
	db._database:exec(("PRAGMA max_page_count = %d"):format(pages + more))
end

help.in_a_place(before_each, after_each, function(_, path)
	db = store.open { path = path }
	db:create { id = "r", workflow = "w", file = "/w.yaml" }
	db:start_attempt("r", STEPS[1], { number = 1 })
	reader = store.open { path = path, readonly = true }
end)

after_each(function()
	reader:close()
	db:close()
end)

describe("a write that is put off", function()
	it("is committed by the next one, in order", function()
		succeed "1"
		assert.same({ ["1"] = "running" }, committed())
		db:set_step("r", STEPS[2], "skipped")
		assert.same({ ["1"] = "completed", ["2"] = "skipped" }, committed())
		assert.equal("done", reader:steps "r"[1].output)
	end)

	it("is committed by flush, the start of an attempt by flush alone", function()
		succeed "1"
		db:soon("start_attempt", "r", STEPS[2], { number = 1 })
		db:soon("start_attempt", "r", STEPS[3], { number = 1 })
		db:set_run("r", { env_names = {} })
		assert.same({ ["1"] = "completed" }, committed())
		db:flush()
		assert.same({ ["1"] = "completed", ["2"] = "running", ["3"] = "running" }, committed())
		assert.equal(3, #reader:attempts "r")
	end)

	it("has the time at which it was put off", function()
		succeed "1"
		local ended = require("runner.host").wall_ms()
		require("runner.host").sleep(30)
		db:flush()
		assert.is_true(reader:steps "r"[1].ended_ms <= ended)
	end)

	it("is refused at once where it can't be stored", function()
		assert.has_error(function() db:soon("set_step", "r", STEPS[2], "done") end)
		assert.has_error(function() db:soon("set_step", "r", STEPS[2], "completed", { data = { print } }) end)
		db:flush()
		assert.same({ ["1"] = "running" }, committed())
	end)
end)

describe("a flush that fails", function()
	it("keeps what has happened for the next commit, and forgets what has not started", function()
		limit_pages(0)
		db:soon("end_attempt", "r", "1", 1, { status = 0 }, { state = "completed", output = ("x"):rep(100000) })
		db:soon("start_attempt", "r", STEPS[2], { number = 1 })
		local ok, e = pcall(db.flush, db)
		assert.is_false(ok)
		assert.equal("RESOURCE_EXHAUSTED", errors.is(e) and e.code)
		assert.same({ ["1"] = "running" }, committed())
		limit_pages(100)
		db:set_run("r", { state = "failed" })
		assert.same({ ["1"] = "completed" }, committed())
		db:flush()
		assert.same({ ["1"] = "completed" }, committed())
	end)
end)

describe("the database", function()
	it("grows by less than 400 bytes for an item of a loop that prints nothing", function()
		local paths = require "runner.core.paths"
		local function size()
			return db._database:row("PRAGMA page_count").page_count * 4096
		end
		local function items(from, to)
			for i = from, to do
				local key, run = ("loop[%d].1"):format(i), ("run_%026d"):format(1)
				db:soon("start_attempt", run, { key = key, kind = "shell", label = "true" },
					{ number = 1, round = 1, log = paths.log(run, key, 1) })
				db:flush()
				db:end_attempt(run, key, 1, { status = 0, log_at = i * 300 }, { state = "completed", output = "", spent_ms = 12 })
			end
		end
		db:create { id = ("run_%026d"):format(1), workflow = "loop", file = "/w.yaml" }
		db._database:exec "PRAGMA synchronous = OFF"
		items(1000, 1999)
		local first = size()
		items(2000, 2999)
		local second = size()
		items(3000, 3999)
		assert.is_true(second - first < 400000)
		assert.is_true(size() - second < 400000)
	end)

	it("is refused where a step is in no state that we know, though our own writes aren't checked", function()
		assert.is_true(db:integrity "r")
		db._database:exec "UPDATE steps SET state = 'odd' WHERE rowid = (SELECT min(rowid) FROM steps)"
		local ok, e = pcall(db.integrity, db, "r")
		assert.is_false(ok)
		assert.equal("PRECONDITION", e.code)
		assert.has_error(function() db:set_step("r", STEPS[2], "odd") end)
	end)

	it("has the offset of a log that shares its file", function()
		local paths = require "runner.core.paths"
		db:start_attempt("r", STEPS[2], { number = 1, log = paths.log("r", "2", 1) })
		db:end_attempt("r", "2", 1, { status = 0, log_at = 1234567 }, { state = "completed" })
		local row = db:attempts("r", "2")[1]
		assert.same({ paths.log_lines("r"), 1234567 }, { row.log, row.log_at })
		assert.equal("@1234567", db._database:row("SELECT log FROM attempts WHERE key = '2'").log)
	end)

	it("has no path of a log that is where it belongs, and the path of any other", function()
		local paths = require "runner.core.paths"
		local expected = paths.log("r", "2", 1)
		db:start_attempt("r", STEPS[2], { number = 1, log = expected })
		db:start_attempt("r", STEPS[3], { number = 1, log = "/elsewhere" })
		assert.equal(expected, db:attempts("r", "2")[1].log)
		assert.equal("/elsewhere", db:attempts("r", "3")[1].log)
		assert.is_nil(db:attempts("r", "1")[1].log)
		assert.equal("", db._database:row("SELECT log FROM attempts WHERE key = '2'").log)
	end)
end)
