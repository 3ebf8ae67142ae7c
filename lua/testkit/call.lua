-- call: one call of a command by a test: the real program with its own supervisor, worker, limits and retries, in an
-- environment that the test's machine doesn't leak into. What waits for nothing but time doesn't wait: the call gets a clock
-- that such waits move on (src/engine/test_page.h). Beside it a person at its terminal, who waits for a text, types the
-- answer, and waits for the next one. Call it in a task (lua/task/scheduler.lua).

local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local tables = require "runner.core.tables"
local test_bed = require "runner.test_bed"
local values = require "runner.testkit.values"

local M = {}

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


return M
