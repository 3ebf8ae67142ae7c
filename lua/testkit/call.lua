-- call: one call of a command by a test: the real program with its own supervisor, worker, limits
-- and retries, in an environment that the test's machine doesn't leak into. What waits for nothing
-- but time doesn't wait: the call gets a clock that such waits move on (src/engine/test_page.h).
-- Call it in a task (lua/task/scheduler.lua).

local command_name = require "runner.core.command_name"
local invoke = require "runner.invoke"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
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

-- --- the words ------------------------------------------------------------------------------------

local function text_of(value)
	return type(value) == "table" and assert(json.encode(value)) or tostring(value)
end

local function words_of(command, args)
	local words = {}
	if type(command) == "table" then
		table.move(command, 1, #command, 1, words)
	else
		for word in tostring(command):gmatch "%S+" do
			words[#words + 1] = word
		end
	end
	if not words[1] then
		error('call: it needs the name of a command: t:call("deploy", { target = "prod" })', 4)
	end
	return invoke.words(words, args or {}, text_of)
end

-- --- the environment --------------------------------------------------------------------------------

---The environment of a call: nothing of ours but PATH and what the build needs.
---@param bed runner.Bed
---@param given? table<string, string|false>
---@return string[] as process.start takes it
local function environment(bed, given)
	local set = { HOME = bed.dir .. "/home", TMPDIR = bed.dir .. "/tmp", LC_ALL = "C.UTF-8", TZ = "UTC", PATH = bed:path() }
	for _, name in ipairs { "STATE", "CONFIG", "CACHE", "DATA" } do
		set["XDG_" .. name .. "_HOME"] = bed.dir .. "/" .. name:lower()
	end
	for name, value in next, given or {} do
		set[name] = value
	end
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

---Make a call and wait for its end.
---@param bed runner.Bed
---@param command string|string[] "db migrate"; or the words of a command line, with the command's name first
---@param args? table values by name, or a list of words
---@param options? runner.TestOptions
---@return runner.TestResult
function M.run(bed, command, args, options)
	options = options or {}
	check_options(options)
	local words = words_of(command, args)
	local page <close> = not options.real_time and assert(test_bed.page(bed.cover or "")) or nil
	local argv = table.move(words, 1, #words, 2, { invoke.program() })
	local spec = { argv = argv, env = environment(bed, options.env), cwd = options.cwd or bed.root,
		stdin = options.stdin, reread_stdin = options.stdin ~= nil, cap = CAP, grace_ms = GRACE_MS, timeout_ms = bed:left_ms(), page = page }
	local terminal <close> = options.terminal and require("runner.testkit.terminal").open(options.terminal) or nil
	if terminal then
		spec.terminal, spec.on_start = terminal.handle, function() terminal:start() end
	end
	local result = scheduler.process(spec)
	if result.error then
		error(invoke.lost(command_name.typed(words[1]), result), 0)
	elseif result.timed_out then
		error(("%s did not end within the time limit of the test, %g s"):format(values.cut(table.concat(words, " ")), bed.limit_ms / 1000), 0)
	end
	if page and bed.cover then
		bed.note_lines(page:lines())
	end
	local answer = result_of(result, words, page)
	answer.terminal = terminal and terminal:finish()
	return answer
end

return M
