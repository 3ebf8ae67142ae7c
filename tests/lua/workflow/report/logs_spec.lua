-- The log of an attempt: where it is, who may read it, and what comes back.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"

local dir, state, home

local function code_of(call, ...)
	local ok, e = pcall(call, ...)
	assert.is_false(ok)
	return e.code, e.message
end

describe("logs", function()
	before_each(function()
		state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir, 448))
		host.setenv("XDG_STATE_HOME", dir)
	end)

	after_each(function()
		host.setenv("XDG_STATE_HOME", state)
		host.setenv("HOME", home)
		fs.remove_tree(dir)
	end)

	it("are in the state directory, by run, step and attempt", function()
		assert.are.equal(dir .. "/runner/logs/01RUN/3.on_failure.1-2.json", logs.path("01RUN", "3.on_failure.1", 2))
		host.setenv("XDG_STATE_HOME", "relative/is/not/used")
		host.setenv("HOME", dir)
		assert.are.equal(dir .. "/.local/state/runner/logs/r/1-1.json", logs.path("r", "1", 1))
		host.setenv("HOME", nil)
		assert.are.equal("PRECONDITION", (code_of(logs.path, "r", "1", 1)))
	end)

	it("can't leave their folder, whatever a step is called", function()
		assert.are.equal(dir .. "/runner/logs/r/%2E.%2Fx%20y-1.json", logs.path("r", "../x y", 1))
		local long = logs.path("r", ("k"):rep(500), 1)
		assert.is_true(#long:match "[^/]+$" < 255)
		assert.are_not.equal(long, logs.path("r", ("k"):rep(501), 1))
	end)

	it("come back as they were written", function()
		local path = logs.path("r", "1", 1)
		local record = { attempt = 1, stdout = "a\nb", nested = { list = json.array {} }, null = json.null }
		logs.write("r", path, record)
		assert.are.same(record, logs.read(path))
		logs.write("r", path, { attempt = 2 })
		assert.are.same({ attempt = 2 }, logs.read(path))
		assert.are.same({ "1-1.json" }, fs.list(path:match "^(.*)/"))
	end)

	-- As the store gives it, for an attempt whose record was just written.
	local function row_of(record, succeeded)
		local own = logs.path("r", record.step, record.number)
		local path, at = logs.write("r", own, record, succeeded)
		return { key = record.step, number = record.number, log = path, log_at = at, status = 0 }
	end

	it("of short successes share a file, and each is found by its offset", function()
		local rows, records = {}, {}
		for i, step in ipairs { "1", 'a "quoted"\nname', "3" } do
			records[i] = { step = step, number = i, stdout = ("x"):rep(i * 5000) }
			rows[i] = row_of(records[i], true)
		end
		assert.are.same({ "succeeded.jsonl" }, fs.list(dir .. "/runner/logs/r"))
		assert.are.equal(384, fs.stat(rows[1].log).mode & 511)
		for i, row in ipairs(rows) do
			assert.are.same(records[i], logs.of("r", row))
		end
	end)

	it("of failures and of long successes have files of their own", function()
		local long = { step = "long", number = 1, stdout = ("x"):rep(64 << 10) }
		local failed = { step = "failed", number = 2, code = "SUBPROCESS_FAILED" }
		assert.are.same(long, logs.of("r", row_of(long, true)))
		assert.are.same(failed, logs.of("r", row_of(failed, false)))
		assert.are.same({ "failed-2.json", "long-1.json" }, fs.list(dir .. "/runner/logs/r"))
	end)

	it("share a file up to the last byte that a line may have", function()
		local record = { number = 1, step = "1", stdout = "" }
		record.stdout = ("x"):rep((64 << 10) - #json.encode(record) - 1)
		local row = row_of(record, true)
		assert.are.equal(0, row.log_at)
		row_of({ step = "2", number = 1 }, true)
		assert.are.same(record, logs.of("r", row))
		record.stdout = record.stdout .. "x"
		assert.is_nil(row_of(record, true).log_at)
	end)

	it("that a power loss took are missing, and cost no other", function()
		local lost, path = row_of({ step = "lost", number = 1 }, true), dir .. "/runner/logs/r/succeeded.jsonl"
		for _, left in ipairs { "", '{"number":1,"st', "\0\0\0\0", ("x"):rep(200000) } do
			assert(fs.write(path, left))
			local _, message = logs.of("r", lost)
			assert.matches("no log of step lost, attempt 1", message)
			local kept = row_of({ step = "kept", number = 1 }, true)
			assert.are.same({ step = "kept", number = 1 }, logs.of("r", kept))
			assert.is_nil((logs.of("r", lost)))
		end
		assert(fs.unlink(path))
		assert.matches("damaged", (select(2, logs.of("r", lost))))
	end)

	it("of an attempt whose end was never committed is found by its step", function()
		row_of({ step = "other", number = 1, stdout = '"step":"cut"' }, true)
		row_of({ step = "cut", number = 2, stdout = "the second" }, true)
		row_of({ step = "cut", number = 1, stdout = "it was done" }, true)
		local row = { key = "cut", number = 1, log = logs.path("r", "cut", 1) }
		assert.are.equal("it was done", logs.of("r", row).stdout)
		row.status = 0 -- it was committed: its own file is only missing
		assert.is_nil((logs.of("r", row)))
		assert.is_nil((logs.of("r", { key = "cut", number = 3, log = logs.path("r", "cut", 3) })))
		assert.is_nil((logs.of("none", { key = "cut", number = 1, log = logs.path("none", "cut", 1) })))
	end)

	it("are found where the step's name was masked", function()
		local _, at = logs.write("r", "", { step = "***", number = 1, stdout = "x" }, true)
		local row = { key = "s3cret", number = 1, log = dir .. "/runner/logs/r/succeeded.jsonl", log_at = at }
		assert.are.equal("x", logs.of("r", row).stdout)
	end)

	it("are for their owner alone", function()
		local path = logs.path("r", "1", 1)
		logs.write("r", path, {})
		assert.are.equal(384, fs.stat(path).mode & 511)
		assert.are.equal(448, fs.stat((path:match "^(.*)/")).mode & 511)
	end)

	it("keep output that is no valid UTF-8 readable", function()
		local path = logs.path("r", "1", 1)
		logs.write("r", path, { stdout = "a\xff\0b" })
		assert.matches("^a.+b$", logs.read(path).stdout)
	end)

	it("say why they can't be written or read", function()
		local path = logs.path("r", "1", 1)
		local record, _, errno = logs.read(path)
		assert.is_nil(record)
		assert.are.equal("ENOENT", errno)
		assert(fs.write(dir .. "/runner", "a file in the way"))
		local ok, message
		ok, message, errno = logs.write("r", path, {})
		assert.is_nil(ok)
		assert.matches("runner", message)
		assert.are.equal("EEXIST", errno)
		assert(fs.write(dir .. "/broken.json", "{"))
		record, message = logs.read(dir .. "/broken.json")
		assert.is_nil(record)
		assert.matches("damaged", message)
		assert.is_nil((logs.write("r", dir .. "/x.json", { f = print })))
	end)
end)
