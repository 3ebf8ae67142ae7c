-- session: all tests of some files, several files at a time, and what became of them. The tests of
-- a file run one after another, in its order.

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

return M
