-- sandbox: what a test holds, `t`: a directory of its own, calls of commands, fakes for what
-- they use, and assertions. One for each test; all of it is gone when the test has ended.

local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local tables = require "runner.core.tables"
local test_bed = require "runner.test_bed"
local values = require "runner.testkit.values"

local M = {}

-- One call of a command by a test: the real program with its own supervisor, worker, limits and retries, in an
-- environment that the test's machine doesn't leak into. What waits for nothing but time doesn't wait: the call gets a clock
-- that such waits move on (src/engine/test_page.h). Beside it a person at its terminal, who waits for a text, types the
-- answer, and waits for the next one. Call it in a task (lua/task/scheduler.lua).

local CAP = 18 << 20 -- bytes of stdout; a result has 16 MiB at most
local GRACE_MS = 10000
local OPTIONS = { terminal = "table", env = "table", cwd = "string", stdin = "string", real_time = "boolean" }
-- What a call keeps of our own environment.
local KEPT = { PATH = true, USER = true, LOGNAME = true, RUNNER_TRUST = true, RUNNER_LUA = true, ASAN_OPTIONS = true,
	UBSAN_OPTIONS = true, LD_LIBRARY_PATH = true }

---@class runner.TestOptions
---@field env? table<string, string|false> false: unset
---@field cwd? string default: the root of the project
---@field stdin? string
---@field real_time? boolean waits take their time
---@field terminal? string[][] what a person types: a text to wait for, and the answer

---@class runner.TestResult
---@field ok boolean
---@field exit_code integer
---@field data any of the envelope; nil for null
---@field error table? of the envelope
---@field warnings table
---@field meta table
---@field envelope table? nil: the command leaves stdout to others
---@field stdout string
---@field stderr string
---@field terminal? string what a person saw
---@field waited_ms integer time that the call did not wait in truth
---@field command string as it was called

-- --- a person at the terminal ----------------------------------------------------------

local POLLIN = 1
local SHOWN_MAX = 1 << 20 -- bytes that are kept

---@class runner.TestTerminal
---@field handle userdata of process.start
---@field script string[][]
---@field at integer the pair that is waited for
---@field from integer after the text of the pair before
---@field shown string
---@field closed boolean
local Terminal = {}
Terminal.__index = Terminal

---@param script string[][]
---@return runner.TestTerminal
local function open_terminal(script)
	for _, pair in ipairs(script) do
		if type(pair) ~= "table" or type(pair[1]) ~= "string" or type(pair[2]) ~= "string" then
			error('terminal: it is a list of pairs, a text to wait for and an answer: { { "Sure?", "yes" } }', 0)
		end
	end
	local handle, why = test_bed.terminal()
	if not handle then
		errors.raise("UNAVAILABLE", "There is no terminal for a test: " .. tostring(why))
	end
	return setmetatable({ handle = handle, script = script, at = 1, from = 1, shown = "", closed = false }, Terminal)
end

-- Type whatever is due.
function Terminal:answer()
	local pair = self.script[self.at]
	local _, last = self.shown:find(pair and pair[1] or "", self.from, true)
	if pair and last then
		self.at, self.from = self.at + 1, last + 1
		self.handle:write(pair[2] .. "\n")
		return self:answer()
	end
end

-- All that is there now; false: there will be no more.
function Terminal:read()
	while true do
		local some, why = self.handle:read()
		if some == "" or not some and why ~= "wait" then
			return false
		elseif not some then
			return true
		end
		self.shown = (self.shown .. some):sub(1, SHOWN_MAX)
		self:answer()
	end
end

---The call runs: it has its end of the terminal.
function Terminal:start()
	self.handle:started()
	scheduler.spawn(function()
		while not self.closed and self:read() do
			scheduler.ready(self.handle:fd(), POLLIN)
		end
	end)
end

---The call is over: what was shown. Raises where a text never came.
---@return string
function Terminal:finish()
	self:read()
	local pair = self.script[self.at]
	if pair then
		error(("the terminal never showed '%s', but %s"):format(pair[1], values.shown(self.shown:sub(self.from))), 0)
	end
	return (self.shown:gsub("\r\n", "\n"))
end

function Terminal:__close()
	self.closed = true
	scheduler.forget(self.handle:fd(), POLLIN)
	self.handle:close()
end

-- --- the words ------------------------------------------------------------------------------------

