-- sandbox: what a test holds, `t`: a directory of its own, calls of commands, fakes for what
-- they use, and assertions. One for each test; all of it is gone when the test has ended.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local values = require "runner.testkit.values"

local M = {}

---@class runner.Sandbox
---@field dir string a directory of the test, removed at its end
---@field root string of the project
---@field fake { run: function, http: function, only: function }
---@field cover? string root of the files whose lines are noted
---@field note_lines fun(lines: table<string, integer[]>)
---@field until_ms number host.now() when its time is over
---@field limit_ms integer
---@field programs table<string, runner.FakeProgram>
---@field servers runner.TestServer[]
---@field alone boolean no program of the machine can be reached by its name
---@field snapshots runner.Snapshots
local Sandbox = {}
Sandbox.__index = Sandbox

-- --- calls ----------------------------------------------------------------------------------------

---Call a command and wait for its answer.
function Sandbox:call(command, args, options)
	return require("runner.testkit.call").run(self, command, args, options)
end

---@return integer ms, at least 1
function Sandbox:left_ms()
	return math.max(math.floor(self.until_ms - host.now()), 1)
end

---@return string PATH of its calls
function Sandbox:path()
	local bin = self.dir .. "/bin"
	return self.alone and bin or bin .. ":" .. (os.getenv "PATH" or "/usr/bin:/bin")
end

-- --- files ------------------------------------------------------------------------------------------

---Write files below the test's directory.
---@param files table<string, string> path → text
---@return string dir
function Sandbox:files(files)
	for name, text in next, files do
		local path = self.dir .. "/" .. name
		local ok, why = fs.mkdirs(path:match "^(.*)/")
		if ok then
			ok, why = fs.write(path, text, nil, false)
		end
		if not ok then
			error(("files: %s"):format(why), 2)
		end
	end
	return self.dir
end

---The text of a file below the test's directory, nil where there is none.
---@param name string
---@return string?
function Sandbox:read(name)
	return (fs.read(self.dir .. "/" .. name))
end

-- --- fakes ----------------------------------------------------------------------------------------

local function fakes_of(sandbox)
	local fake = {}

	---A program of PATH that answers as given.
	function fake.run(name, answer)
		local program = sandbox.programs[name]
			or require("runner.testkit.fakes").program(name, sandbox.dir .. "/bin", sandbox.dir .. "/calls")
		sandbox.programs[name] = program
		program:add(answer)
		return program
	end

	---An HTTP server on the loopback that answers as given.
	function fake.http(answers)
		local server = require("runner.testkit.fakes").start(answers)
		sandbox.servers[#sandbox.servers + 1] = server
		return server
	end

	---From now on, PATH of the calls has nothing but fakes.
	function fake.only()
		sandbox.alone = true
	end

	return fake
end

-- --- assertions -------------------------------------------------------------------------------------

local function failed(message, note)
	error(note and ("%s: %s"):format(note, message) or message, 3)
end

---Both have the same in them.
function Sandbox:equal(got, wanted, note)
	local difference = values.difference(got, wanted)
	if difference then
		failed(difference, note)
	end
end

---A text has another one in it, or a list an item.
function Sandbox:contains(got, wanted, note)
	if type(got) == "string" then
		if not got:find(tostring(wanted), 1, true) then
			failed(("%s has no %s"):format(values.shown(got), values.shown(wanted)), note)
		end
		return
	end
	for _, item in ipairs(type(got) == "table" and got or {}) do
		if not values.difference(item, wanted) then
			return
		end
	end
	failed(("%s has no %s"):format(values.shown(got), values.shown(wanted)), note)
end

---The value is neither nil nor false.
function Sandbox:check(value, note)
	if not value then
		failed(note or "it does not hold")
	end
	return value
end

local function told(result)
	local e = result.error
	local said = result.stderr ~= "" and ", " .. values.shown(result.stderr) or ""
	return e and ("%s: %s"):format(e.code, e.message) or ("exit code %d%s"):format(result.exit_code, said)
end

---The call has succeeded.
---@return any data
function Sandbox:succeeds(result)
	if not result.ok then
		failed(("%s failed: %s"):format(result.command, told(result)))
	end
	return result.data
end

---The call has failed, with this code.
---@return table error
function Sandbox:fails(result, code)
	if result.ok then
		failed(("%s succeeded with %s"):format(result.command, values.shown(result.data)))
	elseif code and (result.error or {}).code ~= code then
		failed(("%s failed, not with %s but with %s"):format(result.command, code, told(result)))
	end
	return result.error
end

-- What of an answer is the same each time.
local function stable(value)
	if type(value) ~= "table" or not value.envelope then
		return value
	end
	return { ok = value.ok, data = value.data, error = value.error, exit_code = value.exit_code, warnings = json.array(value.warnings) }
end

---A text, a value or an answer is what the snapshot of that name holds.
function Sandbox:snapshot(value, name)
	local text, why = values.text(stable(value))
	if not text then
		failed("it can't be written: " .. tostring(why), "snapshot")
	end
	local problem = self.snapshots:compare(name, text:gsub(self.dir:gsub("%p", "%%%0"), "$DIR"):gsub(self.root:gsub("%p", "%%%0"), "$ROOT"))
	if problem then
		failed(problem)
	end
end

-- --- its life ------------------------------------------------------------------------------------------

local FOLDERS = { "bin", "calls", "home", "tmp", "state" }
local PRIVATE = 448 -- 0700

---@param options { dir: string, root: string, limit_ms: integer, cover?: string, note_lines: function, snapshots: runner.Snapshots }
---@return runner.Sandbox
function M.new(options)
	local self = setmetatable({ dir = options.dir, root = options.root, limit_ms = options.limit_ms, cover = options.cover,
		until_ms = host.now() + options.limit_ms, note_lines = options.note_lines, snapshots = options.snapshots,
		programs = {}, servers = {}, alone = false }, Sandbox)
	for _, name in ipairs(FOLDERS) do
		local ok, why = fs.mkdirs(self.dir .. "/" .. name, PRIVATE)
		if not ok then
			errors.raise("UNAVAILABLE", "The directory of a test can't be made: " .. why)
		end
	end
	self.fake = fakes_of(self)
	return self
end

---What a test may have left undone without noticing; nil: nothing.
---@param sandbox runner.Sandbox
---@return string?
function M.unfit(sandbox)
	for name, program in next, sandbox.programs do
		local call = program:unfit()
		if call then
			return ("fake.run: no answer fits the call: %s %s"):format(name, call)
		end
	end
	for _, server in ipairs(sandbox.servers) do
		if server.problem then
			return "fake.http: " .. server.problem
		end
	end
end

---End what it started, and remove its directory.
---@param sandbox runner.Sandbox
function M.close(sandbox)
	for _, server in ipairs(sandbox.servers) do
		server:close()
	end
	fs.remove_tree(sandbox.dir)
end

return M
