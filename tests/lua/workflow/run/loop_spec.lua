-- Items and results of loops: however many there are, they take little memory.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local loop = require "runner.workflow.run.loop"
local large_value = require "runner.workflow.expr.large_value"
local host = require "runner.host"
local outputs = require "runner.workflow.run.outputs"
local scheduler = require "runner.task.scheduler"

local COUNT = 100000
local SHORT = 20000 -- as many as are not too many for memory

-- KiB in use, at the most, while f runs and calls its argument now and then.
local function peak_of(f)
	collectgarbage()
	local before, most = collectgarbage "count", 0
	f(function()
		collectgarbage()
		most = math.max(most, collectgarbage "count")
	end)
	return most - before
end

local function gathered()
	return loop.gather({ id = "run_1", mask = function(v) return v end }, "each", function(i)
		return { item = i }
	end)
end

describe("the items of a loop", function()
	local path

	before_each(function()
		path = os.tmpname()
		local file <close> = assert(io.open(path, "w"))
		for i = 1, COUNT do
			file:write("item number ", i, "\n")
		end
	end)

	after_each(function()
		os.remove(path)
	end)

	local function of(step, stored)
		return loop.items(step, {}, { cwd = "/", stored = stored })
	end

	it("are none where none was chosen, and the process that goes on knows of how many", function()
		local step = { items = { "a", "b" }, where = { ast = require("runner.workflow.expr.condition").parse "item == 'c'" } }
		local first = of(step)
		local again = of(step, json.decode(codec.encode("data", first.stored)))
		for _, source in ipairs { first, again } do
			assert.same({ 2, 0 }, { source.none_of, source.total })
			assert.is_nil(source.next())
		end
	end)

	it("are all the lines of a file, in order, of which few are in memory", function()
		local count = 0
		assert.is_true(peak_of(function(look)
			local source = of { items_file = path }
			for item in source.next do
				count = count + 1
				if count % 20000 == 0 then
					assert.equal("item number " .. count, item)
					look()
				end
			end
		end) < 1024)
		assert.equal(COUNT, count)
	end)

	it("survive a resume by a description of a few bytes", function()
		local stored = of({ items_file = path }).stored
		assert.same({ "bytes", "digest", "file" }, require("runner.core.tables").sorted_keys(stored))
		assert.equal("item number 1", of({}, stored).next())
		local file <close> = assert(io.open(path, "r+b"))
		file:write "X"
		file:flush()
		local ok, e = pcall(of, {}, stored)
		assert.is_false(ok)
		assert.equal("CONFLICT", e.code)
	end)

	it("are refused where a line is longer than a megabyte, or the path is no file", function()
		assert(fs.write(path, ("x"):rep(1 << 21)))
		local ok, e = pcall(of({ items_file = path }).next)
		assert.is_false(ok)
		assert.matches("longer than 1 MiB", e.message)
		ok, e = pcall(of, { items_file = "/" })
		assert.is_false(ok)
		assert.matches("not a regular file", e.message)
	end)
end)

describe("the tasks of a loop", function()
	it("are made as they are needed, and leave nothing behind", function()
		local made, ended, most = 0, 0, 0
		assert.is_true(peak_of(function(look)
			scheduler.run(function()
				scheduler.each(function()
					made = made + 1
					most = math.max(most, made - ended)
					return made <= COUNT and function() return made end or nil
				end, 4, function()
					ended = ended + 1
					if ended % 25000 == 0 then
						look()
					end
				end)
			end)
		end) < 1024)
		assert.same({ COUNT, true }, { ended, most <= 5 })
	end)

	it("stop after a failure, and what their maker or taker raises is raised once all have ended", function()
		local function each(next_task, on_result)
			return scheduler.run(function()
				return scheduler.each(next_task, 2, on_result or function() end)
			end)
		end
		local made = 0
		assert.is_true(each(function()
			made = made + 1
			return function() error("no", 0) end
		end) < 4)
		assert.has_error(function() each(function() error("made", 0) end) end)
		local ended = 0
		local ok, e = pcall(each, function()
			return function() scheduler.sleep(1) end
		end, function()
			ended = ended + 1
			error("taken", 0)
		end)
		assert.is_false(ok)
		assert.matches("taken", e.message)
		assert.equal(2, ended)
	end)
end)

describe("the results of a loop", function()
	local dir, state

	before_each(function()
		dir, state = os.tmpname(), os.getenv "XDG_STATE_HOME"
		os.remove(dir)
		host.setenv("XDG_STATE_HOME", dir)
	end)

	after_each(function()
		fs.remove_tree(dir)
		host.setenv("XDG_STATE_HOME", state)
	end)

	local function ignore() end

	it("stay in memory while they are short", function()
		local all = gathered()
		local take = all.in_order(ignore)
		take(2, { ok = true, value = { output = "b", data = { 1 } } })
		take(1, { ok = true, value = { output = "a" } })
		take(3, { ok = false, error = errors.new("NOT_FOUND", "no") })
		local outcome = all.finish()
		assert.equal("a\nb", outcome.output)
		assert.same({ 1, 3, 3 }, { outcome.passed_over.failed, outcome.passed_over.total, outcome.passed_over.first.i })
		assert.same({ { ok = true, item = 1, output = "a" }, { ok = true, item = 2, output = "b", data = { 1 } },
			{ ok = false, item = 3, error = { code = "NOT_FOUND", message = "no" } } },
			large_value.value(outputs.result({ id = "run_1", usage = { sessions = {} } }, "each", outcome, true).data))
		assert.is_nil(fs.stat(dir))
	end)

	it("are not decoded before somebody reads their data, and then once", function()
		local run, given = { id = "run_1", usage = { sessions = {} } }, nil
		assert.is_true(peak_of(function(look)
			local all = gathered()
			local take = all.in_order(ignore)
			for i = 1, SHORT do
				take(i, { ok = true, value = { output = "line " .. i } })
			end
			given = outputs.result(run, "each", all.finish(), true)
			look()
		end) < 4096)
		assert.is_nil(fs.stat(dir))
		local rows = large_value.value(given.data)
		assert.same({ SHORT, "line 777" }, { #rows, rows[777].output })
		assert.equal(rows, large_value.value(given.data))
	end)

	it("go to files when there are many, and take little memory", function()
		local outcome
		assert.is_true(peak_of(function(look)
			local all = gathered()
			local take = all.in_order(ignore)
			for i = 1, COUNT do
				take(i, { ok = true, value = { output = "this is line " .. i } })
				if i % 20000 == 0 then
					look()
				end
			end
			outcome = all.finish()
		end) < 4096)
		assert.equal(4096, #outcome.output)
		local _, lines = assert(fs.read(dir .. "/runner/outputs/run_1/" .. outcome.held.output.file)):gsub("\n", "")
		assert.equal(COUNT - 1, lines)
		local rows = require("runner.json").decode(assert(fs.read(dir .. "/runner/outputs/run_1/" .. outcome.held.data.file)))
		assert.same({ COUNT, "this is line 777" }, { #rows, rows[777].output })
	end)
end)