local function text_of(value)
	return type(value) == "table" and assert(json.encode(value)) or tostring(value)
end

local function words_of(command, args)
	local words = {}
	if type(command) == "table" then
		table.move(command, 1, #command, 1, words)
	else
		words = command_line.split(tostring(command)) or words
	end
	if not words[1] then
		error('call: it needs the name of a command: t:call("deploy", { target = "prod" })', 4)
	end
	return invoke.words(words, args or {}, text_of)
end

-- --- the environment --------------------------------------------------------------------------------

---The environment of a call: nothing of ours but PATH and what the build needs.
---@param sandbox runner.Sandbox
---@param given? table<string, string|false>
---@return string[] as process.start takes it
local function environment(sandbox, given)
	local set = { HOME = sandbox.dir .. "/home", TMPDIR = sandbox.dir .. "/tmp", LC_ALL = "C.UTF-8", TZ = "UTC", PATH = sandbox:path() }
	for _, name in ipairs { "STATE", "CONFIG", "CACHE", "DATA" } do
		set["XDG_" .. name .. "_HOME"] = sandbox.dir .. "/" .. name:lower()
	end
	tables.add(set, given)
	local env = {}
	for _, name in ipairs(test_bed.variables()) do
		if set[name] == nil and not KEPT[name] then
			env[#env + 1] = name
		end
	end
	for name, value in next, set do
		env[#env + 1] = value and ("%s=%s"):format(name, value) or name
	end
	return env
end

-- --- the answer -------------------------------------------------------------------------------------

-- The envelope: on stdout, or where a command leaves that to others, the last line of stderr.
local function envelope_of(result)
	local envelope = invoke.envelope(result)
	local line = not envelope and result.status ~= 0 and result.stderr:match "([^\n]+)\n*$"
	return envelope or line and line:sub(1, 1) == "{" and invoke.envelope { stdout = line, status = result.status } or nil
end

local function result_of(result, words, page)
	local envelope = envelope_of(result)
	local shown = envelope or { ok = result.status == 0, warnings = json.array {}, meta = {} }
	return {
		ok = shown.ok, exit_code = result.status, signal = result.signal, data = invoke.value(shown.data), error = invoke.value(shown.error),
		warnings = shown.warnings, meta = shown.meta, envelope = envelope, stdout = result.stdout, stderr = result.stderr,
		waited_ms = page and page:waited_ms() or 0, command = values.cut(table.concat(words, " ")),
	}
end

local function check_options(options)
	for key, value in next, options do
		if OPTIONS[key] ~= type(value) then
			error(("call: the options are env, cwd, stdin, terminal and real_time, not %s = %s"):format(tostring(key), tostring(value)), 4)
		end
	end
end

-- --- the call --------------------------------------------------------------------------

---Make a call and wait for its end.
---@param sandbox runner.Sandbox
---@param command string|string[] "db migrate"; or the words of a command line, with the command's name first
---@param args? table values by name, or a list of words
---@param options? runner.TestOptions
---@return runner.TestResult
function M.run(sandbox, command, args, options)
	options = options or {}
	check_options(options)
	local words = words_of(command, args)
	local page <close> = not options.real_time and assert(test_bed.page(sandbox.cover or "")) or nil
	local argv = table.move(words, 1, #words, 2, { invoke.program() })
	local spec = { argv = argv, env = environment(sandbox, options.env), cwd = options.cwd or sandbox.root,
		stdin = options.stdin, reread_stdin = options.stdin ~= nil, cap = CAP, grace_ms = GRACE_MS, timeout_ms = sandbox:left_ms(), page = page }
	local terminal <close> = options.terminal and open_terminal(options.terminal) or nil
	if terminal then
		spec.terminal, spec.on_start = terminal.handle, function() terminal:start() end
	end
	local result = scheduler.process(spec)
	if result.error then
		error(invoke.lost(command_line.typed(words[1]), result), 0)
	elseif result.timed_out then
		error(("%s did not end within the time limit of the test, %g s"):format(values.cut(table.concat(words, " ")), sandbox.limit_ms / 1000), 0)
	end
	if page and sandbox.cover then
		sandbox.note_lines(page:lines())
	end
	local answer = result_of(result, words, page)
	answer.terminal = terminal and terminal:finish()
	return answer
end

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
	return M.run(self, command, args, options)
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
