-- session: all tests of some files, several files at a time, and what became of them. The tests of
-- a file run one after another, in its order. What they declare, and the texts that they compare with, are kept here too.

local errors = require "runner.core.errors"
local paths = require "runner.core.paths"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local sandbox = require "runner.testkit.sandbox"

local M = {}

-- Texts that a test compares with what an earlier run has written, in
-- tests/snapshots/FILE/NAME.txt. Only `runner test --update` writes them.

local LINES_SHOWN = 3
local NAME_MAX = 120 -- bytes

---@class runner.Snapshots
---@field folder string
---@field update boolean
---@field written integer
---@field test? string the test that runs
---@field count integer of those without a name in this test
local Snapshots = {}
Snapshots.__index = Snapshots

---@param folder string
---@param update boolean
---@return runner.Snapshots
function M.new(folder, update)
	return setmetatable({ folder = folder, update = update, written = 0, count = 0 }, Snapshots)
end

---@param test string the name of the test that begins
function Snapshots:begin(test)
	self.test, self.count = test, 0
end

local function lines_of(text)
	local lines = {}
	for line in (text .. "\n"):gmatch "(.-)\n" do
		lines[#lines + 1] = line
	end
	return lines
end

-- The first lines that differ.
local function difference(got, wanted)
	local a, b, out = lines_of(got), lines_of(wanted), {}
	for i = 1, math.max(#a, #b) do
		if a[i] ~= b[i] and #out < 2 * LINES_SHOWN then
			out[#out + 1] = b[i] and ("  line %d, wanted: %s"):format(i, b[i]) or nil
			out[#out + 1] = a[i] and ("  line %d, got:    %s"):format(i, a[i]) or nil
		end
	end
	return table.concat(out, "\n")
end

function Snapshots:write(path, text)
	local ok, why = fs.mkdirs(path:match "^(.*)/")
	if ok then
		ok, why = fs.write(path, text, nil, false)
	end
	self.written = self.written + (ok and 1 or 0)
	return not ok and "the snapshot can't be written: " .. why or nil
end

---Compare a text with its snapshot, or write that.
---@param name? string default: the name of the test, and a number from the second one on
---@param text string
---@return string? problem
function Snapshots:compare(name, text)
	if not name then
		self.count = self.count + 1
		name = self.test .. (self.count > 1 and " " .. self.count or "")
	end
	local path = ("%s/%s.txt"):format(self.folder, paths.file_name((name:gsub("[^%w._-]+", "-")), NAME_MAX))
	local wanted = fs.read(path)
	if wanted == text then
		return nil
	elseif self.update then
		return self:write(path, text)
	elseif not wanted then
		return ("there is no snapshot '%s' yet: write it with runner test --update"):format(name)
	end
	return ("it is not the snapshot '%s' any more (runner test --update writes it anew)\n%s"):format(name, difference(text, wanted))
end

---@class runner.TestOutcome
---@field file string
---@field name string
---@field ok boolean
---@field duration_ms integer
---@field line? integer of the assertion that failed, in `file`
---@field message? string
---@field detail? string

---@class runner.SessionOptions
---@field root string of the project
---@field dir string for the directories of the tests
---@field filter? string
---@field at_once integer
---@field limit_ms integer for each test
---@field cover? string root of the files whose lines are noted
---@field update boolean
---@field on_end fun(outcome: runner.TestOutcome)

-- --- one test ------------------------------------------------------------------------------------

-- "…/tests/a_test.lua:12: message" → 12, message
local function placed(text, path)
	local at = "^" .. path:gsub("%p", "%%%0") .. ":(%d+): "
	local line = text:match(at)
	return tonumber(line), line and text:gsub(at, "", 1) or text
end

local function failure(raised, file)
	local e = errors.normalise(raised.value, raised.traceback)
	local line, message = placed(type(raised.value) == "string" and raised.value or e.message, file.path)
	return line, message, e.detail
end

-- A test waits in its own coroutine, so that it is not host.protect that catches what it raises; a
-- cancellation raises again at once.
local function run_body(file, test, t)
	local ok, raised = xpcall(test.fn, function(value)
		return { value = value, traceback = debug.traceback(nil, 2) }
	end, t)
	if not ok then
		return failure(raised, file)
	end
	return nil, sandbox.unfit(t)
end

---@param file runner.TestFile
---@param test runner.TestCase
---@param t runner.Sandbox
---@return runner.TestOutcome
local function run_test(file, test, t)
	local started = host.now()
	t.snapshots:begin(test.name)
	local line, message, detail = run_body(file, test, t)
	sandbox.close(t)
	return { file = file.shown, name = test.name, ok = message == nil, duration_ms = math.floor(host.now() - started), message = message,
		line = message and (line or test.line) or nil, detail = detail }
end

-- --- one file ------------------------------------------------------------------------------------

local function fits(test, filter)
	return not filter or test.name:find(filter, 1, true) ~= nil
end

local function note_lines_in(session)
	return function(files)
		for path, lines in next, files do
			session.lines[path] = session.lines[path] or {}
			for _, line in ipairs(lines) do
				session.lines[path][line] = true
			end
		end
	end
end

local function run_file(session, options, file)
	if file.problem then
		session.add { file = file.shown, name = "loads", ok = false, duration_ms = 0, message = file.problem }
		return
	end
	local own = M.new(file.path:match "^(.*)/" .. "/snapshots/" .. file.name, options.update)
	for _, test in ipairs(file.tests) do
		if fits(test, options.filter) then
			session.number = session.number + 1
			session.add(run_test(file, test, sandbox.new { dir = ("%s/%d"):format(options.dir, session.number), root = options.root,
				limit_ms = options.limit_ms, cover = options.cover, note_lines = note_lines_in(session), snapshots = own }))
		end
	end
	session.written = session.written + own.written
end

-- --- all of them -----------------------------------------------------------------------------------

local function in_order(files, outcomes)
	local list = json.array {}
	for _, file in ipairs(files) do
		table.move(outcomes[file.shown] or {}, 1, #(outcomes[file.shown] or {}), #list + 1, list)
	end
	return list
end

---Run the tests of files that are loaded.
---@param files runner.TestFile[]
---@param options runner.SessionOptions
---@return { tests: runner.TestOutcome[], lines: table<string, table<integer, true>>, written: integer }
function M.run(files, options)
	local outcomes = {}
	local session = { number = 0, lines = {}, written = 0 }
	function session.add(outcome)
		outcomes[outcome.file] = outcomes[outcome.file] or {}
		table.insert(outcomes[outcome.file], outcome)
		options.on_end(outcome)
	end
	scheduler.run(function()
		local jobs = {}
		for i, file in ipairs(files) do
			jobs[i] = function() run_file(session, options, file) end
		end
		for _, result in ipairs(scheduler.all(jobs, options.at_once, { keep_going = true })) do
			if not result.ok then
				error(result.error, 0)
			end
		end
	end)
	return { tests = in_order(files, outcomes), lines = session.lines, written = session.written }
end

-- The test files of a project, and the tests that each declares. `require "test"` in a
-- test file is a function, test(name, fn); loading the file only notes them.

local SUFFIX = "_test.lua"
local MAX_DEPTH = 8

---@class runner.TestCase
---@field name string
---@field fn function
---@field line integer

---@class runner.TestFile
---@field path string absolute
---@field shown string as it is named to people, relative to the project
---@field name string without its folder and "_test.lua"
---@field tests runner.TestCase[] in the order of the file
---@field problem? string why it can't be loaded

-- --- which files ------------------------------------------------------------------------------

local function add_folder(dir, out, depth)
	local names = depth <= MAX_DEPTH and fs.list(dir) or {}
	for _, name in ipairs(names) do
		local path = dir .. "/" .. name
		local kind = (fs.lstat(path) or {}).type
		if kind == "directory" and name:sub(1, 1) ~= "." then
			add_folder(path, out, depth + 1)
		elseif kind == "file" and name:sub(-#SUFFIX) == SUFFIX then
			out[#out + 1] = path
		end
	end
end

---The test files below tests/ of a project, sorted.
---@param root string
---@return string[]
function M.find(root)
	local out = {}
	add_folder(root .. "/tests", out, 1)
	table.sort(out)
	return out
end

-- --- what a file declares -----------------------------------------------------------------------

local declaring -- the tests of the file that is being loaded

local function declare(name, fn)
	if not declaring then
		error("test: declare tests while the file loads, not inside of another test", 3)
	elseif type(name) ~= "string" or name == "" or type(fn) ~= "function" then
		error('test: it takes a name and a function: test("greets by name", function(t) … end)', 3)
	end
	for _, other in ipairs(declaring) do
		if other.name == name then
			error(("test: there is another test of the name '%s'"):format(name), 3)
		end
	end
	declaring[#declaring + 1] = { name = name, fn = fn, line = debug.getinfo(3, "l").currentline }
end

local function module()
	return function(name, fn)
		declare(name, fn)
	end
end

-- Each file has globals of its own, on top of those of all; code of lib/ is found as commands find it.
local function environment(root)
	local globals = load "return _G"()
	local lib = root .. "/lib/?.lua;" .. root .. "/lib/?/init.lua;"
	globals.package.preload.test = module
	if globals.package.path:sub(1, #lib) ~= lib then
		globals.package.path = lib .. globals.package.path
	end
	return setmetatable({}, { __index = globals })
end

local function run_chunk(chunk)
	local ok, raised, traceback, cancelled = host.protect(chunk)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return errors.normalise(raised, traceback).message
	end
end

---Load a test file. It is trusted as a command file is (docs/design.md#trusted-files): else it isn't run.
---@param path string absolute
---@param root string of the project
---@return runner.TestFile
function M.load(path, root)
	local shown = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2) or path
	local file = { path = path, shown = shown, name = path:match "([^/]+)$":gsub("_?test%.lua$", ""):gsub("%.lua$", ""), tests = {} }
	local text, why = host.source(path)
	if not text then
		file.problem = ("Can't load it: %s"):format(why)
		return file
	end
	local chunk, message = load(text:gsub("^#[^\n]*", ""), "@" .. path, "t", environment(root))
	declaring = file.tests
	file.problem = chunk and run_chunk(chunk) or message
	declaring = nil
	if not file.problem and not file.tests[1] then
		file.problem = 'It declares no test: write test("name", function(t) … end)'
	end
	return file
end

return M
