-- The log file of an attempt: where it is, who may read it, and what comes back.

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
		host.setenv("HOME", "/home/ada")
		assert.are.equal("/home/ada/.local/state/runner/logs/r/1-1.json", logs.path("r", "1", 1))
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
		logs.write(path, record)
		assert.are.same(record, logs.read(path))
		logs.write(path, { attempt = 2 })
		assert.are.same({ attempt = 2 }, logs.read(path))
		assert.are.same({ "1-1.json" }, fs.list(path:match "^(.*)/"))
	end)

	it("are for their owner alone", function()
		local path = logs.path("r", "1", 1)
		logs.write(path, {})
		assert.are.equal(384, fs.stat(path).mode & 511)
		assert.are.equal(448, fs.stat((path:match "^(.*)/")).mode & 511)
	end)

	it("keep output that is no valid UTF-8 readable", function()
		local path = logs.path("r", "1", 1)
		logs.write(path, { stdout = "a\xff\0b" })
		assert.matches("^a.+b$", logs.read(path).stdout)
	end)

	it("say why they can't be written or read", function()
		local path = logs.path("r", "1", 1)
		local record, _, errno = logs.read(path)
		assert.is_nil(record)
		assert.are.equal("ENOENT", errno)
		assert(fs.write(dir .. "/runner", "a file in the way"))
		local ok, message
		ok, message, errno = logs.write(path, {})
		assert.is_nil(ok)
		assert.matches("runner", message)
		assert.are.equal("EEXIST", errno)
		assert(fs.write(dir .. "/broken.json", "{"))
		record, message = logs.read(dir .. "/broken.json")
		assert.is_nil(record)
		assert.matches("damaged", message)
		assert.is_nil((logs.write(dir .. "/x.json", { f = print })))
	end)
end)
